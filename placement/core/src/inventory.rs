//! The objects that placements read, out of the JSON of a hub or of files.
//!
//! One malformed object concerns itself only: a set with an unreadable selector has unknown members, as in the controller, and
//! [`Inventory::unreadable`] names objects of other kinds.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_api::cluster_set::Membership;
use berth_api::path::object_path;
use berth_api::{
    AddOnPlacementScore, ManagedClusterSet, Placement, PlacementDecision, groups, labels, lenient,
};
use serde::Deserialize;
use serde_json::Value;

use crate::facts::{Cluster, Decision, Scores};
use crate::object::CelObject;
use crate::rules::Rules;
use crate::snapshot::Snapshot;

/// A kind that placements read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Placements.
    Placement,
    /// PlacementDecisions.
    Decision,
    /// ManagedClusters.
    Cluster,
    /// ManagedClusterSets.
    Set,
    /// ManagedClusterSetBindings.
    Binding,
    /// AddOnPlacementScores.
    Scores,
}

/// The objects of a hub that placements read, and the placements.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// What placements are evaluated on.
    pub snapshot: Snapshot,
    /// The Placements by namespace and name.
    pub placements: BTreeMap<(String, String), Placement>,
    /// The PlacementDecisions of placements, by namespace and name.
    pub decisions: BTreeMap<(String, String), ListedDecision>,
    /// Objects that cannot be read, and why.
    pub unreadable: Vec<(String, String)>,
    /// Keep whole ManagedClusters, which CEL expressions read.
    pub keeps_whole_clusters: bool,
}

/// A PlacementDecision with its group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedDecision {
    /// The placement, and the clusters.
    pub listed: Decision,
    /// The position of the group, from its label.
    pub group_index: Option<String>,
    /// The name of the group, from its label.
    pub group_name: Option<String>,
}

// === impl Source ===

impl Source {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::Placement,
        Self::Decision,
        Self::Cluster,
        Self::Set,
        Self::Binding,
        Self::Scores,
    ];

    /// The kind of an object, if placements read it.
    #[must_use]
    pub fn of(object: &Value) -> Option<Self> {
        let text = |field: &str| object.get(field).and_then(Value::as_str);
        let (api_version, kind) = (text("apiVersion")?, text("kind")?);
        Self::ALL.into_iter().find(|it| {
            it.kind() == kind && api_version == format!("{}/{}", groups::CLUSTER, it.version())
        })
    }

    /// The name of the kind.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Placement => "Placement",
            Self::Decision => "PlacementDecision",
            Self::Cluster => "ManagedCluster",
            Self::Set => "ManagedClusterSet",
            Self::Binding => "ManagedClusterSetBinding",
            Self::Scores => "AddOnPlacementScore",
        }
    }

    /// The name of the resource.
    #[must_use]
    pub fn resource(self) -> &'static str {
        match self {
            Self::Placement => groups::PLACEMENTS,
            Self::Decision => groups::PLACEMENT_DECISIONS,
            Self::Cluster => groups::MANAGED_CLUSTERS,
            Self::Set => groups::MANAGED_CLUSTER_SETS,
            Self::Binding => groups::MANAGED_CLUSTER_SET_BINDINGS,
            Self::Scores => groups::ADDON_PLACEMENT_SCORES,
        }
    }

    /// The path of the collection, of one namespace or of all.
    #[must_use]
    pub fn path(self, namespace: Option<&str>) -> String {
        let kind = (groups::CLUSTER, self.version(), self.resource());
        object_path(kind, namespace.unwrap_or_default(), "")
    }

    fn version(self) -> &'static str {
        match self {
            Self::Placement | Self::Decision => "v1beta1",
            Self::Cluster => "v1",
            Self::Set | Self::Binding => "v1beta2",
            Self::Scores => "v1alpha1",
        }
    }
}

// === impl Inventory ===

impl Inventory {
    /// Reads an object of this kind.
    pub fn add(&mut self, source: Source, object: &Value) {
        if let Err(why) = self.read(source, object) {
            let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
            let namespace = match text("namespace") {
                "" => String::new(),
                namespace => format!("{namespace}/"),
            };
            let title = format!("{} {namespace}{}", source.kind(), text("name"));
            self.unreadable.push((title, why.to_string()));
        }
    }

    fn read(&mut self, source: Source, object: &Value) -> Result<(), serde_json::Error> {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let (namespace, name) = (text("namespace").to_owned(), text("name").to_owned());
        match source {
            Source::Placement => {
                let read = lenient::with_conditions::<Placement>(object)?;
                self.placements.insert((namespace, name), read.object);
            }
            Source::Decision => {
                let decision = PlacementDecision::deserialize(object)?;
                let label = |key: &str| decision.metadata.labels.as_ref()?.get(key).cloned();
                let stored = ListedDecision {
                    group_index: label(labels::DECISION_GROUP_INDEX),
                    group_name: label(labels::DECISION_GROUP_NAME),
                    listed: Decision::from(&decision),
                };
                self.snapshot.decisions.push(stored.listed.clone());
                self.decisions.insert((namespace, name), stored);
            }
            Source::Cluster => {
                let mut cluster = Cluster::from(&lenient::cluster(object).object);
                if self.keeps_whole_clusters {
                    cluster.object = Some(Arc::new(CelObject::new(object)));
                }
                self.snapshot.clusters.insert(name, cluster);
            }
            Source::Set => {
                let set = ManagedClusterSet::deserialize(object).map_err(|it| it.to_string());
                let members =
                    set.and_then(|set| Membership::new(&name, &set.spec.cluster_selector));
                self.snapshot.sets.insert(name, members);
            }
            Source::Binding => {
                let bindings = self.snapshot.bindings.entry(namespace).or_default();
                bindings.insert(name);
            }
            Source::Scores => {
                let scores = Scores::from(&AddOnPlacementScore::deserialize(object)?);
                let of_cluster = self.snapshot.scores.entry(namespace).or_default();
                of_cluster.insert(name, scores);
            }
        }
        Ok(())
    }

    /// Takes over what another inventory has.
    pub fn merge(&mut self, other: Self) {
        let Snapshot {
            clusters,
            sets,
            bindings,
            decisions,
            scores,
        } = other.snapshot;
        self.snapshot.clusters.extend(clusters);
        self.snapshot.sets.extend(sets);
        for (namespace, names) in bindings {
            let known = self.snapshot.bindings.entry(namespace).or_default();
            known.extend(names);
        }
        self.snapshot.decisions.extend(decisions);
        for (namespace, of_cluster) in scores {
            let known = self.snapshot.scores.entry(namespace).or_default();
            known.extend(of_cluster);
        }
        self.placements.extend(other.placements);
        self.decisions.extend(other.decisions);
        self.unreadable.extend(other.unreadable);
    }

    /// The PlacementDecisions of a placement, by name.
    pub fn decisions_of<'a>(
        &'a self,
        rules: &'a Rules,
    ) -> impl Iterator<Item = (&'a str, &'a ListedDecision)> {
        let own = self
            .decisions
            .iter()
            .filter(|(_, it)| it.listed.is_of(rules.namespace(), rules.name()));
        own.map(|((_, name), it)| (name.as_str(), it))
    }
}
