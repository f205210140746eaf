//! Settings of the controller.

use std::time::Duration;

use berth_addons_core::install::Grace;

/// What the controller does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long a cluster must not be selected before it loses an add-on.
    pub grace: Grace,
    /// The namespace of the hub's components: that of certificate authorities for which templates name none.
    pub namespace: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            grace: Grace {
                // PlacementDecisions are rewritten one after the other, within seconds.
                left: Duration::from_secs(15),
                // A Placement that a pipeline deletes and creates again.
                missing: Duration::from_secs(300),
            },
            namespace: "open-cluster-management-hub".to_owned(),
        }
    }
}
