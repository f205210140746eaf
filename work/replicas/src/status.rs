//! The status of a replica set.

mod approvals;

use berth_api::conditions::{
    self, FALSE, TRUE, condition_of, manifest_work_replica_set, with_condition,
};
use berth_api::labels;
use berth_api::plan::Event;
use berth_api::text::shorten;
use berth_api::work::{
    ManifestWorkReplicaSetStatus, ManifestWorkReplicaSetSummary, PlacementSummary,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::decide::{Facts, FailedChange};
use crate::set::ReplicaSet;
use crate::template::Template;
use crate::work::Work;

pub(super) use approvals::Waiting;

/// Names in a message. It counts the others.
const NAMED: usize = 5;

/// Upper bound on the bytes of an error in a message.
const LONGEST_ERROR: usize = 256;

/// Upper bound on the bytes of a message.
const LONGEST: usize = 4096;

/// How a message says that the rollouts are paused. The reason of a user follows, and nothing else.
const PAUSED: &str = "; paused by the annotation ";

/// The end of what a status says of the groups of a placement.
const LISTED: &str = " clusters applied)";

/// Reasons of Events.
const ROLLOUT_PAUSED: &str = "RolloutPaused";
const ROLLOUT_STOPPED: &str = "RolloutStopped";
const ROLLOUT_RESUMED: &str = "RolloutResumed";
const ROLLOUT_COMPLETE: &str = "RolloutComplete";

/// What a decision found, by placement.
#[derive(Debug, Default)]
pub(super) struct Report<'a> {
    pub(super) placements: Vec<Counts<'a>>,
}

/// What a decision found about a placement.
#[derive(Debug)]
pub(super) struct Counts<'a> {
    name: &'a str,
    pub(super) is_missing: bool,
    /// The placement has not been evaluated yet.
    pub(super) is_new: bool,
    /// Why no ManifestWork is created or changed.
    pub(super) fault: Option<String>,
    pub(super) groups: usize,
    /// The clusters that are listed.
    pub(super) selected: usize,
    /// The clusters that the placement selects, and that are not listed.
    pub(super) unlisted: usize,
    /// Those of the listed clusters that have a ManifestWork.
    pub(super) existing: usize,
    /// The rollout starts no cluster, since too many have failed.
    pub(super) is_stopped: bool,
    /// The clusters that failed or timed out.
    pub(super) failed: Vec<String>,
    /// The clusters of the next step that wait for an approval.
    pub(super) waiting: Option<Waiting>,
    /// The clusters where the template succeeded.
    succeeded: usize,
    /// The ManifestWorks with the template that have not been reported since.
    unreported: usize,
    summary: ManifestWorkReplicaSetSummary,
}

/// Returns true if the status says that the rollout of a placement has stopped, since too many clusters have failed.
#[must_use]
pub fn is_stopped(status: &ManifestWorkReplicaSetStatus, placement: &str) -> bool {
    let rolled_out = condition_of(
        &status.conditions,
        manifest_work_replica_set::PLACEMENT_ROLLED_OUT,
    );
    // A comma follows: a name may begin with another one.
    let words = format!("{},", stopped(placement));
    rolled_out.is_some_and(|it| it.status == FALSE && rollouts(&it.message).contains(&words))
}

/// Returns the number of clusters that a placement selects, as the status says, and as OCM's controller writes it.
#[must_use]
pub fn listed_clusters(summary: &PlacementSummary) -> Option<usize> {
    let text = summary.available_decision_groups.strip_suffix(LISTED)?;
    text.rsplit_once(" / ")?.1.parse().ok()
}

/// How a message says that a rollout has stopped. No other placement's message contains it.
fn stopped(placement: &str) -> String {
    format!("the rollout of placement {placement} has stopped")
}

/// A condition without its time.
struct Said {
    type_: &'static str,
    status: bool,
    reason: &'static str,
    message: String,
}

// === impl Counts ===

