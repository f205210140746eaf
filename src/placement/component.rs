//! Runs the placement controller while this process leads.

use std::sync::Arc;

use berth_hub::HubApi;
use berth_placement::{Engine, Metrics};
use prometheus::Registry;
use tokio_util::sync::CancellationToken;

use crate::hub_component::HubComponent;
use crate::leading::Led;
use crate::placement::PlacementSettings;

/// The placement controller, ready to run. Everything that can fail at the start is done.
pub(crate) struct Placements {
    led: Led,
    api: HubApi,
    hub: Arc<HubComponent>,
    settings: PlacementSettings,
    metrics: Metrics,
}

// === impl Placements ===

impl Placements {
    /// The Lease of OCM's controller, so that OCM's controllers and ours exclude each other.
    pub(crate) const LEASE: &str = "placement-lock";

    /// Prepares the controller, and its metrics beside those that all controllers of the process share.
    ///
    /// # Errors
    /// The registry already has its metrics.
    pub(crate) fn new(
        led: Led,
        api: HubApi,
        hub: Arc<HubComponent>,
        settings: PlacementSettings,
        registry: &Registry,
        common: berth_reconcile::Metrics,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            led,
            api,
            hub,
            settings,
            metrics: Metrics::beside(registry, common)?,
        })
    }

    /// Runs until `stop` is cancelled, or until the Lease is lost for good.
    ///
    /// When it returns, no write is in flight, and the Lease is released or has expired.
    ///
    /// # Errors
    /// A task that should run forever ended.
    pub(crate) async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let Self {
            led,
            api,
            hub,
            settings,
            metrics,
        } = self;
        let work = led.run(stop, |term, standing, stop| {
            let mut engine = Engine::new(
                api.clone(),
                settings.scheduler,
                term,
                hub.limit(),
                &hub.instance,
                metrics.clone(),
            );
            if settings.sig_decisions {
                engine = engine.with_sig_decisions();
            }
            let progress = engine.progress();
            async move {
                standing.leads(move || progress.unprimed());
                tracing::info!(controller = "placement", "reconciling");
                Ok(engine.run(stop).await?)
            }
        });
        work.await
    }
}
