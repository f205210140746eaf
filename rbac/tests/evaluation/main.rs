//! The policy seen from outside: facts about RBAC, the recorded reviews' objects, laws, and what is refused.

#![allow(
    clippy::unwrap_used,
    reason = "clippy.toml allows it in test functions; this is for their helpers"
)]

mod aggregation;
mod bindings;
mod changes;
mod laws;
mod recorded;
mod refused;
mod rules;
mod support;
