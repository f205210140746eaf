//! What the hub's objects say, as far as decisions need it.
//!
//! The rest of an object (managed fields, claims, capacities, annotations of others) is not kept: a hub has ten thousand
//! clusters. Reading is lenient (see [`berth_api::lenient`]), and one object that cannot be read concerns that object only.

mod addon;
mod binding;
mod cluster;
mod csr;
mod lease;
mod owned;
mod set;

pub use addon::Addon;
pub use berth_api::Now;
pub use binding::Binding;
pub use cluster::Cluster;
pub use csr::{CertificateRequest, Standing};
pub use lease::Lease;
pub use owned::{Owned, OwnedObjects};
pub use set::ClusterSet;

use std::collections::BTreeMap;

use crate::config::Config;
use berth_api::GroupVersionResource;

/// Everything that decisions about one cluster are made from.
#[derive(Clone, Copy, Debug)]
pub struct ClusterFacts<'a> {
    /// Settings.
    pub config: &'a Config,
    /// The cluster's name, and its namespace's.
    pub name: &'a str,
    /// The ManagedCluster; None if it does not exist (any more).
    pub cluster: Option<&'a Cluster>,
    /// The ManagedCluster was seen, and is gone since. What a restored hub has of a cluster that is not there *yet* is none
    /// of a gone one's.
    pub was_there: bool,
    /// The ManagedCluster takes no write that makes it larger, and nothing more may be taken off it.
    pub full: bool,
    /// Namespace and RBAC, as far as they bear the cluster's label.
    pub owned: &'a OwnedObjects,
    /// The ClusterRoles that all agents share are there: role bindings that refer to them are refused before.
    pub common_roles: bool,
    /// What keeps those from being written, for a person.
    pub common_roles_failure: Option<&'a str>,
    /// The Lease `managed-cluster-lease`.
    pub lease: Option<&'a Lease>,
    /// The ManagedClusterAddOns in the cluster's namespace, by name.
    pub addons: &'a BTreeMap<Box<str>, Addon>,
    /// The sets that the cluster belongs to, in no order; without those whose selector is invalid.
    pub sets: &'a [&'a ClusterSet],
    /// The names of sets whose members are unknown, as their selector is invalid; in no order.
    pub undecided_sets: &'a [&'a str],
    /// The names of the ManagedClusterSetBindings in the namespace of the cluster's name.
    pub bindings: &'a [&'a str],
    /// Leases can be watched now. If not, silence means nothing.
    pub leases_watched: bool,
    /// A good first CSR of this cluster, pending or approved, was sent by one of [`Config::auto_approved_users`].
    pub trusted_request: bool,
    /// Such a CSR was denied by a person.
    pub refused_request: bool,
    /// Answer to [`crate::automatic::asks_for_namespace`]: the namespace of the cluster's name is there without the
    /// cluster's label. None: not asked yet, or the answer is unknown.
    pub namespace_taken: Option<bool>,
    /// Answer to [`crate::removal::questions`], in its order. None: not asked yet.
    pub remaining: Option<&'a [Remaining]>,
}

/// What is left of a kind in the namespace of a cluster that is removed or turned out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remaining {
    /// The kind.
    pub resource: GroupVersionResource,
    /// Its objects, or why they cannot be listed. Empty for a kind that the hub does not serve.
    pub objects: Result<Vec<RemainingObject>, String>,
}

/// One object that is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemainingObject {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Whether it is being deleted already, and waits for its finalizers.
    pub deleting: bool,
    /// The value of the annotation `open-cluster-management.io/cleanup-priority`.
    pub cleanup_priority: Option<String>,
}
