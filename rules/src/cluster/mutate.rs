//! The mutating path of ManagedClusters: the times of taints and the default set.
//!
//! One operation of the patch replaces the whole list of taints, with all times. If a taint has fields that are not known
//! here, each time is an operation of its own, so that these fields are kept. The limit of the list bounds their number.

use berth_api::labels;
use jiff::Timestamp;
use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, PatchOperation};
use serde_json::{Map, Value, json};

use super::size::too_large;
use super::taints::{TimeAdded, times};
use super::{is_being_deleted, lists_too_long, old_set, turns_acceptance_on};
use crate::answers::Known;
use crate::display::{cut_bytes, first_of};
use crate::findings::Faults;
use crate::object::{Cluster, Taint};
use crate::sentences::faults;
use crate::sentences::warnings::{default_set_unknown, not_in_default_set};
use crate::{
    Answers, Case, Change, Decision, FeatureGates, Operation, Permission, Question, Reason, Rules,
    Settings,
};

/// The rules for the defaults of ManagedClusters: the times of taints and the default set, as a patch of only these paths.
/// They refuse only times that the requester set, and lists and clusters that are too large. They do not change an object that is being
/// deleted.
#[derive(Debug)]
pub struct MutateCluster;

/// Results of the examination.
#[derive(Debug)]
pub struct Seen {
    /// The action for the time of each taint; empty if the list does not change.
    times: Vec<TimeAdded>,
    default_set: DefaultSet,
}

// === impl MutateCluster ===

impl Rules for MutateCluster {
    type Object<'a> = Cluster<'a>;
    type Seen = Seen;

    /// If the change would add the cluster to the default set: may the requester join it?
    fn examine(
        change: &Change<'_, Cluster<'_>>,
        settings: &Settings,
        now: Timestamp,
    ) -> Case<Self> {
        let mut faults = Faults::default();
        let mut seen = Seen {
            times: Vec::new(),
            default_set: DefaultSet::Leave,
        };
        if !is_being_deleted(change) {
            lists_too_long(change, &mut faults);
            too_large(change, &mut faults);
            if faults.is_empty() {
                seen.times = examined_times(change, now, &mut faults);
            }
            seen.default_set = default_set(change, settings.gates);
        }
        Case::new(faults, seen, |seen: &Seen| match seen.default_set {
            DefaultSet::IfPermitted => vec![join_default()],
            DefaultSet::Restore | DefaultSet::Leave => Vec::new(),
        })
    }

    fn decide(
        seen: Seen,
        change: &Change<'_, Cluster<'_>>,
        _: &Settings,
        answers: Answers<'_>,
    ) -> Decision {
        let mut decision = Decision::allowed();
        let taints = &change.new.spec.taints;
        decision.patch.0.extend(with_times(taints, &seen.times));
        match seen.default_set {
            DefaultSet::Leave => {}
            DefaultSet::Restore => decision.patch.0.push(label_default(change)),
            DefaultSet::IfPermitted => match answers.to(&join_default()) {
                Known::Yes(_) => decision.patch.0.push(label_default(change)),
                // Agents write often: they are not warned at each write.
                Known::No | Known::Unknown(_) if !is_left_without_set(change) => {}
                Known::No => decision
                    .warnings
                    .push(not_in_default_set(change.name, change.user)),
                Known::Unknown(why) => {
                    let warning = default_set_unknown(change.name, change.user, why);
                    decision.warnings.push(warning);
                }
            },
        }
        decision
    }
}

/// Returns the action for the time of each taint. A time that the requester set is a fault.
fn examined_times(
    change: &Change<'_, Cluster<'_>>,
    now: Timestamp,
    faults: &mut Faults,
) -> Vec<TimeAdded> {
    let taints = &change.new.spec.taints;
    // A list that is not whole is already stored, or the change withdraws the acceptance.
    if !taints.is_whole() || taints.stays() {
        return Vec::new();
    }
    let stored = change.old.as_ref().map(|old| &*old.spec.taints);
    let times: Vec<_> = times(taints, stored, now).collect();
    let refused = || {
        let refused = times.iter().zip(taints.iter());
        refused.filter(|(time, _)| **time == TimeAdded::Refuse)
    };
    if refused().next().is_some() {
        faults.add(Reason::TaintTimeAdded, || {
            let keys = first_of(
                refused().map(|(_, taint)| cut_bytes(taint.key.as_str(), 253)),
                ",",
            );
            faults::time_added(&keys)
        });
    }
    times
}

