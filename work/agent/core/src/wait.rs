//! When to try again after a failure: later each time.

use std::time::{Duration, Instant};

use berth_work_core::Retry;

/// The first wait after a failure. It doubles with each failure that follows.
const FIRST: Duration = Duration::from_millis(500);

/// The longest wait after a failure.
const LONGEST: Duration = Duration::from_secs(300);

/// How long a wait for permissions lasts, as with OCM's agent.
const PERMISSION: Duration = Duration::from_secs(60);

/// The first wait for an object that is being deleted, and the longest.
const PENDING: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(60));

/// A wait after failures.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    pub until: Instant,
    failures: u32,
    /// A change of the object ends it.
    pub ends_with_change: bool,
    /// A change of permissions ends it.
    pub ends_with_permission: bool,
}

// === impl Wait ===

impl Wait {
    /// The number of failures in a row.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// The next wait for objects that are being deleted.
    pub fn pending(last: Option<Self>, now: Instant) -> Self {
        let failures = last.map_or(0, |it| it.failures);
        let (first, longest) = PENDING;
        Self {
            until: now + doubled(first, longest, failures),
            failures: failures.saturating_add(1),
            ends_with_change: false,
            ends_with_permission: false,
        }
    }

    /// The wait that follows this one. `spread`: by chance, from 0 to 1.
    pub fn after(last: Option<Self>, retry: Retry, now: Instant, spread: f64) -> Self {
        let failures = last.map_or(0, |it| it.failures);
        let wait = match retry {
            Retry::Backoff => doubled(FIRST, LONGEST, failures),
            Retry::OnChange => LONGEST,
            Retry::OnPermission => PERMISSION,
        };
        // Works that failed together do not try again together.
        let jitter = wait.mul_f64(spread * 0.2);
        Self {
            until: now + wait + jitter,
            failures: failures.saturating_add(1),
            ends_with_change: retry == Retry::OnChange,
            ends_with_permission: retry == Retry::OnPermission,
        }
    }
}

/// A wait that was doubled this many times, and is at most the longest one.
pub(crate) fn doubled(first: Duration, longest: Duration, times: u32) -> Duration {
    first.saturating_mul(1 << times.min(20)).min(longest)
}
