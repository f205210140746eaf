//! A hub in memory with one placement, and what the scheduler makes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_api::cluster_set::Membership;
use berth_api::{ManagedCluster, Placement};
use berth_placement_core::{
    CelObject, Cluster, ClusterOutcome, Conditions, Decision, Decisions, Rejection, Rules,
    Schedule, Scores, Settings, Snapshot,
};
use jiff::Timestamp;
use serde_json::{Value, json};

/// The placement's namespace.
pub(crate) const NAMESPACE: &str = "ns";
/// The placement's name.
pub(crate) const NAME: &str = "p";

/// A hub with a set `all` of every cluster, which is bound to the placement's namespace.
#[derive(Clone, Debug)]
pub(crate) struct Bench {
    pub(crate) snapshot: Snapshot,
    pub(crate) spec: Value,
    pub(crate) settings: Settings,
    pub(crate) now: Timestamp,
}

/// What a schedule says, as owned values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    /// The selected clusters, the best one first.
    pub(crate) selected: Vec<String>,
    /// The names and clusters of the groups; one without a name if decisions are kept.
    pub(crate) groups: Vec<(String, Vec<String>)>,
    pub(crate) unscheduled: usize,
    /// Seconds from now until the result can change.
    pub(crate) next: Option<f64>,
    pub(crate) warnings: Vec<String>,
    pub(crate) fault: Option<String>,
    pub(crate) conditions: Conditions,
    /// For each cluster of the hub, why.
    pub(crate) outcomes: BTreeMap<String, String>,
    /// The clusters that match the predicates.
    pub(crate) matched: Vec<String>,
    /// Those whose taints are tolerated as well.
    pub(crate) feasible: Vec<String>,
    /// The totals of those.
    pub(crate) totals: BTreeMap<String, i64>,
    /// The weights and scores by prioritizer.
    pub(crate) scores: BTreeMap<String, (i32, BTreeMap<String, Option<i64>>)>,
    /// What the decisions record: the cluster, its score and the reason.
    pub(crate) records: Vec<(String, i64, String)>,
}

// === impl Bench ===

impl Bench {
    pub(crate) fn new(spec: Value) -> Self {
        let mut snapshot = Snapshot::default();
        let everything = json!({"selectorType": "LabelSelector", "labelSelector": {}});
        snapshot
            .sets
            .insert("all".to_owned(), membership("all", everything));
        let bindings = BTreeSet::from(["all".to_owned()]);
        snapshot.bindings.insert(NAMESPACE.to_owned(), bindings);
        Self {
            snapshot,
            spec,
            settings: Settings::default(),
            now: "2022-01-01T00:00:00Z".parse().unwrap(),
        }
    }

    /// Adds clusters without anything but a name.
    pub(crate) fn clusters(mut self, names: &[&str]) -> Self {
        for name in names {
            self = self.cluster(json!({"name": name}));
        }
        self
    }

    /// Adds a cluster: its name, labels, claims, taints, and `cpu` and `memory` as [allocatable, capacity].
    pub(crate) fn cluster(mut self, cluster: Value) -> Self {
        let cluster = self::cluster(&cluster);
        self.snapshot.clusters.insert(cluster.name.clone(), cluster);
        self
    }

    /// Adds a PlacementDecision of this placement.
    pub(crate) fn own(self, clusters: &[&str]) -> Self {
        self.decision(NAMESPACE, Some(NAME), clusters)
    }

    /// Adds a PlacementDecision without a label.
    pub(crate) fn other(self, clusters: &[&str]) -> Self {
        self.decision(NAMESPACE, None, clusters)
    }

    pub(crate) fn decision(
        mut self,
        namespace: &str,
        placement: Option<&str>,
        clusters: &[&str],
    ) -> Self {
        self.snapshot.decisions.push(Decision {
            namespace: namespace.to_owned(),
            placement: placement.map(str::to_owned),
            clusters: clusters.iter().map(|it| (*it).to_owned()).collect(),
        });
        self
    }

    /// Adds a score, in a resource that is valid for some seconds from now.
    pub(crate) fn score_until(
        mut self,
        cluster: &str,
        (resource, score): (&str, &str),
        value: i32,
        seconds: Option<i64>,
    ) -> Self {
        let until = seconds.map(|it| after(self.now, it));
        let of_cluster = self.snapshot.scores.entry(cluster.to_owned()).or_default();
        let scores: &mut Scores = of_cluster.entry(resource.to_owned()).or_default();
        scores.values.insert(score.to_owned(), value);
        scores.valid_until = until;
        self
    }

    /// Adds a score that is valid for ever.
    pub(crate) fn score(self, cluster: &str, score: (&str, &str), value: i32) -> Self {
        self.score_until(cluster, score, value, None)
    }

    pub(crate) fn rules(&self) -> Rules {
        let placement = json!({
            "metadata": {"name": NAME, "namespace": NAMESPACE}, "spec": self.spec,
        });
        let placement: Placement = serde_json::from_value(placement).unwrap();
        Rules::new(&placement, self.settings)
    }