impl<'a> Counts<'a> {
    pub(super) fn new(name: &'a str) -> Self {
        Self {
            name,
            is_missing: false,
            is_new: false,
            fault: None,
            groups: 0,
            selected: 0,
            unlisted: 0,
            existing: 0,
            is_stopped: false,
            failed: Vec::new(),
            waiting: None,
            succeeded: 0,
            unreported: 0,
            summary: ManifestWorkReplicaSetSummary::default(),
        }
    }

    /// Counts ManifestWorks. Only those with the template count.
    pub(super) fn count<'w>(
        &mut self,
        template: &Template,
        works: impl IntoIterator<Item = &'w Work>,
    ) {
        let summary = &mut self.summary;
        for work in works {
            if work.is_deleting || !work.is_current(template) {
                continue;
            }
            let is = |condition| i64::from(Work::is(work.now(condition)));
            summary.total += 1;
            summary.applied += is(work.applied.as_ref());
            summary.available += is(work.available.as_ref());
            summary.progressing += is(work.progressing.as_ref());
            summary.degraded += is(work.degraded.as_ref());
            self.unreported += usize::from(work.now(work.applied.as_ref()).is_none());
            self.succeeded += usize::from(work.has_succeeded(template));
        }
    }

    fn stopped(&self) -> String {
        stopped(self.name)
    }

    fn why_stopped(&self) -> String {
        let failed: Vec<_> = self.failed.iter().map(String::as_str).collect();
        format!(
            "{}, since more clusters have failed or timed out than its strategy allows: {}",
            self.stopped(),
            listed(&failed)
        )
    }

    /// Returns whether the state of the rollout is known.
    fn is_decided(&self) -> bool {
        !self.is_missing && !self.is_new && self.fault.is_none()
    }

    fn summary(&self) -> PlacementSummary {
        let Self {
            groups,
            existing,
            selected,
            ..
        } = self;
        PlacementSummary {
            name: self.name.to_owned(),
            available_decision_groups: format!("{groups} ({existing} / {selected}{LISTED}"),
            summary: self.summary.clone(),
        }
    }
}

// === impl Report ===

