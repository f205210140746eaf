//! What is left on clusters that are drained: PlacementDecisions that list them, and ManifestWorks in their namespaces.

use std::collections::BTreeMap;

use berth_api::work::ManifestWork;
use berth_api::{PlacementDecision, groups, labels};
use kube::ResourceExt;

use super::plan::{End, Fate};
use crate::failure::CommandError;
use crate::hub::{Filter, HubConnection};

/// Upper bound on the objects of a kind that a line names.
const SHOWN: usize = 10;

/// What is left on a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Left {
    decisions: Vec<Listing>,
    /// Works that ManifestWorkReplicaSets made.
    works: Vec<Work>,
    /// The names of other works.
    by_hand: Vec<String>,
}

/// A PlacementDecision that lists the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Listing {
    namespace: String,
    name: String,
    /// The placement that its label names; empty without one.
    placement: String,
}

/// A ManifestWork of a ManifestWorkReplicaSet.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Work {
    name: String,
    /// The ManifestWorkReplicaSet, as namespace, dot and name.
    replica_set: String,
    is_deleting: bool,
}

/// Reads what is left on these clusters.
///
/// # Errors
/// PlacementDecisions or ManifestWorks cannot be listed.
pub(super) async fn read(
    hub: &HubConnection,
    clusters: &[&str],
) -> Result<BTreeMap<String, Left>, CommandError> {
    let mut all: BTreeMap<String, Left> = clusters
        .iter()
        .map(|it| ((*it).to_owned(), Left::default()))
        .collect();
    let everything = Filter::default();
    let decisions = hub.list::<PlacementDecision>(None, &everything);
    let decisions = needed(
        decisions.await,
        groups::PLACEMENT_DECISIONS,
        groups::CLUSTER,
    )?;
    for decision in decisions {
        let decision = decision.object;
        let label = decision.labels().get(labels::PLACEMENT).cloned();
        let listing = Listing {
            namespace: decision.namespace().unwrap_or_default(),
            name: decision.name_any(),
            placement: label.unwrap_or_default(),
        };
        let status = decision.status.unwrap_or_default();
        for listed in status.decisions {
            if let Some(left) = all.get_mut(&listed.cluster_name) {
                left.decisions.push(listing.clone());
            }
        }
    }
    for (cluster, left) in &mut all {
        let works = hub.list::<ManifestWork>(Some(cluster), &everything);
        let works = match needed(works.await, groups::MANIFEST_WORKS, groups::WORK) {
            Ok(works) => works,
            // The hub has no works.
            Err(CommandError::NoHub { .. }) => Vec::new(),
            Err(failure) => return Err(failure),
        };
        for work in works {
            match work.object.labels().get(labels::REPLICA_SET) {
                None => left.by_hand.push(work.name()),
                Some(replica_set) => left.works.push(Work {
                    name: work.name(),
                    replica_set: replica_set.clone(),
                    is_deleting: work.object.metadata.deletion_timestamp.is_some(),
                }),
            }
        }
    }
    Ok(all)
}

/// Adds to a refusal what is needed.
fn needed<T>(
    listed: Result<T, CommandError>,
    resource: &str,
    group: &str,
) -> Result<T, CommandError> {
    listed.map_err(|failure| match failure.is_forbidden() {
        false => failure,
        true => CommandError::Refused(format!(
            "{failure}: the command waits until nothing is left, so it needs the verb list on {resource}.{group}; ask an admin of the hub for it, \
             or add --wait=false"
        )),
    })
}

// === impl Left ===

