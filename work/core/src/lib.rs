//! What to write for a manifest, what differs, and what a ManifestWork reports.
//!
//! A ManifestWork is a list of objects in a cluster's namespace on the hub. An agent on the cluster makes them real and reports back.
//! This crate decides; `berth-work` reads and writes.

mod aggregate;
mod applied;
mod apply;
mod compare;
mod conditions;
pub mod config;
mod differs;
pub mod evaluate;
mod eviction;
mod exact;
pub mod executor;
mod feedback;
mod hash;
mod health;
mod ignore;
mod jsonpath;
mod kinds;
mod managed;
mod merge;
pub mod order;
mod overlay;
mod owner;
mod path;
mod prescribed;
mod programs;
mod removal;
pub mod replicas;
pub mod report;
mod step;
#[cfg(test)]
mod testing;

pub use applied::{Listed, Stale, recorded, stale};
pub use apply::{Applying, Done, Failure, Outcome, Retry};
pub use differs::{Difference, Differences, Settled, Verdict};
pub use eviction::{Eviction, Hold, HubView, eviction};
pub use owner::{Holding, Owner};
pub use prescribed::{Mapped, Prescribed, Unusable, prescribed};
pub use removal::{Removal, Removing};
pub use step::{Cause, Refusal, Response, Step};
