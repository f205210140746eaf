//! Runs the lifecycle: leader election, reconcilers while leading, release of the Lease.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use berth_certs::options::TlsOptions;
use berth_certs::serving::ServingTls;
use berth_hub::HubApi;
use berth_lease::{LeadingError, Phase, Term, WhenLost, while_leading};
use berth_lifecycle::engine::{Engine, Metrics};
use berth_serve::{Listener, Peer, Stop, Tls};
use prometheus::Registry;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::args::Settings;
use super::health;
use super::scrapers::Scrapers;
use super::standing::Standing;

/// The lifecycle, ready to run. Everything that can fail at the start is done.
pub(crate) struct Lifecycle {
    api: HubApi,
    settings: Settings,
    when_lost: WhenLost,
    metrics: Metrics,
    registry: Registry,
    standing: Arc<Standing>,
    port: TcpListener,
    tls: Arc<ServingTls>,
    /// The interval of certificate reloads.
    reload: Duration,
}

// === impl Lifecycle ===

impl Lifecycle {
    /// Opens the port, and prepares metrics and TLS.
    ///
    /// # Errors
    /// A port cannot be opened, or no certificate can be loaded; the message names the flag.
    pub(crate) async fn new(
        settings: Settings,
        tls: TlsOptions,
        registry: &Registry,
        api: HubApi,
        when_lost: WhenLost,
    ) -> anyhow::Result<Self> {
        let lease = settings.election.as_ref().map(|lease| &*lease.name);
        let standing = Standing::new(lease, registry)?;
        let metrics = Metrics::new(registry)?;
        let (tls, reload) = health::tls(tls)?;
        Ok(Self {
            when_lost,
            metrics,
            registry: registry.clone(),
            standing: Arc::new(standing),
            tls: Arc::new(tls),
            reload,
            api,
            port: settings.listen.open("--listen").await?,
            settings,
        })
    }

    /// Returns the address of health and metrics.
    pub(crate) fn address(&self) -> anyhow::Result<SocketAddr> {
        Ok(self.port.local_addr()?)
    }

    /// Runs until `stop` is cancelled, or until the Lease is lost with [`WhenLost::End`].
    ///
    /// When it returns, no write is in flight, and the Lease is released or has expired.
    ///
    /// # Errors
    /// A task that should run forever ended.
    pub(crate) async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let Self {
            api,
            settings,
            when_lost,
            metrics,
            registry,
            standing,
            port,
            tls,
            reload,
        } = self;
        let end = CancellationToken::new();
        let scrapers = Scrapers::new(api.clone());
        let router = health::router(Arc::clone(&standing), registry, scrapers);
        let served = Some(Tls::from(Arc::clone(&tls)));
        let service = move |_: &Peer| router.clone();
        let health = Listener::new(port, served, service, health::limits());
        let health = health.serve_apart("health", Stop::at_once(end.clone()));
        let mut health = tokio::spawn(health);
        let mut reload = tokio::spawn(tls.watch(reload, end.clone()));
        let work = Work {
            api,
            settings,
            when_lost,
            metrics,
            standing,
        };
        // A failure of another task stops the work as a signal does, so that the Lease is released.
        let stop = stop.child_token();
        let work = work.run(stop.clone());
        let mut work = std::pin::pin!(work);
        let result = tokio::select! {
            result = &mut work => result,
            _ = &mut health => {
                stop.cancel();
                work.await.and_then(|()| anyhow::bail!("the health listener ended unexpectedly"))
            }
            _ = &mut reload => {
                stop.cancel();
                work.await.and_then(|()| anyhow::bail!("the certificate watch ended unexpectedly"))
            }
        };
        end.cancel();
        for task in [health, reload] {
            if !task.is_finished() {
                let _ = task.await;
            }
        }
        result
    }
}

/// The election and the reconcilers.
struct Work {
    api: HubApi,
    settings: Settings,
    when_lost: WhenLost,
    metrics: Metrics,
    standing: Arc<Standing>,
}

// === impl Work ===

impl Work {
    async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let Some(params) = self.settings.election.clone() else {
            let result = self.reconcile(None, &stop).await;
            self.standing.stops();
            return result;
        };
        let standing = &self.standing;
        let tell = |phase| match phase {
            Phase::Waiting => standing.waits(),
            // Drops the term, so that the Lease can be released.
            Phase::Stopped => standing.stops(),
        };
        let work = |term| self.reconcile(Some(term), &stop);
        let led = while_leading(&self.api, params, self.when_lost, &stop, tell, work).await;
        led.map_err(|error| match error {
            LeadingError::Work(error) => error,
            error => anyhow::Error::msg(error.to_string()),
        })
    }

    /// Runs the reconcilers until `stop` is cancelled or the term ends.
    async fn reconcile(&self, term: Option<Term>, stop: &CancellationToken) -> anyhow::Result<()> {
        let engine = Engine::new(
            self.api.clone(),
            self.settings.config.clone(),
            term,
            self.settings.limit(),
            &self.settings.instance,
            self.metrics.clone(),
        );
        self.standing.leads(engine.progress());
        tracing::info!(namespace = self.settings.config.namespace, "reconciling");
        Ok(engine.run(stop.clone()).await?)
    }
}
