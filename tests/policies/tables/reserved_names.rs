//! Reserved names.

use serde_json::{Value, json};

use super::{PREFIXED_WITH_NAMESPACE, Row, called, cluster, deleting};

pub fn rows() -> Vec<Row> {
    let named = |name: &str, spec: Value| called(cluster(json!({}), spec), name);
    let plain = |name: &str| named(name, json!({}));
    let accepted = |name: &str| named(name, json!({ "hubAcceptsClient": true }));
    let leased = |name: &str| named(name, json!({ "leaseDurationSeconds": 30 }));
    let accepted_and_leased = |name: &str| {
        named(
            name,
            json!({ "hubAcceptsClient": true, "leaseDurationSeconds": 30 }),
        )
    };
    let mut with_retired_label = plain("managed-clusters");
    with_retired_label["metadata"]["labels"] =
        json!({ berth_api::labels::RETIRED_CLUSTER_SET: "x" });
    super::rows(
        "reserved names",
        [
            ("an exact name", &[], None, plain("kube-public"), "403 ~1"),
            (
                "an exact name with all permissions",
                &["accept", "join:default"],
                None,
                accepted("default"),
                "403",
            ),
            (
                "the name of all agents",
                &["join:default"],
                None,
                plain("managed-clusters"),
                "403",
            ),
            (
                "the name of a role",
                &["join:default"],
                None,
                plain("registration"),
                "403",
            ),
            (
                "the namespace of the hub",
                &["join:default"],
                None,
                plain("open-cluster-management-hub"),
                "403",
            ),
            (
                "the namespace of agents",
                &["join:default"],
                None,
                plain("open-cluster-management-agent-addon"),
                "403",
            ),
            (
                "almost the name of a role",
                &["join:default"],
                None,
                plain("registrations"),
                "allow",
            ),
            (
                "an exact name and a retired label",
                &["join:default"],
                None,
                with_retired_label,
                "403",
            ),
            (
                "a prefix",
                &["join:default"],
                None,
                plain("kube-edge"),
                "403",
            ),
            (
                "another prefix",
                &["join:default"],
                None,
                plain("openshift-edge"),
                "403",
            ),
            (
                "almost a prefix",
                &["join:default"],
                None,
                plain("kube"),
                "allow",
            ),
            (
                "a prefix, and accepted",
                &["join:default"],
                None,
                accepted("kube-edge"),
                "403",
            ),
            (
                "a prefix, accepted, and a set",
                &[],
                None,
                in_a(accepted("kube-edge")),
                "403",
            ),
            (
                "a prefix with all permissions",
                &["join:default", "accept"],
                None,
                accepted("kube-edge"),
                "403",
            ),
            (
                "the namespace is the cluster's",
                &["join:default"],
                None,
                plain(PREFIXED_WITH_NAMESPACE),
                "allow",
            ),
            (
                "and it is accepted",
                &["join:default", "accept"],
                None,
                accepted(PREFIXED_WITH_NAMESPACE),
                "allow",
            ),
            (
                "or not",
                &["join:default"],
                None,
                accepted(PREFIXED_WITH_NAMESPACE),
                "403",
            ),
            (
                "a stored one is accepted",
                &["join:default", "accept"],
                Some(plain("openshift-stored")),
                accepted("openshift-stored"),
                "403",
            ),
            (
                "a stored one changes",
                &["join:default"],
                Some(plain("openshift-stored")),
                leased("openshift-stored"),
                "allow",
            ),
            (
                "a stored exact one is accepted",
                &["join:default", "accept"],
                Some(plain("work")),
                accepted("work"),
                "403",
            ),
            (
                "an accepted one is kept",
                &["join:default"],
                Some(accepted("kube-system")),
                accepted_and_leased("kube-system"),
                "allow ~1",
            ),
            (
                "an accepted one changes without a word",
                &[],
                Some(accepted("kube-system")),
                labelled(accepted("kube-system")),
                "allow",
            ),
            (
                "an accepted one is denied",
                &["join:default", "accept"],
                Some(accepted("kube-system")),
                plain("kube-system"),
                "allow",
            ),
            (
                "an accepted one with a prefix is kept",
                &["join:default"],
                Some(accepted("openshift-kept")),
                accepted_and_leased("openshift-kept"),
                "allow",
            ),
            (
                "an accepted one that is deleted",
                &["join:default"],
                Some(deleting(accepted("kube-node-lease"))),
                accepted_and_leased("kube-node-lease"),
                "allow",
            ),
            (
                "content goes first",
                &["join:default"],
                None,
                named("kube-system", json!({ "leaseDurationSeconds": -1 })),
                "400",
            ),
        ],
    )
}

fn in_a(mut object: Value) -> Value {
    object["metadata"]["labels"] = super::in_set("a");
    object
}

fn labelled(mut object: Value) -> Value {
    object["metadata"]["labels"] = json!({ "x": "y" });
    object
}
