//! How ManifestWorks and ManifestWorkReplicaSets are, as the commands read it, and what a user may do with a rollout.

use berth_api::conditions::{FALSE, TRUE, condition_of, manifest_work, manifest_work_replica_set};
use berth_api::work::{ManifestWork, ManifestWorkReplicaSet};
use berth_work_core::{CONTESTED, Differences};
use berth_work_replicas::{ApprovalOffer, is_stopped, pause_reason};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::{Done, Failure, Hub};
use crate::get;
use crate::hub::DryRun;
use crate::replica_set::{self, Changed};
use crate::work::differences;
pub use crate::work::differences::{Difference, DifferenceState, DifferingObject};

/// A field that differs from its manifest.
pub type FieldDifference = berth_work_core::Difference;

/// How a ManifestWork is, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkState {
    /// A manifest could not be applied.
    NotApplied,
    /// An object does not exist on the cluster.
    Missing,
    /// The agent could not find out whether an object exists.
    Unknown,
    /// An object fails to get as its spec asks for.
    Degraded,
    /// An object has other fields than its manifest.
    Drifted,
    /// An admin of the cluster holds it back.
    Held,
    /// The agent has not reported this generation.
    NotReported,
    /// An object is not yet as its spec asks for.
    Progressing,
    /// It is being deleted.
    Deleting,
    /// All objects are as prescribed.
    AsPrescribed,
}

/// How a rollout is, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RolloutState {
    /// A placement or a strategy cannot be used.
    Unusable,
    /// More clusters have failed than the strategy allows.
    Stopped,
    /// A ManifestWork is degraded or not available, or could not be written.
    Failing,
    /// An annotation pauses it.
    Paused,
    /// A step waits for an approval.
    ApprovalPending,
    /// Clusters are getting the template.
    Progressing,
    /// No controller has looked at it yet.
    New,
    /// It is being deleted.
    Deleting,
    /// All selected clusters have succeeded.
    Complete,
}

/// A state, why, and since when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct How<S> {
    /// The state.
    pub state: S,
    /// Why. Empty if all is well.
    pub why: String,
    /// Since when, by the condition that says so.
    pub since: Option<Timestamp>,
}

/// The fields that an agent reports as different.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// The first ones; empty if the message is of another form.
    pub fields: Vec<FieldDifference>,
    /// The number of further ones.
    pub more: usize,
    /// The agent puts them back, and another client changes them again and again.
    pub contested: bool,
}

/// What a user does with a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RolloutAction {
    /// `berth pause replicaset`
    Pause,
    /// `berth resume replicaset`
    Resume,
    /// `berth approve replicaset`
    Approve,
}

/// Returns how a ManifestWork is.
pub fn work_state(work: &ManifestWork) -> How<WorkState> {
    let conditions = work.status.as_ref().map_or(&[][..], |it| &it.conditions);
    let is = |type_| get::works::status(work, type_) == TRUE;
    let differences = differences::of(work);
    let worst = differences
        .iter()
        .min_by_key(|it| WorkState::from(it.state));
    let others = [
        (manifest_work::DEGRADED, WorkState::Degraded),
        (manifest_work::HELD, WorkState::Held),
        (manifest_work::PROGRESSING, WorkState::Progressing),
    ];
    let others = others.into_iter().filter(|(type_, _)| is(type_));
    let state = match &work.metadata.deletion_timestamp {
        Some(_) => WorkState::Deleting,
        None => (worst.map(|it| it.state.into()).into_iter())
            .chain(others.map(|(_, state)| state))
            .min()
            .unwrap_or(WorkState::AsPrescribed),
    };
    let of = condition_of(conditions, state.condition());
    let why = match state {
        WorkState::AsPrescribed => String::new(),
        WorkState::Held | WorkState::Progressing => {
            of.map_or_else(String::new, |it| it.message.clone())
        }
        WorkState::NotReported => worst.map_or_else(String::new, |it| it.message.clone()),
        _ => get::works::message(work),
    };
    let created = work.metadata.creation_timestamp.as_ref();
    How {
        state,
        why,
        since: of
            .map(|it| it.last_transition_time.0)
            .or(created.map(|it| it.0)),
    }
}

