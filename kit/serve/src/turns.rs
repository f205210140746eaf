//! Liveness: the threads of a process that have to go on turning.
//!
//! A thread with a runtime of its own has a [`Turns::pulse`], a task that turns every few seconds. A task that computes without end, or a
//! lock that is never released, holds the thread, and so its pulse. A thread that waits for an event is not held.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::endpoints::Check;

/// The longest time without a turn. A thread that was held for longer fails the check.
///
/// Far longer than what a turn costs on a busy machine, so that load alone restarts no process.
pub const LONGEST: Duration = Duration::from_secs(60);

/// The time between two turns of a pulse.
const PERIOD: Duration = Duration::from_secs(5);

/// When each thread of a process turned last. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Turns(Arc<Mutex<Vec<Turn>>>);

/// The last turn of a thread.
#[derive(Debug)]
struct Turn {
    name: &'static str,
    at: Instant,
    /// It has been logged that the thread is held.
    is_logged: bool,
}

/// Removes a thread that has ended.
struct Watched<'a> {
    turns: &'a Turns,
    name: &'static str,
}

// === impl Turns ===

impl Turns {
    /// Turns every few seconds on the runtime that this is polled on, until it is dropped. `name` is unique in the process.
    pub async fn pulse(&self, name: &'static str) -> Infallible {
        let _watched = Watched { turns: self, name };
        loop {
            self.turned(name, Instant::now());
            tokio::time::sleep(PERIOD).await;
        }
    }

    /// Returns a check for each thread. It fails if the thread has not turned for [`LONGEST`]. Changes are logged.
    pub fn checks(&self, now: Instant) -> Vec<Check> {
        let mut turns = self.lock();
        let checks = turns.iter_mut().map(|turn| (turn.name, turn.check(now)));
        checks.collect()
    }

    fn turned(&self, name: &'static str, now: Instant) {
        let mut turns = self.lock();
        match turns.iter_mut().find(|it| it.name == name) {
            Some(turn) => turn.at = now,
            None => turns.push(Turn {
                name,
                at: now,
                is_logged: false,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Turn>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Turn ===

impl Turn {
    fn check(&mut self, now: Instant) -> Result<String, String> {
        let (thread, since) = (self.name, now.saturating_duration_since(self.at));
        let is_held = since > LONGEST;
        if is_held != std::mem::replace(&mut self.is_logged, is_held) {
            match is_held {
                true => tracing::error!(
                    thread,
                    seconds = since.as_secs(),
                    "the thread is held: /healthz fails, so that the kubelet restarts the container"
                ),
                false => tracing::info!(thread, "the thread turns again"),
            }
        }
        match is_held {
            true => Err(format!(
                "the thread has not turned for {} s, longer than {} s",
                since.as_secs(),
                LONGEST.as_secs()
            )),
            false => Ok(String::new()),
        }
    }
}

// === impl Watched ===

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.turns.lock().retain(|it| it.name != self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_thread_that_has_not_turned_for_the_bound_fails_alone() {
        let begun = Instant::now();
        let held = |seconds| {
            Err(format!(
                "the thread has not turned for {seconds} s, longer than 60 s"
            ))
        };
        let fine = || Ok(String::new());
        // The turns of two threads in seconds, when the check runs, and what it says of each.
        for (sentence, main, works, asked, expected) in [
            ("at the start", &[0][..], &[0][..], 0, [fine(), fine()]),
            ("both rest", &[0, 5], &[0, 5], 65, [fine(), fine()]),
            ("one is held", &[0, 5, 66], &[0, 5], 66, [fine(), held(61)]),
            ("both are held", &[0], &[0, 5], 90, [held(90), held(85)]),
            (
                "it turns again",
                &[0, 120],
                &[0, 119],
                125,
                [fine(), fine()],
            ),
        ] {
            let turns = Turns::default();
            for (name, times) in [("main", main), ("works", works)] {
                for time in times {
                    turns.turned(name, begun + SECOND * *time);
                }
            }
            let checks = turns.checks(begun + SECOND * asked);
            let [main, works] = expected;
            assert_eq!(checks, [("main", main), ("works", works)], "{sentence}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_thread_that_has_ended_is_not_checked() {
        let turns = Turns::default();
        assert_eq!(turns.checks(Instant::now()), []);
        let pulse = tokio::time::timeout(SECOND, turns.pulse("works"));
        let seen = async { turns.checks(Instant::now()) };
        let (ended, seen) = tokio::join!(pulse, seen);
        assert!(ended.is_err());
        assert_eq!(seen, [("works", Ok(String::new()))]);
        assert_eq!(turns.checks(Instant::now() + LONGEST * 2), []);
    }
}
