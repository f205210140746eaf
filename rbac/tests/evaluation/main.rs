//! The policy seen from outside: facts about RBAC, the recorded reviews' objects, and what is refused.
//!
//! What holds for every policy is in `laws/`.

#![allow(
    clippy::unwrap_used,
    reason = "clippy.toml allows it in test functions; this is for their helpers"
)]

mod aggregation;
mod bindings;
mod changes;
mod recorded;
mod refused;
mod rules;
mod support;
