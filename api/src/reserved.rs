//! Names that a managed cluster cannot have, because the namespace, the group or the ClusterRole that are derived from
//! the name are in use for something else.
//!
//! The gate refuses these names when a ManagedCluster is created and when it is accepted. The lifecycle gives such a
//! cluster nothing. Both use this list.

use std::fmt;

/// Namespaces of Kubernetes and of the hub itself.
pub const NAMESPACES: [&str; 6] = [
    "default",
    "kube-system",
    "kube-public",
    "kube-node-lease",
    "open-cluster-management",
    "open-cluster-management-hub",
];

/// Prefix of the namespaces of OCM's agents.
pub const AGENT_NAMESPACES: &str = "open-cluster-management-agent";

/// The group of a cluster with this name would be the group of all agents, so a binding to it would bind all agents.
pub const ALL_AGENTS: &str = "managed-clusters";

/// The ClusterRole of a cluster with one of these names would be one that all agents share.
pub const SHARED_ROLES: [&str; 2] = ["registration", "work"];

/// Prefixes that are reserved by default, for Kubernetes and for OpenShift.
const DEFAULT_PREFIXES: [&str; 2] = ["kube-", "openshift-"];

/// Prefixes that cluster names must not have. An admin can change the prefixes; exact names are always reserved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservedPrefixes(Vec<String>);

/// Why a name is reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reservation<'p> {
    /// The namespace of this name belongs to Kubernetes or to the hub itself.
    Namespace,
    /// The group of the cluster's agents would be the group of all agents.
    AllAgents,
    /// The ClusterRole of the cluster would be one that all agents share.
    SharedRole,
    /// The name begins with one of the [`ReservedPrefixes`]. A cluster that already has the namespace of this name keeps the
    /// name.
    Prefix(&'p str),
}

// === impl ReservedPrefixes ===

impl ReservedPrefixes {
    /// Empty prefixes are ignored, because they would reserve every name.
    pub fn new<I>(prefixes: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        let prefixes = prefixes.into_iter().map(Into::into);
        Self(prefixes.filter(|prefix| !prefix.is_empty()).collect())
    }

    /// The prefixes.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Returns why the name is reserved, or `None` if a cluster can have it. `hub_namespace` is the namespace of the hub's own
    /// components.
    #[must_use]
    pub fn reservation(&self, name: &str, hub_namespace: &str) -> Option<Reservation<'_>> {
        if name == ALL_AGENTS {
            Some(Reservation::AllAgents)
        } else if SHARED_ROLES.contains(&name) {
            Some(Reservation::SharedRole)
        } else if name == hub_namespace
            || NAMESPACES.contains(&name)
            || name.starts_with(AGENT_NAMESPACES)
        {
            Some(Reservation::Namespace)
        } else {
            let prefix = self.0.iter().find(|prefix| name.starts_with(&***prefix));
            prefix.map(|prefix| Reservation::Prefix(prefix))
        }
    }
}

impl Default for ReservedPrefixes {
    fn default() -> Self {
        Self::new(DEFAULT_PREFIXES)
    }
}

// === impl Reservation ===

impl Reservation<'_> {
    /// Returns whether the name is reserved even for a cluster that already has the namespace of this name.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        !matches!(self, Self::Prefix(_))
    }
}

/// Writes the predicate of a sentence whose subject is the name.
impl fmt::Display for Reservation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Namespace => f.write_str(
                "is reserved: the namespace of this name is for Kubernetes or the hub itself",
            ),
            Self::AllAgents => f.write_str(
                "is reserved: the group of the cluster's agents would be the group of all agents",
            ),
            Self::SharedRole => f.write_str(
                "is reserved: the ClusterRole of the cluster would be one that all agents share",
            ),
            Self::Prefix(prefix) => {
                write!(
                    f,
                    "is reserved: names that begin with {prefix:?} are kept from clusters"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_reserved_exactly_or_by_their_beginning() {
        use Reservation::{AllAgents, Namespace, Prefix, SharedRole};
        let prefixes = ReservedPrefixes::default();
        for (name, expected) in [
            ("c1", None),
            ("default", Some(Namespace)),
            ("default2", None),
            ("kube-system", Some(Namespace)),
            ("kube-public", Some(Namespace)),
            ("kube-node-lease", Some(Namespace)),
            ("kube-node-lease2", Some(Prefix("kube-"))),
            ("kube-", Some(Prefix("kube-"))),
            ("kube", None),
            ("kubernetes", None),
            ("openshift-monitoring", Some(Prefix("openshift-"))),
            ("openshift", None),
            ("open-cluster-management", Some(Namespace)),
            ("open-cluster-management-hub", Some(Namespace)),
            ("open-cluster-management-hub2", None),
            ("open-cluster-management-agent", Some(Namespace)),
            ("open-cluster-management-agent-addon", Some(Namespace)),
            ("open-cluster-management-agent2", Some(Namespace)),
            ("my-hub", Some(Namespace)),
            ("my-hub2", None),
            ("managed-clusters", Some(AllAgents)),
            ("managed-cluster", None),
            ("registration", Some(SharedRole)),
            ("work", Some(SharedRole)),
            ("work2", None),
            ("", None),
        ] {
            assert_eq!(prefixes.reservation(name, "my-hub"), expected, "{name:?}");
        }
    }

    #[test]
    fn prefixes_are_the_admins_and_exact_names_are_not() {
        let none = ReservedPrefixes::new([""]);
        assert_eq!(none.reservation("kube-edge", "hub"), None);
        assert_eq!(
            none.reservation("kube-system", "hub"),
            Some(Reservation::Namespace)
        );
        let others = ReservedPrefixes::new(["team-", "kube-"]);
        assert_eq!(
            others.reservation("team-a", "hub"),
            Some(Reservation::Prefix("team-"))
        );
        assert_eq!(others.reservation("openshift-edge", "hub"), None);
        for (reservation, exact) in [
            (Reservation::Namespace, true),
            (Reservation::AllAgents, true),
            (Reservation::SharedRole, true),
            (Reservation::Prefix("team-"), false),
        ] {
            assert_eq!(reservation.is_exact(), exact);
        }
    }
}
