//! Settings of the deciders.

use std::collections::{BTreeMap, BTreeSet};

use berth_api::GroupVersionResource;
use berth_api::reserved::{Reservation, ReservedPrefixes};

/// Settings of all reconcilers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The namespace the hub's own components run in; no cluster may have its name.
    pub namespace: String,
    /// Starts of names that are kept from clusters (`--reserved-prefixes`).
    pub reserved_prefixes: ReservedPrefixes,
    /// Labels on everything that is made for a cluster, beside our own (`--labels`).
    pub labels: BTreeMap<String, String>,
    /// Which features are on.
    pub gates: Gates,
    /// Users whose CSRs are approved, and whose clusters are accepted, without a person's doing
    /// (`--auto-approved-csr-users`). Counts only with [`Gates::auto_approval`].
    pub auto_approved_users: BTreeSet<String>,
    /// What is deleted from a removed cluster's namespace, one kind after the other (`--gc-resource-list`).
    pub gc_resources: Vec<GroupVersionResource>,
}

/// Feature gates, by OCM's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gates {
    /// `DefaultClusterSet`: the default and the global set are kept.
    pub default_cluster_set: bool,
    /// `ManagedClusterAutoApproval`
    pub auto_approval: bool,
    /// `ManagedClusterAutoRebootstrap`: a listed user gets a certificate for a cluster that has joined, too, when its agent
    /// is silent. Counts only with `auto_approval`.
    pub auto_rebootstrap: bool,
    /// `ResourceCleanup`: what is in a removed cluster's namespace is deleted in order.
    pub resource_cleanup: bool,
}

// === impl Config ===

impl Config {
    /// Why no cluster can have this name; `None` if it can.
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
        }
    }
}