impl Left {
    /// Returns what the command waits for, or None if the cluster is drained.
    pub(super) fn waits_for(&self) -> Option<String> {
        let decisions = self.decisions.iter();
        let decisions: Vec<String> = decisions
            .map(|it| format!("{}/{}", it.namespace, it.name))
            .collect();
        let works: Vec<String> = self.works.iter().map(|it| it.name.clone()).collect();
        let parts = [
            counted("PlacementDecisions", &decisions),
            counted("ManifestWorks", &works),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// What stays although the cluster is drained.
    pub(super) fn notes(&self, cluster: &str) -> Option<String> {
        let works = counted("ManifestWorks", &self.by_hand)?;
        Some(format!(
            "{cluster}: these stay, because no ManifestWorkReplicaSet made them: {works}"
        ))
    }

    /// Says for each object that is left why it did not go.
    pub(super) fn reasons(&self, fates: &[&Fate]) -> Vec<String> {
        let mut lines = Vec::new();
        for listing in &self.decisions {
            let Listing {
                namespace,
                name,
                placement,
            } = listing;
            let is_of = |it: &&&Fate| it.namespace == *namespace && it.placement == *placement;
            let why = match fates.iter().find(is_of).map(|it| &it.end) {
                Some(End::Stays(why)) => format!("Placement {placement} keeps it: {why}"),
                _ => format!(
                    "the placement controller has not updated it yet: berth placement explain {placement} -n {namespace}"
                ),
            };
            lines.push(format!(
                "PlacementDecision {namespace}/{name} lists the cluster: {why}"
            ));
        }
        for work in &self.works {
            let Work {
                name,
                replica_set,
                is_deleting,
            } = work;
            let why = match (is_deleting, self.decisions.is_empty()) {
                (true, _) => {
                    "it is being deleted, and the agent of the cluster still has to remove what it deployed"
                }
                (false, false) => "the cluster is still selected",
                (false, true) => {
                    "its ManifestWorkReplicaSet has not deleted it yet; a rollout can hold it"
                }
            };
            lines.push(format!(
                "ManifestWork {name} of ManifestWorkReplicaSet {} is left: {why}",
                replica_set.replacen('.', "/", 1)
            ));
        }
        let rest = lines.len().saturating_sub(SHOWN);
        lines.truncate(SHOWN);
        if rest > 0 {
            lines.push(format!("and {rest} more"));
        }
        lines.extend(counted("ManifestWorks", &self.by_hand).map(|works| {
            format!("these stay in any case, because no ManifestWorkReplicaSet made them: {works}")
        }));
        lines
    }
}

/// Names objects of a kind, and counts those beyond the bound. None without objects.
fn counted(kind: &str, names: &[String]) -> Option<String> {
    let shown: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
    let more = match names.len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!(" and {more} more"),
        _ => String::new(),
    };
    (!names.is_empty()).then(|| format!("{kind} {}{more}", shown.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left() -> Left {
        Left {
            decisions: vec![Listing {
                namespace: "a".to_owned(),
                name: "app-decision-1".to_owned(),
                placement: "app".to_owned(),
            }],
            works: vec![Work {
                name: "w".to_owned(),
                replica_set: "a.x.y".to_owned(),
                is_deleting: true,
            }],
            by_hand: vec!["mine".to_owned()],
        }
    }

    #[test]
    fn works_made_by_hand_are_not_waited_for() {
        let mut left = left();
        assert_eq!(
            left.waits_for().as_deref(),
            Some("PlacementDecisions a/app-decision-1; ManifestWorks w")
        );
        left.decisions.clear();
        left.works.clear();
        assert_eq!(left.waits_for(), None);
        assert_eq!(
            left.notes("c1").as_deref(),
            Some("c1: these stay, because no ManifestWorkReplicaSet made them: ManifestWorks mine")
        );
        assert_eq!(Left::default().notes("c1"), None);
    }

    #[test]
    fn each_object_that_is_left_has_a_reason() {
        let fate = |end| Fate {
            cluster: "c1".to_owned(),
            namespace: "a".to_owned(),
            placement: "app".to_owned(),
            end,
        };
        let (stays, moves) = (
            fate(End::Stays("because".to_owned())),
            fate(End::Moves(vec!["c2".to_owned()])),
        );
        let rest = [
            "ManifestWork w of ManifestWorkReplicaSet a/x.y is left: it is being deleted, and the agent of the cluster still has to remove what it deployed",
            "these stay in any case, because no ManifestWorkReplicaSet made them: ManifestWorks mine",
        ];
        for (fate, line) in [
            (
                &stays,
                "PlacementDecision a/app-decision-1 lists the cluster: Placement app keeps it: because",
            ),
            (
                &moves,
                "PlacementDecision a/app-decision-1 lists the cluster: the placement controller has not updated it yet: berth placement explain app -n a",
            ),
        ] {
            let reasons = left().reasons(&[fate]);
            assert_eq!(reasons, [line, rest[0], rest[1]]);
        }
    }

    #[test]
    fn long_lists_are_counted() {
        let names: Vec<String> = (0..12).map(|it| it.to_string()).collect();
        assert_eq!(
            counted("X", &names).as_deref(),
            Some("X 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more")
        );
        assert_eq!(counted("X", &[]), None);
    }
}
