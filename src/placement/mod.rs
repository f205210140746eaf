//! `berth placement`: the placement controller, with the name and the flags of OCM's.

mod args;
#[cfg(test)]
mod tests;

use berth_hub::{Access, HubApi};
use berth_lease::WhenLost;
use berth_placement::{Engine, Metrics};
use clap::Subcommand;
use prometheus::Registry;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use self::args::ControllerArgs;
use crate::leading::Led;
use crate::signals;

const EXAMPLES: &str = "\
Examples:
  # In a pod, as OCM's operator starts it (the executable is also at /placement)
  berth placement controller

  # Outside of the hub's cluster
  berth placement controller --kubeconfig ~/.kube/hub --listen 127.0.0.1:8443

  # As OCM's: a placement with a mistake in its spec loses all its clusters
  berth placement controller --misconfigured-decisions=remove

A Placement selects clusters of the ManagedClusterSets that are bound to its namespace. The controller lists them in
PlacementDecisions with the label cluster.open-cluster-management.io/placement=NAME, and writes the result into the conditions
PlacementSatisfied and PlacementMisconfigured of the Placement. A cluster that stays selected is never missing in between. The
annotation cluster.open-cluster-management.io/experimental-scheduling-disable=true on a Placement stops all work on it.

Of several replicas one is active: the holder of the Lease placement-lock. OCM's controller uses the same Lease.

Signals: the first SIGTERM or SIGINT releases the Lease and stops the process; the second one stops it immediately.
After the loss of the Lease, it exits with code 0.";

/// Work with placements: run their controller
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the controller of placements
    ///
    /// Does the work of OCM's placement controller: selects clusters for each Placement, and keeps its PlacementDecisions and status up to date.
    #[command(after_help = EXAMPLES, args_override_self = true)]
    Controller(Box<ControllerArgs>),
}

/// Runs until a signal, or until another replica takes over.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let Command::Controller(args) = &args.command;
    // Writes wait for the hub, and evaluations take a millisecond or two: one thread is enough.
    args.logs.run(Builder::new_current_thread(), work(args))
}

async fn work(args: &ControllerArgs) -> anyhow::Result<()> {
    let settings = args.settings()?;
    let (tls, tls_warnings) = args.tls.options()?;
    let common = args.logs.warnings();
    for warnings in [&tls_warnings, &common, &settings.warnings] {
        for warning in warnings {
            tracing::warn!("{warning}");
        }
    }
    let registry = Registry::new();
    let metrics = Metrics::new(&registry)?;
    berth_serve::metrics::process(&registry);
    let api = HubApi::connect(&Access::of_server(args.kubeconfig.clone())).await?;
    let led = Led::new(
        api.clone(),
        settings.listen,
        tls,
        settings.election.clone(),
        WhenLost::End,
        &registry,
    );
    let led = led.await?;
    tracing::info!(
        controller = %led.address()?,
        version = env!("CARGO_PKG_VERSION"),
        "serving",
    );
    let stop = CancellationToken::new();
    let second_signal = signals::second_signal(stop.clone())?;
    let led = led.run(stop, |term, standing, stop| {
        let engine = Engine::new(
            api.clone(),
            settings.scheduling,
            term,
            settings.limit(),
            &settings.instance,
            metrics.clone(),
        );
        let progress = engine.progress();
        async move {
            standing.leads(move || progress.unprimed());
            tracing::info!("reconciling");
            Ok(engine.run(stop).await?)
        }
    });
    tokio::select! {
        ended = led => ended?,
        () = second_signal => anyhow::bail!("second signal: stopped immediately, without releasing the Lease"),
    }
    tracing::info!("stopped");
    Ok(())
}
