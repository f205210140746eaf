//! The permissions of the operator: those for its own work, and all that it gives to others, since an API server lets nobody give what he does
//! not have.

use std::collections::BTreeSet;

use berth_manifests::{HUB_NAMESPACE, Hub, values::HubValues};
use serde_json::{Value, json};

use crate::hub::RECONCILED;
use crate::objects::{Id, Kind};

/// The name of the account, and of its roles.
const ACCOUNT: &str = "berth-operator";
const ROLE: &str = "open-cluster-management:berth-operator";

/// The namespace of the operator.
const NAMESPACE: &str = "open-cluster-management";

/// The manifest of the roles, and of the bindings.
#[must_use]
pub fn manifest() -> Vec<Value> {
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
    let mut namespaced = Vec::new();
    for kind in Kind::ALL {
        let names: BTreeSet<&str> = ids
            .iter()
            .filter(|it| it.kind == kind)
            .map(|it| &*it.name)
            .collect();
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
    let own = vec![
        rule("coordination.k8s.io", &["leases"], &["create"]),
        json!({
            "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": ["clustermanager-lock"],
            "verbs": ["get", "update"],
        }),
        // The image of the components is that of its own pod.
        rule("", &["pods"], &["get"]),
    ];
    let mut all = role("ClusterRole", ROLE, None, distinct(cluster));
    all.extend(role(
        "Role",
        ROLE,
        Some(HUB_NAMESPACE),
        distinct(namespaced),
    ));
    all.extend(role("Role", ROLE, Some(NAMESPACE), own));
    all
}

/// The objects of a hub with everything that a ClusterManager can turn on.
fn everything() -> Hub {
    let mut values = HubValues::default();
    values.cluster_profiles.enabled = true;
    values.cluster_profiles.placement_decisions = true;
    values.network_policies.enabled = true;
    values.auto_approval.users = vec!["user".to_owned()];
    Hub::with(&values, "image")
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
            named(&["get", "list", "watch", "patch", "delete"]),
        ],
        // Their names contain that of the ClusterManager.
        Kind::Deployment => vec![all(&["get", "list", "watch", "create", "patch", "delete"])],
        _ => vec![
            all(&["list", "watch", "create", "delete"]),
            named(&["get", "patch"]),
        ],
    }
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

/// A role, and its binding.
fn role(kind: &str, name: &str, namespace: Option<&str>, rules: Vec<Value>) -> Vec<Value> {
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
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}],
    });
    vec![role, binding]
}
