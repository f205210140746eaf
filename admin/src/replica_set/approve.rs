//! `berth approve replicaset`.

use std::io::{self, Write};
use std::process::ExitCode;

use berth_api::conditions::manifest_work_replica_set::APPROVAL_PENDING;
use berth_api::conditions::{TRUE, condition_of};
use berth_api::labels::{ROLLOUT_APPROVAL, ROLLOUT_APPROVED};
use berth_api::work::ManifestWorkReplicaSet;
use berth_rules::display::Lines;
use berth_work_replicas::{ApprovalOffer, ReplicaSet};
use clap_complete::engine::ArgValueCandidates;

use super::{Due, read, set_name, write};
use crate::ask::{can_ask, confirmed};
use crate::complete;
use crate::failure::CommandError;
use crate::hub::{DryRun, HubArgs, HubConnection, Item, NamespaceArgs};
use crate::outcomes::{Outcomes, WriteArgs};

/// Approve the next step of the rollouts of a ManifestWorkReplicaSet
///
/// Shows which clusters wait for the approval, as the work controller reports them in the condition ApprovalPending, and asks first;
/// without a terminal it needs --yes. The approval counts for these clusters' number and for the present template: a step of another
/// template, or a further step, needs another one. The command writes the annotation
/// berth.open-cluster-management.io/rollout-approved. Steps need approvals if the annotation
/// berth.open-cluster-management.io/rollout-approval of the ManifestWorkReplicaSet is 'required'.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "replicasets",
    aliases = ["mwrs", "manifestworkreplicasets", "manifestworkreplicaset"],
    after_help = "\
Examples:
  # Show which clusters come next
  berth approve replicaset web -n team-a --dry-run

  berth approve replicaset web -n team-a

Exit codes: 0 approved, 1 nothing waits for an approval, it was not confirmed, or an error."
)]
pub(crate) struct Args {
    /// Name of the ManifestWorkReplicaSet
    #[arg(value_name = "NAME", value_parser = set_name, add = ArgValueCandidates::new(complete::replica_sets))]
    name: String,
    #[command(flatten)]
    namespace: NamespaceArgs,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    hub: HubArgs,
}

/// What waits for an approval.
#[derive(Debug)]
pub(super) struct Step {
    /// Which clusters, as the controller says.
    pub(super) message: String,
    /// The value of the annotation that approves it; `None` if it was approved already.
    pub(super) value: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// The hub cannot be used, or the output cannot be written.
pub(crate) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let hub = HubConnection::of(&args.hub).await?;
    let mut outcomes = Outcomes::new(&args.write);
    let namespace = args.namespace.of(&args.hub);
    let (name, dry_run) = (&*args.name, args.write.dry_run.mode);
    let decided = async {
        let item = read(&hub, &namespace, name).await?;
        let step = step(&item)?;
        Ok::<_, CommandError>((item, step))
    };
    let (item, step) = match decided.await {
        Ok(decided) => decided,
        Err(failure) => {
            outcomes.failed(name, failure)?;
            return Ok(outcomes.end()?);
        }
    };
    let asks = !args.yes && dry_run == DryRun::None && step.value.is_some();
    if asks && !can_ask() {
        outcomes.progress(&step.message);
        let why =
            "without a terminal to confirm the approval on, add --yes; --dry-run shows what waits";
        outcomes.failed(name, why)?;
        return Ok(outcomes.end()?);
    }
    if asks {
        // The user has to know this before the question.
        writeln!(io::stderr(), "{}", Lines(&step.message))?;
        if !confirmed(&format!("Approve this step of {name}?"))? {
            writeln!(io::stderr(), "Nothing was changed.")?;
            return Ok(ExitCode::FAILURE);
        }
    } else {
        outcomes.progress(&step.message);
    }
    match write(&hub, &item, dry_run, step.due(name)).await {
        Ok((true, line)) => outcomes.done(name, line)?,
        Ok((false, line)) => outcomes.unchanged(name, line)?,
        Err(failure) => outcomes.failed(name, failure)?,
    }
    Ok(outcomes.end()?)
}

// === impl Step ===

impl Step {
    /// The annotation that approves it.
    pub(super) fn due(self, name: &str) -> Due {
        match self.value {
            None => Due::Nothing(format!("manifestworkreplicaset/{name} already approved")),
            value => Due::Write {
                key: ROLLOUT_APPROVED,
                value,
                line: format!("manifestworkreplicaset/{name} approved"),
            },
        }
    }

