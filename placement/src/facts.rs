//! What the controller keeps of each Placement and PlacementDecision.

use std::collections::HashSet;
use std::collections::hash_set::Union;
use std::hash::RandomState;
use std::sync::Arc;

use berth_api::placement::{ClusterClaimSelector, PlacementSpec, PlacementStatus};
use berth_api::{Placement, PlacementDecision, labels};
use berth_placement_core::{Decision, Resource, Rules, ScoreSource, Settings};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, OwnerReference};

use crate::recorded::{Recorded, ScoreLimit};

/// A Placement.
#[derive(Clone, Debug)]
pub(crate) struct PlacementFacts {
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    /// Grows with each change of the spec.
    pub(crate) generation: Option<i64>,
    pub(crate) is_deleting: bool,
    /// The annotation of [`labels::SCHEDULING_DISABLE`] is `true`.
    pub(crate) is_paused: bool,
    pub(crate) rules: Arc<Rules>,
    pub(crate) reads: Reads,
    /// `spec.scoreRateLimit`; `None` without the gate `scores`: then scores are not written at all.
    pub(crate) score_limit: Option<ScoreLimit>,
    pub(crate) status: PlacementStatus,
}

/// What a placement reads of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reads {
    /// The labels that the selectors of decision groups read.
    labels: HashSet<String>,
    /// The claims that they read.
    claims: HashSet<String>,
    /// The labels that the selectors of predicates read.
    filter_labels: HashSet<String>,
    /// The claims that they read.
    filter_claims: HashSet<String>,
    /// The names of the AddOnPlacementScores that are read.
    scores: HashSet<String>,
    pub(crate) cpu: bool,
    pub(crate) memory: bool,
    /// Any change of a cluster counts.
    pub(crate) everything: bool,
}

/// A PlacementDecision.
#[derive(Clone, Debug, Default)]
pub(crate) struct DecisionFacts {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    pub(crate) is_deleting: bool,
    /// The namespace, the placement and the clusters.
    pub(crate) listed: Decision,
    /// What is recorded of each cluster, in the same order. Empty without the gate `scores`.
    pub(crate) recorded: Vec<Recorded>,
    /// The label with the index of the group.
    pub(crate) group_index: Option<String>,
    /// The label with the name of the group.
    pub(crate) group_name: Option<String>,
    pub(crate) owners: Vec<OwnerReference>,
    /// Clusters that a write with an unknown outcome may still remove. A later state of the object has none.
    pub(crate) doubt: Option<Doubt>,
}

/// The clusters of a PlacementDecision that a write with an unknown outcome may still remove.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Doubt {
    pub(crate) clusters: HashSet<String>,
    /// When the write is certainly not carried out any more.
    pub(crate) until: Timestamp,
}

/// The placement that PlacementDecisions belong to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) uid: &'a str,
}

// === impl PlacementFacts ===

impl PlacementFacts {
    pub(crate) fn new(placement: Placement, settings: Settings) -> Self {
        let metadata = &placement.metadata;
        let annotations = metadata.annotations.as_ref();
        let paused = annotations.and_then(|all| all.get(labels::SCHEDULING_DISABLE));
        let rules = Arc::new(Rules::new(&placement, settings));
        Self {
            uid: metadata.uid.clone().unwrap_or_default(),
            resource_version: metadata.resource_version.clone().unwrap_or_default(),
            generation: metadata.generation,
            is_deleting: metadata.deletion_timestamp.is_some(),
            is_paused: paused.is_some_and(|it| it == "true"),
            reads: Reads::new(&placement.spec, &rules),
            rules,
            score_limit: (settings.gates.scores)
                .then(|| ScoreLimit::new(&placement.spec.score_rate_limit)),
            status: placement.status.unwrap_or_default(),
        }
    }

    /// Returns whether this is a later state of the same object with the same spec.
    pub(crate) fn has_spec_of(&self, earlier: &Self) -> bool {
        self.uid == earlier.uid
            && self.generation.is_some()
            && self.generation == earlier.generation
    }

    /// What PlacementDecisions of the placement belong to.
    pub(crate) fn owner(&self) -> Owner<'_> {
        Owner {
            namespace: self.rules.namespace(),
            name: self.rules.name(),
            uid: &self.uid,
        }
    }

    /// Returns whether the controller leaves the placement and its decisions alone.
    pub(crate) fn is_left_alone(&self) -> bool {
        self.is_deleting || self.is_paused
    }

    /// Returns whether the placement may select from a set that is bound to its namespace.
    pub(crate) fn wants(&self, set: &str) -> bool {
        let wanted = self.rules.sets();
        wanted.is_empty() || wanted.iter().any(|it| it == set)
    }
}

// === impl Reads ===

impl Reads {
    fn new(spec: &PlacementSpec, rules: &Rules) -> Self {
        let mut reads = Self::default();
        for group in &spec.decision_strategy.group_strategy.decision_groups {
            let selector = &group.group_cluster_selector;
            reads.labels.extend(keys_of(&selector.label_selector));
            reads.claims.extend(names_of(&selector.claim_selector));
        }
        for predicate in &spec.predicates {
            let selector = &predicate.required_cluster_selector;
            let (labels, claims) = (&selector.label_selector, &selector.claim_selector);
            reads.filter_labels.extend(keys_of(labels));
            reads.filter_claims.extend(names_of(claims));
        }
        for source in rules.score_sources() {
            match source {
                ScoreSource::Allocatable(Resource::Cpu) => reads.cpu = true,
                ScoreSource::Allocatable(Resource::Memory) => reads.memory = true,
                ScoreSource::AddOn(name) => {
                    reads.scores.insert(name.to_owned());
                }
                // No part of a cluster or of its scores.
                ScoreSource::OtherDecisions | ScoreSource::OwnDecisions => {}
            }
        }
        let gates = rules.settings().gates;
        let spreads = gates.spread && !spec.spread_policy.spread_constraints.is_empty();
        let mut predicates = spec.predicates.iter();
        let has_cel = predicates.any(|it| {
            let selector = &it.required_cluster_selector.cel_selector;
            !selector.cel_expressions.is_empty()
        });
        reads.everything = spreads || has_cel || gates.prefer_no_select;
        reads
    }

