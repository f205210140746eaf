//! `berth controller` and `berth hub`, the built binary, on a hub: elected, healthy, told to stop, and handing over.
//!
//! They have the rights of the shipped roles, and no others. What the reconcilers do is tested elsewhere.

mod election;
mod flags;
mod hub;
mod start;
