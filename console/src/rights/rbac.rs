//! What RBAC alone decides: a verb on objects, and what a user lacks without it.

use berth_api::groups;
use berth_rules::display::{Flag, Quoted, ShellWord};

use crate::answers::Missing;

/// The smallest role of an installation that may change clusters.
const CHANGES: &str = "open-cluster-management:berth:accept";

/// The smallest role of an installation that may change placements. Kubernetes' role edit contains it.
const EDITS: &str = "open-cluster-management:berth:edit";

/// The smallest role of an installation that may change rollouts.
const WORK_EDITS: &str = "open-cluster-management:berth:work-edit";

/// The role of an installation that may read the fleet.
pub(crate) const READS: &str = "open-cluster-management:berth:console-reader";

/// The role of an installation that may make and bind sets.
const SET_ADMIN: &str = "open-cluster-management:berth:set-admin";

/// A verb on objects of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Rbac {
    pub(super) verb: &'static str,
    /// API group and plural.
    pub(super) kind: (&'static str, &'static str),
    /// `None` for a kind without namespaces. An empty one stands for all.
    pub(super) namespace: Option<String>,
    /// An empty name stands for all objects.
    pub(super) name: String,
    /// The smallest role of an installation that contains it.
    role: &'static str,
}

// === impl Rbac ===

impl Rbac {
    /// To change a cluster.
    pub(crate) fn change(name: &str) -> Self {
        Self {
            verb: "patch",
            kind: (groups::CLUSTER, groups::MANAGED_CLUSTERS),
            namespace: None,
            name: name.to_owned(),
            role: CHANGES,
        }
    }

    /// To replace the placements of a namespace.
    pub(crate) fn placements(namespace: &str) -> Self {
        Self {
            verb: "update",
            kind: (groups::CLUSTER, groups::PLACEMENTS),
            namespace: Some(namespace.to_owned()),
            name: String::new(),
            role: EDITS,
        }
    }

    /// To change the ManifestWorkReplicaSet of this namespace and name.
    pub(crate) fn rollout(namespace: &str, name: &str) -> Self {
        Self {
            verb: "patch",
            kind: (groups::WORK, groups::MANIFEST_WORK_REPLICA_SETS),
            namespace: Some(namespace.to_owned()),
            name: name.to_owned(),
            role: WORK_EDITS,
        }
    }

    /// To list the objects of a kind, in all namespaces.
    pub(crate) fn list(group: &'static str, plural: &'static str) -> Self {
        Self {
            verb: "list",
            kind: (group, plural),
            namespace: None,
            name: String::new(),
            role: READS,
        }
    }

    /// The same in this namespace; in all of them if it is empty.
    pub(crate) fn within(self, namespace: &str) -> Self {
        Self {
            namespace: Some(namespace.to_owned()),
            ..self
        }
    }

    /// To create sets.
    pub(crate) fn create_sets() -> Self {
        Self {
            verb: "create",
            kind: (groups::CLUSTER, groups::MANAGED_CLUSTER_SETS),
            namespace: None,
            name: String::new(),
            role: SET_ADMIN,
        }
    }

    /// To create the bindings of a namespace.
    pub(crate) fn bindings(namespace: &str) -> Self {
        Self {
            kind: (groups::CLUSTER, groups::MANAGED_CLUSTER_SET_BINDINGS),
            ..Self::create_sets()
        }
        .within(namespace)
    }

    /// To create the ManifestWorks of a namespace.
    pub(crate) fn works(namespace: &str) -> Self {
        Self {
            verb: "create",
            kind: (groups::WORK, groups::MANIFEST_WORKS),
            namespace: Some(namespace.to_owned()),
            name: String::new(),
            role: WORK_EDITS,
        }
    }

    /// What a user without it lacks.
    pub(super) fn missing(&self, user: &str) -> Missing {
        let Self {
            verb,
            kind: (group, plural),
            role,
            ..
        } = self;
        let of = match (self.name.as_str(), self.namespace.as_deref()) {
            ("", None) if matches!(*verb, "list" | "create") => String::new(),
            ("", None) => ", for all names".to_owned(),
            ("", Some("")) => ", in all namespaces".to_owned(),
            ("", Some(namespace)) => format!(", namespace {}", Quoted(namespace)),
            (name, None | Some("")) => format!(", name {}", Quoted(name)),
            (name, Some(namespace)) => {
                format!(", name {}, namespace {}", Quoted(name), Quoted(namespace))
            }
        };
        let binding = format!("{role}:{user}");
        let (binding, user) = (ShellWord(&binding), Flag("--user", user));
        let command = match self.namespace.as_deref().filter(|it| !it.is_empty()) {
            Some(namespace) => format!(
                "kubectl create rolebinding {binding} -n {} --clusterrole={role} {user}",
                ShellWord(namespace)
            ),
            None => {
                format!("kubectl create clusterrolebinding {binding} --clusterrole={role} {user}")
            }
        };
        Missing {
            permission: format!("verb \"{verb}\" on {plural} in API group {group}{of}").into(),
            role: Some((*role).into()),
            command: command.into(),
        }
    }
}
