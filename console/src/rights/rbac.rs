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
    /// `None` for all objects.
    pub(super) name: Option<String>,
    /// The smallest role of an installation that contains it.
    role: &'static str,
}

// === impl Rbac ===

impl Rbac {
    /// A verb on all objects of a kind, with the smallest role that contains it.
    fn new(verb: &'static str, kind: (&'static str, &'static str), role: &'static str) -> Self {
        Self {
            verb,
            kind,
            namespace: None,
            name: None,
            role,
        }
    }

    /// To change this cluster; all of them without a name.
    pub(crate) fn change(name: Option<&str>) -> Self {
        Self::new(
            "patch",
            (groups::CLUSTER, groups::MANAGED_CLUSTERS),
            CHANGES,
        )
        .named(name)
    }

    /// To replace the placements of a namespace.
    pub(crate) fn placements(namespace: &str) -> Self {
        Self::new("update", (groups::CLUSTER, groups::PLACEMENTS), EDITS).within(namespace)
    }

    /// To change this ManifestWorkReplicaSet; all of the namespace without a name.
    pub(crate) fn rollout(namespace: &str, name: Option<&str>) -> Self {
        let kind = (groups::WORK, groups::MANIFEST_WORK_REPLICA_SETS);
        Self::new("patch", kind, WORK_EDITS)
            .within(namespace)
            .named(name)
    }

    /// To list the objects of a kind, in all namespaces.
    pub(crate) fn list(group: &'static str, plural: &'static str) -> Self {
        Self::new("list", (group, plural), READS)
    }

    /// To create sets.
    pub(crate) fn create_sets() -> Self {
        let kind = (groups::CLUSTER, groups::MANAGED_CLUSTER_SETS);
        Self::new("create", kind, SET_ADMIN)
    }

    /// To create the bindings of a namespace.
    pub(crate) fn bindings(namespace: &str) -> Self {
        let kind = (groups::CLUSTER, groups::MANAGED_CLUSTER_SET_BINDINGS);
        Self::new("create", kind, SET_ADMIN).within(namespace)
    }

    /// To create the ManifestWorks of a namespace.
    pub(crate) fn works(namespace: &str) -> Self {
        let kind = (groups::WORK, groups::MANIFEST_WORKS);
        Self::new("create", kind, WORK_EDITS).within(namespace)
    }

    /// The same in this namespace; in all of them if it is empty.
    pub(crate) fn within(self, namespace: &str) -> Self {
        Self {
            namespace: Some(namespace.to_owned()),
            ..self
        }
    }

    /// The same on the object of this name.
    fn named(self, name: Option<&str>) -> Self {
        Self {
            name: name.map(str::to_owned),
            ..self
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
        let of = match (self.name.as_deref(), self.namespace.as_deref()) {
            (None, None) if matches!(*verb, "list" | "create") => String::new(),
            (None, None) => ", for all names".to_owned(),
            (None, Some("")) => ", in all namespaces".to_owned(),
            (None, Some(namespace)) => format!(", namespace {}", Quoted(namespace)),
            (Some(name), None | Some("")) => format!(", name {}", Quoted(name)),
            (Some(name), Some(namespace)) => {
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
