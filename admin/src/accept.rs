//! `berth accept`: accepts clusters and approves the CSRs of their agents.
//!
//! A cluster joins the hub in two steps: an admin accepts it (`spec.hubAcceptsClient`), and the CSR of its agent is approved.
//! [`requests`] decides which CSRs to approve. [`target`] does both steps for one cluster and reports the result.
//!
//! # Guarantees
//! - A CSR is approved only if it passes every check of the hub's own reconcilers, whatever the flags are.
//! - If the gate denies the acceptance, no CSR is approved.
//! - If CSRs of several requesters are pending, nothing is done for that cluster until the admin names one.
//! - A CSR that arrives while the command waits is approved only after the admin agrees, or if a flag names its key.
//! - For each approved CSR the command prints the sender, the sender's groups, the age, and the fingerprint of the key.
//! - A cluster that needs nothing more is a success.

pub(crate) mod fingerprint;
pub(crate) mod pending;
pub(crate) mod requests;
mod sent;
pub(crate) mod target;
mod teller;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use berth_api::ManagedCluster;
use tokio::time::Instant;

use self::fingerprint::Fingerprint;
use self::requests::Choice;
use self::target::{Context, NewRequests, Step, Target};
use self::teller::Teller;
use crate::ask::{can_ask, confirmed};
use crate::hub::{DryRun, Filter, HubArgs, HubConnection, Wait, wait};
use crate::outcomes::{Outcomes, WriteArgs};
use crate::targets::ClusterNames;

/// The pause between two reads while the command waits.
const PERIOD: Duration = Duration::from_secs(1);

/// Accept clusters and approve the CSRs of their agents
///
/// A CSR is approved only if its label, signer, subject, usages and signature are those of an agent of this cluster. Without
/// --skip-approve-check three more conditions apply. The sender of the CSR must be a user that clusters register as: a
/// bootstrap token in the group system:bootstrappers:managedcluster, or the service account agent-registration-bootstrap. All
/// CSRs must have the same requester. And the cluster must not have an agent that has joined and still sends heartbeats.
/// --requesters selects requesters instead. For each approved CSR the command prints the sender, the sender's groups, the age,
/// and the SHA-256 of the key.
///
/// A CSR that arrives during --wait is approved only with your consent: on a terminal the command asks; elsewhere it needs
/// --yes, or --fingerprint with the key.
///
/// The command succeeds if the cluster is already accepted and its CSR is already approved or deleted. It also succeeds if the
/// agent has not sent a CSR yet: the cluster is accepted, and --wait waits for the CSR. If the hub denies the acceptance, no
/// CSR is approved.
///
/// The record of an earlier 'berth deny' stays: the hub does not approve CSRs of this cluster automatically
/// (ManagedClusterAutoApproval) until the ManagedCluster is deleted.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Accept c1 and c2
  berth accept c1 c2

  # The same, and wait until their agents have joined
  berth accept --clusters c1,c2 --wait

  # Show what would be approved, and whether the hub allows it
  berth accept c1 --dry-run=server

  # Accept all pending clusters in Europe
  berth accept --all-pending -l region=eu

  # Wait for the agent with this key
  berth accept c1 --wait --fingerprint \"SHA256:$HEX\"

  # Several agents sent a CSR for c1: select one
  berth accept c1 --requesters system:open-cluster-management:c1:agent1")]
pub struct Args {
    #[command(flatten)]
    names: ClusterNames,
    /// All clusters that were neither accepted nor denied. On a terminal the command asks first
    #[arg(long, group = "targets", conflicts_with_all = ["names", "cluster", "clusters"])]
    all_pending: bool,
    /// With --all-pending: only clusters with these labels
    // conflicts_with_all: clap does not enforce `requires` beside a conflict.
    #[arg(
        short = 'l',
        long,
        value_name = "SELECTOR",
        requires = "all_pending",
        conflicts_with_all = ["names", "cluster", "clusters"]
    )]
    selector: Option<String>,
    /// Do not ask; also approve CSRs that arrive during --wait
    #[arg(short, long)]
    yes: bool,
    /// Approve only CSRs of these requesters (common names, such as system:open-cluster-management:CLUSTER:AGENT)
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    requesters: Vec<String>,
    /// Approve only CSRs with these keys: SHA256:HEX of the key's SubjectPublicKeyInfo
    #[arg(long, value_name = "SHA256:HEX,...", value_delimiter = ',')]
    fingerprint: Vec<Fingerprint>,
    /// Approve CSRs of any sender and of any number of requesters. They still have to be CSRs of this cluster
    #[arg(long)]
    skip_approve_check: bool,
    /// Wait until the ManagedCluster exists, its CSR is approved and its agent has joined (condition
    /// ManagedClusterJoined). A dry run does not wait
    #[arg(long)]
    wait: bool,
    /// Timeout of --wait, such as 300 (seconds) or 5m; 0 means no timeout
    #[arg(long, value_name = "DURATION", value_parser = wait, default_value = "300")]
    timeout: Wait,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    hub: HubArgs,
}

