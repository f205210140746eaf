//! A limit of requests per second, for admins who want one (`--kube-api-qps`).

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::queue::now;

/// A limit of requests per second, with a burst after a quiet time.
#[derive(Debug)]
pub struct Limit {
    interval: Duration,
    burst: u32,
    /// When the next request is due at an even rate.
    next: Mutex<Instant>,
}

// === impl Limit ===

impl Limit {
    /// Returns None without a limit: zero, negative, or not a number.
    pub fn new(per_second: f64, burst: u32) -> Option<Self> {
        let interval = Duration::try_from_secs_f64(1.0 / per_second).ok()?;
        Some(Self {
            interval,
            burst: burst.max(1),
            next: Mutex::new(now()),
        })
    }

    /// Waits until a request may be sent.
    pub async fn pass(&self) {
        let at = self.reserve(now());
        tokio::time::sleep_until(at.into()).await;
    }

    fn reserve(&self, now: Instant) -> Instant {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let saved = self.interval.saturating_mul(self.burst);
        // Idle time saves up one burst at most.
        let earliest = now.checked_sub(saved).unwrap_or(now);
        let due = (*next).max(earliest);
        *next = due.checked_add(self.interval).unwrap_or(due);
        due.checked_add(self.interval)
            .map_or(now, |due| due.checked_sub(saved).unwrap_or(now))
            .max(now)
    }
}
