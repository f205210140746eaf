//! A thread for long computations, so that they do not block the threads that serve.
//!
//! The thread polls one future at a time; a future that waits lets others run. Tasks and timers of the futures belong to the
//! runtime that serves.

use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

/// The thread. It starts with the first work. Dropping this value ends and joins it.
#[derive(Debug, Default)]
pub(crate) struct Lane(Mutex<Option<Running>>);

#[derive(Debug)]
struct Running {
    work: mpsc::UnboundedSender<BoxFuture<'static, ()>>,
    thread: JoinHandle<()>,
}

impl Lane {
    /// Runs the work on the thread; returns `None` if the thread cannot start. Dropping the future cancels the work.
    ///
    /// The caller must limit the amount of waiting work.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (mut done, result) = oneshot::channel();
        let work = async move {
            let found = tokio::select! {
                // First: the caller does not wait any more.
                biased;
                () = done.closed() => return,
                found = work => found,
            };
            drop(done.send(found));
        };
        self.sender()?.send(Box::pin(work)).ok()?;
        result.await.ok()
    }

    fn sender(&self) -> Option<mpsc::UnboundedSender<BoxFuture<'static, ()>>> {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = running
            .as_ref()
            .filter(|running| !running.thread.is_finished())
        {
            return Some(running.work.clone());
        }
        let (work, received) = mpsc::unbounded_channel();
        let runtime = Handle::current();
        let started = std::thread::Builder::new()
            .name("large-requests".to_owned())
            .spawn(move || runtime.block_on(drive(received)));
        let thread = match started {
            Ok(thread) => thread,
            Err(error) => {
                tracing::error!(%error, "the thread for large requests cannot be started");
                return None;
            }
        };
        let sender = work.clone();
        *running = Some(Running { work, thread });
        Some(sender)
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        let running = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(Running { work, thread }) = running.take() {
            drop(work);
            // Waiting work is cancelled; the current poll ends first.
            if thread.join().is_err() {
                tracing::error!("the thread for large requests panicked");
            }
        }
    }
}

/// Drives all work until the channel is closed.
async fn drive(mut received: mpsc::UnboundedReceiver<BoxFuture<'static, ()>>) {
    let mut waiting = FuturesUnordered::new();
    loop {
        tokio::select! {
            work = received.recv() => match work {
                Some(work) => waiting.push(work),
                None => return,
            },
            Some(()) = waiting.next() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use futures::future::join_all;

    use super::*;

    #[tokio::test]
    async fn work_is_done_one_after_the_other_on_one_thread() {
        let lane = Lane::default();
        let own = std::thread::current().id();
        let (at_once, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let work = (0..8).map(|_| {
            let (at_once, most) = (Arc::clone(&at_once), Arc::clone(&most));
            lane.run(async move {
                most.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(2));
                at_once.fetch_sub(1, Ordering::SeqCst);
                std::thread::current().id()
            })
        });
        let threads = join_all(work).await;
        assert!(
            threads
                .iter()
                .all(|thread| *thread == threads[0] && *thread != Some(own))
        );
        assert_eq!(most.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn work_that_waits_makes_way() {
        let lane = Lane::default();
        let (go, wait) = oneshot::channel::<()>();
        let waiting = lane.run(async move { wait.await.is_ok() });
        let other = async {
            assert_eq!(lane.run(async { 7 }).await, Some(7));
            go.send(()).unwrap();
        };
        let (waited, ()) = tokio::join!(waiting, other);
        assert_eq!(waited, Some(true));
    }
}
