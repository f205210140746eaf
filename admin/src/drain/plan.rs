//! What becomes of the placements that select a cluster once it is drained: the scheduler's own result on the hub's objects, with the taint.

use std::collections::BTreeSet;

use berth_api::cluster::{Taint, TaintEffect};
use berth_api::labels::{SCHEDULING_DISABLE, TAINT_UNSCHEDULABLE};
use berth_placement_core::{Gates, Inventory};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::placement::explained;

/// Upper bound on the clusters that a line names.
const SHOWN: usize = 10;

/// What becomes of a placement that selects a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fate {
    pub(super) cluster: String,
    pub(super) namespace: String,
    /// The name of the placement; empty for a PlacementDecision of none.
    pub(super) placement: String,
    pub(super) end: End,
}

/// How it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Other clusters are selected in place of the drained ones.
    Moves(Vec<String>),
    /// It does without the cluster, and lacks this number of clusters.
    Leaves { missing: usize },
    /// It keeps the cluster, for this reason.
    Stays(String),
}

/// Returns the fate of each placement whose PlacementDecisions list one of the clusters, by cluster.
pub(super) fn plan(inventory: &Inventory, clusters: &[String], now: Timestamp) -> Vec<Fate> {
    let drained = drained(inventory, clusters, now);
    let mut fates = Vec::new();
    for cluster in clusters {
        let listing = inventory
            .decisions
            .values()
            .filter(|it| it.listed.clusters.contains(cluster));
        let placements: BTreeSet<(&str, &str)> = listing
            .map(|it| {
                let placement = it.listed.placement.as_deref();
                (it.listed.namespace.as_str(), placement.unwrap_or_default())
            })
            .collect();
        for (namespace, placement) in placements {
            fates.push(Fate {
                cluster: cluster.clone(),
                namespace: namespace.to_owned(),
                placement: placement.to_owned(),
                end: end(&drained, (namespace, placement), cluster, now),
            });
        }
    }
    fates
}

/// The hub once these clusters have the taint.
fn drained(inventory: &Inventory, clusters: &[String], now: Timestamp) -> Inventory {
    let mut drained = inventory.clone();
    for name in clusters {
        let Some(cluster) = drained.snapshot.clusters.get_mut(name) else {
            continue;
        };
        let is_there = |it: &Taint| {
            it.key == TAINT_UNSCHEDULABLE
                && it.value.is_empty()
                && it.effect == TaintEffect::NoSelect
        };
        if !cluster.taints.iter().any(is_there) {
            cluster.taints.retain(|it| it.key != TAINT_UNSCHEDULABLE);
            cluster.taints.push(Taint {
                effect: TaintEffect::NoSelect,
                key: TAINT_UNSCHEDULABLE.to_owned(),
                time_added: Some(Time(now)),
                value: String::new(),
            });
        }
    }
    drained
}

fn end(drained: &Inventory, placement: (&str, &str), cluster: &str, now: Timestamp) -> End {
    let (namespace, name) = placement;
    let key = (namespace.to_owned(), name.to_owned());
    let Some(placement) = drained.placements.get(&key) else {
        let why = match name {
            "" => "its PlacementDecision has no label that names a Placement".to_owned(),
            name => format!("Placement {name} does not exist or cannot be read"),
        };
        return End::Stays(why);
    };
    let explanation = explained(drained, placement, Gates::default(), now);
    if explanation.stored.is_paused {
        return End::Stays(format!(
            "the annotation {SCHEDULING_DISABLE} pauses it, so its PlacementDecisions stay"
        ));
    }
    if let Some(fault) = &explanation.fault {
        return End::Stays(format!(
            "it cannot be evaluated, so it keeps its decisions: {fault}"
        ));
    }
    let is_kept = explanation
        .cluster(cluster)
        .is_some_and(|it| it.result.is_selected());
    if is_kept {
        let until = match explanation.next {
            None => String::new(),
            Some(next) => format!("; this can change at {next}"),
        };
        return End::Stays(format!(
            "spec.tolerations tolerate the taint {TAINT_UNSCHEDULABLE}:NoSelect{until}"
        ));
    }
    if explanation.stored.to_add.is_empty() {
        return End::Leaves {
            missing: explanation.counts.unscheduled,
        };
    }
    End::Moves(explanation.stored.to_add)
}

// === impl Fate ===

impl Fate {
    /// One line about it.
    pub(super) fn line(&self) -> String {
        let cluster = &self.cluster;
        let title = self.title();
        match &self.end {
            End::Moves(to) => {
                let more = match to.len().checked_sub(SHOWN) {
                    Some(more @ 1..) => format!(" and {more} more"),
                    _ => String::new(),
                };
                let shown: Vec<&str> = to.iter().take(SHOWN).map(String::as_str).collect();
                format!("{cluster}: {title} moves to {}{more}", shown.join(", "))
            }
            End::Leaves { missing: 0 } => format!("{cluster}: {title} does without it"),
            End::Leaves { missing } => format!(
                "{cluster}: {title} does without it, and finds no other cluster ({missing} missing)"
            ),
            End::Stays(why) => format!("{cluster}: {title} stays: {why}"),
        }
    }

