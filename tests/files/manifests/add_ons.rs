//! The controller of add-ons has the rights that it needs and no others.

use berth_testkit::shipped;
use serde_json::json;

use crate::manifests::files::read;
use crate::manifests::placement::permissions_in;

const ROLE: &str = "manifests/addons/role.yaml";

/// What the controller does: verbs, and resources with their groups.
const DONE: [(&str, &[&str]); 18] = [
    (
        "cluster.open-cluster-management.io/managedclusters cluster.open-cluster-management.io/placements \
         cluster.open-cluster-management.io/placementdecisions",
        &["list", "watch"],
    ),
    (
        "addon.open-cluster-management.io/clustermanagementaddons",
        &["get", "list", "watch"],
    ),
    (
        "addon.open-cluster-management.io/clustermanagementaddons/status",
        &["patch"],
    ),
    // The owner of a ManagedClusterAddOn that it blocks the deletion of.
    (
        "addon.open-cluster-management.io/clustermanagementaddons/finalizers",
        &["update"],
    ),
    (
        "addon.open-cluster-management.io/managedclusteraddons",
        &["get", "list", "watch", "create", "patch", "delete"],
    ),
    (
        "addon.open-cluster-management.io/managedclusteraddons/status",
        &["patch"],
    ),
    // The owner of a ManifestWork that it blocks the deletion of.
    (
        "addon.open-cluster-management.io/managedclusteraddons/finalizers",
        &["update"],
    ),
    (
        "addon.open-cluster-management.io/addondeploymentconfigs addon.open-cluster-management.io/addontemplates",
        &["list", "watch"],
    ),
    (
        "work.open-cluster-management.io/manifestworks",
        &["get", "list", "watch", "create", "patch", "delete"],
    ),
    (
        "certificates.k8s.io/certificatesigningrequests",
        &["get", "list", "watch"],
    ),
    (
        "certificates.k8s.io/certificatesigningrequests/approval certificates.k8s.io/certificatesigningrequests/status",
        &["update"],
    ),
    (
        "rbac.authorization.k8s.io/rolebindings",
        &["get", "list", "watch", "create", "update", "delete"],
    ),
    (
        "/serviceaccounts",
        &["get", "list", "watch", "create", "delete"],
    ),
    (
        "rbac.authorization.k8s.io/roles",
        &["get", "list", "watch", "create", "update", "delete"],
    ),
    // Passed on, as the API server lets nobody grant what it does not have.
    ("/serviceaccounts/token", &["subscribe"]),
    ("events.k8s.io/events", &["create"]),
    ("authentication.k8s.io/tokenreviews", &["create"]),
    ("authorization.k8s.io/subjectaccessreviews", &["create"]),
];

#[test]
fn the_role_grants_what_the_controller_of_add_ons_does_and_no_more() {
    let needed = DONE.iter().flat_map(|(resources, verbs)| {
        let resources = resources.split_whitespace();
        resources.flat_map(|resource| verbs.iter().map(move |verb| format!("{verb} {resource}")))
    });
    // Of the signers, the API server's only.
    let signer = "approve certificates.k8s.io/signers kubernetes.io/kube-apiserver-client";
    let needed = needed.chain([signer.to_owned()]);
    assert_eq!(permissions_in(ROLE, "ClusterRole"), needed.collect());
    let election = [
        "create coordination.k8s.io/leases",
        "get coordination.k8s.io/leases manager-lock",
        "update coordination.k8s.io/leases manager-lock",
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
