//! ManagedClusterSet: a set that nothing can belong to is refused, with the reason.
//!
//! OCM has no such rule: there a set with an invalid selector is stored, and makes the set lookup of every cluster
//! fail.

use berth_api::selector::Selector;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::display::Quoted;
use crate::findings::Faults;
use crate::object::{ClusterSelector, ClusterSet, LONGEST_LIST, MOST_VALUES};
use crate::{Change, Decision, Operation, Reason};

/// The longest name that fits the value of a label, by which clusters name their set.
pub const LONGEST_NAME: usize = 63;

/// Whether the change is admitted. It raises no questions.
pub fn decide(change: &Change<'_, ClusterSet<'_>>) -> Decision {
    let mut faults = Faults::default();
    if change.operation() == Operation::Create && change.name.len() > LONGEST_NAME {
        faults.add(Reason::SetName, || {
            format!(
                "metadata.name: Invalid value: {}: must be no more than {LONGEST_NAME} characters, \
                 to fit the label by which clusters name their set",
                Quoted(change.name)
            )
        });
    }
    let selector = &change.new.spec.cluster_selector;
    let introduced = !selector.stays
        && change.old.as_ref().is_none_or(|old| {
            let stored = &old.spec.cluster_selector;
            // What is not held may differ.
            old.metadata.deletion_timestamp.is_none()
                && (stored != selector || !selector.size.is_whole())
        });
    if introduced {
        if !selector.size.is_whole() {
            too_long(selector, &mut faults);
        } else if selector.selector_type.as_str() == "LabelSelector" {
            selector_faults(selector.label_selector.as_ref(), &mut faults);
        }
    }
    faults.decision()
}

const PATH: &str = "spec.clusterSelector.labelSelector";

fn too_long(selector: &ClusterSelector<'_>, faults: &mut Faults) {
    for (what, number, most) in [
        ("requirements", selector.size.requirements, LONGEST_LIST),
        ("values", selector.size.values, MOST_VALUES),
    ] {
        if number > most {
            faults.add(Reason::ListTooLong, || {
                format!("{PATH}: Too many {what}: {number}: must have at most {most} items")
            });
        }
    }
}

fn selector_faults(selector: Option<&LabelSelector>, faults: &mut Faults) {
    let Some(selector) = selector else {
        faults.add(Reason::SetSelector, || {
            format!("{PATH}: Required value: a set of selectorType LabelSelector needs one")
        });
        return;
    };
    for error in Selector::parse(selector).err().unwrap_or_default() {
        faults.add(Reason::SetSelector, || format!("{PATH}.{error}"));
    }
}
