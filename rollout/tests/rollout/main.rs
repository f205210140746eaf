//! Rollout strategies, by tables of sentences and by laws. The cases of OCM's own tests are among the rows.

#![allow(
    clippy::unwrap_used,
    reason = "clippy.toml allows it in test functions, this is for their helpers"
)]

mod bench;
mod differences;
mod laws;
mod mistakes;
mod oddities;
mod steps;
