//! Reviews for tests: a recorded one, changed.

use berth_manifests::webhooks::VALIDATE_CLUSTER;
use serde_json::Value;

use crate::recorded;

/// The path most tests ask.
pub const PATH: &str = VALIDATE_CLUSTER.path;

/// The uid of the reviews made here.
pub const UID: &str = "d9aa8994-4567-4772-a1d3-0cc8781c9478";

/// An update of the accepted cluster c1 by bob, who may nothing, that touches nothing the gate guards; with the uid near
/// the beginning, as API servers send it.
pub fn text() -> String {
    String::from_utf8(recorded("update-unrelated-bob.validate.json")).unwrap()
}

/// It with `request` changed.
pub fn with(change: impl FnOnce(&mut Value)) -> String {
    let mut review: Value = serde_json::from_str(&text()).unwrap();
    change(&mut review["request"]);
    review.to_string()
}

/// It with `request.object` changed.
pub fn with_object(change: impl FnOnce(&mut Value)) -> String {
    with(|request| change(&mut request["object"]))
}

/// It as a denial of acceptance, which is a question: bob is no admin.
pub fn asking() -> String {
    with_object(|object| object["spec"]["hubAcceptsClient"] = false.into())
}