    pub(crate) fn run(&self) -> Seen {
        let rules = self.rules();
        let previous = self.snapshot.previous(NAMESPACE, NAME);
        let view = self.snapshot.view(&rules);
        let schedule = view.schedule(&rules, &previous, self.now);
        Seen::new(&schedule, &self.snapshot, self.now)
    }

    /// Replaces the placement's decisions by those of the last run.
    pub(crate) fn bind(mut self) -> Self {
        let seen = self.run();
        self.snapshot
            .decisions
            .retain(|it| !it.is_of(NAMESPACE, NAME));
        for (_, clusters) in &seen.groups {
            let clusters: Vec<_> = clusters.iter().map(String::as_str).collect();
            self = self.own(&clusters);
        }
        self
    }
}

// === impl Seen ===

impl Seen {
    fn new<'a>(schedule: &Schedule<'a>, snapshot: &'a Snapshot, now: Timestamp) -> Self {
        let mut outcomes = BTreeMap::new();
        let (mut matched, mut feasible) = (Vec::new(), Vec::new());
        let mut totals = BTreeMap::new();
        let mut scores: BTreeMap<String, (i32, BTreeMap<String, Option<i64>>)> = BTreeMap::new();
        for (name, cluster) in &snapshot.clusters {
            let outcome = schedule.outcome(cluster);
            outcomes.insert(name.clone(), outcome.to_string());
            match outcome {
                ClusterOutcome::Ranked(standing) => {
                    matched.push(name.clone());
                    feasible.push(name.clone());
                    totals.insert(name.clone(), standing.score);
                    for part in standing.parts {
                        let of = scores.entry(part.prioritizer.to_string()).or_default();
                        of.0 = part.weight;
                        of.1.insert(name.clone(), part.score);
                    }
                }
                ClusterOutcome::Rejected(Rejection::Tainted { .. }) => matched.push(name.clone()),
                ClusterOutcome::Rejected(_) | ClusterOutcome::Undecided { .. } => {}
            }
        }
        let groups = match &schedule.decisions {
            Decisions::Groups(groups) => groups
                .iter()
                .map(|group| {
                    let clusters = group.clusters.iter();
                    let clusters = clusters.map(|it| it.cluster.name.clone());
                    (group.name.to_owned(), clusters.collect())
                })
                .collect(),
            Decisions::Kept(names) => {
                let names = names.iter().map(|name| (*name).to_owned());
                vec![(String::new(), names.collect())]
            }
        };
        let selected = schedule.selected().iter();
        Self {
            selected: selected.map(|it| it.cluster.name.clone()).collect(),
            groups,
            unscheduled: schedule.unscheduled,
            next: schedule
                .next
                .map(|next| next.duration_since(now).as_secs_f64()),
            warnings: schedule.warnings.iter().map(ToString::to_string).collect(),
            fault: schedule.fault.as_ref().map(ToString::to_string),
            conditions: schedule.conditions(),
            outcomes,
            matched,
            feasible,
            totals,
            scores,
            records: schedule
                .records()
                .into_iter()
                .map(|it| (it.cluster.to_owned(), it.score, it.reason))
                .collect(),
        }
    }

    /// The clusters of the decisions, by name.
    pub(crate) fn decided(&self) -> Vec<&str> {
        let mut names: Vec<_> = self
            .groups
            .iter()
            .flat_map(|(_, clusters)| clusters)
            .collect();
        names.sort_unstable();
        names.into_iter().map(String::as_str).collect()
    }

    /// The scores of a prioritizer in the order of the clusters' names.
    pub(crate) fn scores_of(&self, prioritizer: &str) -> Vec<Option<i64>> {
        let scores = self.scores.get(prioritizer);
        scores.map_or_else(Vec::new, |(_, scores)| scores.values().copied().collect())
    }
}

pub(crate) fn membership(set: &str, selector: Value) -> Result<Membership, String> {
    Membership::new(set, &serde_json::from_value(selector).unwrap())
}

pub(crate) fn cluster(short: &Value) -> Cluster {
    let claims = short["claims"].as_object().into_iter().flatten();
    let claims: Vec<_> = claims
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect();
    let amounts = |index: usize| {
        let amounts = ["cpu", "memory"].into_iter().filter_map(|resource| {
            let amount = short[resource].get(index)?;
            Some((resource.to_owned(), amount.clone()))
        });
        Value::Object(amounts.collect())
    };
    let json = json!({
        "metadata": {
            "name": short["name"],
            "labels": short["labels"],
            "deletionTimestamp": short["deletionTimestamp"],
        },
        "spec": {"taints": short["taints"]},
        "status": {"clusterClaims": claims, "allocatable": amounts(0), "capacity": amounts(1)},
    });
    let object: ManagedCluster = serde_json::from_value(json.clone()).unwrap();
    Cluster {
        object: Some(Arc::new(CelObject::new(&json))),
        ..Cluster::from(&object)
    }
}

/// The time some seconds after another.
pub(crate) fn after(time: Timestamp, seconds: i64) -> Timestamp {
    time.checked_add(jiff::SignedDuration::from_secs(seconds))
        .unwrap()
}

/// The names as the tables write them.
pub(crate) fn names(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}
