//! A controller's queue: one job at a time for each key, and another try after a failure.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::hash::Hash;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::feed::{Feed, News};
use crate::status::ApiError;

/// Jobs at the same time.
const JOBS: usize = 16;
/// Before the first repetition; doubled for each further one.
const FIRST_DELAY: Duration = Duration::from_millis(100);
const LAST_DELAY: Duration = Duration::from_secs(30);

/// Something to be done.
pub(super) type Job = BoxFuture<'static, Result<(), ApiError>>;

/// Follows a feed until cancelled. `concerned` names the keys that news are about; `job` makes what is to be done for one.
pub(super) async fn work<K>(
    mut feed: Feed,
    cancel: CancellationToken,
    concerned: impl Fn(&News) -> BTreeSet<K>,
    mut job: impl FnMut(&K) -> Option<Job>,
) where
    K: Clone + Eq + Hash + Ord + Send + fmt::Debug + 'static,
{
    let mut queue = Queue::new();
    loop {
        let first = tokio::select! {
            () = cancel.cancelled() => return,
            news = feed.next() => Some(news),
            () = queue.progress() => None,
        };
        for news in first.into_iter().chain(feed.up_to_now().await) {
            queue.due.append(&mut concerned(&news));
        }
        queue.start(&mut job);
    }
}

/// Keys, and the jobs that are under way for them.
pub(super) struct Queue<K> {
    due: BTreeSet<K>,
    running: HashSet<K>,
    jobs: FuturesUnordered<BoxFuture<'static, (K, Result<(), ApiError>)>>,
    failures: HashMap<K, u32>,
    delayed: BTreeSet<(Instant, K)>,
}

impl<K: Clone + Eq + Hash + Ord + Send + fmt::Debug + 'static> Queue<K> {
    pub(super) fn new() -> Self {
        Self {
            due: BTreeSet::new(),
            running: HashSet::new(),
            jobs: FuturesUnordered::new(),
            failures: HashMap::new(),
            delayed: BTreeSet::new(),
        }
    }

    /// Has the key looked at, also when there is a job for it already: after that.
    pub(super) fn add(&mut self, key: K) {
        self.due.insert(key);
    }

    /// Starts jobs for keys that are due, as `job` makes them: none, if there is nothing to be done.
    pub(super) fn start(&mut self, mut job: impl FnMut(&K) -> Option<Job>) {
        let mut waiting = BTreeSet::new();
        while self.jobs.len() < JOBS
            && let Some(key) = self.due.pop_first()
        {
            if self.running.contains(&key) {
                waiting.insert(key);
                continue;
            }
            match job(&key) {
                None => {
                    self.failures.remove(&key);
                }
                Some(job) => {
                    self.running.insert(key.clone());
                    self.jobs.push(Box::pin(async move { (key, job.await) }));
                }
            }
        }
        self.due.append(&mut waiting);
    }

    /// Moves the jobs along until one has ended or a key is due again; that may be never. Cancel safe.
    pub(super) async fn progress(&mut self) {
        let next = self.delayed.first().map(|(at, _)| *at);
        let delay = async {
            match next {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Some((key, result)) = self.jobs.next(), if !self.jobs.is_empty() => {
                self.ended(key, result, Instant::now());
            }
            () = delay => {}
        }
        let now = Instant::now();
        while let Some((at, _)) = self.delayed.first()
            && *at <= now
            && let Some((_, key)) = self.delayed.pop_first()
        {
            self.due.insert(key);
        }
    }

    fn ended(&mut self, key: K, result: Result<(), ApiError>, now: Instant) {
        self.running.remove(&key);
        match result {
            Ok(()) => {
                self.failures.remove(&key);
            }
            Err(error) => {
                let failures = self.failures.entry(key.clone()).or_default();
                let delay = FIRST_DELAY * 2u32.saturating_pow(*failures);
                *failures = failures.saturating_add(1).min(16);
                tracing::debug!(?key, %error, "to be tried again");
                self.delayed.insert((now + delay.min(LAST_DELAY), key));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn fails() -> Job {
        Box::pin(async { Err(ApiError::internal("no")) })
    }

    #[tokio::test(start_paused = true)]
    async fn what_fails_is_tried_again_less_and_less_often() {
        let mut queue = Queue::new();
        queue.add("a");
        let begun = Instant::now();
        let mut tries = Vec::new();
        while tries.len() < 5 {
            queue.start(|_| {
                tries.push(begun.elapsed().as_millis());
                Some(fails())
            });
            queue.progress().await;
        }
        assert_eq!(tries, [0, 100, 300, 700, 1500]);
    }

    #[tokio::test]
    async fn there_is_one_job_for_a_key_at_a_time() {
        let mut queue = Queue::new();
        let (started, (finish, finished)) = (
            Arc::new(AtomicU32::new(0)),
            tokio::sync::watch::channel(false),
        );
        let start = |queue: &mut Queue<&'static str>| {
            queue.start(|_| {
                started.fetch_add(1, Ordering::SeqCst);
                let mut finished = finished.clone();
                Some(Box::pin(async move {
                    let _ = finished.wait_for(|done| *done).await;
                    Ok(())
                }))
            });
        };
        queue.add("a");
        start(&mut queue);
        queue.add("a");
        start(&mut queue);
        assert_eq!(started.load(Ordering::SeqCst), 1);
        finish.send_replace(true);
        queue.progress().await;
        start(&mut queue);
        assert_eq!(started.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_to_do_takes_no_time() {
        let mut queue = Queue::<&str>::new();
        queue.add("a");
        queue.start(|_| None);
        let progress = tokio::time::timeout(Duration::from_secs(3600), queue.progress());
        assert!(progress.await.is_err());
    }
}
