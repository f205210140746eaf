//! Runs a controller of the hub while this process leads.

use std::sync::Arc;

use berth_hub::HubApi;
use berth_lease::WhenLost;
use berth_reconcile::Controller;
use tokio_util::sync::CancellationToken;

use crate::hub_component::HubComponent;
use crate::leading::{HealthPort, Led};

/// A controller with its Lease, ready to run. Everything that can fail at the start is done.
pub(super) struct Component {
    led: Led,
    api: HubApi,
    hub: Arc<HubComponent>,
    controller: Controller,
    /// The namespace of the hub's components, for the log of the controller that works in it.
    namespace: Option<String>,
}

// === impl Component ===

impl Component {
    /// Prepares the controller. The port reports its readiness.
    pub(super) fn new(
        controller: Controller,
        port: &mut HealthPort,
        api: HubApi,
        hub: Arc<HubComponent>,
        when_lost: WhenLost,
    ) -> Self {
        let names = controller.names();
        let led = port.component(names.name, hub.election(names.lease), when_lost);
        Self {
            led,
            api,
            hub,
            controller,
            namespace: None,
        }
    }

    /// Logs the namespace of the hub's components, too.
    pub(super) fn within(self, namespace: String) -> Self {
        let namespace = Some(namespace);
        Self { namespace, ..self }
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
            controller,
            namespace,
        } = self;
        let (controller_name, namespace) = (controller.names().name, namespace.as_deref());
        let work = led.run(stop, |term, standing, stop| {
            let running = controller.start(api.clone(), &hub.instance, term, hub.limit());
            let progress = running.progress();
            async move {
                standing.leads(move || progress.unprimed());
                tracing::info!(namespace, controller = controller_name, "reconciling");
                Ok(running.run(stop).await?)
            }
        });
        work.await
    }
}
