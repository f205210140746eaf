//! The feature gates that change what the rules say.

/// Feature gates of the gate's rules, at OCM's defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureGates {
    /// `DefaultClusterSet` (OCM, on by default): a cluster without a set is put into the set `default`.
    pub default_cluster_set: bool,
    /// `UnguardedDenial` (Berth, off by default): as in OCM, `hubAcceptsClient` may be turned off without the
    /// permission to accept.
    pub unguarded_denial: bool,
}

impl Default for FeatureGates {
    fn default() -> Self {
        Self {
            default_cluster_set: true,
            unguarded_denial: false,
        }
    }
}
