//! When calls are made: back to back (a closed loop), or at a given rate whatever the server does (an open loop).
//!
//! In the open loop a call's latency counts from the time it was due. Where the server stalls, the calls that were due
//! meanwhile, and could not be sent as all connections were busy, count with the time they waited. A tool that counts from
//! the sending leaves them out, and a stall of a second shows as one slow call (coordinated omission).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The measured time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) from: Instant,
    pub(crate) to: Instant,
}

/// Calls at a steady rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    pub(crate) start: Instant,
    /// Calls in a second.
    pub(crate) rate: f64,
    /// How many there are.
    pub(crate) calls: u64,
}

/// Says whose turn it is.
#[derive(Debug)]
pub(crate) struct Pace {
    next: AtomicU64,
    window: Window,
    open: Option<Open>,
    stop: CancellationToken,
}

#[derive(Debug)]
struct Open {
    schedule: Schedule,
    /// A permit for each call that is due.
    due: Semaphore,
}

/// Leave to make one call.
#[derive(Debug, PartialEq)]
pub(crate) struct Ticket {
    pub(crate) number: u64,
    /// When it was due; in a closed loop it is due when it is made.
    pub(crate) due: Option<Instant>,
}

// === impl Window ===

impl Window {
    pub(crate) fn holds(&self, at: Instant) -> bool {
        self.from <= at && at < self.to
    }
}

// === impl Schedule ===

impl Schedule {
    /// Calls at this rate for so long.
    pub(crate) fn new(start: Instant, rate: f64, length: Duration) -> Self {
        Self {
            start,
            rate,
            calls: (rate * length.as_secs_f64()).ceil() as u64,
        }
    }

    pub(crate) fn due(&self, number: u64) -> Instant {
        self.start + Duration::from_secs_f64(number as f64 / self.rate)
    }

    /// How many calls are due by this moment.
    fn due_by(&self, at: Instant) -> u64 {
        let Some(since) = at.checked_duration_since(self.start) else {
            return 0;
        };
        // Rounding may be one off: what counts is when each is due.
        let mut due = (since.as_secs_f64() * self.rate).floor() as u64;
        while due < self.calls && self.due(due) <= at {
            due += 1;
        }
        due.min(self.calls)
    }
}

// === impl Pace ===

/// The pacer looks up this often, also when nothing is due for long.
const LOOK_UP: Duration = Duration::from_millis(20);

impl Pace {
    /// Calls follow each other until the window ends.
    pub(crate) fn closed(window: Window, stop: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            next: AtomicU64::new(0),
            window,
            open: None,
            stop,
        })
    }

    /// Calls become due by a schedule, once somebody [lets them](Self::release).
    fn open(window: Window, schedule: Schedule, stop: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            next: AtomicU64::new(0),
            window,
            open: Some(Open {
                schedule,
                due: Semaphore::new(0),
            }),
            stop,
        })
    }

    /// Calls become due by a schedule. A thread of its own keeps the time: the runtime's timer is good to a millisecond,
    /// which is longer than most calls take.
    ///
    /// # Errors
    /// When there can be no thread.
    pub(crate) fn open_and_paced(
        window: Window,
        schedule: Schedule,
        stop: CancellationToken,
    ) -> std::io::Result<Arc<Self>> {
        let pace = Self::open(window, schedule, stop);
        let paced = Arc::clone(&pace);
        // It ends by itself with the last call, or soon after the stop.
        thread::Builder::new().name("pacer".into()).spawn(move || {
            let mut released = 0;
            while released < schedule.calls && !paced.stop.is_cancelled() {
                released = paced.release(released, Instant::now());
                let next = schedule
                    .due(released)
                    .saturating_duration_since(Instant::now());
                thread::sleep(next.min(LOOK_UP));
            }
            paced.end();
        })?;
        Ok(pace)
    }

    /// Releases what is due by now, of which `released` were before; how many that makes.
    fn release(&self, released: u64, now: Instant) -> u64 {
        let Some(open) = &self.open else { return 0 };
        let due = open.schedule.due_by(now).max(released);
        // A second's calls at most, as the pacer looks up often.
        open.due
            .add_permits(usize::try_from(due - released).unwrap_or(0));
        due
    }

    /// Wakes all who wait for a call that does not come.
    fn end(&self) {
        if let Some(open) = &self.open {
            let all = Semaphore::MAX_PERMITS / 2;
            open.due.add_permits(all);
        }
    }

    /// Leave for the next call, when it is due; none when the run is over.
    pub(crate) async fn ticket(&self) -> Option<Ticket> {
        let Some(open) = &self.open else {
            let over = self.stop.is_cancelled() || Instant::now() >= self.window.to;
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            return (!over).then_some(Ticket { number, due: None });
        };
        tokio::select! {
            biased;
            () = self.stop.cancelled() => return None,
            permit = open.due.acquire() => permit.ok()?.forget(),
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number < open.schedule.calls).then(|| Ticket {
            number,
            due: Some(open.schedule.due(number)),
        })
    }

    pub(crate) fn window(&self) -> Window {
        self.window
    }

    /// In an open loop, calls in a second.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.open.as_ref().map(|open| open.schedule.rate)
    }
}

