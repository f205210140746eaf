//! ManagedCluster: the defaults of the mutating path, and the checks of the validating path.

mod mutate;
mod size;
mod taints;
mod validate;

pub use mutate::MutateCluster;
pub use size::{LARGEST_ACCEPTED, LARGEST_WAITING};
pub use taints::OURS;
pub use validate::{LONGEST_LEASE, ValidateCluster};

use crate::findings::Faults;
use crate::object::Cluster;
use crate::{Change, Reason, sentences};

/// Returns true if the stored object is being deleted. The submitted object does not count: the requester could forge it.
fn is_being_deleted(change: &Change<'_, Cluster<'_>>) -> bool {
    change
        .old
        .as_ref()
        .is_some_and(|old| old.metadata.deletion_timestamp.is_some())
}

/// Returns the set of the stored object; empty if it has no set, or on CREATE.
fn old_set<'c>(change: &'c Change<'_, Cluster<'_>>) -> &'c str {
    change
        .old
        .as_ref()
        .map_or("", |old| old.metadata.labels.set())
}

/// Returns true if the change creates an accepted cluster, or accepts a stored one.
fn turns_acceptance_on(change: &Change<'_, Cluster<'_>>) -> bool {
    let accepted = |cluster: &Cluster<'_>| cluster.spec.hub_accepts_client;
    accepted(&change.new) && !change.old.as_ref().is_some_and(accepted)
}

/// Returns true if the change withdraws the acceptance. Other parts of such a change must not stop it.
fn takes_acceptance_back(change: &Change<'_, Cluster<'_>>) -> bool {
    let accepted = |cluster: &Cluster<'_>| cluster.spec.hub_accepts_client;
    change.old.as_ref().is_some_and(accepted) && !accepted(&change.new)
}

/// Adds a fault for each list that the change makes longer than its limit. A change that withdraws the acceptance is
/// exempt: a list that was stored without a limit must not stop it.
fn lists_too_long(change: &Change<'_, Cluster<'_>>, faults: &mut Faults) {
    if takes_acceptance_back(change) {
        return;
    }
    let spec = &change.new.spec;
    let (taints, configs) = (&spec.taints, &spec.managed_cluster_client_configs);
    for (field, is_too_long, length) in [
        ("taints", taints.is_too_long(), taints.length()),
        (
            "managedClusterClientConfigs",
            configs.is_too_long(),
            configs.length(),
        ),
    ] {
        if is_too_long {
            faults.add(Reason::ListTooLong, || {
                sentences::faults::list_too_long(field, length)
            });
        }
    }
}
