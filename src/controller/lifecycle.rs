//! Runs the lifecycle: the reconcilers, while this process leads. Beside it, every replica watches the hub's policies.

use std::net::SocketAddr;

use berth_certs::options::TlsOptions;
use berth_hub::HubApi;
use berth_lease::WhenLost;
use berth_lifecycle::engine::{Engine, Metrics};
use berth_policies_follower::Follower;
use prometheus::Registry;
use tokio_util::sync::CancellationToken;

use super::args::Settings;
use crate::leading::Led;

/// The lifecycle, ready to run. Everything that can fail at the start is done.
pub(crate) struct Lifecycle {
    led: Led,
    api: HubApi,
    settings: Settings,
    metrics: Metrics,
    policies: Follower,
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
        let metrics = Metrics::new(registry)?;
        let policies = Follower::new(api.clone(), registry);
        let election = settings.election.clone();
        let led = Led::new(
            api.clone(),
            settings.listen,
            tls,
            election,
            when_lost,
            registry,
        );
        Ok(Self {
            led: led.await?,
            api,
            settings,
            metrics,
            policies,
        })
    }

    /// Returns the address of health and metrics.
    pub(crate) fn address(&self) -> anyhow::Result<SocketAddr> {
        self.led.address()
    }

    /// Runs until `stop` is cancelled, or until the Lease is lost with [`WhenLost::End`].
    ///
    /// When it returns, no write is in flight, and the Lease is released or has expired.
    ///
    /// # Errors
    /// A task that should run forever ended.
    pub(crate) async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let Self {
            led,
            api,
            settings,
            metrics,
            policies,
        } = self;
        let led = led.run(stop, |term, standing, stop| {
            let engine = Engine::new(
                api.clone(),
                settings.config.clone(),
                term,
                settings.limit(),
                &settings.instance,
                metrics.clone(),
            );
            let progress = engine.progress();
            let namespace = &settings.config.namespace;
            async move {
                standing.leads(move || progress.unprimed());
                tracing::info!(namespace, "reconciling");
                Ok(engine.run(stop).await?)
            }
        });
        // It only reads, so it needs no Lease. A replica that takes over knows which policies there were.
        tokio::select! {
            ended = led => ended,
            never = policies.run() => match never {},
        }
    }
}
