//! The answers to a change's questions.

use crate::Question;

const UNANSWERED: &str = "the question was not answered";

/// What is known about a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is so.
    Yes,
    /// It is not so.
    No,
    /// The objects asked for, by name; [`Answer::No`] when there are none.
    Names(Vec<String>),
    /// The namespace asked for; [`Answer::No`] when there is none.
    Namespace(Namespace),
    /// It could not be found out, and why, in words for the requester.
    Unknown(String),
}

/// What is known about a namespace that exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Namespace {
    /// It is being terminated.
    pub terminating: bool,
    /// It bears the label of the cluster of its name: the hub made it for that cluster, or adopted it.
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
    /// Answers given together with their questions.
    pub fn new(answered: &'a [(Question, Answer)]) -> Self {
        Self(answered)
    }

    /// The answer to a question; one that nobody answered is unknown.
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

    /// The answer about a namespace. A namespace that does not exist has neither property.
    pub(crate) fn namespace(self, question: &Question) -> Result<Namespace, &'a str> {
        match self.0.iter().find(|(asked, _)| asked == question) {
            Some((_, Answer::Namespace(namespace))) => Ok(*namespace),
            Some((_, Answer::No)) => Ok(Namespace::default()),
            Some((_, Answer::Unknown(why))) => Err(why),
            Some((_, Answer::Yes | Answer::Names(_))) => Err("the answer is not about a namespace"),
            None => Err(UNANSWERED),
        }
    }

    /// All of them, in the order the change raised them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a (Question, Answer)> {
        self.0.iter()
    }
}

/// An answer, read for deciding.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Known<'a> {
    Yes(&'a [String]),
    No,
    Unknown(&'a str),
}