    fn title(&self) -> String {
        let Self {
            namespace,
            placement,
            ..
        } = self;
        match placement.as_str() {
            "" => format!("a PlacementDecision in namespace {namespace}"),
            placement => format!("Placement {namespace}/{placement}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use berth_placement_core::Source;
    use serde_json::{Value, json};

    use super::*;

    /// Clusters c1 to c3 in the set prod, bound to namespace a, and a placement that selects these clusters.
    fn hub(spec: &Value, annotations: &Value, selected: &[&str]) -> Inventory {
        let mut inventory = Inventory::default();
        let set = "cluster.open-cluster-management.io/clusterset";
        for name in ["c1", "c2", "c3"] {
            let cluster = json!({"metadata": {"name": name, "labels": {set: "prod"}}});
            inventory.add(Source::Cluster, &cluster);
        }
        inventory.add(
            Source::Set,
            &json!({"metadata": {"name": "prod"}, "spec": {}}),
        );
        let binding =
            json!({"metadata": {"name": "prod", "namespace": "a"}, "spec": {"clusterSet": "prod"}});
        inventory.add(Source::Binding, &binding);
        let metadata = json!({"name": "app", "namespace": "a", "annotations": annotations});
        let placement = json!({"metadata": metadata, "spec": spec});
        inventory.add(Source::Placement, &placement);
        let label = "cluster.open-cluster-management.io/placement";
        let decisions: Vec<Value> = selected
            .iter()
            .map(|it| json!({"clusterName": it, "reason": ""}))
            .collect();
        let decision = json!({
            "metadata": {"name": "app-decision-1", "namespace": "a", "labels": {label: "app"}},
            "status": {"decisions": decisions},
        });
        inventory.add(Source::Decision, &decision);
        assert_eq!(inventory.unreadable, []);
        inventory
    }

    fn fate(inventory: &Inventory, clusters: &[&str]) -> Vec<String> {
        let clusters: Vec<String> = clusters.iter().map(|it| (*it).to_owned()).collect();
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let fates = plan(inventory, &clusters, now);
        fates.iter().map(Fate::line).collect()
    }

    #[test]
    fn the_scheduler_says_what_becomes_of_a_placement() {
        let ours = |more: &str| {
            let mut toleration = json!({"key": TAINT_UNSCHEDULABLE, "operator": "Exists"});
            if !more.is_empty() {
                toleration["tolerationSeconds"] = json!(60);
            }
            json!({"numberOfClusters": 1, "tolerations": [toleration]})
        };
        let none = json!({});
        let paused = json!({SCHEDULING_DISABLE: "true"});
        for (spec, annotations, selected, drained, expected) in [
            (
                json!({"numberOfClusters": 1}),
                &none,
                &["c1"][..],
                &["c1"][..],
                &["c1: Placement a/app moves to c2"][..],
            ),
            (
                json!({"numberOfClusters": 1}),
                &none,
                &["c1"],
                &["c1", "c2"],
                &["c1: Placement a/app moves to c3"],
            ),
            (json!({"numberOfClusters": 1}), &none, &["c2"], &["c1"], &[]),
            (
                json!({}),
                &none,
                &["c1", "c2", "c3"],
                &["c1"],
                &["c1: Placement a/app does without it"],
            ),
            (
                json!({"numberOfClusters": 3}),
                &none,
                &["c1", "c2", "c3"],
                &["c1"],
                &["c1: Placement a/app does without it, and finds no other cluster (1 missing)"],
            ),
            (
                ours(""),
                &none,
                &["c1"],
                &["c1"],
                &[
                    "c1: Placement a/app stays: spec.tolerations tolerate the taint berth.open-cluster-management.io/unschedulable:NoSelect",
                ],
            ),
            (
                ours("for a minute"),
                &none,
                &["c1"],
                &["c1"],
                &[
                    "c1: Placement a/app stays: spec.tolerations tolerate the taint berth.open-cluster-management.io/unschedulable:NoSelect; this can change at 2026-01-01T00:01:00Z",
                ],
            ),
            (
                json!({"numberOfClusters": 1}),
                &paused,
                &["c1"],
                &["c1"],
                &[
                    "c1: Placement a/app stays: the annotation cluster.open-cluster-management.io/experimental-scheduling-disable pauses it, so its PlacementDecisions stay",
                ],
            ),
        ] {
            let inventory = hub(&spec, annotations, selected);
            assert_eq!(fate(&inventory, drained), expected, "{spec} {drained:?}");
        }
        let faulty = json!({"numberOfClusters": -1});
        let lines = fate(&hub(&faulty, &none, &["c1"]), &["c1"]);
        let words =
            "c1: Placement a/app stays: it cannot be evaluated, so it keeps its decisions: ";
        assert!(lines[0].starts_with(words), "{lines:?}");
    }

    #[test]
    fn decisions_without_a_placement_stay() {
        let mut inventory = hub(&json!({}), &json!({}), &["c1"]);
        inventory.placements.clear();
        assert_eq!(
            fate(&inventory, &["c1"]),
            ["c1: Placement a/app stays: Placement app does not exist or cannot be read"]
        );
        for decision in inventory.decisions.values_mut() {
            decision.listed.placement = None;
        }
        assert_eq!(
            fate(&inventory, &["c1"]),
            [
                "c1: a PlacementDecision in namespace a stays: its PlacementDecision has no label that names a Placement"
            ]
        );
    }
}