/// Returns the operations that write these times.
fn with_times(taints: &[Taint<'_>], times: &[TimeAdded]) -> Vec<PatchOperation> {
    let set = |time: &TimeAdded| match time {
        TimeAdded::Set(time) => Some(Value::from(time.as_str())),
        TimeAdded::Keep | TimeAdded::Refuse => None,
    };
    if !times.iter().any(|time| matches!(time, TimeAdded::Set(_))) {
        return Vec::new();
    }
    if taints.iter().any(|taint| taint.says_more) {
        let times = times.iter().map(set).enumerate();
        return times
            .filter_map(|(i, time)| {
                let path = ["spec", "taints", &i.to_string(), "timeAdded"];
                Some(add(path, time?))
            })
            .collect();
    }
    let written = taints.iter().zip(times).map(|(taint, time)| {
        let fields = [
            ("key", Some(&taint.key)),
            ("value", Some(&taint.value)),
            ("effect", Some(&taint.effect)),
            ("timeAdded", taint.time_added.as_ref()),
        ];
        let mut written: Map<_, _> = fields
            .into_iter()
            .filter_map(|(field, text)| Some((field.to_owned(), text?.as_str())))
            .filter(|(_, text)| !text.is_empty())
            .map(|(field, text)| (field, Value::from(text)))
            .collect();
        if let Some(time) = set(time) {
            written.insert("timeAdded".to_owned(), time);
        }
        Value::Object(written)
    });
    vec![add(["spec", "taints"], written.collect())]
}

/// The action of the default-set rule.
#[derive(Debug)]
enum DefaultSet {
    /// None: the cluster has a set, or the feature is off.
    Leave,
    /// The stored object is in the default set, and the requester removed the label: it is restored without a question.
    Restore,
    /// The cluster is added to the default set if the requester may do that.
    IfPermitted,
}

fn default_set(change: &Change<'_, Cluster<'_>>, gates: FeatureGates) -> DefaultSet {
    if !gates.default_cluster_set || !change.new.metadata.labels.set().is_empty() {
        DefaultSet::Leave
    } else if old_set(change) == labels::DEFAULT_SET {
        DefaultSet::Restore
    } else {
        DefaultSet::IfPermitted
    }
}

/// Returns true if the requester must hear that the cluster is in no set: the change creates the cluster, accepts it, or takes
/// its set away.
fn is_left_without_set(change: &Change<'_, Cluster<'_>>) -> bool {
    change.operation() == Operation::Create
        || turns_acceptance_on(change)
        || !old_set(change).is_empty()
}

fn join_default() -> Question {
    Question::Permission(Permission::join(labels::DEFAULT_SET))
}

fn label_default(change: &Change<'_, Cluster<'_>>) -> PatchOperation {
    if change.new.metadata.labels.present {
        add(
            ["metadata", "labels", labels::CLUSTER_SET],
            Value::from(labels::DEFAULT_SET),
        )
    } else if change.new.metadata.present {
        add(
            ["metadata", "labels"],
            json!({ labels::CLUSTER_SET: labels::DEFAULT_SET }),
        )
    } else {
        add(
            ["metadata"],
            json!({ "labels": { labels::CLUSTER_SET: labels::DEFAULT_SET } }),
        )
    }
}

/// `add` also replaces a field, so that this operation is correct with and without the field.
fn add<const N: usize>(path: [&str; N], value: Value) -> PatchOperation {
    PatchOperation::Add(AddOperation {
        path: PointerBuf::from_tokens(path),
        value,
    })
}
