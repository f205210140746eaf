//! A process that runs controllers of the hub, until a signal, or until another replica takes over.

use berth_certs::options::TlsOptions;
use berth_hub::{Access, HubApi};
use berth_keeper::certificate_metrics;
use berth_lease::WhenLost;
use futures::FutureExt;
use prometheus::Registry;

use super::{Components, Selection};
use crate::certificates::{KeeperArgs, OnHub, SecretArgs};
use crate::hub_component::HubComponent;
use crate::leading::{Elections, together};
use crate::signals;

/// A process of `berth controller`, `berth placement controller` or `berth work manager`, by the values of its flags.
pub(crate) struct Process<'a> {
    pub(crate) access: Access,
    pub(crate) selection: Selection,
    pub(crate) component: HubComponent,
    pub(crate) tls: TlsOptions,
    /// Manages the gate's certificates, too.
    pub(crate) keeper: Option<(&'a KeeperArgs, &'a SecretArgs)>,
    /// Warnings about flags, for the log.
    pub(crate) warnings: Vec<String>,
}

// === impl Process ===

impl Process<'_> {
    /// Runs until a signal, or until another replica takes over.
    ///
    /// # Errors
    /// The hub or the port cannot be used, a flag has an invalid value, or a task that should run forever ended.
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let Self {
            access,
            selection,
            component,
            tls,
            keeper,
            warnings,
        } = self;
        for warning in warnings.iter().chain(&component.warnings) {
            tracing::warn!("{warning}");
        }
        let registry = Registry::new();
        berth_serve::metrics::process(&registry);
        berth_hub::register_requests(&registry)?;
        let api = HubApi::connect(&access).await?;
        let elections = Elections::start(HubApi::connect(&access).await?)?;
        let kept = keeper.map(|(keeper, secret)| {
            let hub = OnHub {
                api: api.clone(),
                namespace: component.namespace.clone(),
            };
            keeper.keep(secret, hub, &elections, certificate_metrics(&registry))
        });
        let kept = kept.transpose()?;
        let controllers = Components::new(
            selection,
            component,
            tls,
            &registry,
            // A clone: the thread lasts until the Lease of the certificates is released, too.
            (api, elections.clone()),
            WhenLost::End,
        );
        let controllers = controllers.await?;
        tracing::info!(
            controller = %controllers.address()?,
            version = env!("CARGO_PKG_VERSION"),
            "serving",
        );
        signals::stop_orderly(", without releasing the Lease", async |stop| {
            // Each has its own Lease: the certificates are managed even while OCM's controllers hold the others.
            let kept = kept.map(|kept| {
                let ended = kept.run(stop.clone());
                async { Ok(ended.await?) }.boxed()
            });
            let parts = [controllers.run(stop.clone()).boxed()];
            together(&stop, parts.into_iter().chain(kept)).await
        })
        .await?;
        tracing::info!("stopped");
        Ok(())
    }
}
