//! `berth accept`: lets clusters in.
//!
//! Two things make a cluster a member of the hub: an admin accepts it (`spec.hubAcceptsClient`), and its agent's CSR is
//! approved. [`requests`] decides which CSRs are, [`target`] does both for one cluster, and says what came of it.
//!
//! # Promises
//! - No CSR is approved that is not its cluster's by all that the hub's own reconcilers check, whatever the flags.
//! - If the gate denies the acceptance, no CSR is approved.
//! - Where it is not plain which CSR is meant, nothing is done for that cluster.
//! - A CSR that came while the command waited is approved only if the admin says so then, or named its key before.
//! - Of each CSR that is approved it is told who sent it, in which groups, when, and the fingerprint of its key.
//! - A cluster for which nothing is left to do is a success.

pub(crate) mod fingerprint;
mod pending;
mod progress;
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
use crate::ask::{confirmed, somebody_is_there};
use crate::hub::{DryRun, Filter, HubArgs, HubConnection, Wait, wait};
use crate::outcomes::WriteArgs;
use crate::targets::ClusterNames;

/// How often it is looked whether what is waited for has come.
const PERIOD: Duration = Duration::from_secs(1);

/// Let clusters in: accept them, and approve the CSRs of their agents
///
/// A CSR is approved only if it truly is the cluster's: label, signer, subject, usages and signature are an agent's of this
/// cluster. Unless --skip-approve-check is given, it must also have been sent by a user that clusters register as (a
/// bootstrap token in the group system:bootstrappers:managedcluster, or the service account agent-registration-bootstrap),
/// there must be one requester only, and no agent of the cluster that has joined and is heard of. --requesters names those who
/// are meant. Of each CSR that is approved it is told who sent it, in which groups, when, and the SHA-256 of its key.
///
/// A CSR that comes while --wait waits is approved only when you say so: on a terminal it asks, elsewhere --fingerprint must
/// name its key, or --yes be given.
///
/// A cluster that is accepted already, and whose CSR is approved or gone, is a success. So is one whose agent has not sent
/// a CSR yet: it is accepted, and --wait waits for the rest. If the hub denies the acceptance, no CSR is approved.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Let in c1 and c2
  berth accept c1 c2

  # The same, and wait until their agents have joined
  berth accept --clusters c1,c2 --wait

  # See first what would be approved, and whether the hub lets you
  berth accept c1 --dry-run=server

  # Let in all clusters in Europe that nobody has decided about
  berth accept --all-pending -l region=eu

  # Wait for the agent with this key
  berth accept c1 --wait --fingerprint \"SHA256:$HEX\"

  # Several agents ask for c1: this is the one
  berth accept c1 --requesters system:open-cluster-management:c1:agent1")]
pub struct Args {
    #[command(flatten)]
    names: ClusterNames,
    /// All clusters that nobody has decided about. On a terminal it asks first
    #[arg(long, group = "targets", conflicts_with_all = ["names", "cluster", "clusters"])]
    all_pending: bool,
    /// Of all pending clusters those with these labels
    // conflicts: what is required is not missed beside what it conflicts with.
    #[arg(
        short = 'l',
        long,
        value_name = "SELECTOR",
        requires = "all_pending",
        conflicts_with_all = ["names", "cluster", "clusters"]
    )]
    selector: Option<String>,
    /// Do not ask; approves CSRs that come while --wait waits, too
    #[arg(short, long)]
    yes: bool,
    /// Approve the CSRs of these requesters only (common names, as system:open-cluster-management:CLUSTER:AGENT)
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    requesters: Vec<String>,
    /// Approve CSRs of these keys only: SHA256:HEX, of the key's SubjectPublicKeyInfo
    #[arg(long, value_name = "SHA256:HEX,...", value_delimiter = ',')]
    fingerprint: Vec<Fingerprint>,
    /// Approve CSRs whoever sent them, and of however many requesters. That they truly are the cluster's is still checked
    #[arg(long)]
    skip_approve_check: bool,
    /// Wait until the ManagedCluster is there, its CSR is approved and its agent has joined (condition
    /// ManagedClusterJoined). A dry run does not wait
    #[arg(long)]
    wait: bool,
    /// How long to wait at most, such as 300 (seconds) or 5m; 0 for ever
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
/// Of output, and of a hub at which nothing can be done for any cluster.
pub(crate) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let waits = args.wait && args.write.dry_run == DryRun::None;
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
        dry_run: args.write.dry_run,
        wait: waits,
        new_requests: match () {
            () if args.yes || !args.fingerprint.is_empty() => NewRequests::Approve,
            () if somebody_is_there() => NewRequests::Ask,
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

/// Accepts all of them, and returns those that still waited for something when the time was up.
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

/// The clusters that nobody has decided about. None: who was asked said no.
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
    let (names, passed) = pending::pending(&clusters);
    for (name, why) in passed {
        teller.unchanged(&name, why.told(&name))?;
    }
    if names.is_empty() {
        teller.note("No pending clusters found.");
        return Ok(Some(names));
    }
    let asks = !args.yes && args.write.dry_run == DryRun::None && somebody_is_there();
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
            writeln!(err, "Nothing is changed.")?;
            return Ok(None);
        }
    }
    Ok(Some(names))
}
