//! The placements, and their decisions.

use berth_api::conditions::{FALSE, TRUE, condition_of};
use berth_api::{Placement, PlacementDecision, groups, labels, lenient};
use berth_reconcile::{Item, Watched};
use serde_json::Value;

use super::{Fact, watched};
use crate::answers::{PlacementRow, PlacementState, Text};

/// Upper bound on the placements that are kept. Further ones are not shown.
const MOST_PLACEMENTS: usize = 20_000;

/// Upper bound on the PlacementDecisions that are kept.
const MOST_DECISIONS: usize = 50_000;

/// Upper bound on the sets of a placement that are shown.
const MOST_SETS: usize = 20;

/// A placement of the list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlacementFact {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) row: PlacementRow,
}

/// A PlacementDecision.
#[derive(Clone, Debug)]
pub(crate) struct DecisionFact {
    pub(crate) namespace: String,
    /// The placement, of its label.
    pub(crate) placement: String,
    /// The names of its clusters, each between line feeds: a hub has many.
    clusters: Box<str>,
}

// === impl PlacementFact ===

impl Fact for PlacementFact {
    const RESOURCE: &'static str = "placements.cluster.open-cluster-management.io";

    fn most() -> usize {
        MOST_PLACEMENTS
    }

    fn watched() -> Watched<()> {
        watched(
            "placements",
            (groups::CLUSTER, "v1beta1", groups::PLACEMENTS),
        )
    }

    fn read(item: &Item<'_>) -> Option<Self> {
        let object: Value = item.parse().ok()?;
        let (namespace, name) = (item.meta.namespace.clone(), item.meta.name.clone());
        let row = match lenient::with_conditions::<Placement>(&object) {
            Ok(read) => row(&read.object),
            Err(error) => PlacementRow {
                namespace: Text::line(&namespace),
                name: Text::line(&name),
                state: PlacementState::Misconfigured,
                why: format!("it cannot be read: {error}").into(),
                since: None,
                selected: 0,
                wanted: None,
                sets: Vec::new(),
            },
        };
        Some(Self {
            namespace,
            name,
            row,
        })
    }
}

fn row(placement: &Placement) -> PlacementRow {
    let status = placement.status.as_ref();
    let conditions = status
        .map(|it| it.conditions.as_slice())
        .unwrap_or_default();
    let satisfied = condition_of(conditions, "PlacementSatisfied");
    let misconfigured = condition_of(conditions, "PlacementMisconfigured");
    let wrong = misconfigured.filter(|it| it.status == TRUE);
    let short = satisfied.filter(|it| it.status == FALSE);
    let (state, by) = match (wrong, short, satisfied) {
        (Some(wrong), ..) => (PlacementState::Misconfigured, Some(wrong)),
        (None, Some(short), _) => (PlacementState::Unsatisfied, Some(short)),
        (None, None, Some(well)) => (PlacementState::Satisfied, Some(well)),
        (None, None, None) => (PlacementState::New, None),
    };
    let why = by.filter(|_| state != PlacementState::Satisfied);
    let sets = placement.spec.cluster_sets.iter().take(MOST_SETS);
    let metadata = &placement.metadata;
    PlacementRow {
        namespace: Text::line(metadata.namespace.as_deref().unwrap_or_default()),
        name: Text::line(metadata.name.as_deref().unwrap_or_default()),
        state,
        why: Text::line(why.map_or("", |it| &it.message)),
        since: by.map(|it| it.last_transition_time.0),
        selected: status.map_or(0, |it| it.number_of_selected_clusters),
        wanted: placement.spec.number_of_clusters,
        sets: sets.map(|it| Text::line(it)).collect(),
    }
}

// === impl DecisionFact ===

impl Fact for DecisionFact {
    const RESOURCE: &'static str = "placementdecisions.cluster.open-cluster-management.io";

    fn most() -> usize {
        MOST_DECISIONS
    }

    fn watched() -> Watched<()> {
        watched(
            "placementdecisions",
            (groups::CLUSTER, "v1beta1", groups::PLACEMENT_DECISIONS),
        )
    }

    fn read(item: &Item<'_>) -> Option<Self> {
        let decision: PlacementDecision = item.parse().ok()?;
        let placement = decision.metadata.labels?.remove(labels::PLACEMENT)?;
        let listed = decision.status.map(|it| it.decisions).unwrap_or_default();
        let mut clusters = String::from("\n");
        for cluster in &listed {
            clusters.push_str(&cluster.cluster_name);
            clusters.push('\n');
        }
        Some(Self {
            namespace: item.meta.namespace.clone(),
            placement,
            clusters: clusters.into(),
        })
    }
}

impl DecisionFact {
    /// Returns true if it lists this cluster.
    pub(crate) fn lists(&self, cluster: &str) -> bool {
        // No name has a line feed.
        !cluster.contains('\n') && self.clusters.contains(&format!("\n{cluster}\n"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(object: &Value) -> PlacementRow {
        let text = object.to_string();
        let item = Item::read(text.as_bytes()).unwrap();
        PlacementFact::read(&item).unwrap().row
    }

    #[test]
    fn the_state_of_a_placement_is_the_worst_that_its_conditions_say() {
        let condition = |type_: &str, status: &str| json!({"type": type_, "status": status, "reason": "R", "message": format!("{type_} is {status}"), "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let satisfied = |status: &str| condition("PlacementSatisfied", status);
        let misconfigured = |status: &str| condition("PlacementMisconfigured", status);
        for (conditions, state, why) in [
            (vec![], PlacementState::New, ""),
            (
                vec![satisfied("True"), misconfigured("False")],
                PlacementState::Satisfied,
                "",
            ),
            (
                vec![satisfied("False"), misconfigured("False")],
                PlacementState::Unsatisfied,
                "PlacementSatisfied is False",
            ),
            (
                vec![satisfied("False"), misconfigured("True")],
                PlacementState::Misconfigured,
                "PlacementMisconfigured is True",
            ),
        ] {
            let row = read(&json!({
                "metadata": {"name": "app", "namespace": "team\u{202e}"},
                "spec": {"numberOfClusters": 3, "clusterSets": ["prod"]},
                "status": {"numberOfSelectedClusters": 2, "conditions": conditions},
            }));
            assert_eq!((row.state, row.why.as_str()), (state, why));
            assert_eq!((row.selected, row.wanted), (2, Some(3)));
            assert_eq!(row.namespace.as_str(), r"team\u{202e}");
        }
    }

    #[test]
    fn a_placement_that_cannot_be_read_is_shown() {
        let row = read(
            &json!({"metadata": {"name": "app", "namespace": "a"}, "spec": {"numberOfClusters": "two"}}),
        );
        assert_eq!(row.state, PlacementState::Misconfigured);
        assert!(row.why.as_str().starts_with("it cannot be read: "));
    }

    #[test]
    fn a_decision_lists_clusters_by_their_whole_names() {
        let object = json!({
            "metadata": {
                "name": "app-1", "namespace": "team-a",
                "labels": {"cluster.open-cluster-management.io/placement": "app"},
            },
            "status": {"decisions": [{"clusterName": "c1"}, {"clusterName": "c20"}]},
        });
        let text = object.to_string();
        let item = Item::read(text.as_bytes()).unwrap();
        let decision = DecisionFact::read(&item).unwrap();
        assert_eq!(decision.placement, "app");
        for (name, lists) in [
            ("c1", true),
            ("c20", true),
            ("c2", false),
            ("c", false),
            ("", false),
            ("c1\nc20", false),
        ] {
            assert_eq!(decision.lists(name), lists, "{name:?}");
        }
    }
}
