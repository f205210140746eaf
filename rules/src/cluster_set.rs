//! ManagedClusterSet: a set that nothing can belong to is refused, with the reason.
//!
//! OCM has no such rule: there a set with an invalid selector is stored, and makes the set lookup of every cluster
//! fail.

use berth_api::selector::Selector;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::display::Quoted;
use crate::object::ClusterSet;
use crate::{Change, Decision, Fault, Operation, Reason};

/// The longest name that fits the value of a label, by which clusters name their set.
pub const LONGEST_NAME: usize = 63;

/// Whether the change is admitted. It raises no questions.
pub fn decide(change: &Change<'_, ClusterSet<'_>>) -> Decision {
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
    if introduced && selector.selector_type.as_str() == "LabelSelector" {
        faults.extend(selector_faults(selector.label_selector.as_ref()));
    }
    Decision::from_findings(faults, Vec::new(), Vec::new())
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
