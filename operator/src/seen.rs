//! What was seen where nothing can be watched, and when to look again.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// When what does not work is looked at again, in seconds. It changes without a sign: soon after the agent has got its certificate, as a rule.
const AGAIN: [u64; 7] = [2, 5, 10, 30, 60, 120, 480];

/// When one that works is looked at again.
const WHILE_IT_WORKS: Duration = Duration::from_secs(600);

/// What was seen.
pub(crate) struct Seen<Q, A> {
    /// What was asked.
    pub(crate) of: Q,
    pub(crate) what: A,
    /// How often it did not work in a row. `None`: something has changed since.
    times: Option<usize>,
}

// === impl Seen ===

impl<Q: PartialEq, A> Seen<Q, A> {
    /// Notes what was seen, and returns when to look again. `before`: what was seen the last time. `works`: it is as it should be.
    pub(crate) fn after(before: Option<Self>, of: Q, what: A, works: bool) -> (Self, Duration) {
        let before = before.filter(|it| it.of == of);
        let times = before.and_then(|it| it.times);
        let times = times
            .map_or(0, |it| it.saturating_add(1))
            .min(AGAIN.len() - 1);
        let wait = match works {
            true => WHILE_IT_WORKS,
            false => Duration::from_secs(AGAIN[times]),
        };
        let seen = Self {
            of,
            what,
            times: Some(times),
        };
        (seen, spread(wait))
    }

    /// What was asked may have another answer now.
    pub(crate) fn has_changed(&mut self) {
        self.times = None;
    }
}

/// A duration that many operators do not wait alike: at most a quarter longer.
fn spread(wait: Duration) -> Duration {
    let millis = u64::try_from(wait.as_millis() / 4)
        .unwrap_or(u64::MAX)
        .max(1);
    wait + Duration::from_millis(RandomState::new().hash_one(0) % millis)
}
