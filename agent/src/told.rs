//! Waits are logged once, when they have lasted for a moment.

use tokio::time::Instant;

use crate::failed::UNTOLD;

/// The wait that is going on, if there is one, and whether it was logged.
#[derive(Debug, Default)]
pub(crate) struct Told(Option<Going>);

#[derive(Debug)]
struct Going {
    reason: &'static str,
    since: Instant,
    is_told: bool,
}

/// What to do about a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tell {
    /// It has just begun: ask again at this time.
    Later(Instant),
    /// Log it.
    Now,
    /// It was logged.
    Done,
}

// === impl Told ===

impl Told {
    /// Notes a wait for this reason.
    pub(crate) fn waits(&mut self, reason: &'static str) -> Tell {
        let going = match &mut self.0 {
            Some(going) if going.reason == reason => going,
            other => other.insert(Going {
                reason,
                since: Instant::now(),
                is_told: false,
            }),
        };
        let due = going.since + UNTOLD;
        if going.is_told {
            return Tell::Done;
        }
        if Instant::now() < due {
            return Tell::Later(due);
        }
        going.is_told = true;
        Tell::Now
    }

    /// Notes that the wait is over. Returns true if it was logged.
    pub(crate) fn ends(&mut self) -> bool {
        self.0.take().is_some_and(|it| it.is_told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_lasts_is_logged_once() {
        let mut told = Told::default();
        let begun = Instant::now();
        assert_eq!(told.waits("a"), Tell::Later(begun + UNTOLD));
        assert!(!told.ends());
        assert_eq!(told.waits("a"), Tell::Later(begun + UNTOLD));
        tokio::time::advance(UNTOLD).await;
        assert_eq!(told.waits("a"), Tell::Now);
        assert_eq!(told.waits("a"), Tell::Done);
        assert_eq!(told.waits("b"), Tell::Later(begun + UNTOLD * 2));
        tokio::time::advance(UNTOLD).await;
        assert_eq!(told.waits("b"), Tell::Now);
        assert!(told.ends());
    }
}
