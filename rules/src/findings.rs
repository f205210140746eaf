//! The faults of an object, and the denials that follow from the answers to a change's questions.

use std::collections::BTreeSet;

use crate::answers::Known;
use crate::{
    Answers, Decision, DecisionOutcome, Denial, Fault, Permission, Question, Reason, Undecided,
    sentences,
};

/// The maximum number of faults in a message. The others are counted.
const MOST_FAULTS: usize = 20;

/// The faults of an object: the first few, and the number of the others.
#[derive(Default)]
pub(crate) struct Faults {
    first: BTreeSet<Fault>,
    more: usize,
}

impl Faults {
    /// Adds a fault. The message is made only if it is kept.
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

    /// Returns the messages, as [`Self::decision`] lists them.
    pub(crate) fn messages(self) -> Vec<String> {
        match self.decision().outcome {
            DecisionOutcome::Malformed(faults) => faults.into_iter().map(|it| it.message).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the decision. As in OCM, the faults are sorted and without duplicates.
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

/// Denials and open questions, in the order of the checks.
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

    /// Denies the change if the requester lacks the permission. Returns true if the requester has it: facts about the hub
    /// are reported only then.
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

    /// Denies the change if the answer is yes. `what` states the fact, up to the name of the object.
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

    /// Returns the decision.
    pub(crate) fn decision(self) -> Decision {
        Decision::from_findings(Vec::new(), self.denials, self.undecided)
    }
}
