//! Two writers of one AppliedManifestWork: an agent that finds its writes undone writes again later each time.
//!
//! Agents of one cluster that have the same agent ID take each other's AppliedManifestWorks for their own. One sees a ManifestWork missing
//! that the other one has, and each undoes what the other one writes.

use std::time::{Duration, Instant};

/// The wait before a write that was undone twice is repeated. It doubles each time.
const FIRST: Duration = Duration::from_secs(1);

/// A write that was not undone for this long, or for twice the last wait, is not contested any more.
const QUIET: Duration = Duration::from_secs(60);

/// The writes of one kind to an AppliedManifestWork.
#[derive(Clone, Debug, Default)]
pub struct Contest {
    /// In a box: most of them are never contested.
    last: Option<Box<Written>>,
}

#[derive(Clone, Debug)]
struct Written {
    mark: u64,
    at: Instant,
    /// How often in a row it was undone.
    undone: u32,
    wait: Duration,
    quiet: Duration,
    is_contested: bool,
}

/// How patient an agent is.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// How often a write is undone until another client contests it.
    pub times: u32,
    /// The longest wait.
    pub longest: Duration,
    /// How long it stays contested. A minute or twice the last wait counts, if that is longer.
    pub quiet: Duration,
    /// Spreads the waits of several agents: 0 to 1.
    pub spread: f64,
}

// === impl Contest ===

impl Contest {
    /// What was written last, as [`Contest::wrote`] noted it.
    #[must_use]
    pub fn last(&self) -> Option<u64> {
        self.last.as_ref().map(|it| it.mark)
    }

    /// When a write that was undone may be repeated; `None`: now.
    #[must_use]
    pub fn until(&self, now: Instant) -> Option<Instant> {
        let last = self.last.as_ref()?;
        let until = last.at + last.wait;
        (until > now).then_some(until)
    }

    /// Until when another client contests what this agent writes; `None`: it does not.
    #[must_use]
    pub fn is_on(&self, now: Instant) -> Option<Instant> {
        let last = self.last.as_ref()?;
        let over = last.at + last.quiet;
        (last.is_contested && over > now).then_some(over)
    }

    /// Notes a write, and whether another client had undone the last one. Returns true if it is contested from now on.
    pub fn wrote(&mut self, mark: u64, was_undone: bool, patience: Patience, now: Instant) -> bool {
        let last = self.last.as_ref().filter(|it| it.at + it.quiet > now);
        let undone = match last {
            Some(last) if was_undone => last.undone.saturating_add(1),
            _ => 0,
        };
        let wait = match undone {
            0 => Duration::ZERO,
            times => {
                let wait = FIRST.saturating_mul(1 << (times - 1).min(20));
                let wait = wait.min(patience.longest);
                wait + wait.mul_f64(patience.spread.clamp(0.0, 1.0) * 0.2)
            }
        };
        self.last = Some(Box::new(Written {
            mark,
            at: now,
            undone,
            wait,
            quiet: (wait * 2).max(QUIET).max(patience.quiet),
            is_contested: undone >= patience.times,
        }));
        undone == patience.times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Patience = Patience {
        times: 2,
        longest: Duration::from_secs(600),
        quiet: QUIET,
        spread: 0.0,
    };

    #[test]
    fn a_write_that_is_undone_at_once_is_repeated_more_and_more_seldom() {
        let mut contest = Contest::default();
        let (mut now, mut waits, mut tells) = (Instant::now(), Vec::new(), Vec::new());
        for times in 0..14 {
            if let Some(until) = contest.until(now) {
                waits.push((until - now).as_secs());
                now = until;
            }
            if contest.wrote(7, times > 0, PATIENCE, now) {
                tells.push(times);
            }
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]);
        assert_eq!(tells, [2]);
        assert!(contest.is_on(now).is_some());
        let later = now + Duration::from_secs(1200);
        assert_eq!(contest.is_on(later), None);
        assert!(!contest.wrote(7, true, PATIENCE, later));
        assert_eq!(contest.until(later), None);
    }

    #[test]
    fn what_the_agent_changes_itself_is_not_contested() {
        let (mut contest, now) = (Contest::default(), Instant::now());
        for mark in 0..100 {
            assert!(!contest.wrote(mark, false, PATIENCE, now));
            assert_eq!(contest.until(now), None);
            assert_eq!(contest.is_on(now), None);
            assert_eq!(contest.last(), Some(mark));
        }
    }

    #[test]
    fn each_agent_waits_a_little_longer_or_shorter() {
        for (spread, milliseconds) in [(0.0, 1000), (0.5, 1100), (1.0, 1200), (f64::MAX, 1200)] {
            let (mut contest, now) = (Contest::default(), Instant::now());
            let patience = Patience { spread, ..PATIENCE };
            contest.wrote(1, false, patience, now);
            contest.wrote(1, true, patience, now);
            let until = contest.until(now).unwrap();
            assert_eq!((until - now).as_millis(), milliseconds, "{spread}");
        }
    }

    #[test]
    fn one_that_lasts_is_over_after_the_time_that_is_given() {
        let (mut contest, now) = (Contest::default(), Instant::now());
        let hour = Duration::from_secs(3600);
        let patience = Patience {
            times: 1,
            quiet: hour,
            ..PATIENCE
        };
        assert!(!contest.wrote(1, false, patience, now));
        assert_eq!(contest.is_on(now), None);
        assert!(contest.wrote(2, true, patience, now));
        assert_eq!(contest.is_on(now), Some(now + hour));
        assert_eq!(contest.is_on(now + hour), None);
    }
}
