//! The fields of the hub's objects that decisions need.
//!
//! Other fields (managed fields, claims, capacities, other annotations) are not kept: a hub may have ten thousand clusters.
//! Reading is lenient (see [`berth_api::lenient`]), and an object that cannot be read affects that object only.

mod addon;
mod binding;
mod cluster;
mod lease;
mod owned;
mod profile;
mod reported;
mod set;

pub use addon::Addon;
pub use berth_api::Now;
pub use berth_api::certificate_request::{CertificateRequest, Standing};
pub use binding::Binding;
pub use cluster::{Cluster, LeftOut};
pub use lease::Lease;
pub use owned::{Owned, OwnedObjects};
pub use profile::Profile;
pub use reported::Reported;
pub use set::ClusterSet;

use std::collections::BTreeMap;

use crate::config::Config;
use berth_api::GroupVersionResource;

/// The input of all decisions about one cluster.
#[derive(Clone, Copy, Debug)]
pub struct ClusterFacts<'a> {
    /// Settings.
    pub config: &'a Config,
    /// The cluster's name, and its namespace's.
    pub name: &'a str,
    /// The ManagedCluster; None if it does not exist (any more).
    pub cluster: Option<&'a Cluster>,
    /// The ManagedCluster was seen, and is gone now. False for a cluster that a restored hub does not have *yet*.
    pub was_there: bool,
    /// The ManagedCluster is too large for any write that makes it larger, and nothing more can be removed from it.
    pub full: bool,
    /// The namespace and RBAC objects that have the cluster's label.
    pub owned: &'a OwnedObjects,
    /// The ClusterRoles that all agents share exist. Without them, the API server refuses role bindings to them.
    pub common_roles: bool,
    /// The error that prevents writing those, as text for users.
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
    /// Leases are watched now. If not, missing renewals mean nothing.
    pub leases_watched: bool,
    /// A good first CSR of this cluster, pending or approved, was sent by one of [`Config::auto_approved_users`].
    pub trusted_request: bool,
    /// An admin denied such a CSR.
    pub refused_request: bool,
    /// Answer to [`crate::automatic::asks_for_namespace`]: the namespace of the cluster's name exists without
    /// the cluster's label. None: not asked yet, or the answer is unknown.
    pub namespace_taken: Option<bool>,
    /// Answer to [`crate::removal::questions`], in its order. None: not asked yet.
    pub remaining: Option<&'a [Remaining]>,
}

/// The objects of a kind in the namespace of a cluster that is deleted or denied.
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
    /// It is being deleted, and waits for its finalizers.
    pub deleting: bool,
    /// The value of the annotation `open-cluster-management.io/cleanup-priority`.
    pub cleanup_priority: Option<String>,
}
