//! Whether a cluster is to have an add-on, and what is due for that.
//!
//! # Guarantees
//! A ManagedClusterAddOn is deleted only if all of this holds:
//! - The hub created it for placements of the same ClusterManagementAddOn, on the same cluster: an annotation has the uid of the one and
//!   the name of the other. Neither a manifest that was copied nor one that was restored on another hub has both by accident.
//! - The add-on's life cycle is the hub's, and its install strategy is Placements.
//! - For a whole [`Grace`], every placement of the add-on exists and agrees with its status, and none selects the cluster; or for the longer
//!   grace, a Placement does not exist.
//!
//! OCM deletes every ManagedClusterAddOn that no PlacementDecision lists, at once: also that of a cluster which moves from one
//! PlacementDecision to another, and those that users made.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_api::labels;

use crate::facts::{AddOn, OnCluster, Selection};

/// How long a cluster must not be selected before it loses the add-on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grace {
    /// While all placements are known.
    pub left: Duration,
    /// While a Placement does not exist: it may have been deleted to be created again.
    pub missing: Duration,
}

/// What an installation depends on.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The add-on.
    pub add_on: &'a AddOn,
    /// The name of the cluster.
    pub cluster: &'a str,
    /// The annotations of the ManagedCluster that are those of add-ons; `None` if it does not exist, or is being deleted.
    pub annotations: Option<&'a BTreeMap<String, String>>,
    /// Whether the placements select the cluster.
    pub selection: Selection,
    /// For how long this has been so.
    pub since: Duration,
    /// The ManagedClusterAddOn.
    pub existing: Option<&'a OnCluster>,
}

/// What is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Install {
    /// Nothing. Decide again after the duration.
    Nothing(Option<Duration>),
    /// Create the ManagedClusterAddOn, with these annotations.
    Create(BTreeMap<String, String>),
    /// Delete it, for this reason.
    Delete(&'static str),
}

/// Decides what is due.
#[must_use]
pub fn install(facts: &Facts<'_>, grace: Grace) -> Install {
    let add_on = facts.add_on;
    if !add_on.is_ours() || !add_on.is_placed() {
        return Install::Nothing(None);
    }
    let (wait, why) = match (facts.selection, facts.existing) {
        (Selection::Selected, None) => return create(facts),
        (Selection::NotSelected, Some(on)) if is_removable(facts, on) => (
            grace.left,
            "no placement of the ClusterManagementAddOn selects its cluster",
        ),
        (Selection::Missing, Some(on)) if is_removable(facts, on) => (
            grace.missing,
            "the Placement of the ClusterManagementAddOn does not exist",
        ),
        _ => return Install::Nothing(None),
    };
    match wait.checked_sub(facts.since) {
        Some(left) if !left.is_zero() => Install::Nothing(Some(left)),
        _ => Install::Delete(why),
    }
}

fn is_removable(facts: &Facts<'_>, on: &OnCluster) -> bool {
    !on.is_deleting && is_installed(facts.add_on, facts.cluster, on)
}

/// Returns whether the hub created the ManagedClusterAddOn for placements of this add-on.
#[must_use]
pub fn is_installed(add_on: &AddOn, cluster: &str, on: &OnCluster) -> bool {
    let mark = on.annotations.get(labels::ADDON_INSTALLED_FOR);
    mark.is_some_and(|it| *it == installed_for(add_on, cluster))
}

/// The mark of a ManagedClusterAddOn that the hub creates.
fn installed_for(add_on: &AddOn, cluster: &str) -> String {
    format!("{}/{cluster}", add_on.uid)
}

fn create(facts: &Facts<'_>) -> Install {
    // A cluster that does not exist has no namespace. Its PlacementDecision is late.
    let Some(annotations) = facts.annotations else {
        return Install::Nothing(None);
    };
    let mut annotations = annotations.clone();
    annotations.insert(
        labels::ADDON_INSTALLED_FOR.to_owned(),
        installed_for(facts.add_on, facts.cluster),
    );
    Install::Create(annotations)
}

#[cfg(test)]
mod tests;
