//! Tests of the public API: rules of RBAC, the objects of the recorded reviews, and refused objects.
//!
//! Properties of every policy are in `dev/laws`.

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
