//! The parts of an add-on, which have works of their own, and the clusters that they are for.

use crate::works::Place;
use crate::works::hooks::{HOSTING_PRE_DELETE_FINALIZER, PRE_DELETE_FINALIZER};

/// A part of an add-on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// What is deployed on the cluster.
    Deploy,
    /// What is deployed on the cluster that hosts the agent.
    HostedDeploy,
    /// What runs on the cluster before the add-on is deleted.
    Hooks,
    /// What runs on the cluster that hosts the agent before the add-on is deleted.
    HostedHooks,
}

/// Which cluster hosts the agent of an add-on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hosting<'a> {
    /// The add-on's own.
    Own,
    /// This ManagedCluster.
    By(&'a str),
    /// One of this name, which does not exist, or is being deleted.
    Missing(&'a str),
}

// === impl Part ===

impl Part {
    /// All parts.
    pub const ALL: [Self; 4] = [
        Self::Deploy,
        Self::HostedDeploy,
        Self::Hooks,
        Self::HostedHooks,
    ];

    /// Which works have its objects. `cluster`: that of the add-on.
    #[must_use]
    pub fn place(self, cluster: &str) -> Place<'_> {
        let addon_namespace = cluster;
        match self {
            Self::Deploy => Place::Deploy,
            Self::HostedDeploy => Place::HostedDeploy { addon_namespace },
            Self::Hooks => Place::Hook,
            Self::HostedHooks => Place::HostedHook { addon_namespace },
        }
    }

    /// Returns whether its works are in the namespace of the cluster that hosts the agent.
    #[must_use]
    pub fn is_hosted(self) -> bool {
        matches!(self, Self::HostedDeploy | Self::HostedHooks)
    }

    /// The namespace of its works; `None` without a cluster that hosts the agent.
    #[must_use]
    pub fn namespace<'a>(self, cluster: &'a str, hosting: Hosting<'a>) -> Option<&'a str> {
        match (self.is_hosted(), hosting) {
            (false, _) => Some(cluster),
            (true, Hosting::By(hosting)) => Some(hosting),
            (true, Hosting::Own | Hosting::Missing(_)) => None,
        }
    }

    /// The finalizer that keeps a ManagedClusterAddOn until its hooks have run.
    pub(super) fn finalizer(self) -> Option<&'static str> {
        match self {
            Self::Hooks => Some(PRE_DELETE_FINALIZER),
            Self::HostedHooks => Some(HOSTING_PRE_DELETE_FINALIZER),
            Self::Deploy | Self::HostedDeploy => None,
        }
    }
}

// === impl Hosting ===

impl Hosting<'_> {
    /// Returns whether another cluster is to host the agent.
    #[must_use]
    pub fn is_other(self) -> bool {
        self != Self::Own
    }
}
