//! The calls that the load makes, and their correct responses.

use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_review::Webhook;
use berth_webhooks::shipped;
use serde_json::{Value, json};

use crate::faults::tally::{CallFailure, CallOutcome};
use berth_testkit::cluster::{Cluster, rule};
use berth_testkit::guarded::{may_accept, may_join};
use berth_testkit::objects::{CLUSTER_GROUP, accepted, binding, member, set};

/// A user who may accept and join, and a user without rights.
const ADA: &str = "ada";
const BOB: &str = "bob";

/// A review that the load sends.
pub struct Call {
    pub path: &'static str,
    review: Value,
    right: Right,
}

/// The correct response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Right {
    /// Allowed, also without the hub.
    AllowedAlone,
    Allowed,
    /// Allowed, with a patch that adds the default set.
    Defaulted,
    Denied,
}

/// The calls of an ordinary hub: changes without a question, and changes about which the gate asks the hub.
pub fn mix() -> Vec<Call> {
    let there = member("c1", "default");
    let mut labelled = there.clone();
    labelled["metadata"]["labels"]["env"] = "test".into();
    let mut unlabelled = accepted("c1");
    unlabelled["spec"]["hubAcceptsClient"] = false.into();
    let mut let_in = there.clone();
    let_in["spec"]["hubAcceptsClient"] = true.into();
    let call = |webhook: Webhook, user, new: &Value, old, right| Call {
        path: shipped(webhook).path,
        review: review(user, new, old),
        right,
    };
    use Webhook::{MutateCluster, ValidateBinding, ValidateCluster, ValidateClusterSet};
    vec![
        call(
            ValidateCluster,
            BOB,
            &labelled,
            Some(&there),
            Right::AllowedAlone,
        ),
        call(ValidateCluster, ADA, &let_in, Some(&there), Right::Allowed),
        call(
            ValidateClusterSet,
            BOB,
            &set("s1"),
            None,
            Right::AllowedAlone,
        ),
        call(MutateCluster, ADA, &unlabelled, None, Right::Defaulted),
        call(ValidateCluster, BOB, &let_in, Some(&there), Right::Denied),
        call(
            ValidateBinding,
            BOB,
            &binding("default", "team-a"),
            None,
            Right::Denied,
        ),
    ]
}

/// Grants the users their rights.
pub async fn grant(hub: &Cluster) {
    let ada = hub.user(ADA, &[]).await;
    let rules = [
        may_accept("c1"),
        may_join("default"),
        rule(&["get"], CLUSTER_GROUP, &["managedclusters"], &[]),
    ];
    hub.grant(&ada, &rules).await;
}

fn review(user: &str, new: &Value, old: Option<&Value>) -> Value {
    let kind = new["kind"].as_str().unwrap();
    let (group, version) = new["apiVersion"].as_str().unwrap().split_once('/').unwrap();
    let resource = format!("{}s", kind.to_lowercase());
    let mut request = json!({
        "uid": "",
        "kind": { "group": group, "version": version, "kind": kind },
        "resource": { "group": group, "version": version, "resource": resource },
        "name": new["metadata"]["name"],
        "operation": if old.is_some() { "UPDATE" } else { "CREATE" },
        "userInfo": { "username": user, "groups": ["system:authenticated"] },
        "object": new,
        "oldObject": old,
        "dryRun": false,
    });
    if let Some(namespace) = new["metadata"]["namespace"].as_str() {
        request["namespace"] = namespace.into();
    }
    json!({ "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request })
}

// === impl Call ===

impl Call {
    /// The body of the next call, and its uid.
    pub fn next(&self) -> (String, String) {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let uid = format!("00000000-0000-4000-8000-{number:012x}");
        let mut review = self.review.clone();
        review["request"]["uid"] = uid.clone().into();
        (review.to_string(), uid)
    }

    /// The call with this number of additional bytes in the object.
    pub fn with_padding(&self, bytes: usize) -> String {
        let mut review = self.review.clone();
        // Labels, annotations and the like have a limit of their own.
        review["request"]["object"]["status"] = json!({ "padding": "x".repeat(bytes) });
        review["request"]["uid"] = "00000000-0000-4000-8000-00000000000f".into();
        review.to_string()
    }

    /// The outcome of a response with HTTP status 200.
    pub fn judge(&self, uid: &str, answer: &[u8]) -> CallOutcome {
        let Ok(answer) = serde_json::from_slice::<Value>(answer) else {
            return CallOutcome::Failed(CallFailure::Invalid, text(answer));
        };
        let response = &answer["response"];
        if answer["kind"] != "AdmissionReview"
            || answer["apiVersion"] != "admission.k8s.io/v1"
            || response["uid"] != uid
            || !response["allowed"].is_boolean()
        {
            return CallOutcome::Failed(CallFailure::Invalid, answer.to_string());
        }
        let allowed = response["allowed"] == true;
        let right = match self.right {
            Right::AllowedAlone | Right::Allowed => allowed && response["patch"].is_null(),
            Right::Defaulted => allowed && patch(response).contains("clusterset"),
            Right::Denied => !allowed && response["status"]["code"] == 403,
        };
        if right {
            return CallOutcome::Decided;
        }
        if self.right != Right::AllowedAlone && is_undecided(response) {
            return CallOutcome::Undecided;
        }
        CallOutcome::Failed(CallFailure::Wrong, format!("{:?}: {answer}", self.right))
    }
}

/// Returns true if the response says that it could not be decided, that this is not a denial, and when to retry; or if it allows,
/// and says what was left away because it could not be decided.
fn is_undecided(response: &Value) -> bool {
    let status = &response["status"];
    if response["allowed"] == true {
        let warning = response["warnings"][0].as_str().unwrap_or_default();
        return warning.contains("cannot find out");
    }
    let message = status["message"].as_str().unwrap_or_default();
    status["code"] == 500
        && status["reason"] == "InternalError"
        && status["details"]["retryAfterSeconds"].is_number()
        && message.contains("this is not a denial, try again")
        && response["auditAnnotations"]["outcome"] == "undecided"
}

fn patch(response: &Value) -> String {
    let patch = response["patch"].as_str().unwrap_or_default();
    text(&STANDARD.decode(patch).unwrap_or_default())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(300)]).into_owned()
}
