//! Runs the lifecycle: the reconcilers, while this process leads. Beside it, every replica watches the hub's policies.

use std::sync::Arc;

use berth_hub::HubApi;
use berth_lifecycle::engine::{Engine, Metrics};
use berth_lifecycle_core::config::Config;
use berth_policies_follower::Follower;
use prometheus::Registry;
use tokio_util::sync::CancellationToken;

use crate::hub_component::HubComponent;
use crate::leading::Led;

/// The lifecycle, ready to run. Everything that can fail at the start is done.
pub(super) struct Lifecycle {
    led: Led,
    api: HubApi,
    hub: Arc<HubComponent>,
    config: Config,
    metrics: Metrics,
    policies: Follower,
}

// === impl Lifecycle ===

impl Lifecycle {
    /// The Lease of OCM's controller, so that OCM's controllers and ours exclude each other.
    pub(super) const LEASE: &str = "registration-controller-lock";

    /// Prepares the lifecycle, and its metrics beside those that all controllers of the process share.
    ///
    /// # Errors
    /// The registry already has its metrics.
    pub(super) fn new(
        led: Led,
        api: HubApi,
        hub: Arc<HubComponent>,
        config: Config,
        registry: &Registry,
        common: berth_reconcile::Metrics,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            led,
            metrics: Metrics::beside(registry, common)?,
            policies: Follower::new(api.clone(), registry),
            api,
            hub,
            config,
        })
    }

    /// Runs until `stop` is cancelled, or until the Lease is lost for good.
    ///
    /// When it returns, no write is in flight, and the Lease is released or has expired.
    ///
    /// # Errors
    /// A task that should run forever ended.
    pub(super) async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let Self {
            led,
            api,
            hub,
            config,
            metrics,
            policies,
        } = self;
        let led = led.run(stop, |term, standing, stop| {
            let engine = Engine::new(
                api.clone(),
                config.clone(),
                term,
                hub.limit(),
                &hub.instance,
                metrics.clone(),
            );
            let progress = engine.progress();
            let namespace = &config.namespace;
            async move {
                standing.leads(move || progress.unprimed());
                tracing::info!(namespace, controller = "registration", "reconciling");
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
