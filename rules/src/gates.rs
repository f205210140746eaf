//! The settings of the rules: feature gates and reserved names.

use berth_api::reserved::{Reservation, ReservedPrefixes};

/// Feature gates of the gate's rules, at OCM's defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureGates {
    /// `DefaultClusterSet` (OCM, on by default): adds a cluster without a set to the set `default`.
    pub default_cluster_set: bool,
    /// `UnguardedDenial` (Berth, off by default): as in OCM, a requester needs no permission to set `hubAcceptsClient`
    /// to false.
    pub unguarded_denial: bool,
    /// `GuardedSelectors` (Berth, on by default): widening the selector of a set needs the permission to join all sets.
    pub guarded_selectors: bool,
    /// `NilExecutorValidating` (OCM, off by default): a ManifestWork without an executor needs the permission for the agent's own
    /// service account.
    pub nil_executor_validating: bool,
}

/// All settings of the gate's rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The feature gates.
    pub gates: FeatureGates,
    /// The namespace of the hub's own components. A cluster must not have this name.
    pub hub_namespace: String,
    /// Prefixes of names that clusters must not have.
    pub reserved_prefixes: ReservedPrefixes,
    /// The maximum size of all manifests of a ManifestWork, in bytes.
    pub manifest_limit: usize,
}

/// OCM's maximum size of all manifests of a ManifestWork, in bytes.
pub const MANIFEST_LIMIT: usize = 500 * 1024;

// === impl FeatureGates ===

impl Default for FeatureGates {
    fn default() -> Self {
        Self {
            default_cluster_set: true,
            unguarded_denial: false,
            guarded_selectors: true,
            nil_executor_validating: false,
        }
    }
}

// === impl Settings ===

impl Default for Settings {
    fn default() -> Self {
        Self {
            gates: FeatureGates::default(),
            hub_namespace: String::new(),
            reserved_prefixes: ReservedPrefixes::default(),
            manifest_limit: MANIFEST_LIMIT,
        }
    }
}

impl Settings {
    /// Returns the reason why a cluster cannot have this name, or `None` if it can.
    pub(crate) fn reservation(&self, name: &str) -> Option<Reservation<'_>> {
        self.reserved_prefixes
            .reservation(name, &self.hub_namespace)
    }
}

/// The other settings have their defaults.
impl From<FeatureGates> for Settings {
    fn from(gates: FeatureGates) -> Self {
        Self {
            gates,
            ..Self::default()
        }
    }
}
