//! What replica sets make, as tables and laws.

#![allow(
    clippy::unwrap_used,
    unreachable_pub,
    reason = "clippy.toml allows it in test functions, this is for their helpers; modules of a suite share them"
)]

mod approvals;
mod bench;
mod laws;
mod pauses;
mod placements;
mod removal;
mod rollouts;
mod statuses;
