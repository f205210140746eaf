//! The permissions of the operators: those for their own work, and all that they give to others, since an API server lets nobody give what he
//! does not have.

use std::collections::BTreeSet;

use berth_manifests::HUB_NAMESPACE;
use serde_json::{Value, json};

use crate::cluster;
use crate::hub::{
    FORMER, FORMER_GROUP, HUB_KUBECONFIG, KINDS_HERE, RECONCILED, accounts, everything, secret_of,
};
use crate::objects::{Id, Kind};
use crate::pull::PULL_SECRET;
use crate::spec::TLS_PROFILE;

/// The names of the accounts. Those of their roles are made of them.
const OF_HUB: &str = "berth-operator";
const OF_CLUSTER: &str = "berth-klusterlet-operator";

/// The namespace of the operators.
const NAMESPACE: &str = "open-cluster-management";

/// The manifest of the roles and bindings of the operator of a cluster.
///
/// It has the cluster: agents that carry out ManifestWorks may escalate and bind, and so may who installs them.
#[must_use]
pub fn of_cluster() -> Vec<Value> {
    let (group, klusterlets) = cluster::RECONCILED;
    let mut rules = vec![
        rule(group, &[klusterlets], &["get", "list", "watch", "patch"]),
        rule(group, &[&format!("{klusterlets}/status")], &["patch"]),
        named(
            "",
            "secrets",
            &["bootstrap-hub-kubeconfig", cluster::MANAGED_SECRET],
            &["get", "list", "watch"],
        ),
        // With the agent, where its namespace stays.
        named(
            "",
            "secrets",
            &[cluster::HUB_SECRET],
            &["get", "list", "watch", "delete"],
        ),
        // The credentials of agents on this cluster for managed ones. RBAC cannot limit create to a name.
        named(
            "",
            "secrets",
            &cluster::AGENT_SECRETS,
            &["get", "list", "watch", "update", "delete"],
        ),
        rule("", &["secrets"], &["create"]),
        // The credentials of the registry, and their copies.
        named(
            "",
            "secrets",
            &[PULL_SECRET],
            &["get", "list", "watch", "update", "delete"],
        ),
        rule(
            "work.open-cluster-management.io",
            &["appliedmanifestworks"],
            &["get", "list", "watch", "patch", "delete"],
        ),
    ];
    let shared = cluster::shared();
    let definitions = shared.iter().filter(|it| it.kind == Kind::Definition);
    let definitions: Vec<_> = definitions.map(|it| &*it.name).collect();
    let resource = Kind::Definition.resource();
    rules.extend([
        rule(&resource.group, &[&resource.resource], &["create"]),
        named(
            &resource.group,
            &resource.resource,
            &definitions,
            &["get", "list", "watch", "patch"],
        ),
    ]);
    for kind in cluster::kinds_here() {
        let mut verbs = vec!["get", "list", "watch", "create", "patch", "delete"];
        if matches!(kind, Kind::ClusterRole | Kind::Role) {
            verbs.extend(["escalate", "bind"]);
        }
        // Their names, and their namespaces, contain what the Klusterlet says.
        let resource = kind.resource();
        rules.push(rule(&resource.group, &[&resource.resource], &verbs));
    }
    let mut all = role("ClusterRole", OF_CLUSTER, None, rules);
    all.extend(role(
        "Role",
        OF_CLUSTER,
        Some(NAMESPACE),
        own("klusterlet-lock"),
    ));
    all
}

/// What an operator does in its own namespace.
fn own(lease: &str) -> Vec<Value> {
    vec![
        rule("coordination.k8s.io", &["leases"], &["create"]),
        named(
            "coordination.k8s.io",
            "leases",
            &[lease],
            &["get", "update"],
        ),
        // The image of what it installs is that of its own pod.
        rule("", &["pods"], &["get"]),
        named("", "configmaps", &[TLS_PROFILE], &["get", "list", "watch"]),
        named("", "secrets", &[PULL_SECRET], &["get", "list", "watch"]),
    ]
}

