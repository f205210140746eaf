//! Acceptance in both directions, and the annotation of a denial that takes effect at once.

use berth_api::labels::DENY_NOW;
use serde_json::{Value, json};

use super::{BINDINGS, Row, TERMINATING, called, cluster, deleting, in_set};

fn denied() -> Value {
    cluster(in_set("a"), json!({}))
}

fn accepted() -> Value {
    cluster(in_set("a"), json!({ "hubAcceptsClient": true }))
}

fn no_set(accepted: bool) -> Value {
    cluster(json!({}), json!({ "hubAcceptsClient": accepted }))
}

fn annotated(mut object: Value, value: &str) -> Value {
    object["metadata"]["annotations"] = json!({ "a": "b", DENY_NOW: value });
    object
}

pub fn rows() -> Vec<Row> {
    let deny_now = || annotated(denied(), "true");
    let mut rows = super::rows(
        "acceptance",
        [
            (
                "a new accepted cluster",
                &["join:a"],
                None,
                accepted(),
                "403",
            ),
            (
                "with the permission",
                &["join:a", "accept"],
                None,
                accepted(),
                "allow",
            ),
            ("without any permission", &[], None, accepted(), "403"),
            ("turned on", &[], Some(denied()), accepted(), "403"),
            (
                "turned on with the permission",
                &["accept"],
                Some(denied()),
                accepted(),
                "allow",
            ),
            (
                "turned on without a set",
                &["accept"],
                Some(no_set(false)),
                no_set(true),
                "allow ~1",
            ),
            ("turned off", &[], Some(accepted()), denied(), "403"),
            (
                "turned off with the permission",
                &["accept"],
                Some(accepted()),
                denied(),
                "allow",
            ),
            (
                "turned off explicitly",
                &[],
                Some(accepted()),
                cluster(in_set("a"), json!({ "hubAcceptsClient": false })),
                "403",
            ),
            (
                "it stays on",
                &[],
                Some(accepted()),
                cluster(
                    in_set("a"),
                    json!({ "hubAcceptsClient": true, "leaseDurationSeconds": 30 }),
                ),
                "allow",
            ),
            (
                "nothing changes",
                &[],
                Some(accepted()),
                accepted(),
                "allow",
            ),
            (
                "turned off while it is deleted",
                &[],
                Some(deleting(accepted())),
                denied(),
                "403",
            ),
            (
                "turned off while it is deleted, with the permission",
                &["accept"],
                Some(deleting(accepted())),
                denied(),
                "allow",
            ),
            (
                "turned on while it is deleted",
                &[],
                Some(deleting(denied())),
                accepted(),
                "403",
            ),
            (
                "accepted and moved",
                &[],
                Some(denied()),
                cluster(in_set("b"), json!({ "hubAcceptsClient": true })),
                "403",
            ),
            (
                "accepted and moved, with the old set",
                &["join:a"],
                Some(denied()),
                cluster(in_set("b"), json!({ "hubAcceptsClient": true })),
                "403",
            ),
            (
                "accepted and moved, with the new set",
                &["join:b"],
                Some(denied()),
                cluster(in_set("b"), json!({ "hubAcceptsClient": true })),
                "403",
            ),
            (
                "accepted and moved, with both sets",
                &["join:a", "join:b"],
                Some(denied()),
                cluster(in_set("b"), json!({ "hubAcceptsClient": true })),
                "403",
            ),
            (
                "accepted and moved, with acceptance only",
                &["accept"],
                Some(denied()),
                cluster(in_set("b"), json!({ "hubAcceptsClient": true })),
                "403",
            ),
            (
                "accepted and moved, with acceptance and the old set",
                &["accept", "join:a"],
                Some(denied()),
                cluster(in_set("b"), json!({ "hubAcceptsClient": true })),
                "403",
            ),
            (
                "accepted and moved, with all",
                &["accept", "join:a", "join:b"],
                Some(denied()),
                cluster(in_set("b"), json!({ "hubAcceptsClient": true })),
                "allow",
            ),
            (
                "the permission for another cluster",
                &["accept:other"],
                Some(denied()),
                accepted(),
                "403",
            ),
            (
                "the permission for this cluster",
                &["accept:mine"],
                None,
                called(no_set(true), "mine"),
                "allow ~1",
            ),
            (
                "while the namespace is terminating",
                &["accept"],
                None,
                called(no_set(true), TERMINATING),
                "403 ~1",
            ),
            (
                "which is not told without the permission",
                &[],
                None,
                called(no_set(true), TERMINATING),
                "403 ~1",
            ),
            (
                "terminating, and the set is missing",
                &["accept"],
                None,
                called(accepted(), TERMINATING),
                "403",
            ),
            (
                "while the namespace holds bindings",
                &["accept"],
                None,
                called(no_set(true), BINDINGS),
                "403 ~1",
            ),
            (
                "not accepted while it holds them",
                &["accept"],
                None,
                called(no_set(false), BINDINGS),
                "allow ~1",
            ),
            (
                "a generated name",
                &["join:a", "accept"],
                None,
                generated(accepted()),
                "allow",
            ),
            (
                "a generated name without a set",
                &[],
                None,
                generated(no_set(false)),
                "allow ~1",
            ),
            (
                "a generated name that is refused",
                &["join:a"],
                None,
                generated(accepted()),
                "403",
            ),
        ],
    );
    rows.extend(super::rows(
        "denied now",
        [
            ("on CREATE", &["join:a"], None, deny_now(), "403"),
            (
                "on CREATE with the permission",
                &["join:a", "accept"],
                None,
                deny_now(),
                "allow",
            ),
            ("on UPDATE", &[], Some(denied()), deny_now(), "403"),
            (
                "on UPDATE with the permission",
                &["accept"],
                Some(denied()),
                deny_now(),
                "allow",
            ),
            (
                "an empty value",
                &[],
                Some(denied()),
                annotated(denied(), ""),
                "403",
            ),
            (
                "another value",
                &[],
                Some(annotated(denied(), "false")),
                deny_now(),
                "403",
            ),
            (
                "the same value",
                &[],
                Some(deny_now()),
                annotated(
                    cluster(in_set("a"), json!({ "leaseDurationSeconds": 30 })),
                    "true",
                ),
                "allow",
            ),
            ("removed", &[], Some(deny_now()), denied(), "allow"),
            (
                "of an accepted cluster",
                &[],
                Some(accepted()),
                annotated(accepted(), "true"),
                "403",
            ),
            (
                "while it is deleted",
                &[],
                Some(deleting(denied())),
                deny_now(),
                "403",
            ),
            (
                "together with the denial",
                &[],
                Some(accepted()),
                deny_now(),
                "403",
            ),
            (
                "together with a move",
                &[],
                Some(denied()),
                annotated(cluster(in_set("b"), json!({})), "true"),
                "403",
            ),
        ],
    ));
    rows
}

fn generated(mut object: Value) -> Value {
    object["metadata"]["generateName"] = "generated-".into();
    object
}
