//! A component that works while it leads: leader election, and its port for health and metrics.

mod election;
mod health;
mod scrapers;
mod standing;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use berth_certs::options::TlsOptions;
use berth_certs::serving::ServingTls;
use berth_hub::HubApi;
use berth_lease::{LeadingError, LeaseParams, Phase, Term, WhenLost, while_leading};
use berth_serve::endpoints::Check;
use berth_serve::{Listener, Peer, Stop, Tls};
use prometheus::Registry;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub(crate) use self::election::{ElectionArgs, ElectionTimes};
use self::health::MoreChecks;
use self::scrapers::Scrapers;
pub(crate) use self::standing::Standing;
use crate::ports::Address;

/// A component that works while it leads, ready to run. Everything that can fail at the start is done.
pub(crate) struct Led {
    /// The API server with the Lease, which also checks who may read metrics.
    api: HubApi,
    election: Option<LeaseParams>,
    when_lost: WhenLost,
    registry: Registry,
    standing: Arc<Standing>,
    more: Option<MoreChecks>,
    port: TcpListener,
    tls: Arc<ServingTls>,
    /// The interval of certificate reloads.
    reload: Duration,
}

// === impl Led ===

impl Led {
    /// Opens the port, and prepares TLS. `election`: `None` without leader election.
    ///
    /// # Errors
    /// The port cannot be opened, or no certificate can be loaded; the message names the flag.
    pub(crate) async fn new(
        api: HubApi,
        listen: Address,
        tls: TlsOptions,
        election: Option<LeaseParams>,
        when_lost: WhenLost,
        registry: &Registry,
    ) -> anyhow::Result<Self> {
        let lease = election.as_ref().map(|lease| &*lease.name);
        let standing = Standing::new(lease, registry)?;
        let (tls, reload) = health::tls(tls)?;
        Ok(Self {
            api,
            election,
            when_lost,
            registry: registry.clone(),
            standing: Arc::new(standing),
            more: None,
            port: listen.open("--listen").await?,
            tls: Arc::new(tls),
            reload,
        })
    }

    /// Adds a readiness check.
    pub(crate) fn with_check(self, check: impl Fn() -> Check + Send + Sync + 'static) -> Self {
        Self {
            more: Some(Arc::new(check)),
            ..self
        }
    }

    /// Returns the address of health and metrics.
    pub(crate) fn address(&self) -> anyhow::Result<SocketAddr> {
        Ok(self.port.local_addr()?)
    }

    /// Runs `work` in every term, until `stop` is cancelled, or until the Lease is lost with [`WhenLost::End`].
    ///
    /// `work` calls [`Standing::leads`], and ends when `stop` is cancelled or the term is over. When this returns, no write is in flight,
    /// and the Lease is released or has expired.
    ///
    /// # Errors
    /// The work failed, or a task that should run forever ended.
    pub(crate) async fn run<F>(
        self,
        stop: CancellationToken,
        work: impl Fn(Option<Term>, Arc<Standing>, CancellationToken) -> F,
    ) -> anyhow::Result<()>
    where
        F: Future<Output = anyhow::Result<()>>,
    {
        let Self {
            api,
            election,
            when_lost,
            registry,
            standing,
            more,
            port,
            tls,
            reload,
        } = self;
        let end = CancellationToken::new();
        let scrapers = Scrapers::new(api.clone());
        let router = health::router(Arc::clone(&standing), more, registry, scrapers);
        let served = Some(Tls::from(Arc::clone(&tls)));
        let service = move |_: &Peer| router.clone();
        let health = Listener::new(port, served, service, health::limits());
        let health = health.serve_apart("health", Stop::at_once(end.clone()));
        let mut health = tokio::spawn(health);
        let mut reload = tokio::spawn(tls.watch(reload, end.clone()));
        // A failure of another task stops the work as a signal does, so that the Lease is released.
        let stop = stop.child_token();
        let work = async {
            let work = |term| work(term, Arc::clone(&standing), stop.clone());
            let Some(params) = election else {
                let result = work(None).await;
                standing.stops();
                return result;
            };
            let tell = |phase| match phase {
                Phase::Waiting => standing.waits(),
                // Drops the term, so that the Lease can be released.
                Phase::Stopped => standing.stops(),
            };
            let led = while_leading(&api, params, when_lost, &stop, tell, |term| {
                work(Some(term))
            });
            led.await.map_err(|error| match error {
                LeadingError::Work(error) => error,
                error => anyhow::Error::msg(error.to_string()),
            })
        };
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
