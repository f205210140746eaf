//! Waiting for a condition: one function instead of a loop in each test.
//!
//! A test never sleeps for the time that an event usually takes. It looks again until the condition holds, and when
//! that takes too long, it fails with what was awaited and what was seen last.

use std::fmt::Debug;
use std::panic::Location;
use std::time::{Duration, Instant};

/// Upper bound on every wait. A passing test never comes near it, however busy the machine is.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The pause after the first look. Each pause is twice the previous one, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(4);
const LONGEST_PAUSE: Duration = Duration::from_millis(16);

/// A pause is at least so many times as long as the look before it: to look must not slow down what is awaited.
const PAUSES_PER_LOOK: u32 = 4;

/// Looks until `look` returns `Ok`, and returns its value. `Err` holds what was seen instead.
///
/// # Panics
/// After [`PATIENCE`], with the caller's location, what was awaited, and what was seen last.
#[track_caller]
pub fn eventually<T, Seen: Debug>(
    awaited: &str,
    look: impl AsyncFnMut() -> Result<T, Seen>,
) -> impl Future<Output = T> {
    eventually_within(PATIENCE, awaited, look)
}

/// As [`eventually`], with another bound.
///
/// # Panics
/// After `patience`, with the caller's location, what was awaited, and what was seen last.
#[track_caller]
pub fn eventually_within<T, Seen: Debug>(
    patience: Duration,
    awaited: &str,
    mut look: impl AsyncFnMut() -> Result<T, Seen>,
) -> impl Future<Output = T> {
    let mut wait = Wait::new(patience, awaited, Location::caller());
    async move {
        loop {
            let begun = Instant::now();
            match look().await {
                Ok(value) => return value,
                Err(seen) => tokio::time::sleep(wait.pause(&seen, begun.elapsed())).await,
            }
        }
    }
}

/// As [`eventually`], for tests and threads without a runtime.
///
/// # Panics
/// After [`PATIENCE`], with the caller's location, what was awaited, and what was seen last.
#[track_caller]
pub fn eventually_blocking<T, Seen: Debug>(
    awaited: &str,
    mut look: impl FnMut() -> Result<T, Seen>,
) -> T {
    let mut wait = Wait::new(PATIENCE, awaited, Location::caller());
    loop {
        let begun = Instant::now();
        match look() {
            Ok(value) => return value,
            Err(seen) => std::thread::sleep(wait.pause(&seen, begun.elapsed())),
        }
    }
}

/// Returns `Ok` if the value is as awaited, and otherwise `Err` with the value, for use in [`eventually`].
///
/// # Errors
/// The value, when the condition does not hold.
pub fn when<T>(value: T, is_as_awaited: impl FnOnce(&T) -> bool) -> Result<T, T> {
    if is_as_awaited(&value) {
        Ok(value)
    } else {
        Err(value)
    }
}

/// Waits until the next second begins: a test of times in whole seconds needs it.
pub async fn next_second() {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    let left = Duration::from_secs(1) - Duration::from_nanos(now.subsec_nanos().into());
    tokio::time::sleep(left + Duration::from_millis(5)).await;
}

struct Wait<'a> {
    awaited: &'a str,
    caller: &'static Location<'static>,
    begun: Instant,
    patience: Duration,
    pause: Duration,
}

impl<'a> Wait<'a> {
    fn new(patience: Duration, awaited: &'a str, caller: &'static Location<'static>) -> Self {
        Self {
            awaited,
            caller,
            begun: Instant::now(),
            patience,
            pause: FIRST_PAUSE,
        }
    }

    /// The pause before the next look. `took`: how long the last one took.
    fn pause(&mut self, seen: &impl Debug, took: Duration) -> Duration {
        let Self {
            awaited,
            caller,
            patience,
            ..
        } = self;
        assert!(
            self.begun.elapsed() < *patience,
            "{caller}: waited {patience:?} in vain for: {awaited}; last seen: {seen:?}"
        );
        let pause = self.pause;
        self.pause = (pause * 2).min(LONGEST_PAUSE);
        pause.max((took * PAUSES_PER_LOOK).min(*patience / 20))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_value_as_awaited_is_returned() {
        let mut looks = 0;
        let seen = eventually("three looks", async || {
            looks += 1;
            when(looks, |looks| *looks == 3)
        });
        assert_eq!(seen.await, 3);
    }

    #[tokio::test]
    #[should_panic(expected = "in vain for: a green light; last seen: \"red\"")]
    async fn a_wait_in_vain_says_what_was_awaited_and_seen() {
        let look = async || Err::<(), _>("red");
        eventually_within(Duration::ZERO, "a green light", look).await;
    }

    #[test]
    fn a_thread_waits_as_well() {
        let mut lights = ["red", "green"].into_iter();
        eventually_blocking("green", || when(lights.next(), |it| *it == Some("green")));
    }
}
