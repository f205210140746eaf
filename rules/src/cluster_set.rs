//! ManagedClusterSet: a set with an invalid selector is refused. Widening the selector of a set needs the permission to
//! join all sets.
//!
//! OCM has no such rules: it stores a set with an invalid selector, which makes the set lookup of every cluster fail; and
//! the right to write one set is enough to make every cluster a member of it.

use berth_api::labels;
use berth_api::selector::Selector;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::display::Quoted;
use crate::findings::Findings;
use crate::object::{ClusterSelector, ClusterSet};
use crate::{
    Answers, Change, Decision, Fault, FeatureGates, Operation, Permission, Question, Reason,
    sentences,
};

/// The longest name that fits the value of a label, by which clusters name their set.
pub const LONGEST_NAME: usize = 63;

/// What must be known: whether the requester may join all sets, when the set may have more members by its selector. An
/// object that is malformed raises no question.
pub fn questions(change: &Change<'_, ClusterSet<'_>>, gates: FeatureGates) -> Vec<Question> {
    if !is_widened(change, gates) || !faults(change).is_empty() {
        return Vec::new();
    }
    vec![Question::Permission(Permission::join_all())]
}

/// Whether the change is admitted.
pub fn decide(
    change: &Change<'_, ClusterSet<'_>>,
    gates: FeatureGates,
    answers: Answers<'_>,
) -> Decision {
    let faults = faults(change);
    if !faults.is_empty() {
        return Decision::from_findings(faults, Vec::new(), Vec::new());
    }
    let mut findings = Findings::new(change.user, answers);
    if is_widened(change, gates) {
        let _told_by_the_findings = findings.require(Permission::join_all(), || {
            sentences::widen(change.user, change.name)
        });
    }
    findings.decision()
}

/// What is wrong with the object, as far as the change introduces it.
fn faults(change: &Change<'_, ClusterSet<'_>>) -> Vec<Fault> {
    let mut faults = Vec::new();
    if change.operation() == Operation::Create && change.name.len() > LONGEST_NAME {
        let message = format!(
            "metadata.name: Invalid value: {}: must be no more than {LONGEST_NAME} characters, \
             to fit the label by which clusters name their set",
            Quoted(change.name)
        );
        faults.push(Fault::new(Reason::SetName, message));
    }
    let selector = &change.new.spec.cluster_selector;
    let introduced = change.old.as_ref().is_none_or(|old| {
        old.metadata.deletion_timestamp.is_none() && old.spec.cluster_selector != *selector
    });
    if introduced && selects_by_labels(selector) {
        faults.extend(selector_faults(selector.label_selector.as_ref()));
    }
    faults
}

/// Whether clusters may belong to the set by their labels after the change, that did not before. Also of a set that is
/// being deleted: it has members as long as a finalizer holds it.
///
/// The set `global` holds every cluster on every hub, so this content passes for every requester.
fn is_widened(change: &Change<'_, ClusterSet<'_>>, gates: FeatureGates) -> bool {
    let new = &change.new.spec.cluster_selector;
    if !gates.guarded_selectors || !selects_by_labels(new) {
        return false;
    }
    let Some(selector) = &new.label_selector else {
        // It selects nothing.
        return false;
    };
    if change.name == labels::GLOBAL_SET && *selector == LabelSelector::default() {
        return false;
    }
    let old = change.old.as_ref().map(|old| &old.spec.cluster_selector);
    let Some(old) = old.filter(|old| selects_by_labels(old)) else {
        return true;
    };
    let Some(old) = &old.label_selector else {
        return true;
    };
    // What an invalid selector selects is not defined.
    *old != *selector
        && match (Selector::parse(selector), Selector::parse(old)) {
            (Ok(new), Ok(old)) => new.is_wider_than(&old),
            _ => true,
        }
}

/// The members of a set of another type name it in their label, which needs the permission to join that set.
fn selects_by_labels(selector: &ClusterSelector<'_>) -> bool {
    selector.selector_type.as_str() == "LabelSelector"
}

fn selector_faults(selector: Option<&LabelSelector>) -> Vec<Fault> {
    const PATH: &str = "spec.clusterSelector.labelSelector";
    let Some(selector) = selector else {
        let message =
            format!("{PATH}: Required value: a set of selectorType LabelSelector needs one");
        return vec![Fault::new(Reason::SetSelector, message)];
    };
    let errors = Selector::parse(selector).err().unwrap_or_default();
    errors
        .iter()
        .map(|error| Fault::new(Reason::SetSelector, format!("{PATH}.{error}")))
        .collect()
}