/// Runs the command.
///
/// # Errors
/// Those of the output, and those of the hub that concern all clusters.
pub(crate) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let waits = args.wait && args.write.dry_run.mode == DryRun::None;
    let mut hub = HubConnection::of(&args.hub).await?;
    if waits {
        hub = hub.within(args.timeout.0);
    }
    let mut teller = Teller::new(&args.write, args.timeout.0);
    let names = if args.all_pending {
        match all_pending(args, &hub, &mut teller).await? {
            Some(names) => names,
            None => return Ok(ExitCode::FAILURE),
        }
    } else {
        args.names.each()
    };
    let context = Context {
        hub: &hub,
        choice: Choice {
            requesters: &args.requesters,
            fingerprints: &args.fingerprint,
            unchecked: args.skip_approve_check,
        },
        dry_run: args.write.dry_run.mode,
        wait: waits,
        new_requests: match () {
            () if args.yes || !args.fingerprint.is_empty() => NewRequests::Approve,
            () if can_ask() => NewRequests::Ask,
            () => NewRequests::Refuse,
        },
    };
    let targets = names.into_iter().map(Target::new).collect();
    let left = accept(&context, targets, args.timeout.0, &mut teller).await?;
    for target in left {
        let why = format!("timed out after {:?}: {}", args.timeout.0, target.missing);
        teller.failed(&target.name, why)?;
    }
    Ok(teller.end()?)
}

/// Accepts all targets. Returns those that still waited for something at the timeout.
async fn accept(
    context: &Context<'_>,
    mut targets: Vec<Target>,
    limit: Duration,
    teller: &mut Teller,
) -> anyhow::Result<Vec<Target>> {
    let deadline = Instant::now() + limit;
    loop {
        let mut waiting = Vec::new();
        for mut target in targets {
            match target.step(context, teller).await? {
                Step::Finished | Step::Again => teller.progress.ends(&target.name),
                Step::Waits(what) => {
                    teller.progress.waits(&target.name, &what);
                    target.missing = what;
                    waiting.push(target);
                }
            }
        }
        targets = waiting;
        if targets.is_empty() || Instant::now() >= deadline {
            return Ok(targets);
        }
        teller.progress.draw();
        tokio::time::sleep_until(deadline.min(Instant::now() + PERIOD)).await;
    }
}

/// Accepts one cluster as the command does, without waiting, and prints nothing.
///
/// # Errors
/// Those of the hub that concern all clusters.
pub(crate) async fn accept_one(
    hub: &HubConnection,
    name: &str,
    dry_run: DryRun,
) -> anyhow::Result<Outcomes> {
    let context = Context {
        hub,
        choice: Choice::default(),
        dry_run,
        wait: false,
        new_requests: NewRequests::Refuse,
    };
    let mut teller = Teller::kept(dry_run);
    let mut target = Target::new(name.to_owned());
    target.step(&context, &mut teller).await?;
    Ok(teller.taken())
}

/// Returns the pending clusters, or None if the user declined.
async fn all_pending(
    args: &Args,
    hub: &HubConnection,
    teller: &mut Teller,
) -> anyhow::Result<Option<Vec<String>>> {
    let filter = Filter {
        labels: args.selector.clone(),
        fields: None,
    };
    let clusters = hub.list::<ManagedCluster>(None, &filter).await?;
    let (names, skipped) = pending::pending(&clusters);
    for (name, why) in skipped {
        teller.unchanged(&name, why.message(&name))?;
    }
    if names.is_empty() {
        teller.note("No pending clusters found.");
        return Ok(Some(names));
    }
    let asks = !args.yes && args.write.dry_run.mode == DryRun::None && can_ask();
    if asks {
        let mut err = io::stderr();
        for name in &names {
            writeln!(err, "{name}")?;
        }
        let question = match names.len() {
            1 => "Accept this cluster?".to_owned(),
            count => format!("Accept these {count} clusters?"),
        };
        if !confirmed(&question)? {
            writeln!(err, "Nothing was changed.")?;
            return Ok(None);
        }
    }
    Ok(Some(names))
}
