//! The port between the gate and the source of its answers.

use std::collections::BTreeMap;
use std::fmt;

use berth_rules::{Answer, Question};
use futures::future::BoxFuture;

/// The identity of the requester, as the API server authenticated it. Each SubjectAccessReview contains all of it: an
/// authorizer may use any part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Requester {
    /// The user name.
    pub username: String,
    /// The uid, or empty if the authenticator sets none.
    pub uid: String,
    /// The groups.
    pub groups: Vec<String>,
    /// Further attributes from the authenticator.
    pub extra: BTreeMap<String, Vec<String>>,
}

// === impl Requester ===

impl Requester {
    /// Returns true if the requester is in this group.
    pub(crate) fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }
}

/// The result for a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The answer.
    pub answer: Answer,
    /// The evidence, for users: for example the role and binding that grant a permission.
    pub because: Option<String>,
}

/// Answers questions about a hub.
///
/// # Guarantees
/// An answer other than [`Answer::Unknown`] is certain: a failed call to the hub never becomes a denial.
///
/// # Assumptions
/// The caller limits the time. To cancel a question, drop the future.
pub trait Answerer: fmt::Debug + Send + Sync + 'static {
    /// Answers one question on behalf of a requester.
    fn answer<'a>(
        &'a self,
        requester: &'a Requester,
        question: &'a Question,
    ) -> BoxFuture<'a, Finding>;

    /// Checks that questions can be answered. The error contains the obstacle and the remedy.
    fn probe(&self) -> BoxFuture<'_, Result<(), String>>;
}

// === impl Finding ===

impl Finding {
    /// Makes a finding with the answer yes or no.
    pub fn sure(yes: bool) -> Self {
        Self {
            answer: yes.into(),
            because: None,
        }
    }

    /// Makes a finding with this answer.
    pub fn found(answer: Answer) -> Self {
        Self {
            answer,
            because: None,
        }
    }

    /// Makes a finding without an answer, for this reason.
    pub fn unknown(why: impl Into<String>) -> Self {
        Self {
            answer: Answer::Unknown(why.into()),
            because: None,
        }
    }

    /// Adds the evidence.
    pub fn because(self, because: impl Into<String>) -> Self {
        Self {
            because: Some(because.into()),
            ..self
        }
    }
}
