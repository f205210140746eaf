//! Certificates that Berth manages: an authority and a serving certificate in a Secret, renewed in time, and the
//! authority's certificate published in the webhook registrations.
//!
//! The core is plain functions of what is stored, what is published and what time it is:
//! - [`policy`]: for which names, and how long;
//! - [`state`]: what the Secret holds, and how it is read and written;
//! - [`root`], [`published`]: authorities' certificates, the bundles that the registrations have, and what they verify;
//! - [`decide()`]: the one next step, or when to look again; [`make()`]: what is to be stored by that step.
//! - [`events`]: what metrics count.
//!
//! The crate `berth-certs-keeper` asks the hub, and does what is decided here.
//!
//! # Promises
//! - A certificate is served only when its authority has been in every registration for the time to settle
//!   ([`Policy::settle`]); what served before stays verified until it has expired. So a call fails at no moment of a
//!   rotation, wherever its process is interrupted, if each API server knows a registration after that time.
//! - What cannot wait does not: where nothing is served that is believed, the next certificate comes at once.
//! - A leaf never outlives its authority. Nothing is published whose key is not stored.
//! - It comes to rest: where nothing has to be done, nothing is written.
//! - The Secret is filled, and never created or deleted ([`Shape`]): one that is missing or misshapen is reported until an
//!   admin puts it back, and what is served stays published meanwhile.
//! - No key in any log, error or `Debug` output.

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
