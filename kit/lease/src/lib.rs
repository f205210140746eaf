//! Leadership by a Lease (coordination.k8s.io/v1): of several processes one at a time acts.
//!
//! The protocol is that of client-go's `leaderelection`, so that its users and ours exclude each other on one Lease:
//! - [`record`]: what a Lease says, and what an elector makes of it: plain functions;
//! - [`params`]: names and durations, checked as client-go checks them;
//! - [`term`]: a time of leadership, as those who write for the leader see it;
//! - [`elector`]: the task that looks, writes and tells;
//! - [`while_leading`]: the loop of a program that works whenever it leads.
//!
//! # Promises
//! - A [`Term`] ends by itself, `renew_deadline` after the last request was *sent* that renewed it. Nobody else takes the
//!   Lease before `lease_duration` after that request was *answered to them*. So whoever bounds each write by
//!   [`Term::bound`] has none under way once another leads, and `lease_duration - renew_deadline` is left for clocks of
//!   different speed and for what the API server still does with a request that was given up.
//! - No remote clock is believed: a record expires when it was seen unchanged for as long as it says. Our own wall clock is
//!   written, never read.
//! - Each write names the resourceVersion it was decided from.
//! - On cancellation the term ends first; the Lease is released when all clones of its [`Term`] are dropped, or when the
//!   last write that was bounded by it has run out of time.
//!
//! # Caveats
//! - Somebody who deletes the Lease of a living leader takes the proof of leadership away. Its leader makes it anew; an
//!   elector that has seen it waits a whole duration in which it stays away; but one that starts just then finds a hub
//!   without a leader, and a Lease made and deleted between two looks is not noticed.
//! - `CLOCK_MONOTONIC` stands still while a machine is suspended, and with it the end of a term.

pub mod elector;
mod leading;
pub mod params;
pub mod record;
pub mod term;
#[cfg(test)]
mod testing;

pub use elector::{Claim, Spawned, spawn};
pub use leading::{LeadingError, Phase, WhenLost, while_leading};
pub use params::{InvalidParams, LeaseParams, identity};
pub use term::Term;
