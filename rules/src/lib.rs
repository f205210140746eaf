//! The rules of the gate, pure: which questions a change raises, and what the answers make of it.
//!
//! Each webhook has its [`Rules`]. [`Rules::examine`] finds what is wrong with a change, and says what must be known before
//! it can be decided (may this user accept this cluster, does this namespace terminate, ...); [`Case::decide`] turns the
//! answers into a [`Decision`]. Nothing here does I/O, reads a clock or knows where answers come from; time and facts are
//! arguments, so that every rule is a row in a table of tests.
//!
//! A change that raises no question is decided without asking anybody. Most changes are such.
//!
//! Guarantees:
//! - A question that was not answered counts as [`Answer::Unknown`]: nothing is allowed for want of an answer.
//! - A sure denial is reported even when another question could not be answered.
//! - What the requester could have written is never trusted: whether an object is being deleted, for example, is read
//!   from the stored object, not from the submitted one.

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
pub mod object;
mod question;
mod sentences;
pub mod url;

pub use answers::{Answer, Answers, Namespace};
pub use binding::ValidateBinding;
pub use case::{Case, Rules};
pub use certificate_request::ValidateRequest;
pub use change::{Change, Operation};
pub use cluster::{LONGEST_LEASE, MutateCluster, ValidateCluster};
pub use cluster_set::ValidateClusterSet;
pub use decision::{Annotations, Decision, DecisionOutcome, Denial, Fault, Reason, Undecided};
pub use gates::{FeatureGates, Settings};
pub use question::{Permission, Question, Requirement};
