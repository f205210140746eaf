//! The namespace and the RBAC objects of a cluster, as the hub writes them.
//!
//! Names, labels, rules (their order and how they are split up) and subjects are those of OCM's manifests
//! (`pkg/registration/hub/manifests/rbac`), so that each hub, when it takes over from the other,
//! has nothing to rewrite.

mod fingerprint;
#[cfg(test)]
mod tests;

use berth_api::{groups, labels};
use serde_json::{Map, Value, json};

pub use self::fingerprint::fingerprint;
use self::fingerprint::list;
use crate::config::Config;
use crate::names;
use berth_api::GroupVersionResource;
use berth_api::groups::RBAC;
use berth_api::plan::{Action, Target, Write};

/// One of the objects that the hub keeps for a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClusterObject {
    /// [`namespace`]
    Namespace,
    /// [`cluster_role`]
    ClusterRole { accepted: bool },
    /// [`cluster_role_binding`]
    ClusterRoleBinding,
    /// [`registration_binding`]
    RegistrationBinding,
    /// [`work_binding`]
    WorkBinding,
}

/// A rule of a ClusterRole.
struct Rule {
    api_groups: &'static [&'static str],
    resources: &'static [&'static str],
    /// The only resourceName is that of the cluster.
    of_cluster: bool,
    verbs: &'static [&'static str],
}

/// The rules of [`cluster_role`] for an accepted cluster.
const ACCEPTED_RULES: &[Rule] = &[
    Rule {
        api_groups: &["certificates.k8s.io"],
        resources: &["certificatesigningrequests"],
        of_cluster: false,
        verbs: &["create", "get", "list", "watch"],
    },
    Rule {
        api_groups: &[groups::REGISTER],
        resources: &["managedclusters/clientcertificates"],
        of_cluster: false,
        verbs: &["renew"],
    },
    Rule {
        api_groups: &[groups::CLUSTER],
        resources: &["managedclusters"],
        of_cluster: true,
        verbs: &["get", "list", "update", "watch"],
    },
    Rule {
        api_groups: &[groups::CLUSTER],
        resources: &["managedclusters/status"],
        of_cluster: true,
        verbs: &["patch", "update"],
    },
];

/// The rules of [`cluster_role`] for a denied cluster.
const DENIED_RULES: &[Rule] = &[Rule {
    api_groups: &[groups::CLUSTER],
    resources: &["managedclusters"],
    of_cluster: true,
    verbs: &["get", "list", "watch"],
}];

/// The rules of [`registration_role`].
const REGISTRATION_RULES: &[Rule] = &[
    Rule {
        api_groups: &["coordination.k8s.io"],
        resources: &["leases"],
        of_cluster: false,
        verbs: &["get", "list", "watch", "update"],
    },
    Rule {
        api_groups: &["addon.open-cluster-management.io"],
        resources: &["managedclusteraddons"],
        of_cluster: false,
        verbs: &["get", "list", "watch"],
    },
    Rule {
        api_groups: &["addon.open-cluster-management.io"],
        resources: &["managedclusteraddons/status"],
        of_cluster: false,
        verbs: &["patch", "update"],
    },
    Rule {
        api_groups: &[groups::EVENTS],
        resources: &["events"],
        of_cluster: false,
        verbs: &["create"],
    },
];

/// The rules of [`work_role`].
const WORK_RULES: &[Rule] = &[
    Rule {
        api_groups: &["", groups::EVENTS],
        resources: &["events"],
        of_cluster: false,
        verbs: &["create", "patch", "update"],
    },
    Rule {
        api_groups: &["work.open-cluster-management.io"],
        resources: &["manifestworks"],
        of_cluster: false,
        verbs: &["get", "list", "watch", "update", "patch"],
    },
    Rule {
        api_groups: &["work.open-cluster-management.io"],
        resources: &["manifestworks/status"],
        of_cluster: false,
        verbs: &["patch", "update"],
    },
];

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
    let name = names::cluster_role(cluster);
    role(config, &name, cluster, rules_of_cluster(accepted))
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
    role(config, names::REGISTRATION_ROLE, "", REGISTRATION_RULES)
}

/// The permissions of all agents in their namespaces, for ManifestWorks.
pub fn work_role(config: &Config) -> Value {
    role(config, names::WORK_ROLE, "", WORK_RULES)
}

/// Returns whether an RBAC object is about the agent of the cluster that its label names: a rule of a role names the cluster, a binding
/// gives a role of agents, or gives a group of its agents a role. All versions of Berth and OCM write such.
#[must_use]
pub fn is_of_agent(object: &Value) -> bool {
    let cluster = text(&object["metadata"]["labels"][labels::CLUSTER_NAME]);
    let names_it = |of: &Value| list(of).iter().any(|it| text(it) == cluster);
    let role = text(&object["roleRef"]["name"]);
    let groups = agent_groups(cluster);
    let is_group = |it: &Value| groups.iter().any(|group| text(&it["name"]) == group);
    let mut rules = list(&object["rules"]).iter();
    rules.any(|it| names_it(&it["resourceNames"]))
        || [names::REGISTRATION_ROLE, names::WORK_ROLE].contains(&role)
        || role == names::cluster_role(cluster)
        || list(&object["subjects"]).iter().any(is_group)
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
    target: Target,
    uid: &str,
    reconciler: &'static str,
    why: &'static str,
) -> Write {
    Write {
        target,
        action: Action::Delete {
            uid: uid.to_owned(),
            resource_version: None,
            why,
        },
        reconciler,
        events: Vec::new(),
    }
}

