//! What an add-on from a template may do on the hub: as whom its agents act, which permissions they get, and which certificate requests are
//! approved for them.

pub mod permissions;
pub mod requests;
mod subjects;

pub use subjects::{
    CSR, TOKEN, account, default_groups, default_user, registrations, subject_is_ready,
};
