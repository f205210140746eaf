//! What an add-on from a template may do on the hub: as whom its agents act, which permissions they get, and which certificate requests are
//! approved for them.

pub mod permissions;
pub mod remedies;
pub mod requests;
pub mod signing;
mod subjects;
mod templates;

pub use crate::facts::NOT_ACCEPTED;
pub use subjects::{
    CSR, TOKEN, account, default_groups, default_user, driver, registrations, subject_is_ready,
};
pub use templates::{Registered, registered};

/// The name of the reconciler of certificate requests, in metrics.
pub const REQUESTS: &str = "addon-certificate-requests";

/// The name of the reconciler of permissions, in metrics.
pub const PERMISSIONS: &str = "addon-permissions";