/// The target of writes to an object of this module.
pub fn target(object: &Value) -> Target {
    let metadata = &object["metadata"];
    let namespace = metadata["namespace"].as_str();
    target_of(
        text(&object["kind"]),
        namespace,
        text(&metadata["name"]).to_owned(),
    )
}

fn target_of(kind: &str, namespace: Option<&str>, name: String) -> Target {
    let (group, resource) = match kind {
        "Namespace" => ("", "namespaces"),
        "ClusterRole" => (RBAC, "clusterroles"),
        "ClusterRoleBinding" => (RBAC, "clusterrolebindings"),
        _ => (RBAC, "rolebindings"),
    };
    Target {
        resource: GroupVersionResource {
            group: group.to_owned(),
            version: "v1".to_owned(),
            resource: resource.to_owned(),
        },
        namespace: namespace.map(str::to_owned),
        name,
    }
}

// === impl ClusterObject ===

impl ClusterObject {
    /// The object as the hub writes it.
    pub(crate) fn body(self, config: &Config, cluster: &str) -> Value {
        match self {
            Self::Namespace => namespace(config, cluster),
            Self::ClusterRole { accepted } => cluster_role(config, cluster, accepted),
            Self::ClusterRoleBinding => cluster_role_binding(config, cluster),
            Self::RegistrationBinding => registration_binding(config, cluster),
            Self::WorkBinding => work_binding(config, cluster),
        }
    }

    /// The [`target`] of its body.
    pub(crate) fn target(self, cluster: &str) -> Target {
        let (kind, namespace, name) = match self {
            Self::Namespace => ("Namespace", None, cluster.to_owned()),
            Self::ClusterRole { .. } => ("ClusterRole", None, names::cluster_role(cluster)),
            Self::ClusterRoleBinding => ("ClusterRoleBinding", None, names::cluster_role(cluster)),
            Self::RegistrationBinding => (
                "RoleBinding",
                Some(cluster),
                names::registration_binding(cluster),
            ),
            Self::WorkBinding => ("RoleBinding", Some(cluster), names::work_binding(cluster)),
        };
        target_of(kind, namespace, name)
    }

    fn rules(self) -> &'static [Rule] {
        match self {
            Self::ClusterRole { accepted } => rules_of_cluster(accepted),
            _ => &[],
        }
    }

    /// The name of the ClusterRole that a binding refers to.
    fn role_name(self, cluster: &str) -> Option<String> {
        match self {
            Self::Namespace | Self::ClusterRole { .. } => None,
            Self::ClusterRoleBinding => Some(names::cluster_role(cluster)),
            Self::RegistrationBinding => Some(names::REGISTRATION_ROLE.to_owned()),
            Self::WorkBinding => Some(names::WORK_ROLE.to_owned()),
        }
    }
}

// === impl Rule ===

impl Rule {
    fn resource_names<'a>(&self, cluster: &'a str) -> Option<&'a str> {
        self.of_cluster.then_some(cluster)
    }

    fn to_json(&self, cluster: &str) -> Value {
        let mut rule = json!({
            "apiGroups": self.api_groups,
            "resources": self.resources,
            "verbs": self.verbs,
        });
        if let Some(name) = self.resource_names(cluster) {
            rule["resourceNames"] = json!([name]);
        }
        rule
    }
}

fn rules_of_cluster(accepted: bool) -> &'static [Rule] {
    if accepted {
        ACCEPTED_RULES
    } else {
        DENIED_RULES
    }
}

fn role(config: &Config, name: &str, cluster: &str, rules: &[Rule]) -> Value {
    json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "ClusterRole",
        "metadata": { "name": name, "labels": own_labels(config, cluster) },
        "rules": rules.iter().map(|rule| rule.to_json(cluster)).collect::<Vec<_>>(),
    })
}

fn role_ref(name: &str) -> Value {
    json!({ "apiGroup": RBAC, "kind": "ClusterRole", "name": name })
}

fn subjects(cluster: &str) -> Value {
    agent_groups(cluster)
        .map(|name| json!({ "kind": "Group", "apiGroup": RBAC, "name": name }))
        .to_vec()
        .into()
}

/// The second group is for AWS credentials, whose groups must not begin with `system:`.
fn agent_groups(cluster: &str) -> [String; 2] {
    [
        names::agent_group(cluster),
        format!("open-cluster-management:{cluster}"),
    ]
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

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
