//! The port through which questions are answered.

use std::collections::BTreeMap;
use std::fmt;

use berth_rules::{Answer, Question};
use futures::future::BoxFuture;

/// Who submitted a change, as the API server authenticated them. All of it goes into every SubjectAccessReview: an
/// authorizer may decide by any part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Requester {
    /// The user name.
    pub username: String,
    /// The uid, if the authenticator gives one.
    pub uid: String,
    /// The groups.
    pub groups: Vec<String>,
    /// Everything else the authenticator says.
    pub extra: BTreeMap<String, Vec<String>>,
}

// === impl Requester ===

impl Requester {
    /// Whether the requester is in this group.
    pub(crate) fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }
}

/// What was found out about a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The answer.
    pub answer: Answer,
    /// What it rests on, in words: the role and binding that grant a permission, for example.
    pub because: Option<String>,
}

/// Answers questions about a hub.
///
/// # Guarantees
/// An answer other than [`Answer::Unknown`] is sure: trouble on the way to the hub is never told as a denial.
///
/// # Assumptions
/// The caller bounds the time; dropping the future gives the question up.
pub trait Answerer: fmt::Debug + Send + Sync + 'static {
    /// Answers one question on behalf of a requester.
    fn answer<'a>(
        &'a self,
        requester: &'a Requester,
        question: &'a Question,
    ) -> BoxFuture<'a, Finding>;

    /// Whether questions can be answered at all; the error says what is in the way, and the remedy.
    fn probe(&self) -> BoxFuture<'_, Result<(), String>>;
}

// === impl Finding ===

impl Finding {
    /// It is so, or not.
    pub fn sure(yes: bool) -> Self {
        Self {
            answer: yes.into(),
            because: None,
        }
    }

    /// This answer, whatever it rests on.
    pub fn found(answer: Answer) -> Self {
        Self {
            answer,
            because: None,
        }
    }

    /// It could not be found out.
    pub fn unknown(why: impl Into<String>) -> Self {
        Self {
            answer: Answer::Unknown(why.into()),
            because: None,
        }
    }

    /// With what the answer rests on.
    pub fn because(self, because: impl Into<String>) -> Self {
        Self {
            because: Some(because.into()),
            ..self
        }
    }
}
