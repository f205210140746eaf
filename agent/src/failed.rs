//! A step of a registration that failed.

use std::time::Duration;

use berth_hub::{Backoff, CallError};

use crate::standing::Wait;

/// The first pause after a failure, and the longest.
pub(crate) const PAUSES: (Duration, Duration) =
    (Duration::from_millis(500), Duration::from_secs(60));

/// The pause after a cluster refused a step. A person has to act first.
const AFTER_REFUSAL: Duration = Duration::from_secs(120);

/// How long a wait lasts before it is logged. A hub signs in less.
pub(crate) const UNTOLD: Duration = Duration::from_secs(2);

/// A step that failed.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) wait: Wait,
    pub(crate) is_refusal: bool,
    /// The call named something that does not exist, such as the namespace of a Secret.
    pub(crate) is_absent: bool,
    pub(crate) retry_after: Option<Duration>,
}

// === impl Failed ===

impl Failed {
    pub(crate) fn of(reason: &'static str, message: String) -> Self {
        Self {
            wait: Wait { reason, message },
            is_refusal: false,
            is_absent: false,
            retry_after: None,
        }
    }

    /// A call to the cluster that the Secret is on.
    pub(crate) fn here(error: &CallError) -> Self {
        Self::of_call("SecretUnwritable", "the agent's own cluster", error)
    }

    /// A call to the hub.
    pub(crate) fn on_hub(error: &CallError) -> Self {
        Self::of_call(reason_on_hub(error.code()), "the hub", error)
    }

    /// Returns how long to wait before the step is tried again.
    pub(crate) fn pause(&self, backoff: &mut Backoff) -> Duration {
        let pause = backoff.pause();
        let pause = if self.is_refusal {
            AFTER_REFUSAL.mul_f64(0.75 + 0.5 * fastrand::f64())
        } else {
            pause
        };
        self.retry_after.map_or(pause, |asked| pause.max(asked))
    }

    fn of_call(reason: &'static str, whose: &str, error: &CallError) -> Self {
        Self {
            wait: Wait {
                reason,
                message: format!("{whose}: {error}"),
            },
            is_refusal: matches!(error.code(), 401 | 403),
            is_absent: error.code() == 404,
            retry_after: error.retry_after(),
        }
    }
}

/// The reason to wait after the hub has answered the bootstrap credentials with this code; 0: it has not.
pub(crate) fn reason_on_hub(code: u16) -> &'static str {
    match code {
        401 => "BootstrapCredentialsRefused",
        403 => "RequestRefused",
        _ => "HubAway",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// The pauses of an hour in which each step fails so.
    fn hour_of(is_refusal: bool, retry_after: Option<Duration>) -> Vec<Duration> {
        let mut backoff = Backoff::new(PAUSES.0, PAUSES.1);
        let (mut pauses, mut passed) = (Vec::new(), Duration::ZERO);
        while passed < Duration::from_secs(3600) {
            let failed = Failed {
                is_refusal,
                retry_after,
                ..Failed::of("HubAway", String::new())
            };
            let pause = failed.pause(&mut backoff);
            passed += pause;
            pauses.push(pause);
        }
        pauses
    }

    #[test]
    fn a_registration_that_fails_for_an_hour_is_tried_seldom_and_at_uneven_times() {
        let seconds = Duration::from_secs;
        for (sentence, is_refusal, retry_after, most) in [
            ("the hub is away, or answers 5xx", false, None, 130),
            ("it answers 429", false, Some(seconds(1)), 130),
            ("it asks for more patience", false, Some(seconds(300)), 12),
            ("it answers 403", true, None, 41),
        ] {
            let pauses = hour_of(is_refusal, retry_after);
            assert!(pauses.len() <= most, "{sentence}: {}", pauses.len());
            let late = &pauses[pauses.len() / 2..];
            let (shortest, longest) = (late.iter().min().unwrap(), late.iter().max().unwrap());
            assert!(longest <= &seconds(300), "{sentence}: {longest:?}");
            let is_asked = retry_after.is_some_and(|asked| asked == *longest);
            assert!(is_asked || longest > shortest, "{sentence}: {longest:?}");
        }
    }
}
