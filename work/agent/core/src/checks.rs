//! When to ask whether an executor still has the permissions for an object, and whether it may read the object.

use std::time::{Duration, Instant};

/// An API server may report a changed role before its authorizer, or that of another replica, knows it. So it is asked again after this
/// time.
const AGAIN: Duration = Duration::from_secs(5);

/// How often to ask if roles and bindings cannot be watched, as OCM's agent does.
const UNWATCHED: Duration = Duration::from_secs(300);

/// The questions about one object. Without an executor none is due.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// The next two times to ask.
    due: [Option<Instant>; 2],
}

/// What may be reported of an object. The agent reads it with its own permissions, so that its content must not reach the hub on behalf of
/// an executor that may not read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// There is no executor, or it may read the object.
    #[default]
    Open,
    /// It was not asked yet.
    Unknown,
    /// The executor may not read the object; the refusal.
    Closed(String),
}

// === impl Checks ===

impl Checks {
    /// Nothing is known of the permissions yet.
    pub fn first(now: Instant) -> Self {
        Self {
            due: [Some(now), None],
        }
    }

    /// The permissions have changed at this time, or were listed, before the first question: the answer may still be that of before.
    pub(crate) fn changed_before(&mut self, changed: Instant) {
        self.due[1] = Some(changed + AGAIN);
    }

    /// The permissions may have changed.
    pub fn changed(&mut self, now: Instant) {
        self.due = [Some(now), Some(now + AGAIN)];
    }

    /// If it is time to ask: answers to questions that were sent before the returned time do not count.
    pub fn due(&self, now: Instant) -> Option<Instant> {
        let times = self.due.iter().flatten();
        times.filter(|time| **time <= now).max().copied()
    }

    /// The next time to ask.
    pub fn next(&self) -> Option<Instant> {
        self.due.iter().flatten().min().copied()
    }

    /// The questions that were due at this time have been answered.
    pub(crate) fn answered(&mut self, at: Instant, is_watched: bool) {
        for due in &mut self.due {
            *due = due.filter(|it| *it > at);
        }
        if !is_watched && self.next().is_none() {
            self.due[0] = Some(at + UNWATCHED);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_asked_about_at_once_and_again() {
        let now = Instant::now();
        let mut checks = Checks::first(now);
        assert_eq!(checks.due(now), Some(now));
        checks.answered(now, true);
        assert_eq!((checks.due(now), checks.next()), (None, None));
        checks.changed(now);
        assert_eq!(checks.due(now), Some(now));
        checks.answered(now, true);
        assert_eq!((checks.due(now), checks.next()), (None, Some(now + AGAIN)));
        let later = now + AGAIN * 2;
        assert_eq!(
            checks.due(later),
            Some(now + AGAIN),
            "an answer of before does not count"
        );
        checks.answered(later, true);
        assert_eq!(checks.next(), None);
    }

    #[test]
    fn a_change_during_a_question_is_asked_about() {
        let now = Instant::now();
        let mut checks = Checks::first(now);
        let later = now + Duration::from_secs(1);
        checks.changed(later);
        checks.answered(now, true);
        assert_eq!(checks.due(later), Some(later));
    }

    #[test]
    fn without_a_watch_it_is_asked_at_intervals() {
        let now = Instant::now();
        let mut checks = Checks::first(now);
        checks.answered(now, false);
        assert_eq!(checks.next(), Some(now + UNWATCHED));
    }
}
