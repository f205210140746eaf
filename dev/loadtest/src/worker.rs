//! A worker: makes calls on one connection when they are due, and counts the results.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::check::{Expect, Fault, Faults, Verdict};
use crate::latency::Latencies;
use crate::progress::Progress;
use crate::schedule::{Pace, Ticket};

/// Makes calls: to a webhook, or writes to an API server.
pub(crate) trait Caller: Send + 'static {
    /// Returns the label of the call with this number.
    fn label(&self, number: u64) -> usize;

    /// Makes the call with this number, and returns by the deadline.
    fn call(&mut self, number: u64, deadline: Instant) -> impl Future<Output = CallResult> + Send;

    /// Returns the number of reopened connections.
    fn reconnects(&self) -> u64 {
        0
    }
}

/// The result of a call: the verdict and the time of the response, or the fault with a message.
pub(crate) type CallResult = Result<(Verdict, Instant), (Fault, String)>;

/// The state that all workers of a run share.
#[derive(Clone)]
pub(crate) struct Course {
    pub(crate) pace: Arc<Pace>,
    pub(crate) timeout: Duration,
    pub(crate) progress: Arc<Progress>,
}

/// The counts of one label within the window.
#[derive(Clone, Default)]
pub(crate) struct Count {
    pub(crate) latencies: Latencies,
    pub(crate) allowed: u64,
    pub(crate) denied: u64,
    pub(crate) undecided: u64,
    /// Failures of the whole run.
    pub(crate) failed: u64,
}

/// The counts of the workers.
#[derive(Default)]
pub(crate) struct Tally {
    /// By label.
    pub(crate) counts: Vec<Count>,
    pub(crate) reconnects: u64,
    pub(crate) faults: Faults,
}

/// Pause before the next connection after a failure, to prevent a busy loop while the server is down.
const PAUSE: Duration = Duration::from_millis(20);

/// Makes calls until the run ends. A call in flight at the end is still awaited and checked.
///
/// In an open loop, a call belongs to the window if it was due in the window. Its time limit counts from the due time, so an overloaded
/// server delays the end of the run by at most the time limit. In a closed loop, a call belongs to the window if it ended in it.
pub(crate) async fn work<C: Caller>(mut caller: C, course: Course, labels: usize) -> Tally {
    let window = course.pace.window();
    let mut tally = Tally {
        counts: vec![Count::default(); labels],
        ..Tally::default()
    };
    while let Some(Ticket { number, due }) = course.pace.ticket().await {
        let begun = Instant::now();
        let from = due.unwrap_or(begun);
        let deadline = from + course.timeout;
        let outcome = if begun >= deadline {
            let words = format!(
                "not even sent within {:?}: all connections were busy",
                course.timeout
            );
            Err((Fault::Timeout, words))
        } else {
            caller.call(number, deadline).await
        };
        let count = &mut tally.counts[caller.label(number)];
        match outcome {
            Ok((verdict, ended)) => {
                let latency = ended.saturating_duration_since(from);
                course.progress.answered(latency);
                if window.holds(due.unwrap_or(ended)) {
                    count.record(verdict, latency);
                }
            }
            Err((fault, words)) => {
                course.progress.failed();
                count.failed += 1;
                tally.faults.add(fault, words);
                if matches!(fault, Fault::Connect | Fault::Call) {
                    sleep(PAUSE).await;
                }
            }
        }
    }
    tally.reconnects = caller.reconnects();
    tally
}

/// Returns the verdict if it is as expected.
///
/// # Errors
/// The verdict is not as expected; the message contains `words`.
pub(crate) fn expected(
    expect: Expect,
    verdict: Verdict,
    words: &str,
) -> Result<Verdict, (Fault, String)> {
    if expect.permits(verdict) {
        Ok(verdict)
    } else {
        let words = format!("{verdict}, see --expect: {words}");
        Err((Fault::Verdict, words))
    }
}

// === impl Count ===

impl Count {
    fn record(&mut self, verdict: Verdict, latency: Duration) {
        self.latencies.record(latency);
        match verdict {
            Verdict::Allowed => self.allowed += 1,
            Verdict::Denied => self.denied += 1,
            Verdict::Undecided => self.undecided += 1,
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.latencies.merge(&other.latencies);
        self.allowed += other.allowed;
        self.denied += other.denied;
        self.undecided += other.undecided;
        self.failed += other.failed;
    }
}

// === impl Tally ===

impl Tally {
    pub(crate) fn merge(&mut self, other: Self) {
        self.counts
            .resize(self.counts.len().max(other.counts.len()), Count::default());
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            mine.merge(theirs);
        }
        self.reconnects += other.reconnects;
        self.faults.merge(other.faults);
    }

