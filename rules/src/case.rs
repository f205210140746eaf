//! A change under examination: what is wrong with it, and what must be known before it can be decided.

use jiff::Timestamp;

use crate::findings::Faults;
use crate::object::GuardedObject;
use crate::{Answers, Change, Decision, Question, Settings};

/// The rules that one webhook applies to one kind of objects.
///
/// A change is examined once ([`Rules::examine`]). Its questions are answered by others; then [`Case::decide`] decides.
pub trait Rules: Sized {
    /// The objects.
    type Object<'a>: GuardedObject<'a> + Send + Sync + 'a;

    /// What the examination saw of the change, for the decision.
    type Seen: Send;

    /// Finds what is wrong with a change, and what must be known about it otherwise. `now` is what new taints get for their
    /// time.
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

/// An examined change. It borrows nothing of the change, so that both can be moved while questions are answered.
pub struct Case<R: Rules>(Result<Sound<R::Seen>, Faults>);

/// A change without faults.
struct Sound<S> {
    questions: Vec<Question>,
    seen: S,
}

// === impl Case ===

impl<R: Rules> Case<R> {
    /// A change that raises these questions, unless it has faults: a malformed change raises none.
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

    /// What must be known before the change can be decided; empty for most changes. Each call after the first returns nothing.
    pub fn take_questions(&mut self) -> Vec<Question> {
        match &mut self.0 {
            Ok(sound) => std::mem::take(&mut sound.questions),
            Err(_) => Vec::new(),
        }
    }

    /// Whether the change is admitted: faults alone refuse it; otherwise the answers to its questions decide.
    ///
    /// `change` and `settings` are those that were examined.
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
