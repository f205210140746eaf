//! Schedules calls: back to back (a closed loop), or at a given rate independent of the server (an open loop).
//!
//! In the open loop, the latency of a call counts from its due time. If the server stalls, calls that are due but cannot be sent, because
//! all connections are busy, count with their waiting time. A tool that counts from the time of sending omits them, and reports a stall
//! of a second as one slow call (coordinated omission).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The measured window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) from: Instant,
    pub(crate) to: Instant,
}

/// A schedule of calls at a steady rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    pub(crate) start: Instant,
    /// Calls per second.
    pub(crate) rate: f64,
    /// The number of calls.
    pub(crate) calls: u64,
}

/// Hands out tickets for calls.
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

/// Permission for one call.
#[derive(Debug, PartialEq)]
pub(crate) struct Ticket {
    pub(crate) number: u64,
    /// The due time; in a closed loop the time of the call.
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
    /// Returns a schedule at this rate for this time.
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

    /// Returns the number of calls that are due by this time.
    fn due_by(&self, at: Instant) -> u64 {
        let Some(since) = at.checked_duration_since(self.start) else {
            return 0;
        };
        // Rounding can be off by one; the due time decides.
        let mut due = (since.as_secs_f64() * self.rate).floor() as u64;
        while due < self.calls && self.due(due) <= at {
            due += 1;
        }
        due.min(self.calls)
    }
}

// === impl Pace ===

/// Maximum interval between two checks of the pacer.
const LOOK_UP: Duration = Duration::from_millis(20);

impl Pace {
    /// A closed loop until the window ends.
    pub(crate) fn closed(window: Window, stop: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            next: AtomicU64::new(0),
            window,
            open: None,
            stop,
        })
    }

    /// An open loop whose calls are [released](Self::release) by the caller.
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

    /// An open loop with a separate thread for timing, because the runtime's timer has a resolution of a millisecond, which is longer than
    /// most calls.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn open_and_paced(
        window: Window,
        schedule: Schedule,
        stop: CancellationToken,
    ) -> std::io::Result<Arc<Self>> {
        let pace = Self::open(window, schedule, stop);
        let paced = Arc::clone(&pace);
        // The thread ends after the last call, or soon after the stop.
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

    /// Releases the calls that are due, of which `released` were released before, and returns the new total.
    fn release(&self, released: u64, now: Instant) -> u64 {
        let Some(open) = &self.open else { return 0 };
        let due = open.schedule.due_by(now).max(released);
        // At most the calls of a second, because the pacer checks often.
        open.due
            .add_permits(usize::try_from(due - released).unwrap_or(0));
        due
    }

    /// Wakes all waiting workers at the end.
    fn end(&self) {
        if let Some(open) = &self.open {
            let all = Semaphore::MAX_PERMITS / 2;
            open.due.add_permits(all);
        }
    }

    /// Returns a ticket when the next call is due, or `None` when the run is over.
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

    /// Returns the calls per second of an open loop.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.open.as_ref().map(|open| open.schedule.rate)
    }
}

/// A pacer with the runtime's clock, which tests can pause.
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
            // The runtime's timer has a resolution of a millisecond.
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
