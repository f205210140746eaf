//! Laws: properties that hold for every input, of reviews, the gate's patches, RBAC, selectors and certificate requests.
//!
//! Each law is a function of bytes that panics if the law is broken. This crate's tests run the laws on the seeds of `dev/fuzz/seeds` and on
//! inputs that proptest generates; the targets of `dev/fuzz` run them on inputs that a fuzzer generates.

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

/// CSRs built byte by byte, for seeds.
pub mod requests {
    pub use crate::csr::{agent, alternative_name, subject};
}
