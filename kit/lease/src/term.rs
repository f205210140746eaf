//! A time of leadership, as the code that writes for the leader sees it.
//!
//! It ends by the clock. The elector's task can only extend it, or end it early.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// A time of leadership. A term that is over stays over; the next one is another value.
///
/// Code that writes for the leader holds a clone while a write is under way, and gives each write [`Term::bound`] as its
/// deadline. On shutdown the Lease is released when all clones are dropped.
#[derive(Clone, Debug)]
pub struct Term {
    identity: Arc<str>,
    /// None: the term was ended early.
    until: watch::Receiver<Option<Instant>>,
}

/// The elector's side of a [`Term`]. When it is dropped, the term ends.
#[derive(Debug)]
pub(crate) struct Tenure {
    until: watch::Sender<Option<Instant>>,
}

/// Resolves when the term is over; never without a term, which no other process can take over then.
pub async fn lost(term: Option<&Term>) {
    match term {
        Some(term) => term.lost().await,
        None => std::future::pending().await,
    }
}

// === impl Term ===

impl Term {
    /// The identity of this process, which leads.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// How long the term lasts if no further renewal succeeds. None: it is over.
    pub fn remaining(&self, now: std::time::Instant) -> Option<Duration> {
        // An error: the elector is gone.
        self.until.has_changed().ok()?;
        let until = (*self.until.borrow())?;
        let left = until.into_std().saturating_duration_since(now);
        (!left.is_zero()).then_some(left)
    }

    /// How long a write may take that begins now: at most `max`, and no longer than the term. None: it must not begin.
    pub fn bound(&self, max: Duration) -> Option<Duration> {
        Some(self.remaining(Instant::now().into_std())?.min(max))
    }

    /// Resolves when the term is over.
    pub async fn lost(&self) {
        let mut until = self.until.clone();
        loop {
            let end = {
                let end = until.borrow_and_update();
                match *end {
                    // The time is read under the lock, as in `Tenure::extend`: a term that is over here is not extended there.
                    Some(end) if Instant::now() < end => end,
                    _ => return,
                }
            };
            tokio::select! {
                changed = until.changed() => if changed.is_err() { return },
                () = sleep_until(end) => {}
            }
        }
    }
}

// === impl Tenure ===

impl Tenure {
    pub(crate) fn begin(identity: Arc<str>, until: Instant) -> (Self, Term) {
        let (sender, receiver) = watch::channel(Some(until));
        (
            Self { until: sender },
            Term {
                identity,
                until: receiver,
            },
        )
    }

    /// The end, unless the term is renewed.
    pub(crate) fn until(&self) -> Option<Instant> {
        *self.until.borrow()
    }

    /// Returns true if the term is not over.
    pub(crate) fn lasts(&self) -> bool {
        self.until().is_some_and(|until| Instant::now() < until)
    }

    /// Extends the term. Returns false if it is over, which it then stays.
    pub(crate) fn extend(&self, until: Instant) -> bool {
        let mut lasts = false;
        self.until.send_if_modified(|end| {
            lasts = end.is_some_and(|end| Instant::now() < end);
            if lasts {
                *end = (*end).max(Some(until));
            }
            lasts
        });
        lasts
    }

    /// Ends the term.
    pub(crate) fn end(&self) {
        self.until.send_replace(None);
    }

    /// Resolves when all clones of the [`Term`] are dropped.
    pub(crate) async fn unused(&self) {
        self.until.closed().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(seconds: u64) -> (Tenure, Term) {
        Tenure::begin("me".into(), Instant::now() + Duration::from_secs(seconds))
    }

    fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[tokio::test(start_paused = true)]
    async fn a_term_ends_by_the_clock_alone() {
        let (tenure, term) = begin(10);
        assert_eq!(term.bound(secs(30)), Some(secs(10)));
        assert_eq!(term.bound(secs(3)), Some(secs(3)));
        let start = Instant::now();
        term.lost().await;
        assert!(start.elapsed() >= secs(10) && start.elapsed() < secs(11));
        assert_eq!(term.bound(secs(3)), None);
        assert_eq!(term.remaining(Instant::now().into_std()), None);
        assert!(!tenure.lasts());
    }

    #[tokio::test(start_paused = true)]
    async fn a_renewal_goes_on_and_never_shortens() {
        let (tenure, term) = begin(10);
        tokio::time::advance(secs(8)).await;
        assert!(tenure.extend(Instant::now() + secs(10)));
        assert!(tenure.extend(Instant::now() + secs(1)), "an older answer");
        assert_eq!(term.remaining(Instant::now().into_std()), Some(secs(10)));
        let start = Instant::now();
        term.lost().await;
        assert!(start.elapsed() >= secs(10));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_over_is_not_renewed() {
        let (tenure, term) = begin(10);
        tokio::time::advance(secs(10)).await;
        assert!(!tenure.extend(Instant::now() + secs(10)));
        assert_eq!(term.remaining(Instant::now().into_std()), None);
        let (tenure, term) = begin(10);
        tenure.end();
        assert!(!tenure.extend(Instant::now() + secs(10)));
        assert_eq!(term.bound(secs(1)), None);
        term.lost().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_term_is_lost_with_its_elector() {
        let (tenure, term) = begin(1_000_000);
        let start = Instant::now();
        let lost = tokio::spawn({
            let term = term.clone();
            async move { term.lost().await }
        });
        tokio::time::sleep(secs(1)).await;
        drop(tenure);
        lost.await.unwrap();
        assert_eq!(start.elapsed(), secs(1));
        assert_eq!(term.remaining(Instant::now().into_std()), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_writer_is_waited_for() {
        let (tenure, term) = begin(10);
        let writer = tokio::spawn({
            let term = term.clone();
            async move {
                tokio::time::sleep(secs(3)).await;
                drop(term);
            }
        });
        drop(term);
        let start = Instant::now();
        tenure.end();
        tenure.unused().await;
        assert_eq!(start.elapsed(), secs(3));
        writer.await.unwrap();
    }
}