    /// The keys of all labels that are read.
    pub(crate) fn label_keys(&self) -> Union<'_, String, RandomState> {
        self.labels.union(&self.filter_labels)
    }

    /// The names of all claims that are read.
    pub(crate) fn claim_names(&self) -> Union<'_, String, RandomState> {
        self.claims.union(&self.filter_claims)
    }

    /// Returns whether a label decides about the group of a cluster.
    pub(crate) fn label(&self, key: &str) -> bool {
        self.labels.contains(key)
    }

    /// Returns whether a claim decides about the group of a cluster.
    pub(crate) fn claim(&self, name: &str) -> bool {
        self.claims.contains(name)
    }

    /// Returns whether the AddOnPlacementScores of this name are read.
    pub(crate) fn scores(&self, name: &str) -> bool {
        self.everything || self.scores.contains(name)
    }
}

/// The keys of the labels that a selector reads.
pub(crate) fn keys_of(selector: &LabelSelector) -> impl Iterator<Item = String> {
    let equal = selector.match_labels.iter().flat_map(|it| it.keys());
    let expressions = selector.match_expressions.iter().flatten();
    equal.chain(expressions.map(|it| &it.key)).cloned()
}

fn names_of(selector: &ClusterClaimSelector) -> impl Iterator<Item = String> {
    selector.match_expressions.iter().map(|it| it.key.clone())
}

// === impl DecisionFacts ===

impl DecisionFacts {
    /// `has_scores`: the gate `scores` is on.
    pub(crate) fn new(object: PlacementDecision, has_scores: bool) -> Self {
        let listed = Decision::from(&object);
        let decisions = object.status.map_or_else(Vec::new, |it| it.decisions);
        let recorded = decisions.into_iter().filter(|_| has_scores);
        let recorded = recorded.map(|it| Recorded {
            score: it.score,
            reason: it.reason,
        });
        let metadata = object.metadata;
        let mut own = metadata.labels.unwrap_or_default();
        Self {
            name: metadata.name.unwrap_or_default(),
            uid: metadata.uid.unwrap_or_default(),
            resource_version: metadata.resource_version.unwrap_or_default(),
            is_deleting: metadata.deletion_timestamp.is_some(),
            listed,
            recorded: recorded.collect(),
            group_index: own.remove(labels::DECISION_GROUP_INDEX),
            group_name: own.remove(labels::DECISION_GROUP_NAME),
            owners: metadata.owner_references.unwrap_or_default(),
            doubt: None,
        }
    }

    /// The clusters that it lists, with what is recorded of each.
    pub(crate) fn records(&self) -> impl Iterator<Item = (&String, &Recorded)> {
        self.clusters().iter().zip(&self.recorded)
    }

    /// The clusters that it lists.
    pub(crate) fn clusters(&self) -> &[String] {
        &self.listed.clusters
    }

    /// Returns whether it lists the cluster, and no earlier write can remove it any more.
    pub(crate) fn surely_lists(&self, cluster: &String, now: Timestamp) -> bool {
        let doubt = self.doubt.as_ref().filter(|it| now < it.until);
        self.clusters().contains(cluster) && doubt.is_none_or(|it| !it.clusters.contains(cluster))
    }

    /// The uid of the object that controls it.
    pub(crate) fn controller(&self) -> Option<&str> {
        let mut owners = self.owners.iter();
        let controller = owners.find(|owner| owner.controller == Some(true))?;
        Some(&controller.uid)
    }
}

// === impl Owner ===

impl Owner<'_> {
    /// The reference with which an object belongs to the placement, and is deleted with it.
    pub(crate) fn reference(&self) -> OwnerReference {
        OwnerReference {
            api_version: "cluster.open-cluster-management.io/v1beta1".to_owned(),
            kind: "Placement".to_owned(),
            name: self.name.to_owned(),
            uid: self.uid.to_owned(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }
    }

    /// The name of the PlacementDecision with this number.
    pub(crate) fn decision(&self, number: u64) -> String {
        format!("{}-decision-{number}", self.name)
    }

    /// The number of a PlacementDecision that may list clusters of the placement.
    pub(crate) fn number_of(&self, stored: &DecisionFacts) -> Option<u64> {
        let (_, number) = stored.name.rsplit_once("-decision-")?;
        let number = number.parse().ok().filter(|it| *it > 0)?;
        let is_usable = stored.name == self.decision(number)
            && !stored.is_deleting
            && stored.controller().is_none_or(|uid| uid == self.uid);
        is_usable.then_some(number)
    }

    /// Returns whether the PlacementDecision belongs to the placement: by its label, or because the placement controls it.
    pub(crate) fn has(&self, stored: &DecisionFacts) -> bool {
        stored.listed.is_of(self.namespace, self.name) || stored.controller() == Some(self.uid)
    }
}
