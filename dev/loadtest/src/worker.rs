//! One connection at work: a call when it is its turn, and what came of it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::check::{Expect, Fault, Faults, Verdict};
use crate::latency::Latencies;
use crate::progress::Progress;
use crate::schedule::{Pace, Ticket};

/// Makes calls: to a webhook, or writes to an API server.
pub(crate) trait Caller: Send + 'static {
    /// What the call with this number counts as.
    fn label(&self, number: u64) -> usize;

    /// Makes the call with this number. It is over by the deadline.
    fn call(&mut self, number: u64, deadline: Instant) -> impl Future<Output = Outcome> + Send;

    /// How many connections were opened in the place of another.
    fn reconnects(&self) -> u64 {
        0
    }
}

/// What a call came to: a verdict and when it was there, or what went wrong, in words.
pub(crate) type Outcome = Result<(Verdict, Instant), (Fault, String)>;

/// What all workers of a run share.
#[derive(Clone)]
pub(crate) struct Course {
    pub(crate) pace: Arc<Pace>,
    pub(crate) timeout: Duration,
    pub(crate) progress: Arc<Progress>,
}

/// What one label has come to within the window.
#[derive(Clone, Default)]
pub(crate) struct Count {
    pub(crate) latencies: Latencies,
    pub(crate) allowed: u64,
    pub(crate) denied: u64,
    pub(crate) undecided: u64,
    /// Of the whole run, as all failures.
    pub(crate) failed: u64,
}

/// What the workers counted.
#[derive(Default)]
pub(crate) struct Tally {
    /// By label.
    pub(crate) counts: Vec<Count>,
    pub(crate) reconnects: u64,
    pub(crate) faults: Faults,
}

/// After a failure, how long until the next connection: a server that is down must not be met by a busy loop.
const PAUSE: Duration = Duration::from_millis(20);

/// Calls until the run is done. A call in flight then is still awaited, and checked.
///
/// In an open loop a call belongs to the window if it was due in it, and its time limit counts from then, so that an
/// overloaded server ends the run no later than that after the window; in a closed loop, if it ended in it.
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

/// The verdict, if it is as expected.
///
/// # Errors
/// When it is not, with these words about it.
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

    /// All labels together.
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

    /// Answers in a millisecond, but for some calls, which it sits on, and all that come meanwhile.
    #[derive(Clone)]
    struct Stalling {
        one_at_a_time: Arc<Mutex<u64>>,
        /// Which, and for how long.
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

        async fn call(&mut self, _: u64, deadline: Instant) -> Outcome {
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
                Err(_) => Err((Fault::Timeout, "no answer".into())),
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

    /// The law: in ten seconds at a hundred calls a second, a stall of one second makes a tenth of the calls wait, half a
    /// second on average, however few of them were in flight.
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

    /// The same stall in a closed loop: only the calls in flight see it. That is why the open loop is there.
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
        // It never comes back.
        let caller = Stalling::at(11..=u64::MAX, Duration::from_secs(3600));
        let tally = run(caller, pace, Duration::from_secs(2)).await;
        let total = tally.total();
        let failed = tally.faults.0[&Fault::Timeout].count;
        assert_eq!((total.latencies.count(), failed), (10, 40));
        assert_eq!(total.failed, failed);
        assert!(begun.elapsed() <= Duration::from_secs(8));
    }
}
