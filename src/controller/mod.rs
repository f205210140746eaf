//! `berth controller`: the lifecycle, with the name and the flags of OCM's registration controller.

mod args;
mod lifecycle;
mod lists;
#[cfg(test)]
mod tests;

use berth_certs_keeper::certificate_metrics;
use prometheus::Registry;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

pub(crate) use args::LifecycleArgs;
pub(crate) use berth_lease::WhenLost;
pub(crate) use lifecycle::Lifecycle;

use crate::certificates::{KeeperArgs, OnHub, SecretArgs};
use crate::common::CommonArgs;
use crate::feature_gates::{self, Of};
use crate::signals;

const EXAMPLES: &str = "\
Examples:
  # In a pod, as OCM's operator starts it
  berth controller --feature-gates=ManagedClusterAutoApproval=true --auto-approved-csr-users=alice

  # In a pod, beside gates that run with --certificate-source=secret
  berth controller --keep-certificates

  # Outside of the hub's cluster
  berth controller --kubeconfig ~/.kube/hub --listen 127.0.0.1:8443

Of several replicas one is active: the holder of the Lease registration-controller-lock. OCM's controller uses the same Lease.

Signals: the first SIGTERM or SIGINT releases the Lease and stops the process; the second one stops it immediately.
After the loss of the Lease, it exits with code 0.";

/// Run the controller of clusters, sets and bindings
///
/// Does the work of OCM's registration controller: sets up accepted clusters, approves certificates of their agents, checks their heartbeats, maintains sets and bindings, and cleans up after deleted clusters.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub(crate) struct Args {
    #[command(flatten)]
    common: CommonArgs,
    /// Feature gates, as Gate=true,Gate=false: DefaultClusterSet (on), ManagedClusterAutoApproval (off),
    /// ManagedClusterAutoRebootstrap (off), ResourceCleanup (on)
    #[arg(long, value_name = "GATES")]
    feature_gates: Vec<String>,
    #[command(flatten)]
    lifecycle: LifecycleArgs,
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
    // It mostly waits for the hub: one thread is enough for ten thousand clusters, and avoids wakeups of other threads.
    args.common.run(Builder::new_current_thread(), work(args))
}

async fn work(args: &Args) -> anyhow::Result<()> {
    let gates = feature_gates::parse(&args.feature_gates, Of::Controller)?;
    let (tls, tls_warnings) = args.common.tls()?;
    let settings = args
        .lifecycle
        .settings(gates.lifecycle, args.common.reserved.prefixes())?;
    let common = args.common.warnings();
    for warnings in [&gates.warnings, &tls_warnings, &common, &settings.warnings] {
        for warning in warnings {
            tracing::warn!("{warning}");
        }
    }
    let registry = Registry::new();
    let api = args.common.hub().await?;
    berth_serve::metrics::process(&registry);
    let kept = if args.keep_certificates {
        let hub = OnHub {
            api: api.clone(),
            namespace: settings.namespace().to_owned(),
        };
        let observer = certificate_metrics(&registry);
        Some(args.keeper.keep(&args.secret, hub, observer)?)
    } else {
        None
    };
    let lifecycle = Lifecycle::new(settings, tls, &registry, api, WhenLost::End).await?;
    tracing::info!(
        controller = %lifecycle.address()?,
        version = env!("CARGO_PKG_VERSION"),
        "serving",
    );
    let stop = CancellationToken::new();
    let second_signal = signals::second_signal(stop.clone())?;
    // If one of the two ends, the other one is stopped. Each has its own Lease: the certificates are managed even while OCM's
    // controller holds the other Lease.
    let lifecycle = async {
        let ended = lifecycle.run(stop.clone()).await;
        stop.cancel();
        ended
    };
    let kept = async {
        let Some(kept) = kept else { return Ok(()) };
        let ended = kept.run(stop.clone()).await;
        stop.cancel();
        ended
    };
    let both = async {
        let (lifecycle, kept) = tokio::join!(lifecycle, kept);
        lifecycle?;
        Ok(kept?)
    };
    let ended = tokio::select! {
        ended = both => ended,
        () = second_signal => anyhow::bail!("second signal: stopped immediately, without releasing the Lease"),
    };
    if ended.is_ok() {
        tracing::info!("stopped");
    }
    ended
}
