//! ManagedCluster: what the mutating path fills in, and what the validating path asks for.

pub mod mutate;
mod taints;
pub mod validate;

use crate::Change;
use crate::object::Cluster;

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
