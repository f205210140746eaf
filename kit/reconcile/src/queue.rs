//! A queue of keys: each is worked on once at a time. Groups of keys take turns.
//!
//! # Guarantees
//! - A key that is woken several times while it waits is worked on once. A key that is woken while it is worked on is worked on
//!   once more.
//! - The keys of a group come out in the order they became due. Each group with due keys has its turn before another one has its second.
//!   Without groups, all keys are of one.
//! - A key that failed waits, although it is woken: longer each time, with jitter. So does a key that rests.

mod rest;
mod turns;

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use berth_hub::Backoff;
use prometheus::IntCounter;
use tokio::sync::Notify;

pub use self::rest::rest_after;
use self::turns::Turns;

/// The first wait after a failure. It doubles with each failure that follows.
const FIRST_WAIT: Duration = Duration::from_millis(50);

/// The longest wait after a failure.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A queue of keys.
#[derive(Debug)]
pub struct Queue<K> {
    inner: Mutex<Inner<K>>,
    changed: Notify,
}

/// The keys of a queue, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of keys that are due and wait.
    pub waiting: usize,
    /// How long the first of them has waited.
    pub longest_waiting: Duration,
    /// How long the work on keys under way has taken so far, summed up.
    pub unfinished: Duration,
    /// How long the longest of it has taken.
    pub longest_running: Duration,
}

/// The result of work on a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing is due now.
    Settled {
        /// When to work on the key again at the latest.
        again: Option<Instant>,
        /// When to work on the key again at the earliest, although it is woken.
        pause: Option<Instant>,
    },
    /// Nothing is due now, and the key rests: the work on it is costly, or what wakes it comes in bursts.
    Rests {
        /// When to work on the key again at the latest.
        again: Option<Instant>,
        /// When to work on the key again at the earliest, although it is woken. Without a wake it is no reason to work on it.
        until: Instant,
    },
    /// A write or a read failed.
    Failed {
        /// How long the API server asked to wait.
        wait: Option<Duration>,
    },
}

#[derive(Debug)]
struct Inner<K> {
    ready: Turns<K>,
    /// Keys that are due later. The number makes entries of the same time distinct.
    later: BTreeMap<(Instant, u64), K>,
    keys: HashMap<K, State>,
    /// The keys that are worked on, as many as the lane allows, with the time of the beginning.
    working: HashMap<K, Instant>,
    next: u64,
    /// Counts the keys that become due.
    adds: IntCounter,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// It is in `ready`.
    ready: bool,
    /// Its place in `later`.
    later: Option<(Instant, u64)>,
    /// It was woken while it is worked on.
    again: bool,
    /// It must not be worked on before.
    pause: Option<Instant>,
    /// Its place in `later` only remembers the pause: it has not been woken since.
    idle: bool,
    failures: u32,
    /// The time of the first of these failures.
    failing: Option<Instant>,
}

// === impl Next ===

impl Next {
    /// Nothing is due until something changes.
    pub const SETTLED: Self = Self::again(None);

    /// Nothing is due until something changes, or until this time.
    pub const fn again(again: Option<Instant>) -> Self {
        Self::Settled { again, pause: None }
    }

    /// As [`Self::again`], and the key rests for this time from `now` on.
    pub fn rests(again: Option<Instant>, rest: Option<Duration>, now: Instant) -> Self {
        match rest {
            Some(rest) => Self::Rests {
                again,
                until: now + rest,
            },
            None => Self::again(again),
        }
    }
}

// === impl Queue ===

impl<K: Clone + Eq + Hash> Queue<K> {
    /// A queue without keys. All keys are of one group. `adds` counts the keys that become due, also those that wait no moment.
    pub fn new(adds: IntCounter) -> Self {
        Self::with_groups(|_| "", adds)
    }

    /// As [`Self::new`]. `group_of`: the name of a key's group.
    pub fn with_groups(group_of: fn(&K) -> &str, adds: IntCounter) -> Self {
        Self {
            inner: Mutex::new(Inner {
                ready: Turns::new(group_of),
                later: BTreeMap::new(),
                keys: HashMap::new(),
                working: HashMap::new(),
                next: 0,
                adds,
            }),
            changed: Notify::new(),
        }
    }

