//! What an add-on from a template may do on the hub: as whom its agents act, which permissions they get, and which certificate requests are
//! approved for them.

pub mod permissions;
pub mod remedies;
pub mod requests;
pub mod signing;
mod subjects;
mod templates;

pub use subjects::{
    CSR, TOKEN, account, default_groups, default_user, driver, registrations, subject_is_ready,
};
pub use templates::{Registered, registered};

/// Why the agents of an add-on on a cluster have no rights.
pub const NOT_ACCEPTED: &str = "the ManagedCluster is not accepted (spec.hubAcceptsClient)";

/// The name of the reconciler of certificate requests, in metrics.
pub const REQUESTS: &str = "addon-certificate-requests";

/// The name of the reconciler of permissions, in metrics.
pub const PERMISSIONS: &str = "addon-permissions";
