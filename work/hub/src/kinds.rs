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

/// A row of the table of kinds.
struct Row {
    /// Group, version, and resource, which is the name in metrics and logs, too.
    resource: (&'static str, &'static str, &'static str),
    /// Whether it is watched with these settings.
    is_needed: fn(Settings) -> bool,
    /// Which of its objects are watched.
    which: fn(Watched<Fact>, Settings) -> Watched<Fact>,
    /// What is kept of an object.
    read: fn(&Item<'_>, Settings) -> Result<Fact, serde_json::Error>,
}

// === impl Kind ===

impl Kind {
    const ALL: [Self; 4] = [Self::Set, Self::Work, Self::Placement, Self::Decision];

    /// The table of kinds.
    const fn row(self) -> Row {
        match self {
            Self::Set => Row {
                resource: (groups::WORK, "v1alpha1", groups::MANIFEST_WORK_REPLICA_SETS),
                is_needed: |settings| settings.replica_sets,
                which: |sets, _| sets,
                read: |item, _| Ok(Fact::Set(Box::new(ReplicaSet::read(item.json)?))),
            },
            Self::Work => Row {
                resource: (groups::WORK, "v1", groups::MANIFEST_WORKS),
                is_needed: Settings::any,
                // Other ManifestWorks may be finished.
                which: |works, settings| match settings.clean_up {
                    true => works,
                    false => works.labelled(labels::REPLICA_SET),
                },
                read: work,
            },
            Self::Placement => Row {
                resource: (groups::CLUSTER, "v1beta1", groups::PLACEMENTS),
                is_needed: |settings| settings.replica_sets,
                which: |placements, _| placements,
                read: |item, _| Ok(Fact::Placement(PlacementFact::new(item.parse()?))),
            },
            Self::Decision => Row {
                resource: (groups::CLUSTER, "v1beta1", groups::PLACEMENT_DECISIONS),
                is_needed: |settings| settings.replica_sets,
                which: |decisions, _| decisions,
                read: |item, _| Ok(Fact::Decision(DecisionFact::new(item.parse()?))),
            },
        }
    }

    /// The kinds that a controller with these settings watches.
    pub(super) fn of(settings: Settings) -> impl Iterator<Item = Self> {
        let all = Self::ALL.into_iter();
        all.filter(move |kind| (kind.row().is_needed)(settings))
    }

    /// Group, version and resource.
    pub(super) fn resource(self) -> GroupVersionResource {
        let (group, version, resource) = self.row().resource;
        GroupVersionResource::new(group, version, resource)
    }

    /// Its name in metrics and logs.
    pub(super) const fn name(self) -> &'static str {
        self.row().resource.2
    }

    /// What is watched of this kind. The hub may get the CRD later.
    pub(super) fn watched(self, settings: Settings) -> Watched<Fact> {
        let Row { which, read, .. } = self.row();
        let all = Watched::new(self.name(), self.resource(), move |item| {
            read(item, settings)
        });
        which(all, settings).optional()
    }

    /// Reads the fields that decisions need.
    #[cfg(test)]
    pub(super) fn read(
        self,
        item: &Item<'_>,
        settings: Settings,
    ) -> Result<Fact, serde_json::Error> {
        (self.row().read)(item, settings)
    }
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
