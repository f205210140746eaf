//! Settings of the deciders.

use std::collections::{BTreeMap, BTreeSet};

use berth_api::GroupVersionResource;
use berth_api::reserved::{Reservation, ReservedPrefixes};

/// Settings of all reconcilers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The namespace of the hub's components; no cluster may have its name.
    pub namespace: String,
    /// Prefixes of names that clusters may not have (`--reserved-prefixes`).
    pub reserved_prefixes: ReservedPrefixes,
    /// Additional labels on all objects of a cluster (`--labels`).
    pub labels: BTreeMap<String, String>,
    /// Feature gates.
    pub gates: Gates,
    /// Users whose CSRs are approved, and whose clusters are accepted, without an admin (`--auto-approved-csr-users`). Has an
    /// effect only with [`Gates::auto_approval`].
    pub auto_approved_users: BTreeSet<String>,
    /// The kinds that are deleted from a removed cluster's namespace, in this order (`--gc-resource-list`).
    pub gc_resources: Vec<GroupVersionResource>,
}

/// Feature gates, by OCM's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gates {
    /// `DefaultClusterSet`: the hub maintains the sets `default` and `global`.
    pub default_cluster_set: bool,
    /// `ManagedClusterAutoApproval`
    pub auto_approval: bool,
    /// `ManagedClusterAutoRebootstrap`: a listed user gets a certificate also for a cluster that has joined, if its agent is
    /// silent. Has an effect only with `auto_approval`.
    pub auto_rebootstrap: bool,
    /// `ResourceCleanup`: the content of a removed cluster's namespace is deleted in order.
    pub resource_cleanup: bool,
    /// `ClusterProfile`: the hub keeps a ClusterProfile of each cluster in the namespaces that its sets are bound to.
    pub cluster_profile: bool,
}

// === impl Config ===

impl Config {
    /// The reason why no cluster can have this name; `None` if one can.
    #[must_use]
    pub fn reservation(&self, name: &str) -> Option<Reservation<'_>> {
        self.reserved_prefixes.reservation(name, &self.namespace)
    }
}

// === impl Gates ===

impl Default for Gates {
    fn default() -> Self {
        Self {
            default_cluster_set: true,
            auto_approval: false,
            auto_rebootstrap: false,
            resource_cleanup: true,
            cluster_profile: false,
        }
    }
}
