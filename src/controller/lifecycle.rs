//! The life of the lifecycle: election, reconcilers while elected, release.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use berth_certs::options::TlsOptions;
use berth_certs::serving::ServingTls;
use berth_lease::{Claim, Term};
use berth_lifecycle::engine::{Engine, Metrics};
use berth_serve::{Limits, Listener, Peer, Stop, Tls};
use kube::Client;
use prometheus::Registry;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::args::Settings;
use super::health;
use super::scrapers::Scrapers;
use super::standing::Standing;

/// What becomes of the process when another has taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhenLost {
    /// It ends, as OCM's controller does.
    End,
    /// It has more to do, and stands for election again.
    StandAgain,
}

/// The lifecycle, ready to run: what can fail at start has been done.
pub(crate) struct Lifecycle {
    client: Client,
    settings: Settings,
    when_lost: WhenLost,
    metrics: Metrics,
    registry: Registry,
    standing: Arc<Standing>,
    port: TcpListener,
    tls: Arc<ServingTls>,
    /// How often to look for another certificate.
    reload: Duration,
}

// === impl Lifecycle ===

impl Lifecycle {
    /// Opens the port, and makes what the hub is worked on with.
    ///
    /// # Errors
    /// Names the flag, and what is wrong with its value.
    pub(crate) async fn new(
        settings: Settings,
        tls: TlsOptions,
        registry: &Registry,
        client: Client,
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
            client,
            port: settings.listen.open("--listen").await?,
            settings,
        })
    }

    /// Where health and metrics are served.
    pub(crate) fn address(&self) -> anyhow::Result<SocketAddr> {
        Ok(self.port.local_addr()?)
    }

    /// Runs until told to stop, or until the leadership is lost, if that is the end.
    ///
    /// When it returns nothing is written any more, and the Lease has been released, or its time is over.
    ///
    /// # Errors
    /// A part of it ended that never does.
    pub(crate) async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let Self {
            client,
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
        let scrapers = Scrapers::new(client.clone());
        let router = health::router(Arc::clone(&standing), registry, scrapers);
        let served = Some(Tls::from(Arc::clone(&tls)));
        let service = move |_: &Peer| router.clone();
        let health = Listener::new(port, served, service, Limits::default().few());
        let mut health = tokio::spawn(health.serve(Stop::at_once(end.clone())));
        let mut reload = tokio::spawn(tls.watch(reload, end.clone()));
        let work = Work {
            client,
            settings,
            when_lost,
            metrics,
            standing,
        };
        // What fails beside the work ends it as a signal does, so that the Lease is released all the same.
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

/// What is done for the hub.
struct Work {
    client: Client,
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
        let resign = CancellationToken::new();
        let (mut claims, elector) =
            berth_lease::spawn(self.client.clone(), params, resign.clone())?;
        let result = self.campaign(&mut claims, &stop).await;
        // The reconcilers are gone. Whatever knows their term must be, too: the Lease is released when none is left.
        self.standing.stops();
        drop(claims);
        resign.cancel();
        elector.await.context("the leader election failed")?;
        result
    }

    /// Reconciles whenever elected.
    async fn campaign(
        &self,
        claims: &mut watch::Receiver<Arc<Claim>>,
        stop: &CancellationToken,
    ) -> anyhow::Result<()> {
        loop {
            let term = tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(()),
                term = self.elected(claims) => term?,
            };
            self.reconcile(Some(term), stop).await?;
            if stop.is_cancelled() {
                return Ok(());
            }
            match self.when_lost {
                WhenLost::End => {
                    tracing::warn!("the leadership is lost: ending");
                    return Ok(());
                }
                WhenLost::StandAgain => {
                    tracing::warn!("the leadership is lost: standing for election again");
                    self.standing.waits();
                }
            }
        }
    }

    /// Waits for a term of ours.
    async fn elected(&self, claims: &mut watch::Receiver<Arc<Claim>>) -> anyhow::Result<Term> {
        loop {
            let claim = Arc::clone(&claims.borrow_and_update());
            if let Some(term) = &claim.term
                && term.remaining(Instant::now()).is_some()
            {
                return Ok(term.clone());
            }
            if !claim.holder.is_empty() {
                self.standing.waits();
            }
            drop(claim);
            let changed = claims.changed().await;
            changed.context("the leader election ended unexpectedly")?;
        }
    }

    /// Runs the reconcilers, until told to stop or until the term is over.
    async fn reconcile(&self, term: Option<Term>, stop: &CancellationToken) -> anyhow::Result<()> {
        let engine = Engine::new(
            self.client.clone(),
            self.settings.config.clone(),
            term,
            self.settings.limit(),
            &self.settings.instance,
            self.metrics.clone(),
        );
        self.standing.leads(engine.progress());
        tracing::info!(
            namespace = self.settings.config.namespace,
            "carrying clusters through their life"
        );
        Ok(engine.run(stop.clone()).await?)
    }
}
