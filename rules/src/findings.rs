//! What is wrong with an object, and what the answers to a change's questions amount to.

use std::collections::BTreeSet;

use crate::answers::Known;
use crate::{Answers, Decision, Denial, Fault, Permission, Question, Reason, Undecided, sentences};

/// A message names no more faults than these, and counts the others.
const MOST_FAULTS: usize = 20;

/// What is wrong with an object: the first few faults, and the number of the others.
#[derive(Default)]
pub(crate) struct Faults {
    first: BTreeSet<Fault>,
    more: usize,
}

impl Faults {
    /// One more. Its message is made only if there is room for it.
    pub(crate) fn add(&mut self, reason: Reason, message: impl FnOnce() -> String) {
        if self.first.len() < MOST_FAULTS {
            self.first.insert(Fault::new(reason, message()));
        } else {
            self.more += 1;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// The decision they make, as OCM aggregates: sorted and without repetition.
    pub(crate) fn decision(self) -> Decision {
        let Self { first, more } = self;
        let mut faults: Vec<_> = first.into_iter().collect();
        if let Some(Fault { reason, .. }) = faults.last()
            && more > 0
        {
            faults.push(Fault::new(*reason, format!("... and {more} more")));
        }
        Decision::from_findings(faults, Vec::new(), Vec::new())
    }
}

/// Denials, and what could not be found out, in the order in which they were looked for.
pub(crate) struct Findings<'a> {
    user: &'a str,
    answers: Answers<'a>,
    denials: Vec<Denial>,
    undecided: Vec<Undecided>,
}

impl<'a> Findings<'a> {
    pub(crate) fn new(user: &'a str, answers: Answers<'a>) -> Self {
        Self {
            user,
            answers,
            denials: Vec::new(),
            undecided: Vec::new(),
        }
    }

    /// The requester must hold the permission. Returns whether that is sure: facts about the hub are for those only.
    #[must_use]
    pub(crate) fn require(
        &mut self,
        permission: Permission,
        denial: impl FnOnce() -> Denial,
    ) -> bool {
        let question = Question::Permission(permission.clone());
        match self.answers.to(&question) {
            Known::Yes(_) => return true,
            Known::No => self.denials.push(denial()),
            Known::Unknown(why) => {
                self.undecided
                    .push(sentences::permission_unknown(self.user, &permission, why));
            }
        }
        false
    }

    /// It must not be so; `what` says in words what, before the name of the object asked about.
    pub(crate) fn refuse_if(
        &mut self,
        question: &Question,
        what: &str,
        denial: impl FnOnce(&[String]) -> Denial,
    ) {
        match self.answers.to(question) {
            Known::Yes(names) => self.denials.push(denial(names)),
            Known::No => {}
            Known::Unknown(why) => {
                self.undecided.push(sentences::fact_unknown(
                    what,
                    question.object().unwrap_or_default(),
                    why,
                ));
            }
        }
    }

    pub(crate) fn deny(&mut self, denial: Denial) {
        self.denials.push(denial);
    }

    pub(crate) fn leave_open(&mut self, undecided: Undecided) {
        self.undecided.push(undecided);
    }

    /// The decision they make.
    pub(crate) fn decision(self) -> Decision {
        Decision::from_findings(Vec::new(), self.denials, self.undecided)
    }
}