/// Returns what of a ManifestWork is not as prescribed, as `berth work diff` does.
pub fn differences_of(work: &ManifestWork) -> Vec<Difference> {
    differences::of(work)
}

/// Reads the message of a difference of the state Drifted.
pub fn fields_of(message: &str) -> Fields {
    let put_back = message.strip_suffix(CONTESTED);
    let contested = put_back.is_some();
    let message = put_back.map_or(message, |it| it.strip_suffix("; ").unwrap_or(it));
    match message.parse::<Differences>() {
        Ok(Differences { shown, count }) => Fields {
            more: count.saturating_sub(shown.len()),
            fields: shown,
            contested,
        },
        Err(_) => Fields {
            contested,
            ..Fields::default()
        },
    }
}

/// Returns how the rollouts of a ManifestWorkReplicaSet are.
pub fn rollout_state(set: &ManifestWorkReplicaSet) -> How<RolloutState> {
    let status = set.status.clone().unwrap_or_default();
    let condition = |type_, status: &str| {
        let found = condition_of(&status_conditions(set), type_)?.clone();
        (found.status == status).then_some(found)
    };
    let how = |state, it: Option<Condition>| How {
        state,
        why: it
            .as_ref()
            .map_or_else(String::new, |it| it.message.clone()),
        since: it.map(|it| it.last_transition_time.0),
    };
    let applied = condition(manifest_work_replica_set::MANIFESTWORK_APPLIED, FALSE);
    let unfinished = condition(manifest_work_replica_set::PLACEMENT_ROLLED_OUT, FALSE);
    if set.metadata.deletion_timestamp.is_some() {
        return how(RolloutState::Deleting, applied);
    }
    if let Some(it) = condition(manifest_work_replica_set::PLACEMENT_VERIFIED, FALSE) {
        return how(RolloutState::Unusable, Some(it));
    }
    let mut placements = set.spec.placement_refs.iter();
    if placements.any(|it| is_stopped(&status, &it.name)) {
        return how(RolloutState::Stopped, unfinished);
    }
    let fails = [
        manifest_work_replica_set::NOT_AS_EXPECTED,
        manifest_work_replica_set::INVALID_MANIFEST_WORK_NAME,
    ];
    if let Some(it) = applied.filter(|it| fails.contains(&&*it.reason)) {
        return how(RolloutState::Failing, Some(it));
    }
    if let Some(reason) = pause_reason(set.metadata.annotations.as_ref()) {
        return How {
            why: reason.into_owned(),
            ..how(RolloutState::Paused, unfinished)
        };
    }
    if let Some(it) = condition(manifest_work_replica_set::APPROVAL_PENDING, TRUE) {
        return How {
            why: ApprovalOffer::who_waits(&it.message).to_owned(),
            ..how(RolloutState::ApprovalPending, Some(it))
        };
    }
    match (
        unfinished,
        condition(manifest_work_replica_set::PLACEMENT_ROLLED_OUT, TRUE),
    ) {
        (Some(it), _) => how(RolloutState::Progressing, Some(it)),
        (None, Some(it)) => How {
            why: String::new(),
            ..how(RolloutState::Complete, Some(it))
        },
        (None, None) => how(RolloutState::New, None),
    }
}

/// Returns which clusters wait for an approval, if a step of a rollout does.
pub fn approval_pending(set: &ManifestWorkReplicaSet) -> Option<String> {
    let conditions = status_conditions(set);
    let pending = condition_of(&conditions, manifest_work_replica_set::APPROVAL_PENDING)?;
    let waits = pending.status == TRUE;
    waits.then(|| ApprovalOffer::who_waits(&pending.message).to_owned())
}

fn status_conditions(set: &ManifestWorkReplicaSet) -> Vec<Condition> {
    let status = set.status.as_ref();
    status.map_or_else(Vec::new, |it| it.conditions.clone())
}

// === impl WorkState ===

impl WorkState {
    /// The condition of the ManifestWork that says so.
    fn condition(self) -> &'static str {
        match self {
            Self::NotApplied | Self::NotReported => manifest_work::APPLIED,
            Self::Missing | Self::Unknown | Self::AsPrescribed => manifest_work::AVAILABLE,
            Self::Degraded => manifest_work::DEGRADED,
            Self::Drifted => manifest_work::DRIFTED,
            Self::Held => manifest_work::HELD,
            Self::Progressing => manifest_work::PROGRESSING,
            Self::Deleting => manifest_work::DELETING,
        }
    }
}

