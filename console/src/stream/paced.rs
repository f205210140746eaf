//! Changes that come often.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::Changes;

/// Changes of several kinds, told at most once in each pause.
pub(crate) struct Paced {
    changes: Changes,
    pause: Duration,
    told: Instant,
    /// A change waits for the end of the pause.
    waits: bool,
}

// === impl Paced ===

impl Paced {
    pub(crate) fn new(changes: Changes, pause: Duration) -> Self {
        Self {
            changes,
            pause,
            told: Instant::now(),
            waits: false,
        }
    }

    /// Waits for a change since the last time, and for the end of the pause. Nothing is lost when it is dropped.
    pub(crate) async fn next(&mut self) {
        if !self.waits {
            self.changes.next().await;
            self.waits = true;
        }
        sleep_until(self.told + self.pause).await;
        self.told = Instant::now();
        self.waits = false;
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::watch;
    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_change_waits_for_the_pause_and_is_not_lost_when_dropped() {
        let change = watch::Sender::new(0);
        let pause = Duration::from_secs(2);
        let mut paced = Paced::new(Changes::of([change.subscribe()]), pause);
        change.send_modify(|it| *it += 1);
        let dropped = timeout(Duration::from_secs(1), paced.next()).await;
        assert!(dropped.is_err(), "within the pause");
        timeout(pause, paced.next()).await.unwrap();
        let silent = timeout(Duration::from_secs(60), paced.next()).await;
        assert!(silent.is_err(), "no change");
        change.send_modify(|it| *it += 1);
        timeout(Duration::ZERO, paced.next()).await.unwrap();
    }
}
