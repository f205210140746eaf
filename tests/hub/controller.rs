//! `berth controller` and `berth hub`, the built binary, on a hub: election, health, shutdown and handover.
//!
//! The processes have the rights of the shipped roles, and no others. `lifecycle` tests the reconcilers.

mod components;
mod election;
mod flags;
mod hub;
mod memory;
mod metrics;
mod policies;
mod start;
