//! `berth hub`: the gate and the lifecycle in one process, for small hubs: its account has the rights of both.

use std::sync::Arc;

use anyhow::Context;
use berth_review::{Answerer, HubAnswerer};
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use crate::certificates::{KeeperArgs, OnHub};
use crate::controller::{Lifecycle, LifecycleArgs, WhenLost};
use crate::feature_gates::{self, Of};
use crate::hub_client::{self, HubClient};
use crate::signals;
use crate::webhook_server::{GateArgs, Prepared};

const EXAMPLES: &str = "\
Examples:
  # In a pod
  berth hub --feature-gates=ManagedClusterAutoApproval=true --auto-approved-csr-users=alice

  # In a pod, with a certificate that it makes, renews and publishes itself
  berth hub --certificate-source=secret

  # Outside of the hub's cluster
  berth hub --kubeconfig ~/.kube/hub --certdir /etc/berth/tls

Every replica is a gate. One of them carries clusters through their life: who holds the Lease registration-controller-lock.

Signals: SIGTERM and SIGINT hand the Lease on, drain and end it, the second one at once.";

/// Serve the admission webhooks and carry clusters through their life
///
/// What 'berth webhook-server' and 'berth controller --keep-certificates' do, in one process: the gate on every replica, the controller on one. The account behind the port of the webhooks has the controller's rights, too. All metrics are on the metrics port; who loses the Lease goes on as a gate.
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

/// Serves and works until a signal, and returns when everything has drained.
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
    let HubClient { client, service } =
        hub_client::connect(common.kubeconfig.as_deref(), "").await?;
    let answerer = Arc::new(HubAnswerer::new(service)) as Arc<dyn Answerer>;
    let hub = OnHub {
        client: client.clone(),
        namespace: settings.namespace().to_owned(),
    };
    let decides = async move || Ok((answerer, Some(hub)));
    let gate = Prepared::new(&args.gate, gates.webhooks, Some(&args.keeper), decides).await?;
    let (tls, _told_by_the_gate) = common.tls()?;
    let registry = gate.registry();
    let lifecycle = Lifecycle::new(settings, tls, registry, client, WhenLost::StandAgain).await?;
    let controller = lifecycle.address()?;

    let stop = CancellationToken::new();
    let told_twice = signals::told_twice(stop.clone())?;
    // Whichever ends by itself takes the other one with it, in order.
    let lifecycle = async {
        let ended = lifecycle.run(stop.clone()).await;
        if let Err(error) = &ended {
            tracing::error!(error = format!("{error:#}"), "the lifecycle failed: ending");
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
        () = told_twice => anyhow::bail!("told to stop a second time: stopped at once, without draining"),
    }
}
