//! The rules of the gate, pure: which questions a change raises, and how their answers decide it.
//!
//! Each webhook has its [`Rules`]. [`Rules::examine`] finds the faults of a change, and the questions that must be answered before
//! it can be decided (may this user accept this cluster, is this namespace terminating, ...); [`Case::decide`] turns the
//! answers into a [`Decision`]. Nothing here does I/O, reads a clock or knows where answers come from. Time and facts are
//! arguments, so that a row in a table tests each rule.
//!
//! Most changes raise no question, and are decided at once.
//!
//! Guarantees:
//! - A question that was not answered counts as [`Answer::Unknown`]: a missing answer never allows a change.
//! - A sure denial is reported even when another question could not be answered.
//! - Facts that the requester could forge come from the stored object, not from the submitted one: for example, that the
//!   object is being deleted.

mod addon;
mod answers;
mod binding;
mod ca_bundle;
mod case;
mod certificate_request;
mod change;
mod cluster;
mod cluster_set;
mod decision;
pub mod display;
mod findings;
mod gates;
mod introduced;
pub mod object;
pub mod path;
mod placement;
mod question;
pub mod sentences;
pub mod url;
mod work;

pub use addon::{
    ValidateClusterAddOn, ValidateDeploymentConfig, ValidateManagementAddOn, ValidateTemplate,
};
pub use answers::{Answer, Answers, Namespace};
pub use binding::ValidateBinding;
pub use case::{Case, Rules};
pub use certificate_request::ValidateRequest;
pub use change::{Change, Operation};
pub use cluster::{
    LARGEST_ACCEPTED, LARGEST_WAITING, LONGEST_LEASE, MutateCluster, OURS, ValidateCluster,
};
pub use cluster_set::ValidateClusterSet;
pub use decision::{Annotations, Decision, DecisionOutcome, Denial, Fault, Reason, Undecided};
pub use gates::{FeatureGates, MANIFEST_LIMIT, Settings};
pub use placement::{ValidatePlacement, placement_findings};
pub use question::{Permission, Question, Requirement};
pub use sentences::NO_DENIAL;
pub use work::{ValidateReplicaSet, ValidateWork, plural};