impl From<DifferenceState> for WorkState {
    fn from(state: DifferenceState) -> Self {
        match state {
            DifferenceState::Drifted => Self::Drifted,
            DifferenceState::Missing => Self::Missing,
            DifferenceState::NotApplied => Self::NotApplied,
            DifferenceState::Unknown => Self::Unknown,
            DifferenceState::NotReported => Self::NotReported,
        }
    }
}

// === impl Hub ===

impl Hub {
    /// Does this with the rollouts of a ManifestWorkReplicaSet, as the command does without further flags; with `dry_run` the hub decides,
    /// and stores nothing. `shown` is what the dry run of an approval has offered: another step is not approved.
    ///
    /// # Errors
    /// It does not exist, nothing waits for an approval, another step waits, or the hub refuses.
    pub async fn act_on_rollout(
        &self,
        action: RolloutAction,
        (namespace, name): (&str, &str),
        shown: Option<&str>,
        dry_run: bool,
    ) -> Result<Done, Failure> {
        let change = match action {
            RolloutAction::Pause => replica_set::Change::Pause,
            RolloutAction::Resume => replica_set::Change::Resume,
            RolloutAction::Approve if dry_run => replica_set::Change::Approve(None),
            RolloutAction::Approve => replica_set::Change::Approve(Some(shown.unwrap_or_default())),
        };
        let dry_run = DryRun::of(dry_run);
        let changed = replica_set::change(&self.0, namespace, name, change, dry_run).await?;
        let Changed {
            written,
            line,
            note,
            offer,
        } = changed;
        let suffix = if written { dry_run.suffix() } else { "" };
        Ok(Done {
            lines: vec![format!("{line}{suffix}")],
            notes: note.into_iter().collect(),
            offer,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
        json!({
            "type": type_, "status": status, "reason": reason, "message": message, "observedGeneration": 2,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    }

    #[test]
    fn a_work_is_in_the_worst_state_that_is_reported() {
        let said =
            |type_: &str, status: &str, message: &str| condition(type_, status, "R", message);
        let applied = said("Applied", "True", "");
        let available = said("Available", "True", "");
        let rows = [
            (
                "as prescribed",
                vec![applied.clone(), available.clone()],
                vec![],
                WorkState::AsPrescribed,
                "",
            ),
            (
                "not reported",
                vec![],
                vec![],
                WorkState::NotReported,
                "no status was reported yet",
            ),
            (
                "not applied, and degraded",
                vec![
                    said("Applied", "False", "no"),
                    said("Degraded", "True", "bad"),
                ],
                vec![said("Applied", "False", "refused")],
                WorkState::NotApplied,
                "ConfigMap/n/a: refused",
            ),
            (
                "missing",
                vec![applied.clone(), said("Available", "False", "1 of 1")],
                vec![
                    said("Applied", "True", ""),
                    said("Available", "False", "gone"),
                ],
                WorkState::Missing,
                "ConfigMap/n/a: gone",
            ),
            (
                "degraded, and progressing",
                vec![
                    applied.clone(),
                    available.clone(),
                    said("Degraded", "True", "bad"),
                    said("Progressing", "True", "on"),
                ],
                vec![],
                WorkState::Degraded,
                "bad",
            ),
            (
                "drifted",
                vec![
                    applied.clone(),
                    available.clone(),
                    said("Drifted", "True", "1 of 1"),
                ],
                vec![
                    said("Applied", "True", ""),
                    said("Drifted", "True", "data.a"),
                ],
                WorkState::Drifted,
                "ConfigMap/n/a: data.a",
            ),
            (
                "held",
                vec![
                    applied.clone(),
                    available.clone(),
                    said("Held", "True", "by an admin"),
                ],
                vec![],
                WorkState::Held,
                "by an admin",
            ),
            (
                "progressing",
                vec![applied, available, said("Progressing", "True", "on")],
                vec![],
                WorkState::Progressing,
                "on",
            ),
        ];
        for (name, conditions, of_object, state, why) in rows {
            let meta = json!({"kind": "ConfigMap", "namespace": "n", "name": "a"});
            let work = json!({
                "metadata": {"name": "w", "namespace": "c1", "generation": 2},
                "status": {
                    "conditions": conditions,
                    "resourceStatus": {"manifests": [{"resourceMeta": meta, "conditions": of_object}]},
                },
            });
            let how = work_state(&serde_json::from_value(work).unwrap());
            assert_eq!((how.state, &*how.why), (state, why), "{name}");
        }
    }

    #[test]
    fn a_rollout_is_in_the_worst_state_that_is_reported() {
        let verified = condition("PlacementVerified", "True", "AsExpected", "");
        let applied = condition("ManifestworkApplied", "True", "AsExpected", "");
        let going = condition("PlacementRolledOut", "False", "Progressing", "1 of 3");
        let complete = condition("PlacementRolledOut", "True", "Complete", "3 of 3");
        let stopped = "1 of 3; the rollout of placement app has stopped, since c1";
        let stopped = condition("PlacementRolledOut", "False", "Progressing", stopped);
        let failing = condition(
            "ManifestworkApplied",
            "False",
            "NotAsExpected",
            "1 degraded",
        );
        let waits = "c2 waits; approve with 'berth approve replicaset web -n n', or set the annotation berth.open-cluster-management.io/rollout-approved to 0123456789abcdef:app=2";
        let waits = condition("ApprovalPending", "True", "StepNotApproved", waits);
        let unusable = condition(
            "PlacementVerified",
            "False",
            "PlacementDecisionNotFound",
            "app",
        );
        for (conditions, paused, state, why) in [
            (vec![], None, RolloutState::New, ""),
            (
                vec![&verified, &applied, &complete],
                None,
                RolloutState::Complete,
                "",
            ),
            (
                vec![&verified, &applied, &complete],
                Some("disks"),
                RolloutState::Paused,
                "disks",
            ),
            (
                vec![&verified, &applied, &going],
                Some("true"),
                RolloutState::Paused,
                "",
            ),
            (
                vec![&verified, &applied, &going],
                Some("false"),
                RolloutState::Progressing,
                "1 of 3",
            ),
            (
                vec![&verified, &going, &waits],
                None,
                RolloutState::ApprovalPending,
                "c2 waits",
            ),
            (
                vec![&verified, &failing, &going, &waits],
                None,
                RolloutState::Failing,
                "1 degraded",
            ),
            (
                vec![&unusable, &failing, &stopped],
                None,
                RolloutState::Unusable,
                "app",
            ),
            (
                vec![&verified, &failing, &stopped],
                Some("disks"),
                RolloutState::Stopped,
                "1 of 3; the rollout of placement app has stopped, since c1",
            ),
        ] {
            let annotations = paused.map(|it| json!({berth_api::labels::ROLLOUT_PAUSED: it}));
            let set = json!({
                "metadata": {"name": "web", "namespace": "n", "annotations": annotations},
                "spec": {"placementRefs": [{"name": "app"}]},
                "status": {"conditions": conditions},
            });
            let set = serde_json::from_value(set).unwrap();
            let how = rollout_state(&set);
            assert_eq!((how.state, &*how.why), (state, why));
            let pending = conditions.contains(&&waits);
            assert_eq!(
                approval_pending(&set).as_deref(),
                pending.then_some("c2 waits")
            );
        }
    }

    #[test]
    fn the_fields_of_a_message_are_read() {
        let one = "spec.replicas: prescribed 3, found 5 (written by kubectl-edit)";
        for (message, fields, more, contested) in [
            (one.to_owned(), 1, 0, false),
            (format!("{one}; {CONTESTED}"), 1, 0, true),
            (format!("{one}; and 4 more"), 1, 4, false),
            (
                format!("spec.replicas: put back, but {CONTESTED}"),
                0,
                0,
                true,
            ),
            ("something else".to_owned(), 0, 0, false),
        ] {
            let read = fields_of(&message);
            let found = (read.fields.len(), read.more, read.contested);
            assert_eq!(found, (fields, more, contested), "{message}");
        }
        assert_eq!(
            fields_of(one).fields[0].manager.as_deref(),
            Some("kubectl-edit")
        );
    }
}
