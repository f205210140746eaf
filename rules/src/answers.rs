//! The answers to a change's questions.

use crate::Question;

const UNANSWERED: &str = "the question was not answered";

/// The answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Yes.
    Yes,
    /// No.
    No,
    /// The names of the objects; [`Answer::No`] if no such object exists.
    Names(Vec<String>),
    /// The state of the namespace; [`Answer::No`] if it does not exist.
    Namespace(Namespace),
    /// The question could not be answered. The text gives the requester the reason.
    Unknown(String),
}

/// The state of a namespace that exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Namespace {
    /// The namespace is being terminated.
    pub terminating: bool,
    /// The namespace has the label of the cluster of its name: the hub created it for that cluster, or adopted it.
    pub of_cluster: bool,
}

impl From<bool> for Answer {
    fn from(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

/// The questions of a change, each with its answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answers<'a>(&'a [(Question, Answer)]);

impl<'a> Answers<'a> {
    /// Makes a set of answers from pairs of question and answer.
    pub fn new(answered: &'a [(Question, Answer)]) -> Self {
        Self(answered)
    }

    /// Returns the answer to a question; unknown if the question has no answer.
    pub(crate) fn to(&self, question: &Question) -> Known<'a> {
        match self.0.iter().find(|(asked, _)| asked == question) {
            Some((_, Answer::Yes)) => Known::Yes(&[]),
            Some((_, Answer::No)) => Known::No,
            Some((_, Answer::Names(names))) if names.is_empty() => Known::No,
            Some((_, Answer::Names(names))) => Known::Yes(names),
            Some((_, Answer::Namespace(_))) => Known::Yes(&[]),
            Some((_, Answer::Unknown(why))) => Known::Unknown(why),
            None => Known::Unknown(UNANSWERED),
        }
    }

    /// Returns the state of a namespace. In the state of a missing namespace, all fields are false.
    pub(crate) fn namespace(self, question: &Question) -> Result<Namespace, &'a str> {
        match self.0.iter().find(|(asked, _)| asked == question) {
            Some((_, Answer::Namespace(namespace))) => Ok(*namespace),
            Some((_, Answer::No)) => Ok(Namespace::default()),
            Some((_, Answer::Unknown(why))) => Err(why),
            Some((_, Answer::Yes | Answer::Names(_))) => Err("the answer is not about a namespace"),
            None => Err(UNANSWERED),
        }
    }

    /// Returns all questions and answers, in the order of the questions.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a (Question, Answer)> {
        self.0.iter()
    }
}

/// An answer, reduced to what a decision needs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Known<'a> {
    Yes(&'a [String]),
    No,
    Unknown(&'a str),
}
