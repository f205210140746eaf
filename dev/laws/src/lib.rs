//! What holds whatever comes in: of reviews, of what the gate writes, of RBAC, of selectors, of certificate requests.
//!
//! Each law is a function of bytes that panics when it is broken. It stands here once, and is called from two sides:
//! this crate's tests put the seeds of `dev/fuzz/seeds` and much that proptest makes up through it, and the targets of `fuzz/`
//! whatever a fuzzer finds.

mod csr;
mod gate;
mod mutate;
mod mutation;
mod rbac;
mod review;
mod rewritten;
mod selector;

pub use csr::csr;
pub use mutate::mutate;
pub use rbac::rbac;
pub use review::review;
pub use selector::{selector, widening};

/// Requests made byte by byte, for seeds.
pub mod requests {
    pub use crate::csr::{agent, alternative_name, subject};
}