/// A pacer that lives in the runtime, and so by its time, which tests can hold.
#[cfg(test)]
pub(crate) fn open_and_paced_by_a_task(window: Window, schedule: Schedule) -> Arc<Pace> {
    let pace = Pace::open(window, schedule, CancellationToken::new());
    let paced = Arc::clone(&pace);
    tokio::spawn(async move {
        let mut released = 0;
        while released < schedule.calls {
            tokio::time::sleep_until(schedule.due(released)).await;
            released = paced.release(released, Instant::now());
        }
        paced.end();
    });
    pace
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_due_evenly_and_none_is_left_out() {
        let start = Instant::now();
        let schedule = Schedule::new(start, 4.0, Duration::from_millis(1100));
        let at = |millis| start + Duration::from_millis(millis);
        assert_eq!(schedule.calls, 5);
        assert_eq!(schedule.due(3), at(750));
        let rows = [(0, 1), (249, 1), (250, 2), (760, 4), (1000, 5), (9000, 5)];
        for (millis, due) in rows {
            assert_eq!(schedule.due_by(at(millis)), due, "after {millis} ms");
        }
        let schedule = Schedule::new(start, 1e6 / 3.0, Duration::from_secs(1));
        for number in (0..schedule.calls).step_by(997) {
            let due = schedule.due_by(schedule.due(number));
            assert!(
                due > number,
                "{number} is due when it is, and not only {due} are"
            );
        }
        let before = start.checked_sub(Duration::from_nanos(1)).unwrap();
        assert_eq!(schedule.due_by(before), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_worker_gets_the_calls_it_missed_and_when_they_were_due() {
        let start = Instant::now();
        let window = Window {
            from: start,
            to: start + Duration::from_secs(1),
        };
        let pace =
            open_and_paced_by_a_task(window, Schedule::new(start, 10.0, Duration::from_secs(1)));
        tokio::time::sleep(Duration::from_millis(450)).await;
        for number in 0..10 {
            let ticket = pace.ticket().await.unwrap();
            let due = start + Duration::from_millis(100) * u32::try_from(number).unwrap();
            assert_eq!(ticket.number, number);
            assert_eq!(ticket.due, Some(due));
            let late = if number < 5 { 450 - 100 * number } else { 0 };
            // The runtime's timer is good to a millisecond.
            assert!(due.elapsed() <= Duration::from_millis(late + 1), "{number}");
        }
        assert_eq!(pace.ticket().await, None);
        assert_eq!(pace.ticket().await, None, "for every worker");
    }

    #[tokio::test]
    async fn the_pacer_keeps_the_rate_and_stops_when_told() {
        let start = Instant::now();
        let window = Window {
            from: start,
            to: start + Duration::from_secs(3600),
        };
        let stop = CancellationToken::new();
        let schedule = Schedule::new(start, 1000.0, Duration::from_secs(3600));
        let pace = Pace::open_and_paced(window, schedule, stop.clone()).unwrap();
        for _ in 0..100 {
            let due = pace.ticket().await.unwrap().due.unwrap();
            assert!(Instant::now() >= due, "none comes early");
        }
        assert!(start.elapsed() >= Duration::from_millis(99));
        stop.cancel();
        assert_eq!(pace.ticket().await, None);
        drop(pace);
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_loop_ends_with_the_window() {
        let start = Instant::now();
        let window = Window {
            from: start,
            to: start + Duration::from_secs(1),
        };
        let pace = Pace::closed(window, CancellationToken::new());
        assert_eq!(
            pace.ticket().await,
            Some(Ticket {
                number: 0,
                due: None
            })
        );
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(pace.ticket().await, None);
    }
}
