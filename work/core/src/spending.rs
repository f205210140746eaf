//! What a ManifestWork may cost in all: the expressions and paths of all its objects, each time that one of them is looked at.
//!
//! Each object has bounds of its own. A ManifestWork has many objects, objects change often, and one thread carries all works.
//!
//! # Promises
//! - A work spends [`BURST`] steps at once. Then it waits until it owes less: what it owes falls by [`RATE`] steps in a second.
//! - All works that owe share this rate, each the same part. So the thread gives all of them together a bounded part of its time, however
//!   many they are, and a work that owes nothing never waits.
//! - A work spends once more than it has, as costs are known afterwards: at most the bounds of one object.
//! - A machine that is slow or busy is no excuse: a second of evaluation counts as [`SPEED`] steps at least. So all works together have at
//!   most a tenth of the thread's time.
//! - What was spent is remembered by the name of the work: to delete and create it anew gives it nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The steps that a work may owe.
pub const BURST: u64 = 10_000_000;

/// The steps in a second by which the debts of all works together fall.
pub const RATE: u64 = 2_000_000;

/// The steps that a second of evaluation counts at least.
pub const SPEED: u64 = 10 * RATE;

/// The first and the longest wait of a work that owes too much. It looks again then.
pub const WAITS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// What works owe.
#[derive(Debug, Default)]
pub struct Spending {
    /// The works that owe something, each with what the clock shows when it owes nothing.
    paid_at: HashMap<Arc<str>, u64>,
    /// A clock in steps: it advances by the share of one work.
    clock: u64,
    /// The time that the clock shows.
    at: Option<Instant>,
}

// === impl Spending ===

impl Spending {
    /// Returns whether no work owed anything when it was asked last, so that none has to wait.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.paid_at.is_empty()
    }

    /// Returns how long the work has to wait; `None` if it may spend.
    pub fn wait(&mut self, work: &str, now: Instant) -> Option<Duration> {
        self.advance(now);
        let paid_at = self.paid_at.get(work)?;
        let over = (paid_at - self.clock).checked_sub(BURST)?;
        let works = self.paid_at.len() as u64;
        let wait = Duration::from_nanos(over.saturating_mul(works).saturating_mul(STEP));
        Some(wait.clamp(WAITS.0, WAITS.1))
    }

    /// Notes what a work has spent, from `began` until now.
    pub fn spend(&mut self, work: &Arc<str>, steps: u64, began: Instant, now: Instant) {
        if steps == 0 {
            return;
        }
        self.advance(now);
        let time = now.saturating_duration_since(began).as_nanos();
        let time = u64::try_from(time).unwrap_or(u64::MAX);
        let cost = steps.max(time / (1_000_000_000 / SPEED));
        let clock = self.clock;
        *self.paid_at.entry(Arc::clone(work)).or_insert(clock) += cost;
    }

    /// The text of a condition about what waits.
    #[must_use]
    pub fn message() -> String {
        format!(
            "the ignored fields, feedback rules and condition rules of all objects of a ManifestWork may cost {BURST} steps at once, and then \
             its share of {RATE} steps in a second; these cost more, and are evaluated later: use fewer or simpler ones, or several ManifestWorks"
        )
    }

    /// Advances the clock. Works that owe nothing any more are forgotten, so that the others have a larger share.
    fn advance(&mut self, now: Instant) {
        let at = self.at.get_or_insert(now);
        let passed = now.saturating_duration_since(*at).as_nanos();
        let mut steps = u64::try_from(passed).unwrap_or(u64::MAX) / STEP;
        if steps == 0 {
            return;
        }
        while let Some(next) = self.paid_at.values().min() {
            let works = self.paid_at.len() as u64;
            let until = (next - self.clock).saturating_mul(works);
            if steps < until {
                let share = steps / works;
                self.clock += share;
                *at += Duration::from_nanos(share * works * STEP);
                return;
            }
            steps -= until;
            self.clock = *next;
            *at += Duration::from_nanos(until * STEP);
            let clock = self.clock;
            self.paid_at.retain(|_, paid_at| *paid_at > clock);
        }
        *at = now.max(*at);
    }
}

