//! The placement controller has the rights that it needs and no others.

use std::collections::BTreeSet;

use berth_placement_core::Source;
use berth_testkit::shipped;
use serde_json::{Value, json};

use crate::manifests::files::read;

const ROLE: &str = "manifests/placement/role.yaml";

/// What the controller does: verbs, and resources of OCM's cluster group.
const DONE: [(&str, &[&str]); 5] = [
    (
        "managedclusters managedclustersets managedclustersetbindings addonplacementscores",
        &["list", "watch"],
    ),
    ("placements", &["get", "list", "watch"]),
    ("placements/status placementdecisions/status", &["patch"]),
    (
        "placementdecisions",
        &["get", "list", "watch", "create", "patch", "delete"],
    ),
    ("placements/finalizers", &["update"]),
];

fn words(rule: &Value, field: &str) -> Vec<String> {
    let words = rule[field].as_array().into_iter().flatten();
    words
        .filter_map(|it| it.as_str().map(str::to_owned))
        .collect()
}

fn permissions(kind: &str) -> BTreeSet<String> {
    permissions_in(ROLE, kind)
}

pub(super) fn permissions_in(file: &str, kind: &str) -> BTreeSet<String> {
    let objects = read(file).into_iter().filter(|it| it["kind"] == kind);
    let rules = objects.flat_map(|it| it["rules"].as_array().cloned().unwrap_or_default());
    let mut permissions = BTreeSet::new();
    for rule in rules {
        let names = words(&rule, "resourceNames").join(" ");
        for group in words(&rule, "apiGroups") {
            for resource in words(&rule, "resources") {
                for verb in words(&rule, "verbs") {
                    let permission = format!("{verb} {group}/{resource} {names}");
                    permissions.insert(permission.trim_end().to_owned());
                }
            }
        }
    }
    permissions
}

#[test]
fn the_role_of_the_gate_grants_the_decisions_of_the_sig_and_no_more() {
    let file = "manifests/overlays/sig-placement-decisions/role.yaml";
    let verbs = ["get", "list", "watch", "create", "patch", "delete"];
    let resource = "multicluster.x-k8s.io/placementdecisions";
    assert_eq!(
        permissions_in(file, "ClusterRole"),
        verbs.map(|verb| format!("{verb} {resource}")).into()
    );
}

#[test]
fn the_role_grants_what_the_placement_controller_does_and_no_more() {
    let mut needed: BTreeSet<String> = [
        "create authentication.k8s.io/tokenreviews",
        "create authorization.k8s.io/subjectaccessreviews",
        "create events.k8s.io/events",
    ]
    .map(str::to_owned)
    .into();
    for (resources, verbs) in DONE {
        for resource in resources.split_whitespace() {
            let group = "cluster.open-cluster-management.io";
            needed.extend(
                verbs
                    .iter()
                    .map(|verb| format!("{verb} {group}/{resource}")),
            );
        }
    }
    assert_eq!(permissions("ClusterRole"), needed);
    let election = [
        "create coordination.k8s.io/leases",
        "get coordination.k8s.io/leases placement-lock",
        "update coordination.k8s.io/leases placement-lock",
    ];
    assert_eq!(permissions("Role"), election.map(str::to_owned).into());
}

#[test]
fn the_debug_endpoint_reads_what_explanations_need_and_writes_nothing() {
    let group = "cluster.open-cluster-management.io";
    let listed = Source::ALL.map(Source::resource);
    let listed = listed.into_iter().filter(|it| *it != "placements");
    let mut needed: BTreeSet<String> = listed.map(|it| format!("list {group}/{it}")).collect();
    needed.extend([
        format!("get {group}/placements"),
        "create authentication.k8s.io/tokenreviews".to_owned(),
        "create authorization.k8s.io/subjectaccessreviews".to_owned(),
    ]);
    let file = "manifests/placement/debug/role.yaml";
    assert_eq!(permissions_in(file, "ClusterRole"), needed);
    let objects = read(file);
    let binding = objects.iter().find(|it| it["kind"] == "ClusterRoleBinding");
    let binding = binding.unwrap();
    let name_of = |kind: &str| {
        let object = objects.iter().find(|it| it["kind"] == kind).unwrap();
        object["metadata"]["name"].clone()
    };
    assert_eq!(binding["roleRef"]["name"], name_of("ClusterRole"));
    assert_eq!(binding["subjects"][0]["name"], name_of("ServiceAccount"));
}

#[test]
fn the_bindings_name_the_controllers_account_and_the_roles_of_the_file() {
    let objects = read(ROLE);
    let named = |kind: &str| {
        let found = objects.iter().find(|it| it["kind"] == kind);
        found.unwrap_or_else(|| panic!("{ROLE} holds no {kind}"))
    };
    for (binding, role) in [
        ("ClusterRoleBinding", "ClusterRole"),
        ("RoleBinding", "Role"),
    ] {
        let (binding, role) = (named(binding), named(role));
        assert_eq!(binding["roleRef"]["kind"], role["kind"]);
        assert_eq!(binding["roleRef"]["name"], role["metadata"]["name"]);
        let subjects = json!([{
            "kind": "ServiceAccount",
            "name": shipped::CONTROLLER,
            "namespace": shipped::NAMESPACE,
        }]);
        assert_eq!(binding["subjects"], subjects);
    }
}
