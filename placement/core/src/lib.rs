//! Which clusters a placement selects, and why.
//!
//! # Shape
//! [`Rules`] is the spec of a placement, checked once. [`schedule`] applies it to a [`Scene`]: the clusters that the placement may
//! select, its own previous decisions, what it reads of the hub, and the time. The result is a [`Schedule`]: the decisions by group,
//! when to look again, and for any cluster, when asked, its [`ClusterOutcome`]. [`Snapshot`] is a whole hub in memory, from which scenes are
//! made, and [`Inventory`] reads one from JSON. [`Explanation`] is the result of a placement in full, to be printed or serialized.
//! All of it is values and plain functions: nothing
//! here does I/O or reads a clock.
//!
//! # Compatibility
//! The selected clusters, their scores and the conditions equal those of OCM's placement controller, with its truncating arithmetic,
//! except for these differences:
//! - A misconfigured placement, or one with an unreadable set, keeps its previous decisions ([`OnFault`]). OCM removes them all.
//! - Misconfigurations are reported even if no cluster is left to apply them to. A negative `numberOfClusters` is a misconfiguration;
//!   OCM's process ends there.
//! - [`Schedule::next`] covers every change by time alone. OCM has no timer for scores, and none for clusters that were just selected.
//! - CEL expressions differ as `berth_cel` says: their types are not checked in advance.
//! - The CEL expressions of a placement have a budget over all clusters ([`Settings`]). A placement that exceeds it keeps its decisions.
//! - An expression that exceeds its budget on one cluster does not reject the cluster: the placement keeps its decisions.
//! - A `tolerationSeconds` of more than 292 years does not overflow.
//! - [`Gates`] enable fields that OCM's API has, and that its controller ignores or leaves empty.
//!
//! # Guarantees
//! - The result depends on the values in the scene only, not on their order.
//! - A cluster that is rejected is never selected.
//! - Before `next`, decisions and scores do not change by time alone.
//! - No input panics.

mod cel;
mod conditions;
mod doubts;
mod eligible;
pub mod explain;
mod facts;
mod groups;
mod hub;
mod inventory;
mod judge;
mod misconfigured;
mod object;
mod outcome;
mod predicates;
mod prioritizers;
mod ranking;
mod records;
mod rules;
mod schedule;
mod scoring;
mod snapshot;
mod spread;
mod taints;

pub use berth_cel::ASSUMED_ITEMS;
pub use cel::estimated_steps;
pub use conditions::{ConditionValue, Conditions};
pub use doubts::{Doubt, doubts};
pub use eligible::{Eligible, EligibleSet};
pub use explain::Explanation;
pub use facts::{Cluster, Decision, MORE_TAINTS, Resource, Scores};
pub use groups::Group;
pub use hub::Hub;
pub use inventory::{Inventory, ListedDecision, Source};
pub use judge::{Judge, Rejected, Verdict, judged};
pub use misconfigured::{Misconfiguration, Part};
pub use object::CelObject;
pub use outcome::{ClusterOutcome, Cut, Rejection, ScorePart, Standing, Tolerance};
pub use predicates::{Excess, Matched, Mismatch};
pub use prioritizers::{Prioritizer, ScoreSource};
pub use ranking::Ranked;
pub use records::Record;
pub use rules::{Gates, OnFault, Rules, Settings, mistakes};
pub use schedule::{Counts, Decisions, Fault, Scene, Schedule, Warning, postponed, schedule};
pub use snapshot::{Snapshot, View};