    /// A user has seen a step, and approves no other one.
    ///
    /// # Errors
    /// Another step waits now.
    pub(super) fn is_shown(&self, shown: Option<&str>) -> Result<(), CommandError> {
        match (shown, &self.value) {
            (Some(shown), Some(value)) if shown != value => {
                let why = "another step waits by now than was shown: look at it again";
                Err(CommandError::Refused(why.to_owned()))
            }
            _ => Ok(()),
        }
    }
}

/// The step that waits.
///
/// # Errors
/// None does, or the controller reports about an earlier template.
pub(super) fn step(item: &Item<ManifestWorkReplicaSet>) -> Result<Step, CommandError> {
    let name = item.name();
    let refused = |why: String| Err(CommandError::Refused(why));
    let set = match ReplicaSet::read(&item.value.to_string()) {
        Ok(set) => set,
        Err(why) => {
            return Err(CommandError::Unreadable(format!(
                "ManifestWorkReplicaSet {name}: {why}"
            )));
        }
    };
    if !set.approval.is_required {
        return refused(format!(
            "the rollouts of {name} need no approval; to require it: kubectl annotate mwrs {name} -n {} {ROLLOUT_APPROVAL}=required",
            set.namespace
        ));
    }
    let pending = condition_of(&set.status.conditions, APPROVAL_PENDING);
    let Some(pending) = pending.filter(|it| it.status == TRUE) else {
        return refused(format!(
            "no step of {name} waits for an approval; see how far its rollouts are: berth get replicasets {name} -n {} -o wide",
            set.namespace
        ));
    };
    let Some(offer) = ApprovalOffer::of_message(&pending.message) else {
        return refused(format!(
            "the condition {APPROVAL_PENDING} of {name} does not say what to approve: {}",
            pending.message
        ));
    };
    if !offer.is_about(set.template.digest()) {
        return refused(format!(
            "the template of {name} has changed, and the work controller has not decided about it yet; try again in a moment"
        ));
    }
    Ok(Step {
        message: pending.message.clone(),
        value: (!set.approval.covers(&offer)).then(|| offer.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const EMPTY: &str =
        "2 wait, or set the annotation berth.open-cluster-management.io/rollout-approved to ";

    fn set(annotations: &Value, message: Option<&str>) -> Item<ManifestWorkReplicaSet> {
        let condition = message.map(|message| {
            json!({
                "type": APPROVAL_PENDING, "status": "True", "reason": "StepNotApproved", "message": message,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            })
        });
        Item::of(json!({
            "metadata": {"name": "web", "namespace": "ns", "annotations": annotations},
            "spec": {"placementRefs": [{"name": "p"}], "manifestWorkTemplate": {}},
            "status": {"conditions": condition.into_iter().collect::<Vec<_>>()},
        }))
    }

    /// The hash of the empty template.
    fn hash() -> String {
        let item = set(&json!({}), None);
        let set = ReplicaSet::read(&item.value.to_string()).unwrap();
        set.template.digest().short()
    }

    #[test]
    fn a_step_is_approved_as_the_controller_offers_it() {
        let value = format!("{}:p=2", hash());
        let message = format!("{EMPTY}{value}");
        for (approved, expected) in [
            ("", Some(&value)),
            (&*format!("{}:p=1", hash()), Some(&value)),
            ("0123456789abcdef:p=2", Some(&value)),
            (&value, None),
            (&*format!("{}:p=3", hash()), None),
        ] {
            let annotations = json!({ROLLOUT_APPROVAL: "required", ROLLOUT_APPROVED: approved});
            let step = step(&set(&annotations, Some(&message))).unwrap();
            assert_eq!(step.value.as_ref(), expected, "{approved}");
            assert_eq!(step.message, message);
            assert!(step.is_shown(None).is_ok() && step.is_shown(Some(&value)).is_ok());
            let other = step.is_shown(Some("0123456789abcdef:p=2"));
            assert_eq!(other.is_err(), expected.is_some());
        }
    }

    #[test]
    fn without_a_step_that_waits_nothing_is_approved() {
        let required = json!({ROLLOUT_APPROVAL: "required"});
        let other = format!("{EMPTY}0123456789abcdef:p=2");
        for (annotations, message, words) in [
            (&json!({}), Some(&*other), "need no approval"),
            (&required, None, "no step of web waits"),
            (&required, Some("2 wait"), "does not say what to approve"),
            (&required, Some(&*other), "the template of web has changed"),
        ] {
            let failure = step(&set(annotations, message)).unwrap_err();
            assert!(matches!(failure, CommandError::Refused(_)), "{failure:?}");
            assert!(failure.to_string().contains(words), "{failure}");
        }
    }
}