impl Report<'_> {
    /// The status of a replica set.
    pub(super) fn status(&self, facts: &Facts<'_>, now: Timestamp) -> ManifestWorkReplicaSetStatus {
        let mut sum = ManifestWorkReplicaSetSummary::default();
        for Counts { summary, .. } in &self.placements {
            sum.total += summary.total;
            sum.applied += summary.applied;
            sum.available += summary.available;
            sum.progressing += summary.progressing;
            sum.degraded += summary.degraded;
        }
        let said = [
            self.verified(facts.set),
            self.rolled_out(facts.set),
            self.applied(&sum, facts.failures),
        ];
        let approval = self.approval(facts.set);
        let is_required = approval.is_some();
        let mut conditions = conditions(facts.set, said.into_iter().chain(approval), now);
        conditions
            .retain(|it| is_required || it.type_ != manifest_work_replica_set::APPROVAL_PENDING);
        ManifestWorkReplicaSetStatus {
            conditions,
            placement_summary: self.placements.iter().map(Counts::summary).collect(),
            summary: sum,
        }
    }

    /// The status of a replica set whose ManifestWorks cannot have its label.
    pub(super) fn unnameable(
        set: &ReplicaSet,
        why: &str,
        now: Timestamp,
    ) -> ManifestWorkReplicaSetStatus {
        let mut status = set.status.clone();
        let said = Said {
            type_: manifest_work_replica_set::MANIFESTWORK_APPLIED,
            status: false,
            reason: manifest_work_replica_set::INVALID_MANIFEST_WORK_NAME,
            message: why.to_owned(),
        };
        status.conditions = conditions(set, [said], now);
        status
    }

    /// What changed in the rollouts since the stored status: one Event when a rollout stops, when it goes on, and when all are complete.
    ///
    /// The stored condition has the state of the rollouts, so that no Event follows a restart.
    pub(super) fn events(&self, set: &ReplicaSet) -> Vec<Event> {
        let stored = condition_of(
            &set.status.conditions,
            manifest_work_replica_set::PLACEMENT_ROLLED_OUT,
        );
        let stored_message = stored.map_or("", |it| rollouts(&it.message));
        let rolled_out = self.rolled_out(set);
        let shortened = shorten(&rolled_out.message, LONGEST);
        let message = rollouts(&shortened);
        if rolled_out.status {
            let was_complete = stored.is_some_and(|it| it.status == TRUE);
            let is_new = !was_complete && self.selected() > 0;
            let complete = is_new.then(|| event(false, ROLLOUT_COMPLETE, message));
            return complete.into_iter().collect();
        }
        let of_placement = |it: &Counts<'_>| {
            let text = it.stopped();
            match (stored_message.contains(&text), it.is_stopped) {
                // The status has no room for the others, so it cannot tell whether their Event was sent.
                (false, true) if message.contains(&text) => {
                    Some(event(true, ROLLOUT_STOPPED, &it.why_stopped()))
                }
                (true, false) if it.is_decided() => {
                    let note = format!("the rollout of placement {} goes on", it.name);
                    Some(event(false, ROLLOUT_RESUMED, &note))
                }
                _ => None,
            }
        };
        let mut events: Vec<_> = self.placements.iter().filter_map(of_placement).collect();
        let was_paused = stored.is_some_and(|it| it.reason == manifest_work_replica_set::PAUSED);
        match (was_paused, &set.paused) {
            (false, Some(reason)) => {
                let note = format!("the rollouts are {}", by_annotation(reason));
                events.push(event(false, ROLLOUT_PAUSED, &note));
            }
            (true, None) => {
                let note = "the rollouts are not paused any more";
                events.push(event(false, ROLLOUT_RESUMED, note));
            }
            _ => {}
        }
        let waited = condition_of(
            &set.status.conditions,
            manifest_work_replica_set::APPROVAL_PENDING,
        );
        if self.waiting() > 0 && waited.is_none_or(|it| it.status != TRUE) {
            let reason = manifest_work_replica_set::APPROVAL_PENDING;
            events.push(event(false, reason, &self.waits()));
        }
        events
    }

    fn selected(&self) -> usize {
        self.placements.iter().map(|it| it.selected).sum()
    }

    fn verified(&self, set: &ReplicaSet) -> Said {
        let missing = self.placements.iter().filter(|it| it.is_missing);
        let missing: Vec<_> = missing.map(|it| it.name).collect();
        let faults: Vec<_> = self
            .placements
            .iter()
            .filter_map(|it| it.fault.clone())
            .collect();
        let unlisted = self.placements.iter().filter(|it| it.unlisted > 0);
        let unlisted: Vec<_> = unlisted
            .map(|it| {
                format!(
                    "the PlacementDecisions of {} list {} of {} selected clusters, so ManifestWorks of other clusters are kept",
                    it.name,
                    it.selected,
                    it.selected + it.unlisted
                )
            })
            .collect();
        let (status, reason, message) = if !missing.is_empty() {
            let message = format!(
                "in namespace {}, these Placements do not exist, so their ManifestWorks are kept as they are: {}",
                set.namespace,
                listed(&missing)
            );
            (
                false,
                manifest_work_replica_set::PLACEMENT_DECISION_NOT_FOUND,
                message,
            )
        } else if !faults.is_empty() {
            (
                false,
                manifest_work_replica_set::NOT_AS_EXPECTED,
                faults.join("; "),
            )
        } else if self.selected() == 0 {
            let new = self.placements.iter().filter(|it| it.is_new);
            let new: Vec<_> = new.map(|it| it.name).collect();
            let message = if new.is_empty() {
                "the placements select no cluster".to_owned()
            } else {
                format!(
                    "these Placements have not been evaluated yet, so their ManifestWorks are kept: {}",
                    listed(&new)
                )
            };
            (
                false,
                manifest_work_replica_set::PLACEMENT_DECISION_EMPTY,
                message,
            )
        } else {
            (
                true,
                manifest_work_replica_set::AS_EXPECTED,
                unlisted.join("; "),
            )
        };
        Said {
            type_: manifest_work_replica_set::PLACEMENT_VERIFIED,
            status,
            reason,
            message,
        }
    }

    fn rolled_out(&self, set: &ReplicaSet) -> Said {
        let succeeded: usize = self.placements.iter().map(|it| it.succeeded).sum();
        let selected = self.selected();
        let is_complete = succeeded == selected && self.placements.iter().all(Counts::is_decided);
        let mut message = format!("{succeeded} of {selected} clusters have succeeded");
        for stopped in self.placements.iter().filter(|it| it.is_stopped) {
            message.push_str(&format!("; {}", stopped.why_stopped()));
        }
        if self.waiting() > 0 {
            message.push_str(&format!("; {}", self.waits()));
        }
        if let Some(reason) = &set.paused {
            let pause = format!("; {}", by_annotation(reason));
            message = shorten(&message, LONGEST - pause.len()).into_owned() + &pause;
        }
        Said {
            type_: manifest_work_replica_set::PLACEMENT_ROLLED_OUT,
            status: is_complete,
            reason: if is_complete {
                manifest_work_replica_set::COMPLETE
            } else if set.paused.is_some() {
                manifest_work_replica_set::PAUSED
            } else if self.waiting() > 0 {
                manifest_work_replica_set::APPROVAL_PENDING
            } else {
                manifest_work_replica_set::PROGRESSING
            },
            message,
        }
    }

    fn applied(&self, sum: &ManifestWorkReplicaSetSummary, failures: &[FailedChange]) -> Said {
        if let Some(said) = failed(failures, "written") {
            return said;
        }
        let unreported: usize = self.placements.iter().map(|it| it.unreported).sum();
        let is_busy = sum.progressing > 0 || unreported > 0;
        let (status, reason) = if self.selected() == 0 && sum.total == 0 {
            (false, manifest_work_replica_set::PLACEMENT_DECISION_EMPTY)
        } else if sum.total == 0 {
            (false, manifest_work_replica_set::PROCESSING)
        } else if sum.degraded == 0 && sum.progressing == 0 && sum.available == sum.total {
            (true, manifest_work_replica_set::AS_EXPECTED)
        } else if sum.degraded == 0 && is_busy {
            (false, manifest_work_replica_set::PROCESSING)
        } else {
            (false, manifest_work_replica_set::NOT_AS_EXPECTED)
        };
        let ManifestWorkReplicaSetSummary {
            total,
            available,
            progressing,
            degraded,
            ..
        } = sum;
        let message = format!(
            "{available} of {total} ManifestWorks are available, {progressing} progressing, {degraded} degraded"
        );
        Said {
            type_: manifest_work_replica_set::MANIFESTWORK_APPLIED,
            status,
            reason,
            message,
        }
    }
}

