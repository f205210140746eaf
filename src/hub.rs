//! `berth hub`: the gate and the lifecycle in one process, for small hubs. Its account has the rights of both.

use std::sync::Arc;

use anyhow::Context;
use berth_review::{Answerer, HubAnswerer};
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use crate::certificates::{KeeperArgs, OnHub};
use crate::controller::{Lifecycle, LifecycleArgs, WhenLost};
use crate::feature_gates::{self, Of};
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

Every replica serves the gate. One of them runs the controller: the holder of the Lease registration-controller-lock.

Signals: the first SIGTERM or SIGINT releases the Lease, drains connections and stops the process; the second one stops it immediately.";

/// Serve the admission webhooks and run the controller
///
/// Runs 'berth webhook-server' and 'berth controller --keep-certificates' in one process: the gate on every replica, the controller on one. So the account that serves the webhooks also has the rights of the controller. All metrics are on the metrics port. A replica that loses the Lease continues as a gate.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub(crate) struct Args {
    #[command(flatten)]
    gate: GateArgs,
    #[command(flatten)]
    keeper: KeeperArgs,
    /// Feature gates, as Gate=true,Gate=false: DefaultClusterSet (on), GuardedSelectors (on),
    /// ManagedClusterAutoApproval (off), ManagedClusterAutoRebootstrap (off), ResourceCleanup (on), UnguardedDenial (off)
    #[arg(long, value_name = "GATES")]
    feature_gates: Vec<String>,
    #[command(flatten)]
    lifecycle: LifecycleArgs,
}

/// Runs until a signal, and returns after connections have drained.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    args.gate
        .common
        .run(Builder::new_multi_thread(), work(args))
}

async fn work(args: &Args) -> anyhow::Result<()> {
    let gates = feature_gates::parse(&args.feature_gates, Of::Hub)?;
    let settings = {
        let prefixes = args.gate.common.reserved.prefixes();
        args.lifecycle.settings(gates.lifecycle, prefixes)?
    };
    for warning in gates.warnings.iter().chain(&settings.warnings) {
        tracing::warn!("{warning}");
    }
    let common = &args.gate.common;
    let api = common.hub().await?;
    let answerer = Arc::new(HubAnswerer::new(api.clone())) as Arc<dyn Answerer>;
    let hub = OnHub {
        api: api.clone(),
        namespace: settings.namespace().to_owned(),
    };
    let decides = async move || Ok((answerer, Some(hub)));
    let gate = Prepared::new(&args.gate, gates.webhooks, Some(&args.keeper), decides).await?;
    // The gate has logged the warnings.
    let (tls, _) = common.tls()?;
    let registry = gate.registry();
    let lifecycle = Lifecycle::new(settings, tls, registry, api, WhenLost::StandAgain).await?;
    let controller = lifecycle.address()?;

    let stop = CancellationToken::new();
    let second_signal = signals::second_signal(stop.clone())?;
    // If one of the two ends, the other one is stopped in an orderly way.
    let lifecycle = async {
        let ended = lifecycle.run(stop.clone()).await;
        if let Err(error) = &ended {
            tracing::error!(
                error = format!("{error:#}"),
                "the lifecycle failed: stopping"
            );
        }
        stop.cancel();
        ended
    };
    let gate = async {
        let ended = gate.run(Some(controller), stop.clone()).await;
        stop.cancel();
        ended
    };
    tokio::select! {
        (gate, lifecycle) = async { tokio::join!(gate, lifecycle) } => {
            gate.context("the gate failed")?;
            lifecycle.context("the lifecycle failed")
        }
        () = second_signal => anyhow::bail!("second signal: stopped immediately, without draining"),
    }
}
