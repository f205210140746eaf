//! Pauses between attempts.

use std::time::Duration;

use crate::error::CallError;

/// Exponential pauses with jitter, capped.
///
/// The nth pause is a random part, half to whole, of `first` doubled n - 1 times, and at most `cap`.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    cap: Duration,
    failures: u32,
}

// === impl Backoff ===

impl Backoff {
    /// A backoff without failures so far.
    pub fn new(first: Duration, cap: Duration) -> Self {
        Self {
            first,
            cap,
            failures: 0,
        }
    }

    /// Counts a failure. Returns how long to pause before the next attempt.
    pub fn pause(&mut self) -> Duration {
        let pause = Self::pause_of(self.first, self.cap, self.failures);
        self.failures = self.failures.saturating_add(1);
        pause
    }

    /// The pause after `failures` failures in a row and one more, for callers that count failures.
    pub fn pause_of(first: Duration, cap: Duration, failures: u32) -> Duration {
        let doubled = first.saturating_mul(1 << failures.min(30));
        doubled.min(cap).mul_f64(0.5 + 0.5 * fastrand::f64())
    }

    /// As [`Backoff::pause`], but at least as long as the API server asked for.
    pub fn pause_after(&mut self, error: &CallError) -> Duration {
        let pause = self.pause();
        error.retry_after().map_or(pause, |asked| asked.max(pause))
    }

    /// Notes a success: the next pause is the first again.
    pub fn reset(&mut self) {
        self.failures = 0;
    }

    /// Failures since the last success.
    pub fn failures(&self) -> u32 {
        self.failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_cap() {
        let ms = Duration::from_millis;
        let mut backoff = Backoff::new(ms(100), ms(350));
        for whole in [ms(100), ms(200), ms(350), ms(350)] {
            let pause = backoff.pause();
            assert!(
                pause >= whole / 2 && pause <= whole,
                "{pause:?} of {whole:?}"
            );
        }
        for _ in 0..100 {
            backoff.pause();
        }
        assert!(backoff.pause() <= ms(350));
        backoff.reset();
        assert!(backoff.pause() <= ms(100));
    }
}
