//! Sets: permissions for the old and the new one, the default set, and warnings.

use serde_json::{Value, json};

use super::{Row, cluster, deleting, in_set};

fn none() -> Value {
    cluster(json!({}), json!({}))
}

fn member(set: &str) -> Value {
    cluster(in_set(set), json!({}))
}

fn labelled(key: &str, value: &str) -> Value {
    let mut object = member("a");
    object["metadata"]["labels"][key] = value.into();
    object
}

pub fn rows() -> Vec<Row> {
    const RETIRED: &str = berth_api::labels::RETIRED_CLUSTER_SET;
    let mut both = labelled(RETIRED, "x");
    both["metadata"]["labels"][berth_api::labels::CLUSTER_SET] = "No_Set".into();
    let mut rows = super::rows(
        "membership",
        [
            ("into a set", &[], None, member("a"), "403"),
            (
                "into a set with the permission",
                &["join:a"],
                None,
                member("a"),
                "allow",
            ),
            (
                "with the permission for all",
                &["join:*"],
                None,
                member("a"),
                "allow",
            ),
            (
                "with the permission for another",
                &["join:b"],
                None,
                member("a"),
                "403",
            ),
            (
                "from none into a set",
                &[],
                Some(none()),
                member("a"),
                "403",
            ),
            (
                "from none into a set with the permission",
                &["join:a"],
                Some(none()),
                member("a"),
                "allow",
            ),
            (
                "from set to set with neither",
                &[],
                Some(member("a")),
                member("b"),
                "403",
            ),
            (
                "from set to set with the old one",
                &["join:a"],
                Some(member("a")),
                member("b"),
                "403",
            ),
            (
                "from set to set with the new one",
                &["join:b"],
                Some(member("a")),
                member("b"),
                "403",
            ),
            (
                "from set to set with both",
                &["join:a", "join:b"],
                Some(member("a")),
                member("b"),
                "allow",
            ),
            ("out of a set", &[], Some(member("a")), none(), "403 ~1"),
            (
                "out of a set with the permission",
                &["join:a"],
                Some(member("a")),
                none(),
                "allow ~1",
            ),
            (
                "out of a set into default",
                &["join:a", "join:default"],
                Some(member("a")),
                none(),
                "allow",
            ),
            (
                "out of a set into default, with default only",
                &["join:default"],
                Some(member("a")),
                none(),
                "403",
            ),
            (
                "out of a set by an empty label",
                &[],
                Some(member("a")),
                member(""),
                "403 ~1",
            ),
            (
                "it stays",
                &[],
                Some(member("a")),
                labelled("x", "y"),
                "allow",
            ),
            (
                "moved while it is deleted",
                &[],
                Some(deleting(member("a"))),
                member("b"),
                "403",
            ),
            (
                "out of a set while it is deleted",
                &["join:a"],
                Some(deleting(member("a"))),
                none(),
                "allow",
            ),
            (
                "a set that does not exist",
                &["join:*"],
                None,
                member("missing"),
                "allow ~1",
            ),
            (
                "a set that does not exist, without the permission",
                &[],
                None,
                member("missing"),
                "403",
            ),
            (
                "a value that is no name",
                &["join:*"],
                None,
                member("No_Set"),
                "allow ~1",
            ),
            (
                "a value that is no name, without the permission",
                &[],
                None,
                member("No_Set"),
                "403 ~1",
            ),
            (
                "a stored value that is no name",
                &[],
                Some(member("No_Set")),
                cluster(in_set("No_Set"), json!({ "leaseDurationSeconds": 30 })),
                "allow",
            ),
        ],
    );
    rows.extend(super::rows(
        "the default set",
        [
            ("without a label", &["join:default"], None, none(), "allow"),
            ("without the permission", &[], None, none(), "allow ~1"),
            (
                "without metadata.labels",
                &["join:default"],
                None,
                unlabelled(),
                "allow",
            ),
            (
                "an empty label",
                &["join:default"],
                None,
                member(""),
                "allow",
            ),
            (
                "an empty label without the permission",
                &[],
                None,
                member(""),
                "allow ~1",
            ),
            (
                "another set",
                &["join:a", "join:default"],
                None,
                member("a"),
                "allow",
            ),
            ("by its own name", &[], None, member("default"), "403"),
            (
                "the label comes back",
                &[],
                Some(member("default")),
                none(),
                "allow",
            ),
            (
                "the emptied label comes back",
                &[],
                Some(member("default")),
                member(""),
                "allow",
            ),
            (
                "an update puts it there",
                &["join:default"],
                Some(none()),
                cluster(json!({}), json!({ "leaseDurationSeconds": 30 })),
                "allow",
            ),
            (
                "an update without the permission",
                &[],
                Some(none()),
                cluster(json!({ "x": "y" }), json!({})),
                "allow",
            ),
            (
                "a guarded update without the permission",
                &[],
                Some(none()),
                cluster(json!({}), json!({ "leaseDurationSeconds": 30 })),
                "allow",
            ),
            (
                "while it is deleted",
                &["join:default"],
                Some(deleting(none())),
                cluster(json!({ "x": "y" }), json!({})),
                "allow",
            ),
            (
                "out of default while it is deleted",
                &[],
                Some(deleting(member("default"))),
                none(),
                "403",
            ),
        ],
    ));
    rows.extend(super::rows(
        "the retired label",
        [
            (
                "on CREATE",
                &["join:a"],
                None,
                labelled(RETIRED, "x"),
                "allow ~1",
            ),
            (
                "introduced",
                &[],
                Some(member("a")),
                labelled(RETIRED, "x"),
                "allow ~1",
            ),
            (
                "changed",
                &[],
                Some(labelled(RETIRED, "x")),
                labelled(RETIRED, "y"),
                "allow ~1",
            ),
            (
                "emptied",
                &[],
                Some(labelled(RETIRED, "x")),
                labelled(RETIRED, ""),
                "allow ~1",
            ),
            (
                "kept",
                &[],
                Some(labelled(RETIRED, "x")),
                kept(RETIRED),
                "allow",
            ),
            (
                "removed",
                &[],
                Some(labelled(RETIRED, "x")),
                member("a"),
                "allow",
            ),
            ("beside a refusal", &[], Some(member("a")), both, "403 ~2"),
            (
                "while it is deleted",
                &[],
                Some(deleting(member("a"))),
                labelled(RETIRED, "x"),
                "allow ~1",
            ),
        ],
    ));
    rows
}

fn kept(key: &str) -> Value {
    let mut object = labelled(key, "x");
    object["spec"] = json!({ "leaseDurationSeconds": 30 });
    object
}

fn unlabelled() -> Value {
    let mut object = none();
    object["metadata"] = json!({});
    object
}
