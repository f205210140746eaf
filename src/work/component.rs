//! Runs the work manager while this process leads.

use std::sync::Arc;

use berth_hub::HubApi;
use berth_reconcile::Metrics;
use berth_work::hub::{Engine, Settings};
use tokio_util::sync::CancellationToken;

use crate::hub_component::HubComponent;
use crate::leading::Led;

/// The work manager, ready to run.
pub(crate) struct Works {
    led: Led,
    api: HubApi,
    hub: Arc<HubComponent>,
    settings: Settings,
    metrics: Metrics,
}

// === impl Works ===

impl Works {
    /// The Lease of OCM's controller, so that OCM's controllers and ours exclude each other.
    pub(crate) const LEASE: &str = "work-manager-lock";

    /// Prepares the controller. `metrics` are those that all controllers of the process share.
    pub(crate) fn new(
        led: Led,
        api: HubApi,
        hub: Arc<HubComponent>,
        settings: Settings,
        metrics: Metrics,
    ) -> Self {
        Self {
            led,
            api,
            hub,
            settings,
            metrics,
        }
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
            let engine = Engine::new(
                api.clone(),
                settings,
                term,
                hub.limit(),
                &hub.instance,
                metrics.clone(),
            );
            let progress = engine.progress();
            async move {
                standing.leads(move || progress.unprimed());
                tracing::info!(controller = "work", "reconciling");
                Ok(engine.run(stop).await?)
            }
        });
        work.await
    }
}
