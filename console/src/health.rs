//! The runs of the checks of `berth doctor`, for all pages of a server.
//!
//! # Guarantees
//! - At most one run at a time, and none within [`PAUSE`] after the last one began.
//! - A run ends within [`LONGEST`].
//! - With `--read-only` no write is sent, also not as a dry run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use berth_admin::answers::{Failure, HUB_NAMESPACE, Health, Hub};
use jiff::Timestamp;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use crate::live::Tasks;

/// The shortest time between the beginnings of two runs.
pub(crate) const PAUSE: Duration = Duration::from_secs(10);

/// Upper bound on the time of a run.
const LONGEST: Duration = Duration::from_secs(60);

/// The runs of a server.
#[derive(Debug)]
pub(crate) struct Runs {
    hub: Hub,
    tasks: Tasks,
    /// Dry runs of writes are sent.
    pub(crate) tries: bool,
    state: Mutex<State>,
    changed: watch::Sender<u64>,
}

/// What is known of the runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// The last run that succeeded.
    pub(crate) looked: Option<Arc<Looked>>,
    /// Why the last run failed, if it did.
    pub(crate) failed: Option<Failure>,
    pub(crate) running: bool,
    began: Option<Instant>,
}

/// A run that succeeded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Looked {
    pub(crate) at: Timestamp,
    pub(crate) took: Duration,
    pub(crate) health: Health,
}

/// What becomes of the wish for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// A run has begun.
    Begun,
    /// One is under way.
    Running,
    /// The last one began too short a time ago. This is the time to wait.
    TooSoon(Duration),
}

// === impl State ===

impl State {
    /// Decides about the wish for a run, and notes its beginning.
    fn wish(&mut self, now: Instant) -> Wish {
        if self.running {
            return Wish::Running;
        }
        let passed = self.began.map(|it| now.duration_since(it));
        if let Some(left) = passed.and_then(|it| PAUSE.checked_sub(it))
            && !left.is_zero()
        {
            return Wish::TooSoon(left);
        }
        self.running = true;
        self.began = Some(now);
        Wish::Begun
    }

    /// Notes the end of a run.
    fn end(&mut self, run: Result<Looked, Failure>) {
        self.running = false;
        match run {
            Ok(looked) => {
                self.looked = Some(Arc::new(looked));
                self.failed = None;
            }
            Err(failure) => self.failed = Some(failure),
        }
    }
}

// === impl Runs ===

impl Runs {
    pub(crate) fn new(hub: Hub, tasks: Tasks, tries: bool) -> Arc<Self> {
        Arc::new(Self {
            hub,
            tasks,
            tries,
            state: Mutex::default(),
            changed: watch::Sender::new(0),
        })
    }

    pub(crate) fn state(&self) -> State {
        self.lock().clone()
    }

    /// Tells beginnings and ends of runs.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Returns true if a run has begun since then.
    pub(crate) fn has_begun_since(&self, then: Instant) -> bool {
        self.lock().began.is_some_and(|it| it >= then)
    }

    /// Runs the checks, if none run, and the last ones did not just begin.
    pub(crate) fn look(self: &Arc<Self>) -> Wish {
        let wish = self.lock().wish(Instant::now());
        if wish == Wish::Begun {
            self.tell();
            let runs = Arc::clone(self);
            self.tasks.tracker.spawn(async move {
                let run = runs.run().await;
                runs.lock().end(run);
                runs.tell();
            });
        }
        wish
    }

    /// The checks' futures stay on the thread that they began on, so they get one.
    async fn run(&self) -> Result<Looked, Failure> {
        let (hub, tries, end) = (self.hub.clone(), self.tries, self.tasks.end.clone());
        let began = Instant::now();
        let runtime = Handle::current();
        let ran = spawn_blocking(move || {
            let health = hub.health(HUB_NAMESPACE, tries);
            runtime.block_on(async move {
                tokio::select! {
                    health = tokio::time::timeout(LONGEST, health) => health.unwrap_or_else(|_| Err(too_long())),
                    () = end.cancelled() => Err(stopped("the console ends")),
                }
            })
        });
        let health = ran
            .await
            .unwrap_or_else(|error| Err(stopped(&error.to_string())))?;
        Ok(Looked {
            at: Timestamp::now(),
            took: began.elapsed(),
            health,
        })
    }

    fn tell(&self) {
        self.changed
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn too_long() -> Failure {
    Failure {
        message: format!("the checks took longer than {} s", LONGEST.as_secs()),
        code: 504,
        reason: "HubAway".to_owned(),
    }
}

fn stopped(why: &str) -> Failure {
    Failure {
        message: format!("the checks were stopped: {why}"),
        code: 500,
        reason: "Failed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_at_a_time_and_a_pause_between_two() {
        let mut state = State::default();
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        assert_eq!(state.wish(at(0)), Wish::Begun);
        assert_eq!(state.wish(at(100)), Wish::Running);
        state.end(Err(too_long()));
        assert_eq!(state.wish(at(4)), Wish::TooSoon(Duration::from_secs(6)));
        assert_eq!(state.wish(at(10)), Wish::Begun);
        assert!(state.looked.is_none());
    }

    #[test]
    fn a_failure_keeps_what_was_found_before() {
        let mut state = State::default();
        let health = Health::default();
        let (at, took) = (Timestamp::UNIX_EPOCH, Duration::ZERO);
        state.end(Ok(Looked { at, took, health }));
        state.end(Err(too_long()));
        assert!(state.looked.is_some() && state.failed.is_some());
        let health = Health::default();
        state.end(Ok(Looked { at, took, health }));
        assert_eq!(state.failed, None);
    }
}
