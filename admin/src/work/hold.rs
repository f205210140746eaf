//! `berth work hold` and `berth work release`: an admin of a managed cluster holds back what the hub wants of a ManifestWork.

use std::process::ExitCode;

use berth_api::labels::HOLD;
use berth_api::work::AppliedManifestWork;
use clap_complete::engine::ArgValueCandidates;
use serde_json::{Value, json};

use super::applied::{Hold, applied_works, named};
use crate::cluster_change::Due;
use crate::complete;
use crate::failure::CommandError;
use crate::flags::{DryRunArgs, NameOrDocumentArgs};
use crate::hub::{ClusterArgs, DryRun, HubConnection};
use crate::outcomes::Outcomes;
use crate::retry::deciding_again;

/// The resource in kubectl's names of objects.
const RESOURCE: &str = "appliedmanifestwork.work.open-cluster-management.io";

/// Hold ManifestWorks back on this cluster
///
/// Run it at the managed cluster. The work agent then applies no change that the hub makes to these ManifestWorks, and deletes none of
/// their objects, until 'berth work release'. The hub sees the condition Held. The command sets the annotation
/// berth.open-cluster-management.io/hold on the AppliedManifestWorks. It needs the permission to list and patch them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Changes of the hub wait. Objects are still put back to what was applied before
  berth work hold web

  # Nothing is written to the cluster for this ManifestWork
  berth work hold web --writes=all

  # All ManifestWorks that the cluster has applied; show them first
  berth work hold --all --dry-run=server
  berth work hold --all

  # See what is held
  berth agent status

Exit codes: 0 all are held, 1 one was refused or does not exist, 2 the command line is wrong.")]
pub struct HoldArgs {
    /// Writes to hold back: changes of the hub, or all, so that objects are not put back either
    #[arg(
        long,
        value_name = "changes|all",
        value_enum,
        hide_possible_values = true,
        default_value_t
    )]
    writes: HeldWrites,
    #[command(flatten)]
    rest: Rest,
}

/// Release ManifestWorks that are held back on this cluster
///
/// Run it at the managed cluster. Ends 'berth work hold': the work agent does at once what the hub wants by now, deletions too.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # The agent applies what the hub wants by now
  berth work release web

  # All that are held
  berth work release --all

Exit codes: 0 none of them is held, 1 one was refused or does not exist, 2 the command line is wrong.")]
pub struct ReleaseArgs {
    #[command(flatten)]
    rest: Rest,
}

#[derive(Debug, clap::Args)]
struct Rest {
    /// Names of ManifestWorks, or of AppliedManifestWorks
    #[arg(value_name = "NAME", required_unless_present = "all", add = ArgValueCandidates::new(complete::applied_works))]
    names: Vec<String>,
    /// All AppliedManifestWorks of the cluster
    #[arg(long, conflicts_with = "names")]
    all: bool,
    #[command(flatten)]
    dry_run: DryRunArgs,
    #[command(flatten)]
    output: NameOrDocumentArgs,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// The writes that a hold stops, as values of the annotation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum HeldWrites {
    /// What the hub changes.
    #[default]
    Changes,
    /// All writes.
    All,
}

// === impl HeldWrites ===

impl HeldWrites {
    fn as_str(self) -> &'static str {
        match self {
            Self::Changes => "changes",
            Self::All => "all",
        }
    }
}

/// Runs `berth work hold`.
///
/// # Errors
/// Those of the output, and those of the cluster that concern all AppliedManifestWorks.
pub(super) async fn hold(args: &HoldArgs) -> anyhow::Result<ExitCode> {
    each(&args.rest, |name, work| held(name, work, args.writes)).await
}

/// Runs `berth work release`.
///
/// # Errors
/// As [`hold`].
pub(super) async fn release(args: &ReleaseArgs) -> anyhow::Result<ExitCode> {
    each(&args.rest, released).await
}

