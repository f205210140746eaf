//! Serving on a thread of its own, so that an endpoint answers however busy the process is.

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
    /// Serves as [`Listener::serve`] does, on a thread of its own with a runtime of its own, which bears `name`. Done when
    /// the thread has ended.
    ///
    /// The services are called on that runtime: what they ask of another runtime makes them wait for it. When the returned
    /// future is dropped, the listener ends.
    pub async fn serve_apart(self, name: &'static str, stop: Stop) {
        // Whatever becomes of this future, the thread ends.
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
                // It is dropped, and never sent.
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