/// The status of a replica set that is being deleted: the stored one, with the ManifestWorks that cannot be deleted or are not gone yet.
pub(super) fn of_removal(
    facts: &Facts<'_>,
    left: &[&Work],
    now: Timestamp,
) -> ManifestWorkReplicaSetStatus {
    let mut status = facts.set.status.clone();
    if let Some(said) = failed(facts.failures, "deleted").or_else(|| waits(facts.set, left)) {
        status.conditions = conditions(facts.set, [said], now);
    }
    status
}

/// Names the ManifestWorks that the deletion of a replica set waits for.
fn waits(set: &ReplicaSet, left: &[&Work]) -> Option<Said> {
    if !set.is_foreground || left.is_empty() || left.iter().any(|it| !it.is_deleting) {
        return None;
    }
    let names: Vec<_> = left
        .iter()
        .map(|it| format!("{}/{}", it.cluster, it.name))
        .collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    Some(Said {
        type_: manifest_work_replica_set::MANIFESTWORK_APPLIED,
        status: false,
        reason: manifest_work_replica_set::PROCESSING,
        message: format!(
            "the deletion waits for {} ManifestWorks, which go when the agents of their clusters have removed their objects: {}",
            names.len(),
            listed(&names)
        ),
    })
}

/// Says that an annotation pauses the rollouts, and why.
fn by_annotation(reason: &str) -> String {
    let key = labels::ROLLOUT_PAUSED;
    match reason {
        "" => format!("paused by the annotation {key}"),
        reason => format!("paused by the annotation {key}: {reason}"),
    }
}

