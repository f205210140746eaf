//! ManagedCluster: what the mutating path fills in, and what the validating path asks for.

mod mutate;
mod taints;
mod validate;

pub use mutate::MutateCluster;
pub use validate::{LONGEST_LEASE, ValidateCluster};

use crate::findings::Faults;
use crate::object::{Cluster, LONGEST_LIST};
use crate::{Change, Reason};

/// Whether the stored object is being deleted. The submitted object's word is not taken: its requester wrote it.
fn is_being_deleted(change: &Change<'_, Cluster<'_>>) -> bool {
    change
        .old
        .as_ref()
        .is_some_and(|old| old.metadata.deletion_timestamp.is_some())
}

/// The set of the stored object; empty when it is in none, or is new.
fn old_set<'c>(change: &'c Change<'_, Cluster<'_>>) -> &'c str {
    change
        .old
        .as_ref()
        .map_or("", |old| old.metadata.labels.set())
}

/// Whether the change takes the acceptance back. Whatever else is in it does not keep a cluster in.
fn takes_acceptance_back(change: &Change<'_, Cluster<'_>>) -> bool {
    let accepted = |cluster: &Cluster<'_>| cluster.spec.hub_accepts_client;
    change.old.as_ref().is_some_and(accepted) && !accepted(&change.new)
}

/// Lists that the change makes longer than they may be. Not when acceptance is taken back: a list that was stored before
/// there was a bound must not keep a cluster in.
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
                format!("spec.{field}: Too many: {length}: must have at most {LONGEST_LIST} items")
            });
        }
    }
}