/// The manifest of the roles and bindings of the operator of a hub.
#[must_use]
pub fn of_hub() -> Vec<Value> {
    let hub = everything();
    let objects: Vec<&Value> = hub.objects().collect();
    let ids: BTreeSet<Id> = objects.iter().filter_map(|it| Id::of(it)).collect();
    let mut cluster = vec![
        rule(
            RECONCILED.0,
            &[RECONCILED.1],
            &["get", "list", "watch", "patch"],
        ),
        rule(
            RECONCILED.0,
            &[&format!("{}/status", RECONCILED.1)],
            &["patch"],
        ),
        rule("", &["nodes"], &["list", "watch"]),
    ];
    // What is stored in a former version is written anew.
    let definitions = Kind::Definition.resource();
    let names = FORMER.map(|it| format!("{it}.{FORMER_GROUP}"));
    let names: Vec<_> = names.iter().map(|it| &**it).collect();
    let status = format!("{}/status", definitions.resource);
    cluster.push(rule(FORMER_GROUP, &FORMER, &["get", "list", "patch"]));
    cluster.push(named(&definitions.group, &status, &names, &["patch"]));
    let mut namespaced = Vec::new();
    for kind in Kind::ALL {
        let of_kind_only = ids.iter().filter(|it| it.kind == kind);
        let mut names: BTreeSet<&str> = of_kind_only.map(|it| &*it.name).collect();
        if kind == Kind::Secret {
            names.insert(PULL_SECRET);
        }
        let rules = of_kind(kind, &names);
        if kind.is_cluster_scoped() {
            cluster.extend(rules);
        } else {
            namespaced.extend(rules);
        }
    }
    let granted = |kind: &str| {
        let roles = objects.iter().filter(|it| it["kind"] == kind);
        let rules = roles.filter_map(|it| it["rules"].as_array());
        rules.flatten().cloned().collect::<Vec<_>>()
    };
    cluster.extend(granted("ClusterRole"));
    namespaced.extend(granted("Role"));
    let mut all = role("ClusterRole", OF_HUB, None, distinct(cluster));
    all.extend(role(
        "Role",
        OF_HUB,
        Some(HUB_NAMESPACE),
        distinct(namespaced),
    ));
    all.extend(role(
        "Role",
        OF_HUB,
        Some(NAMESPACE),
        own("clustermanager-lock"),
    ));
    all
}

/// The manifest of what the operator does in the namespace of a ClusterManager whose hub is another cluster. It has no namespace.
#[must_use]
pub fn of_hosting() -> Vec<Value> {
    let tokens: Vec<_> = accounts().map(secret_of).collect();
    let mut written: Vec<_> = tokens.iter().map(|it| &**it).collect();
    written.push(PULL_SECRET);
    let mut rules = vec![
        named("", "secrets", &[HUB_KUBECONFIG], &["get"]),
        named("", "secrets", &written, &["get", "update", "delete"]),
        // RBAC cannot limit create to a name.
        rule("", &["secrets"], &["create"]),
    ];
    for kind in KINDS_HERE {
        let resource = kind.resource();
        let verbs = ["get", "list", "create", "patch", "delete"];
        rules.push(rule(&resource.group, &[&resource.resource], &verbs));
    }
    role_of("Role", "berth-operator-hosted", OF_HUB, None, rules)
}

/// The manifest of what the operator does beside [`of_hub`] on a hub that is another cluster: its components get tokens of their accounts.
#[must_use]
pub fn of_tokens() -> Vec<Value> {
    let names: Vec<_> = accounts().collect();
    let rules = vec![named("", "serviceaccounts/token", &names, &["create"])];
    role_of(
        "Role",
        "berth-operator-tokens",
        OF_HUB,
        Some(HUB_NAMESPACE),
        rules,
    )
}

/// What the operator does with objects of a kind. It deletes those of OCM's operator, too, which have other names.
fn of_kind(kind: Kind, names: &BTreeSet<&str>) -> Vec<Value> {
    let resource = kind.resource();
    let resources = [&*resource.resource];
    let named = |verbs: &[&str]| {
        json!({
            "apiGroups": [resource.group], "resources": resources, "resourceNames": names, "verbs": verbs,
        })
    };
    let all = |verbs: &[&str]| rule(&resource.group, &resources, verbs);
    match kind {
        Kind::Namespace => vec![all(&["list", "watch", "create"]), named(&["get", "patch"])],
        // With a purge only.
        Kind::Definition => vec![
            all(&["list", "watch", "create"]),
            named(&["get", "patch", "delete"]),
        ],
        // RBAC cannot limit create to a name.
        Kind::Secret => vec![
            all(&["create"]),
            named(&["get", "list", "watch", "update", "patch", "delete"]),
        ],
        // Their names contain that of the ClusterManager.
        Kind::Deployment => vec![all(&["get", "list", "watch", "create", "patch", "delete"])],
        _ => vec![
            all(&["list", "watch", "create", "delete"]),
            named(&["get", "patch"]),
        ],
    }
}

/// A rule about the objects of these names.
fn named(group: &str, resource: &str, names: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": [resource], "resourceNames": names, "verbs": verbs})
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

/// Each rule once.
fn distinct(rules: Vec<Value>) -> Vec<Value> {
    let mut seen = Vec::new();
    for rule in rules {
        if !seen.contains(&rule) {
            seen.push(rule);
        }
    }
    seen
}

/// A role with the name of an account, and its binding.
fn role(kind: &str, account: &str, namespace: Option<&str>, rules: Vec<Value>) -> Vec<Value> {
    role_of(kind, account, account, namespace, rules)
}

/// A role of an account, and its binding.
fn role_of(
    kind: &str,
    name: &str,
    account: &str,
    namespace: Option<&str>,
    rules: Vec<Value>,
) -> Vec<Value> {
    let name = format!("open-cluster-management:{name}");
    let mut metadata = json!({
        "name": name,
        "labels": {
            "app.kubernetes.io/name": "berth",
            "app.kubernetes.io/component": "operator",
            "app.kubernetes.io/part-of": "open-cluster-management",
        },
    });
    if let Some(namespace) = namespace {
        metadata["namespace"] = json!(namespace);
    }
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata, "rules": rules,
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": format!("{kind}Binding"), "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}],
    });
    vec![role, binding]
}