/// The nanoseconds in which one step is paid.
const STEP: u64 = 1_000_000_000 / RATE;

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    #[test]
    fn a_work_waits_until_it_owes_less() {
        let (mut spending, start) = (Spending::default(), Instant::now());
        let work = Arc::from("w");
        for (sentence, after, cost, expected) in [
            ("it owes nothing", 0, BURST - 1, None),
            ("it has some left, and spends more", 0, 5 * RATE, None),
            ("a wait is not shorter", 4, 0, Some(1)),
            ("it may again", 5, 3 * RATE + 1, None),
            ("and owes again", 5, 0, Some(3)),
            ("what waits costs nothing", 9, 0, None),
            ("time makes no savings", 1_000, BURST + 70 * RATE, None),
            ("a wait is not longer", 1_000, 0, Some(60)),
            ("it looks again", 1_060, 0, Some(10)),
            ("it may again", 1_071, 0, None),
        ] {
            let now = start + secs(after);
            let wait = spending.wait("w", now);
            assert_eq!(wait, expected.map(secs), "{sentence}");
            assert_eq!(spending.wait("other", now), None, "{sentence}");
            spending.spend(&work, cost, now, now);
        }
    }

    /// All works together spend no more than the rate, besides the first burst of each.
    #[test]
    fn works_that_owe_share_the_rate() {
        const OBJECT: u64 = 5_000_000;
        for count in [1, 10, 100] {
            let (mut spending, start) = (Spending::default(), Instant::now());
            let works: Vec<Arc<str>> = (0..count).map(|it| format!("w{it}").into()).collect();
            let mut spent = vec![0; works.len()];
            let run = |spending: &mut Spending, spent: &mut Vec<u64>, from: u64, to: u64| {
                for second in from..to {
                    let now = start + secs(second);
                    for (work, spent) in works.iter().zip(&mut *spent) {
                        if spending.wait(work, now).is_none() {
                            spending.spend(work, OBJECT, now, now);
                            *spent += OBJECT;
                        }
                    }
                }
            };
            run(&mut spending, &mut spent, 0, 1);
            let first: u64 = spent.iter().sum();
            assert!(first <= count * (BURST + OBJECT), "{first}");
            let seconds = 20 * count;
            run(&mut spending, &mut spent, 1, seconds);
            let more = spent.iter().sum::<u64>() - first;
            assert!(more <= RATE * (seconds + 1) + OBJECT * count, "{more}");
            assert!(more >= RATE * (seconds - 1) - OBJECT * count, "{more}");
            let (least, most) = (spent.iter().min(), spent.iter().max());
            let apart = most.unwrap() - least.unwrap();
            assert!(apart <= OBJECT, "{apart}");
        }
    }

    #[test]
    fn what_is_paid_is_forgotten() {
        let (mut spending, start) = (Spending::default(), Instant::now());
        for it in 0..100 {
            spending.spend(&format!("w{it}").into(), 10, start, start);
        }
        assert_eq!(spending.paid_at.len(), 100);
        assert_eq!(spending.wait("w1", start + secs(1)), None);
        assert!(spending.paid_at.is_empty());
    }

    #[test]
    fn a_slow_machine_counts_time() {
        let (mut spending, start) = (Spending::default(), Instant::now());
        let work = Arc::from("w");
        for (seconds, expected) in [(0, None), (1, Some(5))] {
            let now = start + secs(seconds);
            spending.spend(&work, 1, start, now);
            assert_eq!(spending.wait("w", now), expected.map(secs), "{seconds}");
        }
    }

    #[test]
    fn a_clock_that_goes_back_harms_nothing() {
        let (mut spending, start) = (Spending::default(), Instant::now());
        let later = start + secs(5);
        spending.spend(&"w".into(), 2 * BURST, later, later);
        assert!(spending.wait("w", start).is_some());
        assert_eq!(spending.wait("w", start + secs(15)), None);
    }
}
