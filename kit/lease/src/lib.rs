//! Leadership by a Lease (coordination.k8s.io/v1): of several processes one acts at a time.
//!
//! The protocol is that of client-go's `leaderelection`, so that its users and ours exclude each other on one Lease:
//! - `record`: the record in a Lease, and what an elector does about it, as plain functions;
//! - `params`: names and durations, checked as client-go checks them;
//! - `term`: a time of leadership, as the code that writes for the leader sees it;
//! - `elector`: the task that reads and writes the Lease;
//! - [`while_leading`]: the loop of a program that works whenever it leads; [`while_leading_on`]: with the election on another runtime.
//!
//! # Promises
//! - A [`Term`] ends by itself, `renew_deadline` after the last request was *sent* that renewed it. No other process takes
//!   the Lease before `lease_duration` after it *received* the renewed record. So a leader that bounds each write by
//!   [`Term::bound`] has no write under way once another process leads. `lease_duration - renew_deadline` is left for clocks
//!   of different speed, and for requests that the API server still processes after the client gave them up.
//! - No remote clock is trusted: a record expires when it was seen unchanged for as long as it says. The wall clock of this
//!   process is written, never compared.
//! - Each write names the resourceVersion that it was decided from.
//! - On cancellation the term ends first. The Lease is released when all clones of its [`Term`] are dropped, or when the
//!   deadline of the last write that was bounded by it has passed.
//!
//! # Caveats
//! - A user who deletes the Lease of a living leader removes the proof of leadership. The leader creates it again. A process
//!   that has seen the Lease waits a whole duration before it takes it. But a process that starts at that moment finds a hub
//!   without a leader; and a Lease that was created and deleted between two reads is not noticed.
//! - `CLOCK_MONOTONIC` stands still while a machine is suspended, and with it the end of a term.

mod elector;
mod leading;
mod params;
mod record;
mod term;
#[cfg(test)]
mod testing;

pub use leading::{LeadingError, Phase, WhenLost, while_leading, while_leading_on};
pub use params::{Identity, InvalidParams, LeaseParams, identity};
pub use term::{Term, lost};
