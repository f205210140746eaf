//! The table of kinds: which objects are watched, and which of their fields are kept.

use std::collections::BTreeMap;

use berth_api::{GroupVersionResource, groups, labels};
use berth_reconcile::{Item, Watched};
use berth_work_replicas::{Finished, ReplicaSet, Work};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::settings::Settings;

/// A kind that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Set,
    Work,
    Placement,
    Decision,
}

/// The kept part of an object.
#[derive(Debug)]
pub(super) enum Fact {
    Set(Box<ReplicaSet>),
    Work {
        /// `None` without the label of a replica set.
        of_set: Option<Box<Work>>,
        /// `None` if it stays.
        finished: Option<Finished>,
    },
    Placement(PlacementFact),
    Decision(DecisionFact),
}

/// A Placement, by its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlacementFact {
    /// The number of clusters that it selects.
    pub(super) selected: usize,
    /// It has been evaluated: its status is written last.
    pub(super) is_evaluated: bool,
    /// Its PlacementDecisions are written by another client, and its status is absent or old.
    pub(super) is_paused: bool,
}

/// A PlacementDecision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DecisionFact {
    /// The placement, in the same namespace.
    pub(super) placement: String,
    pub(super) group_index: i32,
    pub(super) group_name: String,
    pub(super) clusters: Vec<String>,
}

#[derive(Deserialize)]
struct StoredDecision {
    metadata: StoredMetadata,
    #[serde(default)]
    status: Option<StoredDecisions>,
}

#[derive(Deserialize)]
struct StoredMetadata {
    #[serde(default)]
    labels: Option<BTreeMap<String, String>>,
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct StoredDecisions {
    #[serde(default)]
    decisions: Option<Vec<StoredCluster>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredCluster {
    #[serde(default)]
    cluster_name: String,
}

#[derive(Deserialize)]
struct StoredPlacement {
    metadata: StoredMetadata,
    #[serde(default)]
    status: Option<StoredSelection>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct StoredSelection {
    conditions: Option<Vec<IgnoredAny>>,
    number_of_selected_clusters: i64,
}

// === impl Kind ===

impl Kind {
    /// Group, version, and resource, which is the name in metrics and logs, too.
    const fn served(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Set => (groups::WORK, "v1alpha1", groups::MANIFEST_WORK_REPLICA_SETS),
            Self::Work => (groups::WORK, "v1", groups::MANIFEST_WORKS),
            Self::Placement => (groups::CLUSTER, "v1beta1", groups::PLACEMENTS),
            Self::Decision => (groups::CLUSTER, "v1beta1", groups::PLACEMENT_DECISIONS),
        }
    }

    /// Group, version and resource.
    pub(super) fn resource(self) -> GroupVersionResource {
        let (group, version, resource) = self.served();
        GroupVersionResource::new(group, version, resource)
    }

    /// Its name in metrics and logs.
    pub(super) const fn name(self) -> &'static str {
        self.served().2
    }

    /// All objects of the kind. `read`: what is kept of one. The hub may get the CRD later.
    fn all(
        self,
        read: impl Fn(&Item<'_>) -> Result<Fact, serde_json::Error> + Send + Sync + 'static,
    ) -> (Self, Watched<Fact>) {
        let all = Watched::new(self.name(), self.resource(), read);
        (self, all.optional())
    }
}

/// The table of kinds: those that a controller with these settings watches.
pub(super) fn watched(settings: Settings) -> Vec<(Kind, Watched<Fact>)> {
    let mut rows = Vec::new();
    if settings.any() {
        let (kind, works) = Kind::Work.all(move |item| work(item, settings));
        let works = match settings.clean_up {
            // Those without a replica set may be finished.
            true => works,
            false => works.labelled(labels::REPLICA_SET),
        };
        rows.push((kind, works));
    }
    if settings.replica_sets {
        rows.extend([
            Kind::Set.all(|item| Ok(Fact::Set(Box::new(ReplicaSet::read(item.json)?)))),
            Kind::Placement.all(|item| Ok(Fact::Placement(PlacementFact::new(item.parse()?)))),
            Kind::Decision.all(|item| Ok(Fact::Decision(DecisionFact::new(item.parse()?)))),
        ]);
    }
    rows
}

fn work(item: &Item<'_>, settings: Settings) -> Result<Fact, serde_json::Error> {
    let of_set = if settings.replica_sets {
        Work::read(item.json)?
    } else {
        None
    };
    let finished = if settings.clean_up {
        Finished::read(item.json)?
    } else {
        None
    };
    Ok(Fact::Work {
        of_set: of_set.map(Box::new),
        finished,
    })
}

// === impl PlacementFact ===

impl PlacementFact {
    fn new(placement: StoredPlacement) -> Self {
        let status = placement.status.unwrap_or_default();
        let selected = status.number_of_selected_clusters;
        let annotations = placement.metadata.annotations.unwrap_or_default();
        let has_conditions = status.conditions.is_some_and(|it| !it.is_empty());
        Self {
            selected: usize::try_from(selected).unwrap_or_default(),
            is_evaluated: has_conditions || selected > 0,
            is_paused: annotations
                .get(labels::SCHEDULING_DISABLE)
                .is_some_and(|it| it == "true"),
        }
    }
}

// === impl DecisionFact ===

impl DecisionFact {
    fn new(stored: StoredDecision) -> Self {
        let mut of = stored.metadata.labels.unwrap_or_default();
        let index = of.remove(labels::DECISION_GROUP_INDEX);
        let decisions = stored.status.and_then(|it| it.decisions);
        let clusters = decisions.into_iter().flatten().map(|it| it.cluster_name);
        Self {
            placement: of.remove(labels::PLACEMENT).unwrap_or_default(),
            group_index: index.and_then(|it| it.parse().ok()).unwrap_or_default(),
            group_name: of.remove(labels::DECISION_GROUP_NAME).unwrap_or_default(),
            clusters: clusters.filter(|it| !it.is_empty()).collect(),
        }
    }
}
