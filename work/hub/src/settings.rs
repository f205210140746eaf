//! Which parts of the controller run.

/// What the controller does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// It makes the ManifestWorks of ManifestWorkReplicaSets.
    pub replica_sets: bool,
    /// It deletes ManifestWorks that are done, after `spec.deleteOption.ttlSecondsAfterFinished`.
    pub clean_up: bool,
}

// === impl Settings ===

impl Settings {
    /// Returns whether the controller does anything.
    pub fn any(self) -> bool {
        self.replica_sets || self.clean_up
    }
}

/// As without feature gates: with replica sets. ManifestWorks that are done stay, as with OCM.
impl Default for Settings {
    fn default() -> Self {
        Self {
            replica_sets: true,
            clean_up: false,
        }
    }
}
