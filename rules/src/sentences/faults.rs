//! The sentences about faults of objects. Where OCM has a sentence, it is OCM's, to the letter.

use std::fmt::Display;

use crate::display::Quoted;
use crate::object::{LONGEST_LIST, MOST_VALUES};
use crate::{LARGEST_ACCEPTED, LARGEST_WAITING, LONGEST_LEASE};

/// The name of a ManagedCluster is not a DNS label.
pub fn cluster_name(reasons: &str) -> String {
    format!("metadata.name format is not correct: {reasons}")
}

/// A list is longer than its limit. `field` is a field of `spec`.
pub fn list_too_long(field: &str, length: impl Display) -> String {
    format!("spec.{field}: Too many: {length}: must have at most {LONGEST_LIST} items")
}

/// A ManagedCluster has more text than its limit.
pub fn cluster_size(bytes: impl Display, is_accepted: bool) -> String {
    let most = if is_accepted {
        format!("{LARGEST_ACCEPTED} bytes")
    } else {
        format!("{LARGEST_WAITING} bytes until it is accepted")
    };
    format!(
        "metadata and spec: Too large: {bytes} bytes of labels, annotations, finalizers, owner references, taints and client configs: \
         a ManagedCluster must have at most {most}"
    )
}

/// The URL of a client config is not `https` with a host. OCM prints the URL in quotes without escapes. Here, all text is
/// escaped.
pub fn client_config_url(url: &str) -> String {
    format!("url {} is invalid in client configs", Quoted(url))
}

/// The CA bundle of the client config with this URL has a defect.
pub fn ca_bundle(url: &str, defect: &str) -> String {
    format!("caBundle of url {} in client configs {defect}", Quoted(url))
}

/// The lease duration is out of bounds.
pub fn lease_duration(seconds: impl Display) -> String {
    format!(
        "spec.leaseDurationSeconds: Invalid value: {seconds}: must be between 0 and {LONGEST_LEASE}"
    )
}

/// A taint has no key.
pub const TAINT_WITHOUT_KEY: &str = "spec.taints: Required value: a taint must have a key";

/// Two taints have the same key and effect.
pub fn duplicate_taint(key: &str, effect: &str) -> String {
    let (key, effect) = (Quoted(key), Quoted(effect));
    format!("spec.taints: Duplicate value: key {key} with effect {effect}: keep one of them")
}

/// The requester set the time of these taints. `keys` is a list, joined by commas.
pub fn time_added(keys: &str) -> String {
    format!(
        "It is not allowed to set TimeAdded of Taint {}.",
        Quoted(keys)
    )
}

/// The name of a ManagedClusterSet does not fit a label value.
pub fn set_name(name: &str) -> String {
    format!(
        "metadata.name: Invalid value: {}: must be no more than {LONGEST_SET_NAME} characters, \
         to fit the label by which clusters name their set",
        Quoted(name)
    )
}

/// The maximum length of a label value, in which clusters name their set, and PlacementDecisions their Placement.
pub const LONGEST_SET_NAME: usize = 63;

/// The path of the label selector of a ManagedClusterSet.
pub const LABEL_SELECTOR: &str = "spec.clusterSelector.labelSelector";

/// A set of the type `LabelSelector` has no selector.
pub fn no_selector() -> String {
    format!("{LABEL_SELECTOR}: Required value: a set of selectorType LabelSelector needs one")
}

/// A selector has too many requirements.
pub fn too_many_requirements(number: impl Display) -> String {
    format!(
        "{LABEL_SELECTOR}: Too many requirements: {number}: must have at most {LONGEST_LIST} items"
    )
}

/// A selector has too many values.
pub fn too_many_values(number: impl Display) -> String {
    format!("{LABEL_SELECTOR}: Too many values: {number}: must have at most {MOST_VALUES} items")
}

/// The name of a Placement does not fit a label value.
pub fn placement_name(name: &str) -> String {
    format!(
        "metadata.name: Invalid value: {}: must be no more than {LONGEST_SET_NAME} characters, \
         to fit the label by which PlacementDecisions name their Placement",
        Quoted(name)
    )
}

/// Lists of a Placement are too long. `what` names them.
pub fn too_many(what: &str, number: impl Display, most: usize) -> String {
    format!("spec: Too many {what}: {number}: must have at most {most} in all")
}

/// The CEL expressions of a Placement are too costly by their shape. `items` is assumed of lists that the expressions do not write out.
pub fn too_many_steps(steps: u64, most: u64, items: u64) -> String {
    format!(
        "spec: Too many steps of celExpressions: {steps} on each cluster, if its lists have {items} items: must have at most {most} in \
         all: nest fewer macros, go through shorter lists, or use labelSelector and claimSelector"
    )
}

/// A ManagedClusterSetBinding and its set have different names.
pub const BINDING_NAME: &str =
    "The ManagedClusterSetBinding must have the same name as the target ManagedClusterSet";
