//! The lifecycle of the server: start, readiness, drain, end.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use berth_certs::serving::{DEFAULT_INTERVAL, ServingTls};
use berth_review::{Gate, Webhook};
use berth_serve::{Listener, Stop, Tls, Turns, endpoints};
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

/// The maximum time for open requests while the server drains: the longest timeout of an API server.
const LONGEST_DRAIN: Duration = Duration::from_secs(30);

/// The parts of a server. Its ports are open already, so that `run` does not fail on them. Only the port of the webhooks is
/// opened later, when a certificate is available.
#[derive(Debug)]
pub struct Server {
    /// Decides reviews.
    pub gate: Gate,
    /// The webhooks that are served.
    pub webhooks: &'static [Webhook],
    /// Converts add-ons between their versions, too.
    pub converts: bool,
    /// The port and the certificate of the webhooks.
    pub opening: Opening,
    /// The port for metrics, in plain HTTP; `None` turns it off.
    pub metrics_port: Option<TcpListener>,
    /// The port for health, in plain HTTP; `None` turns it off.
    pub health_port: Option<TcpListener>,
    /// The metrics.
    pub metrics: Metrics,
    /// Connection, request and memory limits.
    pub limits: Limits,
    /// The time to continue serving after the shutdown signal, until all API servers have noticed.
    pub shutdown_delay: Duration,
}

/// A future of the port and the certificate of the webhooks.
pub struct Opening(BoxFuture<'static, Result<Open, BoxError>>);

/// The port and the certificate of the webhooks.
#[derive(Debug)]
pub struct Open {
    /// The port.
    pub webhooks: TcpListener,
    /// The certificate.
    pub tls: Arc<ServingTls>,
}

// === impl Opening ===

impl Opening {
    /// Makes an opening that is available at once.
    pub fn at_once(webhooks: TcpListener, tls: Arc<ServingTls>) -> Self {
        Self::when(async move { Ok(Open { webhooks, tls }) })
    }

    /// Makes an opening from a future. Until it completes, the server is alive, but not ready.
    pub fn when(open: impl Future<Output = Result<Open, BoxError>> + Send + 'static) -> Self {
        Self(open.boxed())
    }
}

impl fmt::Debug for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Opening")
    }
}

/// Reasons for the end of a server without a shutdown signal.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// No certificate, or no port.
    #[error(transparent)]
    NotOpened(BoxError),
    /// A task that should run until shutdown ended. This is a bug, and the process must be restarted.
    #[error("the {0} ended unexpectedly")]
    TaskEnded(&'static str),
    /// One of its tasks panicked.
    #[error("a task of the server panicked: {0}")]
    TaskPanicked(tokio::task::JoinError),
}

impl Server {
    /// Serves until `shutdown` is cancelled, then drains.
    ///
    /// # Guarantees
    /// The server is not ready from the moment `shutdown` is cancelled. For [`Server::shutdown_delay`], it serves every
    /// request, and each response asks the client to close the connection, so that clients move to another server. Then it
    /// accepts no connection, and answers open requests. All tasks have ended when this returns.
    ///
    /// # Errors
    /// A part of the server ended by itself. All other parts have been stopped.
    pub fn run(self, shutdown: CancellationToken) -> BoxFuture<'static, Result<(), ServeError>> {
        // Boxed here: the code of a future is generated where it becomes a `dyn Future`, with that crate's opt-level. The program is
        // compiled for size, this crate for speed.
        self.serve(shutdown).boxed()
    }

    async fn serve(self, shutdown: CancellationToken) -> Result<(), ServeError> {
        let app = Arc::new(App::new(
            self.gate.clone(),
            self.metrics.clone(),
            &self.limits,
        ));
        let readiness = Arc::new(Readiness::default());

        // Health and metrics are served until the gate has drained.
        let (stop, end) = (Stop::default(), Stop::default());
        let (mut serving, mut beside) = (JoinSet::new(), JoinSet::new());
        let few = self.limits.of_listener().few();
        if let Some(tcp) = self.health_port {
            let readiness = Arc::clone(&readiness);
            let router = endpoints::health(Turns::default(), move || {
                ready(readiness.checks(Timestamp::now()))
            });
            let listener = Listener::new(tcp, None, router, few.clone());
            // Dropping this future ends its thread.
            let serving = listener.serve_apart("health", end.clone());
            beside.spawn(named("health listener", serving));
        }
        if let Some(tcp) = self.metrics_port {
            let metrics = self.metrics.clone();
            let router = endpoints::metrics(move || metrics.render());
            let listener = Listener::new(tcp, None, router, few);
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
            // First: an open port is served, even if another branch is ready, too.
            opened = self.opening.0 => match opened {
                Ok(open) => open,
                Err(error) => {
                    end_all(beside, &end).await;
                    return Err(ServeError::NotOpened(error));
                }
            },
            () = shutdown.cancelled() => {
                tracing::info!("shutting down before a certificate was available");
                end_all(beside, &end).await;
                return Ok(());
            }
            error = unexpected_end(&mut serving, &mut beside) => {
                end_all(beside, &end).await;
                return Err(error);
            }
        };
        self.metrics.certificate.serves(&tls);
        let router = router(&app, self.webhooks, self.converts);
        let listener = Listener::new(
            webhooks,
            Some(Tls::from(Arc::clone(&tls))),
            router,
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
                "shutting down: not ready, still serving"
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

/// Runs a task, and returns its name.
async fn named(name: &'static str, task: impl Future<Output = ()>) -> &'static str {
    task.await;
    name
}

type Tasks = JoinSet<&'static str>;

/// Waits for the end of any task. Tasks should not end before the shutdown.
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

/// Records readiness once a question has been answered.
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
