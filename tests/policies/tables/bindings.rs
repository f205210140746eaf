//! ManagedClusterSetBindings.

use serde_json::{Value, json};

use super::{ACCEPTED, JUST_ACCEPTED, Row, TERMINATING, WORKSPACE, deleting};

/// A binding with this name to a set, in a namespace.
pub fn bound(name: &str, set: &str, namespace: &str) -> Value {
    let mut binding = berth_testkit::objects::binding(set, namespace);
    binding["metadata"]["name"] = name.into();
    binding
}

pub fn rows() -> Vec<Row> {
    let here = |name: &str, set: &str| bound(name, set, WORKSPACE);
    let labelled = |mut object: Value| {
        object["metadata"]["labels"] = json!({ "x": "y" });
        object
    };
    super::rows(
        "bindings",
        [
            (
                "with the permission",
                &["bind:prod"],
                None,
                here("prod", "prod"),
                "allow",
            ),
            (
                "with the permission for all",
                &["bind:*"],
                None,
                here("prod", "prod"),
                "allow",
            ),
            ("without", &[], None, here("prod", "prod"), "403"),
            (
                "with the permission for another",
                &["bind:test"],
                None,
                here("prod", "prod"),
                "403",
            ),
            (
                "another name",
                &["bind:prod", "bind:test"],
                None,
                here("prod", "test"),
                "400",
            ),
            (
                "another name without the permission",
                &[],
                None,
                here("prod", "test"),
                "400",
            ),
            ("no set", &["bind:*"], None, without_spec("prod"), "400"),
            (
                "a set that does not exist",
                &["bind:*"],
                None,
                here("missing", "missing"),
                "allow",
            ),
            (
                "in an accepted cluster's namespace",
                &["bind:*"],
                None,
                bound("prod", "prod", ACCEPTED),
                "403",
            ),
            (
                "which is not told without the permission",
                &[],
                None,
                bound("prod", "prod", ACCEPTED),
                "403",
            ),
            (
                "another name in an accepted cluster's namespace",
                &["bind:*"],
                None,
                bound("prod", "test", ACCEPTED),
                "400",
            ),
            (
                "in the namespace of a cluster that was just accepted",
                &["bind:*"],
                None,
                bound("prod", "prod", JUST_ACCEPTED),
                "403",
            ),
            (
                "in a namespace that is terminating",
                &["bind:*"],
                None,
                bound("prod", "prod", TERMINATING),
                "403 by the API server",
            ),
            (
                "labels are free",
                &[],
                Some(here("stored", "stored")),
                labelled(here("stored", "stored")),
                "allow",
            ),
            (
                "labels are free in an accepted cluster's namespace",
                &[],
                Some(bound("stored", "stored", ACCEPTED)),
                labelled(bound("stored", "stored", ACCEPTED)),
                "allow",
            ),
            (
                "the set changes",
                &["bind:*"],
                Some(here("stored", "stored")),
                here("stored", "test"),
                "400",
            ),
            (
                "the set changes while it is deleted",
                &["bind:*"],
                Some(deleting(here("deleted", "deleted"))),
                here("deleted", "test"),
                "400",
            ),
            (
                "a stored misnomer stays",
                &[],
                Some(here("misnomer", "test")),
                labelled(here("misnomer", "test")),
                "allow",
            ),
            (
                "a stored misnomer is mended",
                &["bind:*"],
                Some(here("misnomer", "test")),
                here("misnomer", "misnomer"),
                "allow",
            ),
            (
                "a stored misnomer is mended without the permission",
                &[],
                Some(here("misnomer", "test")),
                here("misnomer", "misnomer"),
                "403",
            ),
            (
                "a stored misnomer is mended in an accepted cluster's namespace",
                &["bind:*"],
                Some(bound("misnomer", "test", ACCEPTED)),
                bound("misnomer", "misnomer", ACCEPTED),
                "403",
            ),
        ],
    )
}

fn without_spec(name: &str) -> Value {
    let mut binding = bound(name, name, WORKSPACE);
    binding.as_object_mut().unwrap().remove("spec");
    binding
}
