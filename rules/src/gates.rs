//! What an admin decides about the rules.

use berth_api::reserved::{Reservation, ReservedPrefixes};

/// Feature gates of the gate's rules, at OCM's defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureGates {
    /// `DefaultClusterSet` (OCM, on by default): a cluster without a set is put into the set `default`.
    pub default_cluster_set: bool,
    /// `UnguardedDenial` (Berth, off by default): as in OCM, `hubAcceptsClient` may be turned off without the
    /// permission to accept.
    pub unguarded_denial: bool,
    /// `GuardedSelectors` (Berth, on by default): widening the selector of a set needs the permission to join all sets.
    pub guarded_selectors: bool,
}

/// All settings of the gate's rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The feature gates.
    pub gates: FeatureGates,
    /// The namespace that the hub's own components run in; no cluster may have its name.
    pub hub_namespace: String,
    /// Starts of names that are kept from clusters.
    pub reserved_prefixes: ReservedPrefixes,
}

// === impl FeatureGates ===

impl Default for FeatureGates {
    fn default() -> Self {
        Self {
            default_cluster_set: true,
            unguarded_denial: false,
            guarded_selectors: true,
        }
    }
}

// === impl Settings ===

impl Settings {
    /// Why no cluster can have this name; `None` if it can.
    pub(crate) fn reservation(&self, name: &str) -> Option<Reservation<'_>> {
        self.reserved_prefixes
            .reservation(name, &self.hub_namespace)
    }
}

/// With everything else at its default.
impl From<FeatureGates> for Settings {
    fn from(gates: FeatureGates) -> Self {
        Self {
            gates,
            ..Self::default()
        }
    }
}
