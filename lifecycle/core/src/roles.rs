//! The namespace and the RBAC objects of a cluster, as the hub writes them.
//!
//! Names, labels, rules (their order and how they are split up) and subjects are those of OCM's manifests
//! (`pkg/registration/hub/manifests/rbac`), so that each hub, when it takes over from the other,
//! has nothing to rewrite.

#[cfg(test)]
mod tests;

use std::hash::{DefaultHasher, Hash, Hasher};

use berth_api::{groups, labels};
use serde_json::{Map, Value, json};

use crate::config::Config;
use crate::names;
use berth_api::GroupVersionResource;
use berth_api::groups::RBAC;
use berth_api::plan::{Action, Target, Write};

/// The cluster's namespace.
pub fn namespace(config: &Config, cluster: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": { "name": cluster, "labels": own_labels(config, cluster) },
    })
}

/// The agent's permissions on cluster-scoped objects. The agent of a denied cluster can only read its own ManagedCluster.
pub fn cluster_role(config: &Config, cluster: &str, accepted: bool) -> Value {
    let rules = if accepted {
        json!([
            {
                "apiGroups": ["certificates.k8s.io"],
                "resources": ["certificatesigningrequests"],
                "verbs": ["create", "get", "list", "watch"],
            },
            {
                "apiGroups": [groups::REGISTER],
                "resources": ["managedclusters/clientcertificates"],
                "verbs": ["renew"],
            },
            {
                "apiGroups": [groups::CLUSTER],
                "resources": ["managedclusters"],
                "resourceNames": [cluster],
                "verbs": ["get", "list", "update", "watch"],
            },
            {
                "apiGroups": [groups::CLUSTER],
                "resources": ["managedclusters/status"],
                "resourceNames": [cluster],
                "verbs": ["patch", "update"],
            },
        ])
    } else {
        json!([
            {
                "apiGroups": [groups::CLUSTER],
                "resources": ["managedclusters"],
                "resourceNames": [cluster],
                "verbs": ["get", "list", "watch"],
            },
        ])
    };
    role(config, &names::cluster_role(cluster), cluster, rules)
}

/// Gives [`cluster_role`] to the cluster's agent.
pub fn cluster_role_binding(config: &Config, cluster: &str) -> Value {
    let name = names::cluster_role(cluster);
    json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "ClusterRoleBinding",
        "metadata": { "name": name, "labels": own_labels(config, cluster) },
        "roleRef": role_ref(&name),
        "subjects": subjects(cluster),
    })
}

/// Gives [`registration_role`] to the cluster's agent, in the cluster's namespace.
pub fn registration_binding(config: &Config, cluster: &str) -> Value {
    json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "RoleBinding",
        "metadata": {
            "name": names::registration_binding(cluster),
            "namespace": cluster,
            "labels": own_labels(config, cluster),
        },
        "roleRef": role_ref(names::REGISTRATION_ROLE),
        "subjects": subjects(cluster),
    })
}

/// Gives [`work_role`] to the cluster's agent, in the cluster's namespace. Its finalizer keeps it until the agent has removed
/// what the ManifestWorks created.
pub fn work_binding(config: &Config, cluster: &str) -> Value {
    json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "RoleBinding",
        "metadata": {
            "name": names::work_binding(cluster),
            "namespace": cluster,
            "labels": own_labels(config, cluster),
            "finalizers": [labels::MANIFEST_WORK_CLEANUP],
        },
        "roleRef": role_ref(names::WORK_ROLE),
        "subjects": subjects(cluster),
    })
}

/// The permissions of all agents in their namespaces, for registration.
pub fn registration_role(config: &Config) -> Value {
    let rules = json!([
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "verbs": ["get", "list", "watch", "update"],
        },
        {
            "apiGroups": ["addon.open-cluster-management.io"],
            "resources": ["managedclusteraddons"],
            "verbs": ["get", "list", "watch"],
        },
        {
            "apiGroups": ["addon.open-cluster-management.io"],
            "resources": ["managedclusteraddons/status"],
            "verbs": ["patch", "update"],
        },
        {
            "apiGroups": ["events.k8s.io"],
            "resources": ["events"],
            "verbs": ["create"],
        },
    ]);
    role(config, names::REGISTRATION_ROLE, "", rules)
}

/// The permissions of all agents in their namespaces, for ManifestWorks.
pub fn work_role(config: &Config) -> Value {
    let rules = json!([
        {
            "apiGroups": ["", "events.k8s.io"],
            "resources": ["events"],
            "verbs": ["create", "patch", "update"],
        },
        {
            "apiGroups": ["work.open-cluster-management.io"],
            "resources": ["manifestworks"],
            "verbs": ["get", "list", "watch", "update", "patch"],
        },
        {
            "apiGroups": ["work.open-cluster-management.io"],
            "resources": ["manifestworks/status"],
            "verbs": ["patch", "update"],
        },
    ]);
    role(config, names::WORK_ROLE, "", rules)
}