/// The part of a message that is about the rollouts: the reason of a pause is a text of a user.
fn rollouts(message: &str) -> &str {
    message.split(PAUSED).next().unwrap_or_default()
}

/// An Event in the namespace of the replica set.
fn event(warning: bool, reason: &'static str, note: &str) -> Event {
    Event {
        warning,
        reason,
        note: note.to_owned(),
        namespace: None,
    }
}

/// Says which ManifestWorks could not be written, and why.
fn failed(failures: &[FailedChange], written: &str) -> Option<Said> {
    let failures: Vec<_> = failures.iter().filter(|it| !it.is_transient).collect();
    if failures.is_empty() {
        return None;
    }
    let shown = failures.iter().take(NAMED).map(|it| {
        let error = shorten(&it.message, LONGEST_ERROR);
        format!("{}/{}: {error}", it.cluster, it.name)
    });
    let mut message = format!("{} ManifestWorks cannot be {written}: ", failures.len());
    message.push_str(&shown.collect::<Vec<_>>().join("; "));
    let more = failures.len().saturating_sub(NAMED);
    if more > 0 {
        message.push_str(&format!("; and {more} more"));
    }
    Some(Said {
        type_: manifest_work_replica_set::MANIFESTWORK_APPLIED,
        status: false,
        reason: manifest_work_replica_set::NOT_AS_EXPECTED,
        message,
    })
}

fn listed(names: &[&str]) -> String {
    first(names, NAMED)
}

/// The first `most` names, and how many follow.
fn first(names: &[&str], most: usize) -> String {
    let more = names.len().saturating_sub(most);
    let shown = names[..names.len() - more].join(", ");
    if more == 0 {
        shown
    } else {
        format!("{shown} and {more} more")
    }
}

/// The stored conditions, with these.
fn conditions(
    set: &ReplicaSet,
    said: impl IntoIterator<Item = Said>,
    now: Timestamp,
) -> Vec<Condition> {
    let mut conditions = set.status.conditions.clone();
    for it in said {
        let condition = conditions::new(
            it.type_,
            (if it.status { TRUE } else { FALSE }, it.reason),
            shorten(&it.message, LONGEST),
            now,
        );
        if let Some(changed) = with_condition(&conditions, condition) {
            conditions = changed;
        }
    }
    conditions
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn what_a_status_says_of_a_placement_is_read_again() {
        let stopped = Counts {
            is_stopped: true,
            failed: vec!["c1".to_owned()],
            existing: 1,
            selected: 3,
            groups: 1,
            ..Counts::new("app")
        };
        let other = Counts::new("app-2");
        let set = r#"{"metadata": {"name": "web"}, "spec": {"placementRefs": []}}"#;
        let mut set = ReplicaSet::read(set).unwrap();
        let report = Report {
            placements: vec![stopped, other],
        };
        for paused in [
            None,
            Some("the rollout of placement app-2 has stopped, too"),
        ] {
            set.paused = paused.map(str::to_owned);
            let facts = Facts {
                set: &set,
                placed: &std::collections::BTreeMap::new(),
                works: &std::collections::BTreeMap::new(),
                taken: &std::collections::BTreeSet::new(),
                failures: &[],
            };
            let status = report.status(&facts, Timestamp::UNIX_EPOCH);
            assert!(is_stopped(&status, "app"), "{status:?}");
            assert!(!is_stopped(&status, "app-2") && !is_stopped(&status, "ap"));
            let listed: Vec<_> = status
                .placement_summary
                .iter()
                .map(listed_clusters)
                .collect();
            assert_eq!(listed, [Some(3), Some(0)]);
        }
        assert_eq!(listed_clusters(&PlacementSummary::default()), None);
    }
}
