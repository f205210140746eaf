//! The controller of ManifestWorkReplicaSets has the rights that it needs and no others.

use berth_testkit::shipped;
use serde_json::json;

use crate::manifests::files::read;
use crate::manifests::placement::permissions_in;

const ROLE: &str = "manifests/work/role.yaml";

/// What the controller does: verbs, and resources with their groups.
const DONE: [(&str, &[&str]); 8] = [
    (
        "cluster.open-cluster-management.io/placements cluster.open-cluster-management.io/placementdecisions",
        &["list", "watch"],
    ),
    (
        "work.open-cluster-management.io/manifestworkreplicasets",
        &["get", "list", "watch", "patch"],
    ),
    (
        "work.open-cluster-management.io/manifestworkreplicasets/status",
        &["patch"],
    ),
    (
        "work.open-cluster-management.io/manifestworks",
        &["get", "list", "watch", "create", "patch", "delete"],
    ),
    // Templates name executors.
    (
        "work.open-cluster-management.io/manifestworks",
        &["execute-as"],
    ),
    ("events.k8s.io/events", &["create"]),
    ("authentication.k8s.io/tokenreviews", &["create"]),
    ("authorization.k8s.io/subjectaccessreviews", &["create"]),
];

#[test]
fn the_role_grants_what_the_controller_of_replica_sets_does_and_no_more() {
    let needed = DONE.iter().flat_map(|(resources, verbs)| {
        let resources = resources.split_whitespace();
        resources.flat_map(|resource| verbs.iter().map(move |verb| format!("{verb} {resource}")))
    });
    assert_eq!(permissions_in(ROLE, "ClusterRole"), needed.collect());
    let election = [
        "create coordination.k8s.io/leases",
        "get coordination.k8s.io/leases work-manager-lock",
        "update coordination.k8s.io/leases work-manager-lock",
    ];
    assert_eq!(
        permissions_in(ROLE, "Role"),
        election.map(str::to_owned).into()
    );
}

#[test]
fn the_bindings_name_the_controllers_account() {
    let bindings = read(ROLE);
    let bindings = bindings.iter().filter(|it| it.get("subjects").is_some());
    let subjects = json!([{
        "kind": "ServiceAccount",
        "name": shipped::CONTROLLER,
        "namespace": shipped::NAMESPACE,
    }]);
    let bindings: Vec<_> = bindings.collect();
    assert_eq!(bindings.len(), 2);
    for binding in bindings {
        assert_eq!(binding["subjects"], subjects);
    }
}
