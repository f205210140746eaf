//! Serving on a separate thread, so that an endpoint responds even if the runtime of the process is busy.

use std::convert::Infallible;
use std::io;

use bytes::Bytes;
use http::{Request, Response};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tower::{BoxError, Service};

use crate::{Listener, Peer, RequestBody, Stop};

impl<M, S, B> Listener<M>
where
    M: Fn(&Peer) -> S + Clone + Send + 'static,
    S: Service<Request<RequestBody>, Response = Response<B>, Error = Infallible>
        + Clone
        + Send
        + Sync
        + 'static,
    S::Future: Send,
    B: hyper::body::Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    /// Serves as [`Listener::serve`] does, but on a new thread (named `name`) with its own runtime. Completes when the
    /// thread has ended.
    ///
    /// The services run on that runtime. A service that waits for a task of another runtime is as slow as that runtime. When
    /// the returned future is dropped, the listener ends.
    pub async fn serve_apart(self, name: &'static str, stop: Stop) {
        // The thread also ends when this future is dropped.
        let stop = Stop {
            drain: stop.drain.child_token(),
            now: stop.now.child_token(),
        };
        let _ends = [&stop.drain, &stop.now].map(|token| token.clone().drop_guard());
        let (done, ended) = oneshot::channel::<()>();
        let served = move || {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let here = self.on(|tcp| TcpListener::from_std(tcp.into_std()?))?;
                here.serve(stop).await;
                io::Result::Ok(())
            })
        };
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                if let Err(error) = served() {
                    tracing::error!(%error, "{name} cannot be served");
                }
                drop(done);
            });
        match thread {
            Ok(thread) => {
                // The thread drops the sender without sending.
                let _ = ended.await;
                if thread.join().is_err() {
                    tracing::error!("the thread that serves {name} panicked");
                }
            }
            Err(error) => {
                tracing::error!(%error, "the thread that serves {name} cannot be started");
            }
        }
    }
}
