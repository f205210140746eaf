//! Which clusters a placement selects, and why.
//!
//! # Shape
//! [`Rules`] is the spec of a placement, checked once. [`schedule`] applies it to a [`Scene`]: the clusters that the placement may
//! select, its own previous decisions, what it reads of the hub, and the time. The result is a [`Schedule`]: the decisions by group,
//! when to look again, and for any cluster, when asked, its [`Outcome`]. [`Snapshot`] is a whole hub in memory, from which scenes are
//! made. All of it is values and plain functions: nothing here does I/O or reads a clock.
//!
//! # Compatibility
//! The selected clusters, their scores and the conditions equal those of OCM's placement controller, with its truncating arithmetic,
//! except for these differences:
//! - A misconfigured placement, or one with an unreadable set, keeps its previous decisions ([`OnFault`]). OCM removes them all.
//! - Misconfigurations are reported whether or not a cluster is left to apply them to. A negative `numberOfClusters` is one; OCM's
//!   process ends there.
//! - [`Schedule::next`] covers everything that can change the result by time alone. OCM has no timer for scores.
//! - CEL expressions differ as the module `cel` says: their types are not checked in advance.
//! - A `tolerationSeconds` of more than 292 years is no overflow.
//! - [`Gates`] enable fields that OCM's API has, and that its controller ignores.
//!
//! # Guarantees
//! - The result depends on the values in the scene only, not on their order.
//! - A cluster that is rejected is never selected.
//! - Before `next`, decisions and scores do not change by time alone.
//! - No input panics.

mod cel;
mod conditions;
mod eligible;
mod facts;
mod groups;
mod misconfigured;
mod outcome;
mod predicates;
mod prioritizers;
mod quantity;
mod ranking;
mod rules;
mod schedule;
mod scoring;
mod snapshot;
mod spread;
mod taints;

pub use cel::CelObject;
pub use conditions::{ConditionValue, Conditions};
pub use eligible::{Eligible, EligibleSet};
pub use facts::{Cluster, Decision, Scores};
pub use groups::Group;
pub use misconfigured::Misconfiguration;
pub use outcome::{Cut, Outcome, Rejection, ScorePart, Standing, Tolerance};
pub use predicates::{Mismatch, Part};
pub use prioritizers::{Prioritizer, Resource};
pub use ranking::Ranked;
pub use rules::{Gates, OnFault, Rules, Settings};
pub use schedule::{Counts, Decisions, Fault, Hub, Scene, Schedule, Warning, schedule};
pub use snapshot::{Snapshot, View};