    /// Makes a key due, unless it must wait.
    pub fn wake(&self, key: K, now: Instant) {
        self.lock().wake(key, now);
        self.changed.notify_one();
    }

    /// Waits for the next key that is due. Returns also since when it is. The caller calls [`Self::done`] after the work.
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

    /// Notes the end of work on a key.
    pub fn done(&self, key: &K, done: Next, now: Instant) {
        self.lock().done(key, done, now);
        self.changed.notify_one();
    }

    /// How long work on this key has failed in a row.
    pub fn failing_for(&self, key: &K, now: Instant) -> Duration {
        let since = self.lock().keys.get(key).and_then(|state| state.failing);
        since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }

    /// Counts the keys that wait, and those that are worked on.
    pub fn counts(&self, now: Instant) -> Counts {
        let inner = self.lock();
        let since = |then: Instant| now.saturating_duration_since(then);
        let running = inner.working.values().map(|begun| since(*begun));
        Counts {
            waiting: inner.ready.len(),
            longest_waiting: inner.ready.oldest().map(since).unwrap_or_default(),
            unfinished: running.clone().sum(),
            longest_running: running.max().unwrap_or_default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner<K>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time of the runtime's clock, which tests can stop.
pub fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

// === impl Inner ===

impl<K: Clone + Eq + Hash> Inner<K> {
    fn wake(&mut self, key: K, now: Instant) {
        let state = self.keys.entry(key.clone()).or_default();
        if self.working.contains_key(&key) {
            state.again = true;
        } else if !state.ready {
            match state.pause.filter(|pause| *pause > now) {
                Some(pause) => {
                    state.idle = false;
                    self.at(key, pause);
                }
                None => {
                    state.ready = true;
                    state.idle = false;
                    if let Some(place) = state.later.take() {
                        self.later.remove(&place);
                    }
                    self.due(key, now);
                }
            }
        }
    }

    /// Makes a key due at this time, or earlier if it already is.
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

    fn due(&mut self, key: K, since: Instant) {
        self.adds.inc();
        self.ready.push(key, since);
    }

    /// Takes a key that is due.
    ///
    /// # Errors
    /// No key is due. The value is when the next one will be.
    fn take(&mut self, now: Instant) -> Result<(K, Instant), Option<Instant>> {
        while let Some(entry) = self.later.first_entry() {
            let (at, _) = *entry.key();
            if at > now {
                break;
            }
            let key = entry.remove();
            if let Some(state) = self.keys.get_mut(&key) {
                state.later = None;
                if state.idle {
                    self.keys.remove(&key);
                    continue;
                }
                state.ready = true;
            }
            self.due(key, at);
        }
        let Some((key, since)) = self.ready.pop() else {
            return Err(self.later.keys().next().map(|(at, _)| *at));
        };
        if let Some(state) = self.keys.get_mut(&key) {
            state.ready = false;
        }
        self.working.insert(key.clone(), now);
        Ok((key, since))
    }

    fn done(&mut self, key: &K, done: Next, now: Instant) {
        self.working.remove(key);
        let Some(state) = self.keys.get_mut(key) else {
            return;
        };
        let woken = std::mem::take(&mut state.again);
        let again = match done {
            Next::Settled { again, pause } => {
                state.failures = 0;
                state.failing = None;
                state.pause = pause;
                if woken {
                    Some(pause.map_or(now, |pause| pause.max(now)))
                } else {
                    // The entry remembers the pause: the key is decided again when it ends.
                    again.into_iter().chain(pause).min()
                }
            }
            Next::Rests { again, until } => {
                state.failures = 0;
                state.failing = None;
                state.pause = Some(until);
                state.idle = !woken && again.is_none();
                Some(again.filter(|_| !woken).map_or(until, |it| it.max(until)))
            }
            Next::Failed { wait } => {
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
            // Otherwise the keys of deleted objects would fill the memory.
            None => {
                self.keys.remove(key);
            }
        }
    }
}

#[cfg(test)]
mod tests;
