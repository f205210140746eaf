//! The port for health and metrics of a process whose components work while they lead.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use berth_certs::options::TlsOptions;
use berth_certs::serving::ServingTls;
use berth_hub::HubApi;
use berth_lease::{LeaseParams, WhenLost};
use berth_serve::endpoints::Check;
use berth_serve::{Listener, Stop, Tls, Turns};
use prometheus::{IntGaugeVec, Registry};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::Led;
use super::elections::Elections;
use super::health::{self, Reported};
use super::standing::{self, Standing};
use crate::ports::Address;

/// The open port, and what it reports. Everything that can fail at the start is done.
pub(crate) struct HealthPort {
    /// The API server that checks who may read metrics.
    api: HubApi,
    /// `None`: elections run on the runtime of the work, with its connections.
    elections: Option<Elections>,
    registry: Registry,
    /// By the name of the Lease, whether this process leads.
    master: IntGaugeVec,
    reported: Reported,
    /// The threads of the process that `/healthz` checks.
    turns: Turns,
    /// Further routes.
    routes: Router,
    listener: TcpListener,
    tls: Arc<ServingTls>,
    /// The interval of certificate reloads.
    reload: Duration,
}

// === impl HealthPort ===

impl HealthPort {
    /// Opens the port, and prepares TLS.
    ///
    /// # Errors
    /// The port cannot be opened, or no certificate can be loaded; the message names the flag.
    pub(crate) async fn open(
        api: HubApi,
        listen: Address,
        tls: TlsOptions,
        registry: &Registry,
    ) -> anyhow::Result<Self> {
        let master = standing::master_status(registry)?;
        let (tls, reload) = health::tls(tls)?;
        Ok(Self {
            api,
            elections: None,
            registry: registry.clone(),
            master,
            reported: Reported::default(),
            turns: Turns::default(),
            routes: Router::new(),
            listener: listen.open("--listen").await?,
            tls: Arc::new(tls),
            reload,
        })
    }

    /// Runs the elections of components on a thread of their own.
    pub(crate) fn with_elections(self, elections: Elections) -> Self {
        Self {
            elections: Some(elections),
            ..self
        }
    }

    /// Adds a component, whose readiness the port reports. `election`: `None` without leader election.
    pub(crate) fn component(
        &mut self,
        name: &'static str,
        election: Option<LeaseParams>,
        when_lost: WhenLost,
    ) -> Led {
        let lease = election.as_ref().map(|lease| &*lease.name);
        let standing = Arc::new(Standing::new(name, lease, self.master.clone()));
        self.reported.standings.push(Arc::clone(&standing));
        let elections = self.elections.as_ref();
        let (on, api) =
            elections.map_or_else(|| (Handle::current(), self.api.clone()), Elections::on);
        Led {
            on,
            api,
            election,
            when_lost,
            standing,
        }
    }

    /// Adds a readiness check.
    pub(crate) fn with_check(mut self, check: impl Fn() -> Check + Send + Sync + 'static) -> Self {
        self.reported.more = Some(Arc::new(check));
        self
    }

    /// Adds routes. They are served on a thread of their own, so requests to the hub must be made on another runtime.
    pub(crate) fn with_routes(self, routes: Router) -> Self {
        Self { routes, ..self }
    }

    /// Returns the threads that `/healthz` checks. That of [`HealthPort::serve`] is one of them.
    pub(crate) fn turns(&self) -> Turns {
        self.turns.clone()
    }

    /// Returns the address of health and metrics.
    pub(crate) fn address(&self) -> anyhow::Result<SocketAddr> {
        Ok(self.listener.local_addr()?)
    }

    /// Serves until `work` has ended. `work` ends when its argument is cancelled: when `stop` is, or when serving failed.
    ///
    /// # Errors
    /// The work failed, or a task that should run forever ended.
    pub(crate) async fn serve<F>(
        self,
        stop: &CancellationToken,
        work: impl FnOnce(CancellationToken) -> F,
    ) -> anyhow::Result<()>
    where
        F: Future<Output = anyhow::Result<()>>,
    {
        let end = CancellationToken::new();
        // Until the work has released its Leases.
        let _elections = self.elections;
        let turns = self.turns.clone();
        let router = health::router(self.reported, turns, self.registry, self.api);
        let router = router.merge(self.routes);
        let served = Some(Tls::from(Arc::clone(&self.tls)));
        let health = Listener::new(self.listener, served, router, health::limits());
        let health = health.serve_apart("health", Stop::at_once(end.clone()));
        let mut health = tokio::spawn(health);
        let mut reload = tokio::spawn(self.tls.watch(self.reload, end.clone()));
        let pulse = tokio::spawn(async move { self.turns.pulse("main").await });
        // A failure of another task stops the work as a signal does, so that the Lease is released.
        let stop = stop.child_token();
        let mut work = std::pin::pin!(work(stop.clone()));
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
        pulse.abort();
        for task in [health, reload] {
            if !task.is_finished() {
                let _ = task.await;
            }
        }
        result
    }
}
