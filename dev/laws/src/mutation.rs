//! Laws of the mutating path: it may only set the default set and the times of taints.

use berth_api::labels;
use berth_review::Webhook;
use jiff::{SignedDuration, Timestamp};
use json_patch::Patch;
use serde_json::{Value, json};

use crate::gate::{FakeHub, ask_json, now, patched};

/// For this long, the gate accepts a time as its own.
const OURS: SignedDuration = SignedDuration::from_secs(5);

/// The laws of the patch in the response to this review.
pub(crate) fn laws(hub: FakeHub, review: &Value, patch: &Patch) {
    let (object, old) = (
        &review["request"]["object"],
        &review["request"]["oldObject"],
    );
    let once = patched(object, patch);
    assert_eq!(
        patched(&once, patch),
        once,
        "a patch applied twice equals once"
    );
    assert_eq!(
        without_ours(&once),
        without_ours(object),
        "other fields do not change"
    );
    if review["request"]["operation"] == "DELETE" || !object.is_object() {
        assert_eq!(once, *object, "a DELETE is not patched");
        return;
    }
    let old = (review["request"]["operation"] == "UPDATE").then_some(old);
    let deleting = old.is_some_and(|old| !old["metadata"]["deletionTimestamp"].is_null());
    if deleting {
        assert_eq!(
            once, *object,
            "an object that is being deleted gets no defaults"
        );
    } else {
        times_are_ours_or_stored(&once, old);
    }
    a_second_pass_changes_nothing(hub, review, &once);
}

fn a_second_pass_changes_nothing(hub: FakeHub, review: &Value, once: &Value) {
    let mut again = review.clone();
    again["request"]["object"] = once.clone();
    // A recent time of the requester counts as the gate's own, but may be too old at the second pass.
    let given = taints(&review["request"]["object"])
        .any(|taint| time(taint).is_some_and(|time| is_near(time, SignedDuration::from_secs(12))));
    let delays = if given { [0, 0, 0] } else { [0, 4_400, 5_000] };
    for delay in delays {
        let later = now() + SignedDuration::from_millis(delay);
        let said = ask_json(hub, Webhook::MutateCluster, &again, later);
        assert!(
            said.allowed && said.patch.0.is_empty(),
            "a second pass after {delay} ms: {}: {once}",
            said.json
        );
    }
}

/// Only the gate sets the time of a taint.
fn times_are_ours_or_stored(object: &Value, old: Option<&Value>) {
    let stored: Vec<_> = old.map(|old| taints(old).collect()).unwrap_or_default();
    for taint in taints(object) {
        let fresh = time(taint).is_some_and(|time| is_near(time, OURS));
        let kept = || {
            let same = |old: &&Value| {
                ["key", "value", "effect"]
                    .iter()
                    .all(|key| text(old, key) == text(taint, key))
            };
            let time = |old: &Value| time_as_it_counts(old) == time_as_it_counts(taint);
            stored.iter().copied().filter(same).any(time)
        };
        assert!(
            fresh || kept(),
            "the time is neither the gate's nor the stored one: {taint}"
        );
    }
}

fn is_near(time: Timestamp, distance: SignedDuration) -> bool {
    // Kubernetes writes times to the second.
    let whole = Timestamp::from_second(now().as_second()).expect("it is one");
    whole.as_second().abs_diff(time.as_second()) <= distance.as_secs().unsigned_abs()
}

fn taints(object: &Value) -> impl Iterator<Item = &Value> {
    object["spec"]["taints"].as_array().into_iter().flatten()
}

/// `null`, absent and empty are the same.
fn text<'v>(taint: &'v Value, key: &str) -> &'v str {
    taint[key].as_str().unwrap_or_default()
}

fn time(taint: &Value) -> Option<Timestamp> {
    text(taint, "timeAdded").parse().ok()
}

/// Go's zero time counts as absent; an unreadable time is returned unchanged.
fn time_as_it_counts(taint: &Value) -> Result<Timestamp, &str> {
    let time = match text(taint, "timeAdded") {
        "0001-01-01T00:00:00Z" => "",
        time => time,
    };
    time.parse().map_err(|_| time)
}

/// Returns the object without the fields that the gate may change.
fn without_ours(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        if let Some(Value::Object(labels)) = metadata.get_mut("labels") {
            labels.remove(labels::CLUSTER_SET);
        }
        // The patch may create the map of labels.
        if metadata.get("labels").is_some_and(|labels| {
            labels.is_null() || labels.as_object().is_some_and(serde_json::Map::is_empty)
        }) {
            metadata.remove("labels");
        }
    }
    if object["metadata"].is_null() || object["metadata"] == json!({}) {
        object["metadata"] = Value::Null;
    }
    if let Some(Value::Array(taints)) = object.pointer_mut("/spec/taints") {
        for taint in taints {
            if let Value::Object(taint) = taint {
                taint.remove("timeAdded");
            }
        }
    }
    object
}
