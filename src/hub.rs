//! `berth hub`: the gate and the controllers in one process, for small hubs. Its account has the rights of both.

use std::sync::Arc;

use anyhow::Context;
use berth_review::{Answerer, HubAnswerer};
use futures::FutureExt;
use tokio::runtime::Builder;

use crate::certificates::{KeeperArgs, OnHub};
use crate::controller::{Components, Controllers, ControllersArgs, WhenLost};
use crate::feature_gates::{self, Of};
use crate::leading::{Elections, together};
use crate::signals;
use crate::webhook_server::{GateArgs, Prepared};

const EXAMPLES: &str = "\
Examples:
  # In a pod
  berth hub --feature-gates=ManagedClusterAutoApproval=true --auto-approved-csr-users=alice

  # In a pod, with a certificate that it creates, renews and publishes itself
  berth hub --certificate-source=secret

  # Outside of the hub's cluster
  berth hub --kubeconfig ~/.kube/hub --certdir /etc/berth/tls

Every replica serves the gate. One of them runs each controller: the holder of the Lease registration-controller-lock, that of
placement-lock, that of work-manager-lock, and that of manager-lock. --controllers leaves controllers out.

Signals: the first SIGTERM or SIGINT releases the Leases, drains connections and stops the process; the second one stops it immediately.";

/// Serve the admission webhooks and run the controllers
///
/// Runs 'berth webhook-server' and 'berth controller --keep-certificates' in one process: the gate on every replica, each controller on one. So the account that serves the webhooks also has the rights of the controllers. All metrics are on the metrics port. A replica that loses a Lease continues as a gate.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub(crate) struct Args {
    #[command(flatten)]
    gate: GateArgs,
    #[command(flatten)]
    keeper: KeeperArgs,
    /// Feature gates, as Gate=true,Gate=false: CleanUpCompletedManifestWork (off), ClusterProfile (off), DefaultClusterSet (on),
    /// GuardedSelectors (on), ManagedClusterAutoApproval (off), ManagedClusterAutoRebootstrap (off), ManifestWorkReplicaSet (on), NilExecutorValidating (off),
    /// PlacementPreferNoSelect (off), PlacementScores (off), PlacementSortBy (off), PlacementSpreadPolicy (off), ResourceCleanup (on), SIGPlacementDecision (off), UnguardedDenial (off)
    #[arg(long, value_name = "GATES")]
    feature_gates: Vec<String>,
    #[command(flatten)]
    controllers: ControllersArgs,
}

/// Runs until a signal, and returns after connections have drained.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    args.gate
        .common
        .run(Builder::new_multi_thread(), work(args))
}

async fn work(args: &Args) -> anyhow::Result<()> {
    let gates = feature_gates::parse(&args.feature_gates, Of::Hub)?;
    let common = &args.gate.common;
    let Controllers {
        selection,
        component,
        warnings,
    } = (args.controllers).select(&gates, common.reserved.prefixes())?;
    let warnings = gates.warnings.iter().chain(&warnings);
    for warning in warnings.chain(&component.warnings) {
        tracing::warn!("{warning}");
    }
    let api = common.hub().await?;
    let elections = Elections::start(common.hub().await?)?;
    let answerer = Arc::new(HubAnswerer::new(api.clone())) as Arc<dyn Answerer>;
    let hub = OnHub {
        api: api.clone(),
        namespace: component.namespace.clone(),
    };
    let decides = async move || Ok((answerer, Some(hub)));
    let gate = Prepared::new(
        &args.gate,
        gates.webhooks,
        Some((&args.keeper, &elections)),
        decides,
    )
    .await?;
    // The gate has logged the warnings.
    let (tls, _) = common.tls()?;
    let registry = gate.registry();
    let controllers = Components::new(
        selection,
        component,
        tls,
        registry,
        (api, elections.clone()),
        WhenLost::StandAgain,
    );
    let controllers = controllers.await?;
    let controller = controllers.address()?;

    signals::stop_orderly(", without draining", async |stop| {
        let controllers = async {
            let ended = controllers.run(stop.clone()).await;
            if let Err(error) = &ended {
                tracing::error!(
                    error = format!("{error:#}"),
                    "the controllers failed: stopping"
                );
            }
            ended.context("the controllers failed")
        };
        let gate = gate.run(Some(controller), stop.clone());
        let gate = async { gate.await.context("the gate failed") };
        together(&stop, [gate.boxed(), controllers.boxed()]).await
    })
    .await
}
