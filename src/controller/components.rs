//! The controllers of the hub that one process runs, with one port for health and metrics, and with a Lease each.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::bail;
use berth_certs::options::TlsOptions;
use berth_hub::HubApi;
use berth_lease::WhenLost;
use berth_lifecycle_core::config::Config;
use berth_policies_follower::Follower;
use futures::FutureExt;
use prometheus::Registry;
use tokio_util::sync::CancellationToken;

use super::component::Component;
use crate::hub_component::HubComponent;
use crate::leading::{Elections, HealthPort, together};
use crate::operator::Operator;

/// The flag that selects the controllers, with the syntax of kube-controller-manager.
#[derive(Debug, clap::Args)]
pub(crate) struct SelectionArgs {
    /// Controllers to run: '*' for all, 'name' to run one, '-name' to leave one out. The controllers are registration (clusters,
    /// their agents, sets and bindings), placement, work (ManifestWorkReplicaSets) and addon (add-ons)
    #[arg(
        long,
        value_name = "NAMES",
        default_value = "*",
        allow_hyphen_values = true
    )]
    controllers: String,
}

/// The controllers to run, with their settings.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    pub(crate) registration: Option<Config>,
    pub(crate) placement: Option<berth_placement::Config>,
    pub(crate) work: Option<berth_work_hub::Settings>,
    pub(crate) addon: Option<berth_addons::Settings>,
    /// In a process of its own.
    pub(crate) operator: Option<Operator>,
}

/// Controllers, ready to run. Everything that can fail at the start is done.
pub(crate) struct Components {
    port: HealthPort,
    controllers: Vec<Component>,
    /// Of the registration: every replica watches the hub's policies.
    policies: Option<Follower>,
}

const REGISTRATION: &str = berth_lifecycle::NAMES.name;
const PLACEMENT: &str = berth_placement::NAMES.name;
const WORK: &str = berth_work_hub::NAMES.name;
const ADDON: &str = berth_addons::NAMES.name;

// === impl SelectionArgs ===

impl SelectionArgs {
    /// Leaves out the controllers that the flag does not select.
    ///
    /// # Errors
    /// The flag has an unknown name, or leaves none.
    pub(crate) fn select(&self, all: Selection) -> anyhow::Result<Selection> {
        let names = self.controllers.split(',').map(str::trim);
        let names: Vec<_> = names.filter(|name| !name.is_empty()).collect();
        let all_names = ["*", REGISTRATION, PLACEMENT, WORK, ADDON];
        let is_known = |name: &str| all_names.contains(&name.trim_start_matches('-'));
        if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
            bail!(
                "--controllers: {unknown:?} is not a controller; the controllers are {REGISTRATION}, {PLACEMENT}, {WORK} and {ADDON}"
            );
        }
        let selects = |name: &str| {
            let mut named = names
                .iter()
                .filter(|it| it.trim_start_matches('-') == name)
                .map(|it| !it.starts_with('-'));
            named.next().unwrap_or_else(|| names.contains(&"*"))
        };
        let selected = Selection {
            registration: all.registration.filter(|_| selects(REGISTRATION)),
            placement: all.placement.filter(|_| selects(PLACEMENT)),
            work: all.work.filter(|it| it.any() && selects(WORK)),
            addon: all.addon.filter(|_| selects(ADDON)),
            operator: None,
        };
        let Selection {
            registration,
            placement,
            work,
            addon,
            operator: _,
        } = &selected;
        if registration.is_none() && placement.is_none() && work.is_none() && addon.is_none() {
            bail!(
                "--controllers: {:?} selects no controller; the controllers are {REGISTRATION}, {PLACEMENT}, {WORK} and {ADDON}",
                self.controllers
            );
        }
        Ok(selected)
    }
}

// === impl Components ===

impl Components {
    /// Opens the port, and prepares metrics and TLS.
    ///
    /// # Errors
    /// The port cannot be opened, or no certificate can be loaded; the message names the flag.
    pub(crate) async fn new(
        selection: Selection,
        hub: HubComponent,
        tls: TlsOptions,
        registry: &Registry,
        (api, elections): (HubApi, Elections),
        when_lost: WhenLost,
    ) -> anyhow::Result<Self> {
        let port = HealthPort::open(api.clone(), hub.listen, tls, registry).await?;
        let mut port = port.with_elections(elections);
        let common = berth_reconcile::Metrics::new(registry)?;
        let hub = Arc::new(hub);
        let (mut controllers, mut policies) = (Vec::new(), None);
        let mut component = |controller| {
            Component::new(
                controller,
                &mut port,
                api.clone(),
                Arc::clone(&hub),
                when_lost,
            )
        };
        if let Some(config) = selection.registration {
            let metrics = berth_lifecycle::Metrics::beside(registry, common.clone())?;
            let namespace = config.namespace.clone();
            let controller = berth_lifecycle::controller(config, metrics);
            controllers.push(component(controller).within(namespace));
            policies = Some(Follower::new(api.clone(), registry));
        }
        if let Some(config) = selection.placement {
            let metrics = berth_placement::Metrics::beside(registry, common.clone())?;
            controllers.push(component(berth_placement::controller(config, metrics)));
        }
        if let Some(settings) = selection.work {
            controllers.push(component(berth_work_hub::controller(
                settings,
                common.clone(),
            )));
        }
        if let Some(settings) = selection.addon {
            let settings = berth_addons::Settings {
                namespace: hub.namespace.clone(),
                ..settings
            };
            let metrics = berth_addons::Metrics::beside(registry, common.clone())?;
            controllers.push(component(berth_addons::controller(settings, metrics)));
        }
        if let Some(operator) = selection.operator {
            let namespace = hub.namespace.clone();
            let controller = operator.controller(&api, namespace, common).await?;
            controllers.push(component(controller));
        }
        Ok(Self {
            port,
            controllers,
            policies,
        })
    }

    /// Returns the address of health and metrics.
    pub(crate) fn address(&self) -> anyhow::Result<SocketAddr> {
        self.port.address()
    }

    /// Runs until `stop` is cancelled, or until a Lease is lost with [`WhenLost::End`].
    ///
    /// When it returns, no write is in flight, and the Leases are released or have expired.
    ///
    /// # Errors
    /// A task that should run forever ended.
    pub(crate) async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let Self {
            port,
            controllers,
            policies,
        } = self;
        let run = async |stop: CancellationToken| {
            let parts = controllers
                .into_iter()
                .map(|it| it.run(stop.clone()).boxed());
            let ended = together(&stop, parts);
            let Some(policies) = policies else {
                return ended.await;
            };
            // It only reads, so it needs no Lease. A replica that takes over knows which policies there were.
            tokio::select! {
                ended = ended => ended,
                never = policies.run() => match never {},
            }
        };
        port.serve(&stop, run).await
    }
}
