//! What to write for a manifest, what differs, and what a ManifestWork reports.
//!
//! A ManifestWork is a list of objects in a cluster's namespace on the hub. An agent on the cluster makes them real and reports back.
//! This crate decides; `berth-work-agent` reads and writes.
//!
//! # Applying
//! [`prescribed()`] reads a manifest, discovery adds its resource ([`Prescribed::mapped`]), and [`Applying`] is a state machine from
//! there to an [`ApplyOutcome`]: it returns one [`Step`] after another, and gets the [`Response`] to each. [`Applying::differs`] judges an object
//! from a watch without any request. [`Removing`] is the machine that removes what is no longer prescribed: [`stale()`] finds it.
//! [`eviction()`] decides on AppliedManifestWorks whose ManifestWork is missing, [`labels_due`] on their labels, and [`Contest`] on writes to
//! them that another agent undoes.
//!
//! # A whole ManifestWork
//! Each public module is about the whole: [`config`] finds the rules of an object, [`order`] sorts the objects, [`evaluate`](mod@evaluate)
//! extracts what the status needs, [`report`](mod@report) makes the status, [`budget`] chooses the works that fit into the agent's memory, and [`executor`]
//! asks for permissions. What is about one object is at the root, and its modules are private.
//!
//! # Compatibility
//! The strategies have the results of OCM's agent, except for these differences:
//! - Kinds that OCM's agent does not compare exactly are written by server-side apply, and only if the object lacks something of the
//!   manifest. Defaults and the fields of other managers are left alone.
//! - What a manifest drops is removed from the object: labels and annotations, and fields that were applied.
//! - Fields that are ignored from now on keep the value that they have on the cluster, instead of falling back to a default.
//! - With ignored fields, drift of the other fields is repaired.
//! - Changes of a Pod that are never applied are reported.
//! - A manifest that cannot be used does not hold up the removal of objects that it cannot name.

mod aggregate;
mod applied;
mod apply;
mod bound;
pub mod budget;
mod compare;
mod conditions;
pub mod config;
mod contest;
mod differs;
pub mod evaluate;
mod eviction;
mod exact;
pub mod executor;
mod feedback;
pub mod grants;
mod hash;
mod health;
mod ignore;
pub mod jsonpath;
mod kept;
mod kinds;
mod labels;
mod managed;
mod merge;
pub mod order;
mod overlay;
mod owner;
mod path;
mod prescribed;
mod programs;
mod removal;
pub mod report;
pub mod spending;
mod step;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;
mod waiting;

pub use applied::{Listed, Stale, identity, recorded, stale};
pub use apply::{ApplyFailure, ApplyOutcome, Applying, Cuts, Cutting, Done, Retry};
pub use contest::{Contest, Patience};
pub use differs::{CONTESTED, Difference, Differences, NoDifferences, Settled, Verdict};
pub use eviction::{Eviction, Hold, HubView, eviction};
pub use labels::labels_due;
pub use owner::{Holding, Owner};
pub use prescribed::{Mapped, Prescribed, Unusable, prescribed};
pub use removal::{Removal, Removing};
pub use step::{Cause, Refusal, Response, Step};
pub use waiting::{kept_by, waits_for};
