//! The mutating path of ManagedClusters: the times of taints and the default set.

use berth_api::labels;
use jiff::Timestamp;
use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, PatchOperation};
use serde_json::{Value, json};

use super::taints::{TimeAdded, times};
use super::{is_being_deleted, old_set};
use crate::answers::Known;
use crate::display::{Quoted, first_of};
use crate::object::Cluster;
use crate::{Answers, Change, Decision, Fault, FeatureGates, Permission, Question, Reason};

/// What must be known: whether the requester may join the default set, when the change would put the cluster there.
pub fn questions(change: &Change<'_, Cluster<'_>>, gates: FeatureGates) -> Vec<Question> {
    match default_set(change, gates) {
        DefaultSet::IfPermitted => vec![join_default()],
        DefaultSet::Restore | DefaultSet::Leave => Vec::new(),
    }
}

/// The times of taints and the default set, as a patch of just these paths. Refuses times that the requester set, and
/// nothing else; an object that is being deleted passes as it is.
pub fn decide(
    change: &Change<'_, Cluster<'_>>,
    gates: FeatureGates,
    answers: Answers<'_>,
    now: Timestamp,
) -> Decision {
    let mut decision = Decision::allowed();
    if is_being_deleted(change) {
        return decision;
    }
    let taints = &change.new.spec.taints;
    let mut refused = Vec::new();
    let stored = change.old.as_ref().map(|old| old.spec.taints.as_slice());
    for (i, time) in times(taints, stored, now).enumerate() {
        match time {
            TimeAdded::Keep => {}
            TimeAdded::Set(time) => decision.patch.0.push(add(
                ["spec", "taints", &i.to_string(), "timeAdded"],
                Value::from(time),
            )),
            TimeAdded::Refuse => refused.push(taints[i].key.as_str()),
        }
    }
    if !refused.is_empty() {
        let keys = first_of(refused, ",");
        let message = format!(
            "It is not allowed to set TimeAdded of Taint {}.",
            Quoted(&keys)
        );
        return Decision::from_findings(
            vec![Fault::new(Reason::TaintTimeAdded, message)],
            vec![],
            vec![],
        );
    }
    match default_set(change, gates) {
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

/// What the default set means to a change.
enum DefaultSet {
    /// Nothing: the cluster has a set, or is not to get one.
    Leave,
    /// The stored object was in it, and the requester dropped the label: it comes back without a question.
    Restore,
    /// The cluster gets it if the requester may put it there.
    IfPermitted,
}

fn default_set(change: &Change<'_, Cluster<'_>>, gates: FeatureGates) -> DefaultSet {
    if !gates.default_cluster_set
        || !change.new.metadata.labels.set().is_empty()
        || is_being_deleted(change)
    {
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
