//! Reviews for tests: a recorded review with changes.

use berth_manifests::webhooks::VALIDATE_CLUSTER;
use serde_json::Value;

use crate::recorded;

/// The path that most tests call.
pub const PATH: &str = VALIDATE_CLUSTER.path;

/// The uid of these reviews.
pub const UID: &str = "d9aa8994-4567-4772-a1d3-0cc8781c9478";

/// An update of the accepted cluster c1 by bob, a user without rights, of fields that the gate does not guard. The uid is near
/// the beginning, as API servers send it.
pub fn text() -> String {
    String::from_utf8(recorded("update-unrelated-bob.validate.json")).unwrap()
}

/// The review with changes to `request`.
pub fn with(change: impl FnOnce(&mut Value)) -> String {
    let mut review: Value = serde_json::from_str(&text()).unwrap();
    change(&mut review["request"]);
    review.to_string()
}

/// The review with changes to `request.object`.
pub fn with_object(change: impl FnOnce(&mut Value)) -> String {
    with(|request| change(&mut request["object"]))
}

/// The review as a denial of the cluster, which raises a question: bob is not an admin.
pub fn asking() -> String {
    with_object(|object| object["spec"]["hubAcceptsClient"] = false.into())
}
