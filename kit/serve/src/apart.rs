//! Running on a separate thread, so that an endpoint responds even if the runtime of the process is busy.

use std::io;

use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use crate::{Listener, Stop};

/// Runs a future on a new thread (named `name`) with its own runtime, and completes when the thread has ended. So neither holds the
/// other, as long as they share no connections: those run on the runtime that opened them.
///
/// When the returned future is dropped, the thread runs on: the caller cancels what ends it.
///
/// # Errors
/// The thread or its runtime cannot be started, or the thread panicked.
pub async fn on_thread<F>(
    name: &'static str,
    run: impl FnOnce() -> F + Send + 'static,
) -> io::Result<F::Output>
where
    F: Future<Output: Send + 'static>,
{
    let (done, ended) = oneshot::channel();
    let run = move || {
        let runtime = Builder::new_current_thread().enable_all().build();
        let _ = done.send(runtime.map(|it| it.block_on(run())));
    };
    let thread = std::thread::Builder::new().name(name.to_owned());
    let thread = thread.spawn(run)?;
    let ended = ended.await;
    match (thread.join(), ended) {
        (Ok(()), Ok(output)) => output,
        _ => Err(io::Error::other(format!("the thread {name} panicked"))),
    }
}

impl Listener {
    /// Serves as [`Listener::serve`] does, but on a new thread (named `name`) with its own runtime. Completes when the
    /// thread has ended.
    ///
    /// The handlers run on that runtime. One that waits for a task of another runtime is as slow as that runtime. When
    /// the returned future is dropped, the listener ends.
    pub async fn serve_apart(self, name: &'static str, stop: Stop) {
        // The thread also ends when this future is dropped.
        let stop = Stop {
            drain: stop.drain.child_token(),
            now: stop.now.child_token(),
        };
        let _ends = [&stop.drain, &stop.now].map(|token| token.clone().drop_guard());
        let served = async move || {
            let here = self.on(|tcp| TcpListener::from_std(tcp.into_std()?))?;
            here.serve(stop).await;
            io::Result::Ok(())
        };
        if let Err(error) = on_thread(name, served).await.flatten() {
            tracing::error!(%error, "{name} cannot be served");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::{LONGEST, Turns};

    #[tokio::test]
    async fn a_thread_that_is_held_holds_no_other_and_is_named() {
        let turns = Turns::default();
        let (release, held) = mpsc::channel::<()>();
        let (begin, begun) = oneshot::channel();
        let pulse = turns.clone();
        let works = on_thread("works", move || async move {
            let never = pulse.pulse("works");
            tokio::pin!(never);
            assert!(futures::poll!(&mut never).is_pending());
            let _ = begin.send(());
            // Computes without end.
            held.recv()
        });
        let main = async {
            begun.await.unwrap();
            let seen = turns.checks(Instant::now());
            let later = turns.checks(Instant::now() + LONGEST + Duration::from_secs(1));
            release.send(()).unwrap();
            (seen, later)
        };
        let (works, (seen, later)) = tokio::join!(works, main);
        assert_eq!(works.unwrap(), Ok(()));
        assert_eq!(seen, [("works", Ok(String::new()))]);
        let failure = later[0].1.as_ref().unwrap_err();
        assert!(failure.contains("has not turned for 61 s"), "{failure}");
        assert_eq!(turns.checks(Instant::now()), [], "it has ended");
    }

    #[tokio::test]
    async fn a_panic_is_an_error() {
        let ended = on_thread("panics", async || -> () { panic!("for a test") });
        let error = ended.await.unwrap_err();
        assert_eq!(error.to_string(), "the thread panics panicked");
    }
}