    /// Returns the sum of all labels.
    pub(crate) fn total(&self) -> Count {
        let mut total = Count::default();
        for count in &self.counts {
            total.merge(count);
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use std::ops::RangeInclusive;

    use tokio::sync::Mutex;
    use tokio::task::JoinSet;
    use tokio::time::timeout_at;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::schedule::{Schedule, Window, open_and_paced_by_a_task};

    /// Responds after a millisecond, except during a stall, which delays all calls.
    #[derive(Clone)]
    struct Stalling {
        one_at_a_time: Arc<Mutex<u64>>,
        /// The calls that stall, and the length of the stall.
        stall: (RangeInclusive<u64>, Duration),
    }

    impl Stalling {
        fn at(calls: RangeInclusive<u64>, stall: Duration) -> Self {
            Self {
                one_at_a_time: Arc::default(),
                stall: (calls, stall),
            }
        }
    }

    impl Caller for Stalling {
        fn label(&self, number: u64) -> usize {
            usize::from(number % 2 == 1)
        }

        async fn call(&mut self, _: u64, deadline: Instant) -> CallResult {
            let answer = async {
                let mut calls = self.one_at_a_time.lock().await;
                *calls += 1;
                let (stalled, stall) = &self.stall;
                if stalled.contains(&calls) {
                    sleep(*stall).await;
                }
                drop(calls);
                sleep(Duration::from_millis(1)).await;
            };
            match timeout_at(deadline, answer).await {
                Ok(()) => Ok((Verdict::Allowed, Instant::now())),
                Err(_) => Err((Fault::Timeout, "no response".into())),
            }
        }
    }

    fn window(seconds: u64) -> Window {
        let from = Instant::now();
        Window {
            from,
            to: from + Duration::from_secs(seconds),
        }
    }

    async fn run(caller: Stalling, pace: Arc<Pace>, timeout: Duration) -> Tally {
        let course = Course {
            pace,
            timeout,
            progress: Arc::default(),
        };
        let mut workers = JoinSet::new();
        for _ in 0..4 {
            workers.spawn(work(caller.clone(), course.clone(), 2));
        }
        let mut tally = Tally::default();
        for each in workers.join_all().await {
            tally.merge(each);
        }
        tally
    }

    const STALL: Duration = Duration::from_secs(1);
    const PATIENT: Duration = Duration::from_secs(10);

    /// In ten seconds at a hundred calls a second, a stall of one second delays a tenth of the calls, by half a second on average, even
    /// if only a few were in flight.
    #[tokio::test(start_paused = true)]
    async fn a_server_that_stalls_for_a_second_shows_in_an_open_loops_p99() {
        let window = window(10);
        let schedule = Schedule::new(window.from, 100.0, Duration::from_secs(10));
        let pace = open_and_paced_by_a_task(window, schedule);
        let tally = run(Stalling::at(500..=500, STALL), pace, PATIENT).await;
        let total = tally.total().latencies;
        assert_eq!(total.count(), 1000, "none is left out");
        let p99 = total.at_per_mille(990);
        assert!(p99 >= Duration::from_millis(880), "p99 is {p99:?}");
        let p95 = total.at_per_mille(950);
        assert!(p95 >= Duration::from_millis(400), "p95 is {p95:?}");
        let p50 = total.at_per_mille(500);
        assert!(p50 <= Duration::from_millis(5), "p50 is {p50:?}");
        assert_eq!(tally.counts.len(), 2);
        assert_eq!(tally.counts[0].latencies.count(), 500);
    }

    /// In a closed loop, the same stall affects only the calls in flight. For this reason the open loop exists.
    #[tokio::test(start_paused = true)]
    async fn in_a_closed_loop_the_same_stall_hides() {
        let pace = Pace::closed(window(10), CancellationToken::new());
        let tally = run(Stalling::at(500..=500, STALL), pace, PATIENT).await;
        let total = tally.total().latencies;
        assert!(total.count() > 1000);
        assert!(total.at_per_mille(990) <= Duration::from_millis(10));
        assert!(total.max() >= STALL);
    }

    #[tokio::test(start_paused = true)]
    async fn what_cannot_be_sent_in_time_fails_and_the_run_ends() {
        let begun = Instant::now();
        let window = window(5);
        let schedule = Schedule::new(window.from, 10.0, Duration::from_secs(5));
        let pace = open_and_paced_by_a_task(window, schedule);
        // The call never completes.
        let caller = Stalling::at(11..=u64::MAX, Duration::from_secs(3600));
        let tally = run(caller, pace, Duration::from_secs(2)).await;
        let total = tally.total();
        let failed = tally.faults.0[&Fault::Timeout].count;
        assert_eq!((total.latencies.count(), failed), (10, 40));
        assert_eq!(total.failed, failed);
        assert!(begun.elapsed() <= Duration::from_secs(8));
    }
}
