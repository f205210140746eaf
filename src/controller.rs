//! `berth controller`: the controllers of the hub, with the name and the flags of OCM's registration controller.

mod args;
mod component;
mod components;
mod lists;
#[cfg(test)]
mod tests;

use berth_keeper::certificate_metrics;
use futures::FutureExt;
use prometheus::Registry;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

pub(crate) use args::LifecycleArgs;
pub(crate) use berth_lease::WhenLost;
pub(crate) use components::{Components, Selection, SelectionArgs};

use crate::certificates::{KeeperArgs, OnHub, SecretArgs};
use crate::common::CommonArgs;
use crate::feature_gates::{self, Of};
use crate::hub_component::HubComponentArgs;
use crate::leading::{Elections, together};
use crate::placement::PlacementArgs;
use crate::signals;

const EXAMPLES: &str = "\
Examples:
  # In a pod, as OCM's operator starts it
  berth controller --feature-gates=ManagedClusterAutoApproval=true --auto-approved-csr-users=alice

  # In a pod, beside gates that run with --certificate-source=secret
  berth controller --keep-certificates

  # Without placements, for example on a hub where OCM's placement controller stays
  berth controller --controllers=*,-placement

  # Outside of the hub's cluster
  berth controller --kubeconfig ~/.kube/hub --listen 127.0.0.1:8443

Of several replicas one is active for each controller: the holder of the Lease registration-controller-lock, that of
placement-lock, and that of work-manager-lock. OCM's controllers use the same Leases. Started under the name registration, it runs the controller registration only.

Signals: the first SIGTERM or SIGINT releases the Leases and stops the process; the second one stops it immediately.
After the loss of a Lease, it exits with code 0.";

/// Run the controllers of the hub
///
/// Does the work of OCM's registration controller: sets up accepted clusters, approves certificates of their agents, checks their heartbeats, maintains sets and bindings, and cleans up after deleted clusters. Does the work of OCM's placement controller, too: selects clusters for each Placement. And that of OCM's work manager: makes the ManifestWorks of each ManifestWorkReplicaSet.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub(crate) struct Args {
    #[command(flatten)]
    common: CommonArgs,
    /// Feature gates, as Gate=true,Gate=false: CleanUpCompletedManifestWork (off), ClusterProfile (off), DefaultClusterSet (on),
    /// ManagedClusterAutoApproval (off), ManagedClusterAutoRebootstrap (off), ManifestWorkReplicaSet (on), PlacementPreferNoSelect
    /// (off), PlacementScores (off), PlacementSortBy (off), PlacementSpreadPolicy (off), ResourceCleanup (on), SIGPlacementDecision
    /// (off)
    #[arg(long, value_name = "GATES")]
    feature_gates: Vec<String>,
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    component: HubComponentArgs,
    #[command(flatten)]
    lifecycle: LifecycleArgs,
    #[command(flatten)]
    placement: PlacementArgs,
    /// Manage the gate's certificates: create and renew them in the Secret, and publish their authority in the registrations
    #[arg(long)]
    keep_certificates: bool,
    #[command(flatten)]
    secret: SecretArgs,
    #[command(flatten)]
    keeper: KeeperArgs,
}

/// Runs until a signal, or until another replica takes over.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    // It mostly waits for the hub: one thread is enough for ten thousand clusters, and avoids wakeups of other threads. Leader elections,
    // health and CEL expressions of placements have threads of their own.
    args.common.run(Builder::new_current_thread(), work(args))
}

async fn work(args: &Args) -> anyhow::Result<()> {
    let gates = feature_gates::parse(&args.feature_gates, Of::Controller)?;
    let (tls, tls_warnings) = args.common.tls()?;
    let component = args.component.settings()?;
    let lifecycle = args.lifecycle.settings(
        &component.namespace,
        gates.lifecycle,
        args.common.reserved.prefixes(),
    )?;
    let selection = args.selection.select(Selection {
        registration: Some(lifecycle.config),
        placement: Some(args.placement.settings(&gates)),
        work: Some(gates.work),
    })?;
    let warnings = [
        gates.warnings,
        tls_warnings,
        args.common.warnings(),
        lifecycle.warnings,
    ];
    for warning in warnings.iter().flatten().chain(&component.warnings) {
        tracing::warn!("{warning}");
    }
    let registry = Registry::new();
    let api = args.common.hub().await?;
    let elections = Elections::start(args.common.hub().await?)?;
    berth_serve::metrics::process(&registry);
    let kept = if args.keep_certificates {
        let hub = OnHub {
            api: api.clone(),
            namespace: component.namespace.clone(),
        };
        let observer = certificate_metrics(&registry);
        Some(args.keeper.keep(&args.secret, hub, &elections, observer)?)
    } else {
        None
    };
    let controllers = Components::new(
        selection,
        component,
        tls,
        &registry,
        (api, elections.clone()),
        WhenLost::End,
    );
    let controllers = controllers.await?;
    tracing::info!(
        controller = %controllers.address()?,
        version = env!("CARGO_PKG_VERSION"),
        "serving",
    );
    let stop = CancellationToken::new();
    let second_signal = signals::second_signal(stop.clone())?;
    // Each has its own Lease: the certificates are managed even while OCM's controllers hold the others.
    let kept = kept.map(|kept| {
        let ended = kept.run(stop.clone());
        async { Ok(ended.await?) }.boxed()
    });
    let parts = [controllers.run(stop.clone()).boxed()];
    let parts = parts.into_iter().chain(kept);
    let ended = tokio::select! {
        ended = together(&stop, parts) => ended,
        () = second_signal => anyhow::bail!("second signal: stopped immediately, without releasing the Lease"),
    };
    if ended.is_ok() {
        tracing::info!("stopped");
    }
    ended
}
