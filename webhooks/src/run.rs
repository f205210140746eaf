//! The life of the server: start, readiness, drain, end.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use berth_certs::serving::{DEFAULT_INTERVAL, ServingTls};
use berth_review::Gate;
use berth_serve::{Listener, Peer, Stop, Tls, endpoints};
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tower::BoxError;

use crate::readiness::Readiness;
use crate::{App, Limits, Metrics, router};

/// How long requests under way may take once the server drains: as long as any API server waits.
const LONGEST_DRAIN: Duration = Duration::from_secs(30);

/// Everything a server needs. Its ports are open already, so that nothing can fail once it runs; but for that of the
/// webhooks, which opens when there is a certificate.
#[derive(Debug)]
pub struct Server {
    /// Decides reviews.
    pub gate: Gate,
    /// Where webhooks are served, and with what.
    pub opening: Opening,
    /// Where metrics are served, in plain HTTP; nowhere if `None`.
    pub metrics_port: Option<TcpListener>,
    /// Where health is served, in plain HTTP; nowhere if `None`.
    pub health_port: Option<TcpListener>,
    /// What is counted.
    pub metrics: Metrics,
    /// What is borne.
    pub limits: Limits,
    /// How long it goes on serving after it was told to stop, until all API servers know.
    pub shutdown_delay: Duration,
}

/// Where webhooks are served, and with what: when that is known.
pub struct Opening(BoxFuture<'static, Result<Open, BoxError>>);

/// Where webhooks are served, and with what.
#[derive(Debug)]
pub struct Open {
    /// The port.
    pub webhooks: TcpListener,
    /// The certificate.
    pub tls: Arc<ServingTls>,
}

// === impl Opening ===

impl Opening {
    /// At once.
    pub fn at_once(webhooks: TcpListener, tls: Arc<ServingTls>) -> Self {
        Self::when(async move { Ok(Open { webhooks, tls }) })
    }

    /// When this is done. Until then the server is alive, and not ready.
    pub fn when(open: impl Future<Output = Result<Open, BoxError>> + Send + 'static) -> Self {
        Self(open.boxed())
    }
}

impl fmt::Debug for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Opening")
    }
}

/// Why a server ended without being told to.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// There was nothing to serve with, or no port.
    #[error(transparent)]
    NotOpened(BoxError),
    /// One of its tasks ended. That is a bug; a new process is better than a half one.
    #[error("the {0} ended unexpectedly")]
    TaskEnded(&'static str),
    /// One of its tasks panicked.
    #[error("a task of the server panicked: {0}")]
    TaskPanicked(tokio::task::JoinError),
}

impl Server {
    /// Serves until `shutdown` is cancelled, and then until nobody asks any more.
    ///
    /// # Guarantees
    /// Not ready the moment `shutdown` is cancelled. For [`Server::shutdown_delay`] every request is served, and each
    /// answer asks its client to close the connection, so that clients move on by themselves. Then no connection is
    /// accepted any more, requests under way are answered, and all tasks have ended when this returns.
    ///
    /// # Errors
    /// When a part of the server ends by itself; the others have been ended then.
    pub async fn run(self, shutdown: CancellationToken) -> Result<(), ServeError> {
        let app = Arc::new(App::new(
            self.gate.clone(),
            self.metrics.clone(),
            &self.limits,
        ));
        let readiness = Arc::new(Readiness::default());

        // What is asked about the gate goes on until the gate itself has drained.
        let (stop, end) = (Stop::default(), Stop::default());
        let (mut serving, mut beside) = (JoinSet::new(), JoinSet::new());
        let few = self.limits.of_listener().few();
        if let Some(tcp) = self.health_port {
            let readiness = Arc::clone(&readiness);
            let router = endpoints::health(move || ready(readiness.checks(Timestamp::now())));
            let listener = Listener::new(tcp, None, move |_: &Peer| router.clone(), few.clone());
            // Its thread ends with this, however this ends.
            let serving = listener.serve_apart("health", end.clone());
            beside.spawn(named("health listener", serving));
        }
        if let Some(tcp) = self.metrics_port {
            let metrics = self.metrics.clone();
            let router = endpoints::metrics(move || metrics.render());
            let listener = Listener::new(tcp, None, move |_: &Peer| router.clone(), few);
            beside.spawn(named("metrics listener", listener.serve(end.clone())));
        }
        beside.spawn(named(
            "authorizer probe",
            probe(self.gate, Arc::clone(&readiness), end.drain.clone()),
        ));
        let end_all = async |beside: Tasks, end: &Stop| {
            end.drain.cancel();
            end.now.cancel();
            beside.join_all().await;
        };

        let Open { webhooks, tls } = tokio::select! {
            biased;
            // First: what is open already is served, whatever else has happened.
            opened = self.opening.0 => match opened {
                Ok(open) => open,
                Err(error) => {
                    end_all(beside, &end).await;
                    return Err(ServeError::NotOpened(error));
                }
            },
            () = shutdown.cancelled() => {
                tracing::info!("told to stop before there was a certificate to serve with");
                end_all(beside, &end).await;
                return Ok(());
            }
            error = unexpected_end(&mut serving, &mut beside) => {
                end_all(beside, &end).await;
                return Err(error);
            }
        };
        self.metrics.certificate.serves(&tls);
        let router = router(Arc::clone(&app));
        let listener = Listener::new(
            webhooks,
            Some(Tls::from(Arc::clone(&tls))),
            move |_: &Peer| router.clone(),
            self.limits.of_listener(),
        )
        .counted(self.metrics.connections.clone());
        serving.spawn(named("webhook listener", listener.serve(stop.clone())));
        readiness.is_listening(Arc::clone(&tls));
        let watch = tls.watch(DEFAULT_INTERVAL, end.drain.clone());
        beside.spawn(named("certificate watch", watch));

        let mut result = tokio::select! {
            () = shutdown.cancelled() => Ok(()),
            error = unexpected_end(&mut serving, &mut beside) => Err(error),
        };
        readiness.is_draining();
        app.drain();
        if result.is_ok() {
            tracing::info!(
                delay_s = self.shutdown_delay.as_secs_f64(),
                "told to stop: not ready, serving on"
            );
            if let Ok(error) = timeout(
                self.shutdown_delay,
                unexpected_end(&mut serving, &mut beside),
            )
            .await
            {
                result = Err(error);
            }
        }
        tracing::info!("draining");
        stop.drain.cancel();
        if timeout(LONGEST_DRAIN, serving.join_next()).await.is_err() {
            stop.now.cancel();
        }
        serving.join_all().await;
        end_all(beside, &end).await;
        tracing::info!("stopped");
        result
    }
}

/// A task that says which it was.
async fn named(name: &'static str, task: impl Future<Output = ()>) -> &'static str {
    task.await;
    name
}

type Tasks = JoinSet<&'static str>;

/// The end of any task, which none should have before it is told to.
async fn unexpected_end(serving: &mut Tasks, beside: &mut Tasks) -> ServeError {
    let ended = tokio::select! {
        Some(ended) = serving.join_next() => ended,
        Some(ended) = beside.join_next() => ended,
    };
    match ended {
        Ok(name) => ServeError::TaskEnded(name),
        Err(error) => ServeError::TaskPanicked(error),
    }
}

/// Reports readiness once a question has been answered.
async fn probe(gate: Gate, readiness: Arc<Readiness>, stop: CancellationToken) {
    tokio::select! {
        biased;
        () = stop.cancelled() => return,
        () = gate.first_answer() => {
            readiness.has_answered();
            tracing::info!("ready: questions are answered");
        },
    }
    stop.cancelled().await;
}
