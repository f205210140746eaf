//! The mutating path of ManagedClusters: the times of taints and the default set.
//!
//! All times of a change are one operation of the patch, which writes the list anew. (A taint that says more than the fields
//! that are known here keeps that: then each time is an operation of its own, of which there are no more than taints in a
//! list that is not too long.)

use berth_api::labels;
use jiff::Timestamp;
use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, PatchOperation};
use serde_json::{Map, Value, json};

use super::taints::{TimeAdded, times};
use super::{is_being_deleted, lists_too_long, old_set};
use crate::answers::Known;
use crate::display::{Quoted, cut_bytes, first_of};
use crate::findings::Faults;
use crate::object::{Cluster, Taint};
use crate::{
    Answers, Case, Change, Decision, FeatureGates, Permission, Question, Reason, Rules, Settings,
};

/// The rules that fill in the defaults of ManagedClusters: the times of taints and the default set, as a patch of just these
/// paths. They refuse times that the requester set, lists that are too long, and nothing else; an object that is being
/// deleted passes as it is.
#[derive(Debug)]
pub struct MutateCluster;

/// What the examination saw of a change.
#[derive(Debug)]
pub struct Seen {
    /// What becomes of the time of each taint; empty for lists that are left as they are.
    times: Vec<TimeAdded>,
    default_set: DefaultSet,
}

// === impl MutateCluster ===

impl Rules for MutateCluster {
    type Object<'a> = Cluster<'a>;
    type Seen = Seen;

    /// When the change would put the cluster into the default set: may the requester join it?
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
                Known::No => decision.warnings.push(format!(
                    "ManagedCluster {} was not put into ManagedClusterSet \"default\": \
                     user {} may not create managedclustersets/join for it",
                    Quoted(change.name),
                    Quoted(change.user)
                )),
                Known::Unknown(why) => decision.warnings.push(format!(
                    "ManagedCluster {} was not put into ManagedClusterSet \"default\": \
                     cannot find out whether user {} may join it: {why}",
                    Quoted(change.name),
                    Quoted(change.user)
                )),
            },
        }
        decision
    }
}

/// What becomes of the time of each taint. A time that the requester set is a fault.
fn examined_times(
    change: &Change<'_, Cluster<'_>>,
    now: Timestamp,
    faults: &mut Faults,
) -> Vec<TimeAdded> {
    let taints = &change.new.spec.taints;
    // What is not held is stored, or left as it is while acceptance is taken back.
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
            format!(
                "It is not allowed to set TimeAdded of Taint {}.",
                Quoted(&keys)
            )
        });
    }
    times
}

/// The operations that write these times.
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

/// What the default set means to a change.
#[derive(Debug)]
enum DefaultSet {
    /// Nothing: the cluster has a set, or is not to get one.
    Leave,
    /// The stored object was in it, and the requester dropped the label: it comes back without a question.
    Restore,
    /// The cluster gets it if the requester may put it there.
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

/// `add` also replaces, so that one operation serves absent and present fields alike.
fn add<const N: usize>(path: [&str; N], value: Value) -> PatchOperation {
    PatchOperation::Add(AddOperation {
        path: PointerBuf::from_tokens(path),
        value,
    })
}