async fn each(args: &Rest, decide: impl Fn(&str, &Value) -> Due) -> anyhow::Result<ExitCode> {
    let cluster = HubConnection::of_cluster(&args.cluster).await?;
    let dry_run = args.dry_run.mode;
    let mut outcomes = Outcomes::named(args.output.format, dry_run, RESOURCE);
    let works = applied_works(&cluster).await?;
    let mut chosen = Vec::new();
    if args.all {
        chosen.extend(works.iter().map(|it| &*it.name));
        if chosen.is_empty() {
            outcomes.progress("No AppliedManifestWorks found.");
        }
    }
    for name in &args.names {
        match named(&works, name) {
            // Both names of a work may be given.
            Ok(found) if chosen.contains(&&*found.name) => {}
            Ok(found) => chosen.push(&found.name),
            Err(why) => outcomes.failed(name, why)?,
        }
    }
    for name in chosen {
        match change(&cluster, name, dry_run, &decide).await {
            Ok((true, line)) => outcomes.done(name, line)?,
            Ok((false, line)) => outcomes.unchanged(name, line)?,
            Err(failure) => outcomes.failed(name, failure)?,
        }
    }
    Ok(outcomes.end()?)
}

/// Writes what `decide` makes of an AppliedManifestWork, and returns whether something was written, and the line about it.
async fn change(
    cluster: &HubConnection,
    name: &str,
    dry_run: DryRun,
    decide: &impl Fn(&str, &Value) -> Due,
) -> Result<(bool, String), CommandError> {
    deciding_again(async || {
        let read = cluster.get_value::<AppliedManifestWork>(None, name).await?;
        let Some(work) = read else {
            let why = "the AppliedManifestWork was deleted while the command ran";
            return Err(CommandError::Refused(why.to_owned()));
        };
        match decide(name, &work) {
            Due::Nothing(line) => Ok((false, line)),
            Due::Patch { mut patch, line } => {
                patch["metadata"]["resourceVersion"] = work["metadata"]["resourceVersion"].clone();
                cluster
                    .merge::<AppliedManifestWork>(None, name, None, patch, dry_run)
                    .await?;
                Ok((true, line))
            }
        }
    })
    .await
}

fn held(name: &str, work: &Value, writes: HeldWrites) -> Due {
    let value = writes.as_str();
    match Hold::of(work) {
        Some(hold) if hold.value == value => {
            Due::Nothing(format!("{RESOURCE}/{name} already held ({value})"))
        }
        _ => patch(json!(value), format!("{RESOURCE}/{name} held ({value})")),
    }
}

fn released(name: &str, work: &Value) -> Due {
    match Hold::of(work) {
        None => Due::Nothing(format!("{RESOURCE}/{name} not held")),
        Some(_) => patch(Value::Null, format!("{RESOURCE}/{name} released")),
    }
}

fn patch(value: Value, line: String) -> Due {
    let patch = json!({"metadata": {"annotations": {HOLD: value}}});
    Due::Patch { patch, line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_work_is_held_once_and_released_once() {
        let hold = |work: &Value| held("h-w", work, HeldWrites::Changes);
        let hold_all = |work: &Value| held("h-w", work, HeldWrites::All);
        let release = |work: &Value| released("h-w", work);
        type Decide<'a> = &'a dyn Fn(&Value) -> Due;
        let (hold, hold_all, release): (Decide<'_>, Decide<'_>, Decide<'_>) =
            (&hold, &hold_all, &release);
        for (decide, before, line, after) in [
            (hold, None, "held (changes)", Some(json!("changes"))),
            (
                hold,
                Some("false"),
                "held (changes)",
                Some(json!("changes")),
            ),
            (hold, Some("changes"), "already held (changes)", None),
            (hold, Some("all"), "held (changes)", Some(json!("changes"))),
            (hold_all, Some("changes"), "held (all)", Some(json!("all"))),
            (hold_all, Some("all"), "already held (all)", None),
            // The agent takes a value that it does not know for `all`.
            (hold_all, Some("other"), "held (all)", Some(json!("all"))),
            (release, None, "not held", None),
            (release, Some("false"), "not held", None),
            (release, Some("changes"), "released", Some(Value::Null)),
            (release, Some("other"), "released", Some(Value::Null)),
        ] {
            let work = match before {
                Some(value) => json!({"metadata": {"annotations": {HOLD: value}}}),
                None => json!({"metadata": {}}),
            };
            let (said, value) = match decide(&work) {
                Due::Nothing(line) => (line, None),
                Due::Patch { patch, line } => {
                    (line, Some(patch["metadata"]["annotations"][HOLD].clone()))
                }
            };
            assert_eq!(said, format!("{RESOURCE}/h-w {line}"), "{before:?}");
            assert_eq!(value, after, "{before:?}");
        }
    }
}
