//! An examined change: its faults, or the questions that must be answered before it can be decided.

use jiff::Timestamp;

use crate::findings::Faults;
use crate::object::GuardedObject;
use crate::{Answers, Change, Decision, Question, Settings};

/// The rules that one webhook applies to one kind of objects.
///
/// [`Rules::examine`] examines a change once. The caller gets its questions answered; then [`Case::decide`] decides.
pub trait Rules: Sized {
    /// The kind of objects.
    type Object<'a>: GuardedObject<'a> + Send + Sync + 'a;

    /// Results of the examination that the decision needs.
    type Seen: Send;

    /// Finds the faults of a change or, if it has none, its questions. `now` becomes the time of new taints.
    fn examine(
        change: &Change<'_, Self::Object<'_>>,
        settings: &Settings,
        now: Timestamp,
    ) -> Case<Self>;

    /// Decides a change without faults; called by [`Case::decide`] only.
    #[doc(hidden)]
    fn decide(
        seen: Self::Seen,
        change: &Change<'_, Self::Object<'_>>,
        settings: &Settings,
        answers: Answers<'_>,
    ) -> Decision;
}

/// An examined change. It does not borrow from the change, so that both can be moved while questions are answered.
pub struct Case<R: Rules>(Result<Sound<R::Seen>, Faults>);

/// A change without faults.
struct Sound<S> {
    questions: Vec<Question>,
    seen: S,
}

// === impl Case ===

impl<R: Rules> Case<R> {
    /// Makes a case with these questions or, if the change has faults, without questions.
    pub(crate) fn new(
        faults: Faults,
        seen: R::Seen,
        questions: impl FnOnce(&R::Seen) -> Vec<Question>,
    ) -> Self {
        if !faults.is_empty() {
            return Self(Err(faults));
        }
        let questions = questions(&seen);
        Self(Ok(Sound { questions, seen }))
    }

    /// Takes the questions that must be answered before the change can be decided; empty for most changes. Only the first
    /// call returns them.
    pub fn take_questions(&mut self) -> Vec<Question> {
        match &mut self.0 {
            Ok(sound) => std::mem::take(&mut sound.questions),
            Err(_) => Vec::new(),
        }
    }

    /// Decides the change: a fault refuses it; otherwise the answers to its questions decide.
    ///
    /// `change` and `settings` must be those of the examination.
    pub fn decide(
        self,
        change: &Change<'_, R::Object<'_>>,
        settings: &Settings,
        answers: Answers<'_>,
    ) -> Decision {
        match self.0 {
            Ok(sound) => R::decide(sound.seen, change, settings, answers),
            Err(faults) => faults.decision(),
        }
    }
}
