//! Keys that are to be worked on: each once at a time, in the order they came, some only later.
//!
//! # Guarantees
//! - A key that is woken while it waits is worked on once; one that is woken while it is worked on, once more after that.
//! - Keys come out in the order they became due.
//! - A key that failed waits, longer each time and by chance a little more or less, whoever wakes it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use berth_hub::Backoff;
use tokio::sync::Notify;

/// The first wait after a failure. It doubles with each one that follows.
const FIRST_WAIT: Duration = Duration::from_millis(50);

/// The longest wait after a failure.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A queue of keys.
#[derive(Debug)]
pub struct Queue<K> {
    inner: Mutex<Inner<K>>,
    changed: Notify,
}

/// What a key's work came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// Nothing is left to do, but perhaps at this time.
    Settled {
        /// When to work on it again at the latest.
        again: Option<Instant>,
        /// Not before this, though it be woken.
        pause: Option<Instant>,
    },
    /// Something failed; the hub may have said how long to wait.
    Failed {
        /// What the API server asked for.
        wait: Option<Duration>,
    },
}

#[derive(Debug)]
struct Inner<K> {
    /// Due, the longest first, with the time they became so.
    ready: VecDeque<(K, Instant)>,
    /// Due later. The number tells keys of the same time apart.
    later: BTreeMap<(Instant, u64), K>,
    keys: HashMap<K, State>,
    next: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// It is in `ready`.
    ready: bool,
    /// Its place in `later`.
    later: Option<(Instant, u64)>,
    /// It is being worked on.
    working: bool,
    /// It was woken meanwhile.
    again: bool,
    /// It may not be worked on before.
    pause: Option<Instant>,
    failures: u32,
    /// When the first of these failures was.
    failing: Option<Instant>,
}

// === impl Queue ===

impl<K: Clone + Eq + Hash> Queue<K> {
    /// A queue without keys.
    #[allow(clippy::new_without_default, reason = "nothing takes a default queue")]
    pub fn new() -> Self {
        Self {
            inner: Mutex::new(Inner {
                ready: VecDeque::new(),
                later: BTreeMap::new(),
                keys: HashMap::new(),
                next: 0,
            }),
            changed: Notify::new(),
        }
    }

    /// Has the key worked on, as soon as may be.
    pub fn wake(&self, key: K, now: Instant) {
        self.lock().wake(key, now);
        self.changed.notify_one();
    }

    /// The next key that is due; waits for it. Whoever takes it calls [`Self::done`].
    pub async fn next(&self) -> (K, Instant) {
        loop {
            let changed = self.changed.notified();
            let wait = match self.lock().take(now()) {
                Ok(due) => return due,
                Err(wait) => wait,
            };
            match wait {
                None => changed.await,
                Some(at) => {
                    let _ = tokio::time::timeout_at(at.into(), changed).await;
                }
            }
        }
    }

    /// Ends the work on a key.
    pub fn done(&self, key: &K, done: Done, now: Instant) {
        self.lock().done(key, done, now);
        self.changed.notify_one();
    }

    /// How long the work on this key has failed in a row.
    pub fn failing_for(&self, key: &K, now: Instant) -> Duration {
        let since = self.lock().keys.get(key).and_then(|state| state.failing);
        since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }

    /// How many keys are due and wait, and how long the first has.
    pub fn waiting(&self, now: Instant) -> (usize, Duration) {
        let inner = self.lock();
        let age = inner.ready.front().map_or(Duration::ZERO, |(_, since)| {
            now.saturating_duration_since(*since)
        });
        (inner.ready.len(), age)
    }

    fn lock(&self) -> MutexGuard<'_, Inner<K>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// By the clock of the runtime, which tests can stop.
pub fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

// === impl Inner ===

impl<K: Clone + Eq + Hash> Inner<K> {
    fn wake(&mut self, key: K, now: Instant) {
        let state = self.keys.entry(key.clone()).or_default();
        if state.working {
            state.again = true;
        } else if !state.ready {
            match state.pause.filter(|pause| *pause > now) {
                Some(pause) => self.at(key, pause),
                None => {
                    state.ready = true;
                    if let Some(place) = state.later.take() {
                        self.later.remove(&place);
                    }
                    self.ready.push_back((key, now));
                }
            }
        }
    }

    /// Has the key worked on at this time, or earlier if that is asked for already.
    fn at(&mut self, key: K, at: Instant) {
        let state = self.keys.entry(key.clone()).or_default();
        if state.later.is_some_and(|(earlier, _)| earlier <= at) {
            return;
        }
        if let Some(place) = state.later.take() {
            self.later.remove(&place);
        }
        let place = (at, self.next);
        self.next += 1;
        state.later = Some(place);
        self.later.insert(place, key);
    }

    /// A key that is due; or when the next one will be.
    fn take(&mut self, now: Instant) -> Result<(K, Instant), Option<Instant>> {
        while let Some(entry) = self.later.first_entry() {
            let (at, _) = *entry.key();
            if at > now {
                break;
            }
            let key = entry.remove();
            if let Some(state) = self.keys.get_mut(&key) {
                state.later = None;
                state.ready = true;
            }
            self.ready.push_back((key, at));
        }
        let Some((key, since)) = self.ready.pop_front() else {
            return Err(self.later.keys().next().map(|(at, _)| *at));
        };
        if let Some(state) = self.keys.get_mut(&key) {
            state.ready = false;
            state.working = true;
        }
        Ok((key, since))
    }

    fn done(&mut self, key: &K, done: Done, now: Instant) {
        let Some(state) = self.keys.get_mut(key) else {
            return;
        };
        state.working = false;
        let woken = std::mem::take(&mut state.again);
        let again = match done {
            Done::Settled { again, pause } => {
                state.failures = 0;
                state.failing = None;
                state.pause = pause;
                if woken {
                    Some(pause.map_or(now, |pause| pause.max(now)))
                } else {
                    // A pause is kept by looking once more when it ends.
                    again.into_iter().chain(pause).min()
                }
            }
            Done::Failed { wait } => {
                let backoff = Backoff::pause_of(FIRST_WAIT, LONGEST_WAIT, state.failures);
                state.failures = state.failures.saturating_add(1);
                state.failing.get_or_insert(now);
                let at = now + wait.unwrap_or_default().min(LONGEST_WAIT).max(backoff);
                state.pause = Some(at);
                Some(at)
            }
        };
        match again {
            Some(at) => self.at(key.clone(), at),
            // What nobody asks for any more is forgotten, or a hub's history would fill the memory.
            None => {
                self.keys.remove(key);
            }
        }
    }
}

#[cfg(test)]
mod tests;
