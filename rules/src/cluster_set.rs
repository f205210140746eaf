//! ManagedClusterSet: its selector must be valid, and widening it needs the permission to join all sets.
//!
//! OCM has no such rules. It stores a set with an invalid selector, which makes the set lookup of every cluster fail. And
//! the permission to update one set is enough to make every cluster a member of it.

use berth_api::labels;
use berth_api::selector::Selector;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::findings::{Faults, Findings};
use crate::object::{ClusterSelector, ClusterSet, LONGEST_LIST, MOST_VALUES, SelectorSize};
use crate::sentences::faults::{LABEL_SELECTOR, LONGEST_SET_NAME};
use crate::{
    Answers, Case, Change, Decision, FeatureGates, Operation, Permission, Question, Reason, Rules,
    Settings, sentences,
};

/// The rules of ManagedClusterSets.
#[derive(Debug)]
pub struct ValidateClusterSet;

// === impl ValidateClusterSet ===

impl Rules for ValidateClusterSet {
    type Object<'a> = ClusterSet<'a>;
    /// True if the change may add members through the selector.
    type Seen = bool;

    /// If the change may add members through the selector: may the requester join all sets?
    fn examine(
        change: &Change<'_, ClusterSet<'_>>,
        settings: &Settings,
        _: Timestamp,
    ) -> Case<Self> {
        let faults = faults(change);
        let is_widened = faults.is_empty() && is_widened(change, settings.gates);
        Case::new(faults, is_widened, |is_widened: &bool| match is_widened {
            true => vec![Question::Permission(Permission::join_all())],
            false => Vec::new(),
        })
    }

    fn decide(
        is_widened: bool,
        change: &Change<'_, ClusterSet<'_>>,
        _: &Settings,
        answers: Answers<'_>,
    ) -> Decision {
        let mut findings = Findings::new(change.user, answers);
        if is_widened {
            let _in_findings = findings.require(Permission::join_all(), || {
                sentences::widen(change.user, change.name)
            });
        }
        findings.decision()
    }
}

/// Returns the faults that the change introduces.
fn faults(change: &Change<'_, ClusterSet<'_>>) -> Faults {
    let mut faults = Faults::default();
    if change.operation() == Operation::Create && change.name.len() > LONGEST_SET_NAME {
        faults.add(Reason::SetName, || sentences::faults::set_name(change.name));
    }
    let selector = &change.new.spec.cluster_selector;
    let introduced = !selector.stays
        && change.old.as_ref().is_none_or(|old| {
            let stored = &old.spec.cluster_selector;
            // The part that is not kept may differ.
            old.metadata.deletion_timestamp.is_none()
                && (stored != selector || !selector.size.is_whole())
        });
    if introduced {
        if !selector.size.is_whole() {
            too_long(selector, &mut faults);
        } else if selects_by_labels(selector) {
            selector_faults(selector.label_selector.as_ref(), &mut faults);
        }
    }
    faults
}

/// Returns true if the change may add members to the set through its selector. This includes a set that is being deleted:
/// it has members while it has a finalizer.
///
/// The set `global` contains all clusters on every hub, so every requester may write its selector `{}`.
fn is_widened(change: &Change<'_, ClusterSet<'_>>, gates: FeatureGates) -> bool {
    let new = &change.new.spec.cluster_selector;
    if !gates.guarded_selectors || !selects_by_labels(new) || new.stays {
        return false;
    }
    let Some(selector) = &new.label_selector else {
        // Such a set has no members.
        return false;
    };
    if change.name == labels::GLOBAL_SET && *selector == LabelSelector::default() {
        return false;
    }
    let old = change.old.as_ref().map(|old| &old.spec.cluster_selector);
    let Some(stored) = old.filter(|old| selects_by_labels(old)) else {
        return true;
    };
    let Some(old) = &stored.label_selector else {
        return true;
    };
    // The part that is not kept cannot be compared.
    if !new.size.is_whole() || !stored.size.is_whole() {
        return true;
    }
    // The members of an invalid selector are undefined, so the change counts as wider.
    *old != *selector
        && match (Selector::parse(selector), Selector::parse(old)) {
            (Ok(new), Ok(old)) => new.is_wider_than(&old),
            _ => true,
        }
}

/// Returns true for the type `LabelSelector`. Members of a set of another type name the set in their label, which needs
/// the permission to join that set.
fn selects_by_labels(selector: &ClusterSelector<'_>) -> bool {
    selector.selector_type.as_str() == "LabelSelector"
}

fn too_long(selector: &ClusterSelector<'_>, faults: &mut Faults) {
    let SelectorSize {
        requirements,
        values,
    } = selector.size;
    if requirements > LONGEST_LIST {
        faults.add(Reason::ListTooLong, || {
            sentences::faults::too_many_requirements(requirements)
        });
    }
    if values > MOST_VALUES {
        faults.add(Reason::ListTooLong, || {
            sentences::faults::too_many_values(values)
        });
    }
}

fn selector_faults(selector: Option<&LabelSelector>, faults: &mut Faults) {
    let Some(selector) = selector else {
        faults.add(Reason::SetSelector, sentences::faults::no_selector);
        return;
    };
    for error in Selector::parse(selector).err().unwrap_or_default() {
        faults.add(Reason::SetSelector, || format!("{LABEL_SELECTOR}.{error}"));
    }
}