/// A digest of the parts of a namespace or RBAC object that the hub maintains: its own labels (and no others), rules, subjects
/// and roleRef. An object with the wanted digest needs no write.
///
/// Labels of [`Config::labels`] do not count for the roles that all agents share: these ship as a manifest, and an account that
/// may not grant them may not label them.
///
/// Missing fields count as empty, and a subject without an apiGroup has the API server's default. Order counts, as in OCM.
/// Digests of different processes cannot be compared.
pub fn fingerprint(config: &Config, object: &Value) -> u64 {
    let hasher = &mut DefaultHasher::new();
    let found = &object["metadata"]["labels"];
    let name = text(&object["metadata"]["name"]);
    let is_shared = [names::REGISTRATION_ROLE, names::WORK_ROLE].contains(&name);
    let configured = configured_labels(config).filter(|_| !is_shared);
    for key in [labels::CLUSTER_NAME]
        .into_iter()
        .chain(configured.map(|(key, _)| key))
    {
        found[key].as_str().hash(hasher);
    }
    let rules = list(&object["rules"]);
    rules.len().hash(hasher);
    for rule in rules {
        for field in [
            "apiGroups",
            "resources",
            "resourceNames",
            "verbs",
            "nonResourceURLs",
        ] {
            let values = list(&rule[field]);
            values.len().hash(hasher);
            for value in values {
                value.as_str().hash(hasher);
            }
        }
    }
    let subjects = list(&object["subjects"]);
    subjects.len().hash(hasher);
    for subject in subjects {
        let kind = text(&subject["kind"]);
        let api_group = match text(&subject["apiGroup"]) {
            "" if matches!(kind, "User" | "Group") => RBAC,
            group => group,
        };
        (
            kind,
            api_group,
            text(&subject["name"]),
            text(&subject["namespace"]),
        )
            .hash(hasher);
    }
    let role_ref = &object["roleRef"];
    let api_group = match text(&role_ref["apiGroup"]) {
        "" if role_ref.is_object() => RBAC,
        group => group,
    };
    (api_group, text(&role_ref["kind"]), text(&role_ref["name"])).hash(hasher);
    hasher.finish()
}

/// The write that creates or corrects an object of this module.
pub(crate) fn apply(body: Value, manager: &'static str, reconciler: &'static str) -> Write {
    Write {
        target: target(&body),
        action: Action::Apply { manager, body },
        reconciler,
        events: Vec::new(),
    }
}

/// The write that deletes an object of this module, if it still has this uid. `why` is for the log.
pub(crate) fn delete(
    body: &Value,
    uid: &str,
    reconciler: &'static str,
    why: &'static str,
) -> Write {
    Write {
        target: target(body),
        action: Action::Delete {
            uid: uid.to_owned(),
            why,
        },
        reconciler,
        events: Vec::new(),
    }
}

/// The target of writes to an object of this module.
pub fn target(object: &Value) -> Target {
    let (group, resource) = match text(&object["kind"]) {
        "Namespace" => ("", "namespaces"),
        "ClusterRole" => (RBAC, "clusterroles"),
        "ClusterRoleBinding" => (RBAC, "clusterrolebindings"),
        _ => (RBAC, "rolebindings"),
    };
    let metadata = &object["metadata"];
    Target {
        resource: GroupVersionResource {
            group: group.to_owned(),
            version: "v1".to_owned(),
            resource: resource.to_owned(),
        },
        namespace: metadata["namespace"].as_str().map(str::to_owned),
        name: text(&metadata["name"]).to_owned(),
    }
}

fn role(config: &Config, name: &str, cluster: &str, rules: Value) -> Value {
    json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "ClusterRole",
        "metadata": { "name": name, "labels": own_labels(config, cluster) },
        "rules": rules,
    })
}

fn role_ref(name: &str) -> Value {
    json!({ "apiGroup": RBAC, "kind": "ClusterRole", "name": name })
}

/// The second group is for AWS credentials, whose groups must not begin with `system:`.
fn subjects(cluster: &str) -> Value {
    json!([
        { "kind": "Group", "apiGroup": RBAC, "name": names::agent_group(cluster) },
        { "kind": "Group", "apiGroup": RBAC, "name": format!("open-cluster-management:{cluster}") },
    ])
}

fn own_labels(config: &Config, cluster: &str) -> Map<String, Value> {
    configured_labels(config)
        .map(|(key, value)| (key.to_owned(), Value::from(value)))
        .chain([(labels::CLUSTER_NAME.to_owned(), Value::from(cluster))])
        .collect()
}

/// Labels of [`Config::labels`], without two that must not be set: the label of the cluster, and that of an add-on, with which
/// neither OCM nor Berth recognizes the object.
fn configured_labels(config: &Config) -> impl Iterator<Item = (&str, &str)> {
    config
        .labels
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .filter(|(key, _)| *key != labels::CLUSTER_NAME && *key != labels::ADDON_NAME)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
