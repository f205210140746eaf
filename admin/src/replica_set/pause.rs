//! `berth pause replicaset` and `berth resume replicaset`.

use std::process::ExitCode;

use berth_api::labels::ROLLOUT_PAUSED;
use berth_api::work::ManifestWorkReplicaSet;
use berth_work_replicas::{LONGEST_PAUSE_REASON, pause_reason};
use kube::{Resource, ResourceExt};

use super::{Due, SetNames, read, write};
use crate::hub::{HubArgs, HubConnection, Item};
use crate::outcomes::{Outcomes, WriteArgs};

/// Pause the rollouts of ManifestWorkReplicaSets
///
/// While they are paused, the work controller creates no ManifestWork, and gives none the template. What is there stays, and its status
/// is reported. A cluster that the placements do not select any more loses its ManifestWork all the same. The command writes the
/// annotation berth.open-cluster-management.io/rollout-paused, which OCM's work controller ignores.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "replicasets",
    aliases = ["mwrs", "manifestworkreplicasets", "manifestworkreplicaset"],
    after_help = "\
Examples:
  berth pause replicaset web -n team-a --reason 'the disks of rack 7 fail'

  # See which are paused, and why
  berth get replicasets -o wide"
)]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    sets: SetNames,
    /// Why, for the status of the ManifestWorkReplicaSet
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    reason: Option<String>,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    hub: HubArgs,
}

/// Resume the rollouts of ManifestWorkReplicaSets: ends 'berth pause replicaset'
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "replicasets",
    aliases = ["mwrs", "manifestworkreplicasets", "manifestworkreplicaset"],
    after_help = "\
Example:
  berth resume replicaset web -n team-a"
)]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    sets: SetNames,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    hub: HubArgs,
}

/// Runs `berth pause replicaset`.
///
/// # Errors
/// The hub cannot be used, or the output cannot be written.
pub(crate) async fn pause(args: &PauseArgs) -> anyhow::Result<ExitCode> {
    let reason = args.reason.as_deref();
    let decide = |set: &Item<ManifestWorkReplicaSet>| paused(set, reason);
    each(&args.sets, &args.write, &args.hub, decide).await
}

/// Runs `berth resume replicaset`.
///
/// # Errors
/// As [`pause`].
pub(crate) async fn resume(args: &ResumeArgs) -> anyhow::Result<ExitCode> {
    each(&args.sets, &args.write, &args.hub, resumed).await
}

async fn each(
    sets: &SetNames,
    args: &WriteArgs,
    of: &HubArgs,
    decide: impl Fn(&Item<ManifestWorkReplicaSet>) -> Due,
) -> anyhow::Result<ExitCode> {
    let hub = HubConnection::of(of).await?;
    let mut outcomes = Outcomes::new(args);
    let (names, namespace) = sets.each(of);
    for name in names {
        let written = async {
            let item = read(&hub, &namespace, name).await?;
            write(&hub, &item, args.dry_run.mode, decide(&item)).await
        };
        match written.await {
            Ok((true, line)) => outcomes.done(name, line)?,
            Ok((false, line)) => outcomes.unchanged(name, line)?,
            Err(failure) => outcomes.failed(name, failure)?,
        }
    }
    Ok(outcomes.end()?)
}

/// Pauses the rollouts, unless they are paused for this reason. Without a reason, that of an earlier pause stays.
pub(super) fn paused(set: &Item<ManifestWorkReplicaSet>, reason: Option<&str>) -> Due {
    let name = set.name();
    let stored = pause_reason(set.object.meta().annotations.as_ref());
    match (stored, reason) {
        (Some(stored), reason) if reason.is_none_or(|it| it == stored) => {
            Due::Nothing(format!("manifestworkreplicaset/{name} already paused"))
        }
        (_, reason) => Due::Write {
            key: ROLLOUT_PAUSED,
            value: Some(reason.unwrap_or("true").to_owned()),
            line: format!("manifestworkreplicaset/{name} paused"),
        },
    }
}

/// Removes the annotation, unless it does not pause.
pub(super) fn resumed(set: &Item<ManifestWorkReplicaSet>) -> Due {
    let name = set.object.name_any();
    match pause_reason(set.object.meta().annotations.as_ref()) {
        None => Due::Nothing(format!("manifestworkreplicaset/{name} already resumed")),
        Some(_) => Due::Write {
            key: ROLLOUT_PAUSED,
            value: None,
            line: format!("manifestworkreplicaset/{name} resumed"),
        },
    }
}

/// Parses a reason. It must be reported as it is written, and must not be read as "not paused".
fn reason(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("the reason is empty; leave --reason out to give none".to_owned()),
        "true" | "false" => Err("the reason is a text, not true or false".to_owned()),
        text if text.len() > LONGEST_PAUSE_REASON => Err(format!(
            "the reason has {} bytes, and may have {LONGEST_PAUSE_REASON}",
            text.len()
        )),
        text => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn said(due: Due) -> (String, Option<Option<String>>) {
        match due {
            Due::Nothing(line) => (line, None),
            Due::Write { value, line, .. } => (line, Some(value)),
        }
    }

    #[test]
    fn a_set_is_paused_once_for_a_reason_and_resumed_once() {
        let set = |annotation: Value| {
            Item::of(json!({
                "metadata": {"name": "web", "annotations": {ROLLOUT_PAUSED: annotation}},
                "spec": {"placementRefs": [], "manifestWorkTemplate": {}},
            }))
        };
        let (none, some) = (|| None, |value: &str| Some(Some(value.to_owned())));
        for (stored, reason, line, written) in [
            (json!("false"), None, "paused", some("true")),
            (json!("false"), Some("disks"), "paused", some("disks")),
            (json!("true"), None, "already paused", none()),
            (json!("true"), Some("disks"), "paused", some("disks")),
            (json!("disks"), None, "already paused", none()),
            (json!("disks"), Some("disks"), "already paused", none()),
            (json!("disks"), Some("nodes"), "paused", some("nodes")),
        ] {
            let (said, value) = said(paused(&set(stored.clone()), reason));
            assert_eq!(said, format!("manifestworkreplicaset/web {line}"));
            assert_eq!(value, written, "{stored} {reason:?}");
        }
        for (stored, line, written) in [
            (json!("false"), "already resumed", None),
            (json!("true"), "resumed", Some(None)),
            (json!("disks"), "resumed", Some(None)),
        ] {
            let (said, value) = said(resumed(&set(stored)));
            assert_eq!(said, format!("manifestworkreplicaset/web {line}"));
            assert_eq!(value, written);
        }
    }

    #[test]
    fn a_reason_is_a_text_that_is_reported_as_it_is() {
        assert_eq!(reason(" disks ").as_deref(), Ok("disks"));
        let long = "x".repeat(LONGEST_PAUSE_REASON + 1);
        for (text, words) in [
            (" ", "is empty"),
            ("false", "not true or false"),
            ("true", "not true or false"),
            (&long, "has 257 bytes, and may have 256"),
        ] {
            let error = reason(text).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        assert!(reason(&long[1..]).is_ok());
    }
}
