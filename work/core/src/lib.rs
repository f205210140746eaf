//! What to write for a manifest, what differs, and what a ManifestWork reports.
//!
//! A ManifestWork is a list of objects in a cluster's namespace on the hub. An agent on the cluster makes them real and reports back.
//! This crate decides; `berth-work` reads and writes.

pub mod config;
pub mod evaluate;
pub mod report;

mod apply;
mod differs;
mod owner;
mod prescribed;
mod step;

pub use apply::{Applying, Done, Failure, Outcome, Retry, Settled};
pub use differs::{Difference, Differences, Verdict};
pub use owner::{Holding, Owner};
pub use prescribed::{Mapped, Prescribed, Unusable, prescribed};
pub use step::{Cause, Refusal, Response, Step};
