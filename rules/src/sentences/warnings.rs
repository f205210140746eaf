//! The sentences of warnings.

use berth_api::labels;
use berth_api::reserved::Reservation;

use crate::display::Quoted;

/// The cluster was not added to the default set, because the requester may not do that.
pub fn not_in_default_set(cluster: &str, user: &str) -> String {
    format!(
        "ManagedCluster {} was not put into ManagedClusterSet \"default\": \
         user {} may not create managedclustersets/join for it",
        Quoted(cluster),
        Quoted(user)
    )
}

/// The cluster was not added to the default set, because the hub did not answer.
pub(crate) fn default_set_unknown(cluster: &str, user: &str, why: &str) -> String {
    format!(
        "ManagedCluster {} was not put into ManagedClusterSet \"default\": \
         cannot find out whether user {} may join it: {why}",
        Quoted(cluster),
        Quoted(user)
    )
}

/// No set can have the name in the label.
pub fn impossible_set(set: &str) -> String {
    format!(
        "label {} has the value {}, which is not a valid name of a ManagedClusterSet",
        labels::CLUSTER_SET,
        Quoted(set)
    )
}

/// The set in the label does not exist.
pub(crate) fn missing_set(cluster: &str, set: &str) -> String {
    format!(
        "ManagedClusterSet {} does not exist; until it does, ManagedCluster {} is in no set",
        Quoted(set),
        Quoted(cluster)
    )
}

/// The change writes the retired label.
pub fn retired_label() -> String {
    format!(
        "label {} is retired and has no effect: use {}",
        labels::RETIRED_CLUSTER_SET,
        labels::CLUSTER_SET
    )
}

/// The cluster was accepted before its name was reserved. Such a cluster can still be updated.
pub fn reserved_name_kept(cluster: &str, reservation: Reservation<'_>) -> String {
    format!(
        "the name of ManagedCluster {} {reservation}; register the cluster under another name",
        Quoted(cluster)
    )
}
