//! What holds whatever comes in: of reviews, of what the gate writes, of RBAC, of selectors, of certificate requests.
//!
//! Each law is a function of bytes that panics when it is broken. It stands here once, and is called from two sides:
//! this crate's tests put the seeds of `fuzz/seeds` and much that proptest makes up through it, and the targets of `fuzz/`
//! whatever a fuzzer finds.

mod gate;
mod mutation;
mod review;
mod rewritten;

pub use review::review;

/// x
pub fn mutate(_: &[u8]) {}
/// x
pub fn rbac(_: &[u8]) {}
/// x
pub fn selector(_: &[u8]) {}
/// x
pub fn csr(_: &[u8]) {}
