//! Certificates that Berth manages: an authority and a serving certificate in a Secret, renewed in time, and the
//! authority's certificate published in the webhook registrations.
//!
//! These are pure functions of the stored state, the published bundles and the time:
//! - [`policy`]: the names and the validity of certificates;
//! - [`state`]: the content of the Secret, decoded and encoded;
//! - [`root`], [`published`]: certificates of authorities, the bundles of the registrations, and verification with them;
//! - [`decide()`]: the next step, or the time of the next decision; [`make()`]: the state to store for that step;
//! - [`events`]: events for metrics.
//!
//! The crate `berth-keeper` reads the facts from the hub, and carries out the steps.
//!
//! # Promises
//! - A certificate is served only when its authority has been in all registrations for the time to settle
//!   ([`Policy::settle`]). Bundles verify the former certificate until it expires. So no call fails during a rotation, even
//!   if the process is interrupted at any point, provided that each API server sees a registration within that time.
//! - If no trusted certificate is served, a new one is issued without that wait.
//! - A leaf never outlives its authority. An authority is published only after its key is stored.
//! - Without a reason to act, nothing is written.
//! - The Secret is filled, but never created or deleted ([`Shape`]). A missing or misshapen Secret is reported until an admin
//!   applies it again; the served certificate stays published.
//! - Logs, errors and `Debug` output contain no keys.

pub mod decide;
pub mod events;
pub mod make;
pub mod policy;
pub mod published;
pub mod root;
pub mod state;

#[cfg(test)]
mod simulation;

pub use decide::{Decision, Facts, Step, decide};
pub use events::{Event, Observer};
pub use make::make;
pub use policy::{InvalidPolicy, Policy};
pub use published::{Bundle, Published};
pub use root::{Root, verifies};
pub use state::{Content, Reading, Shape, State};
