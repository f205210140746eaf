//! The table of kinds: which objects are watched, and which of their fields are kept.

use berth_api::cluster_set::Membership;
use berth_api::{
    AddOnPlacementScore, GroupVersionResource, ManagedClusterSet, Placement, PlacementDecision,
    groups, inventory, labels, lenient,
};
use berth_placement_core::{Cluster, Scores, Settings};
use berth_reconcile::{First, Item, Keep, Watched};
use serde::Deserialize;
use serde_json::Value;

use crate::Config;
use crate::facts::{DecisionFacts, PlacementFacts};
use crate::needs::Needs;
use crate::sig::SliceFacts;

/// The name of SIG-Multicluster's PlacementDecisions in metrics and logs.
const SLICES: &str = "placementdecisions.multicluster.x-k8s.io";

/// A kind that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Placement,
    Decision,
    Cluster,
    Set,
    Binding,
    Scores,
    /// The PlacementDecision of SIG-Multicluster.
    Slice,
}

/// The kept part of an object.
#[derive(Debug)]
pub(crate) enum Fact {
    Placement(Box<PlacementFacts>),
    Decision(DecisionFacts),
    Cluster(Cluster),
    /// Which clusters belong to the set, or the mistakes in its selector.
    Set(Result<Membership, String>),
    Binding,
    Scores(Scores),
    Slice(SliceFacts),
}

// === impl Kind ===

impl Kind {
    /// Group, version and resource.
    const fn served(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Placement => (groups::CLUSTER, "v1beta1", groups::PLACEMENTS),
            Self::Decision => (groups::CLUSTER, "v1beta1", groups::PLACEMENT_DECISIONS),
            Self::Cluster => (groups::CLUSTER, "v1", groups::MANAGED_CLUSTERS),
            Self::Set => (groups::CLUSTER, "v1beta2", groups::MANAGED_CLUSTER_SETS),
            Self::Binding => (
                groups::CLUSTER,
                "v1beta2",
                groups::MANAGED_CLUSTER_SET_BINDINGS,
            ),
            Self::Scores => (groups::CLUSTER, "v1alpha1", groups::ADDON_PLACEMENT_SCORES),
            Self::Slice => (
                inventory::GROUP,
                inventory::VERSION,
                inventory::PLACEMENT_DECISIONS,
            ),
        }
    }

    /// Group, version and resource.
    pub(crate) fn resource(self) -> GroupVersionResource {
        let (group, version, resource) = self.served();
        GroupVersionResource::new(group, version, resource)
    }

    /// All objects of the kind. `read`: what is kept of one.
    fn all(
        self,
        read: impl Fn(&Item<'_>) -> Result<Fact, serde_json::Error> + Send + Sync + 'static,
    ) -> (Self, Watched<Fact>) {
        let name = match self {
            Self::Slice => SLICES,
            _ => self.served().2,
        };
        (self, Watched::new(name, self.resource(), read))
    }
}

/// The table of kinds: those that are watched. `needs`: what is kept of ManagedClusters.
pub(crate) fn watched(config: Config, needs: &Needs) -> Vec<(Kind, Watched<Fact>)> {
    let settings = config.scheduler;
    let [of_placements, of_clusters, of_sets] = std::array::from_fn(|_| needs.clone());
    let mut rows = vec![
        Kind::Placement.all(move |item| placement(item, settings, &of_placements)),
        Kind::Decision.all(move |item| decision(item, settings).map(Fact::Decision)),
        Kind::Cluster.all(move |item| cluster(item, &of_clusters).map(Fact::Cluster)),
        Kind::Set.all(move |item| set(item, &of_sets).map(Fact::Set)),
        Kind::Binding.all(|_| Ok(Fact::Binding)),
        Kind::Scores.all(|item| scores(item).map(Fact::Scores)),
    ];
    if config.sig_decisions {
        let (kind, slices) = Kind::Slice.all(|item| slice(item).map(Fact::Slice));
        // The hub may get the CRD later.
        rows.push((kind, slices.optional()));
    }
    rows
}

/// Reads an object as the watch does.
#[cfg(test)]
pub(crate) fn read(kind: Kind, text: &str, needs: &Needs) -> Fact {
    let config = Config {
        sig_decisions: true,
        ..Config::default()
    };
    let item = Item::read(text.as_bytes()).expect("an object");
    let mut rows = watched(config, needs).into_iter();
    let (_, row) = rows.find(|(of, _)| *of == kind).expect("a row");
    row.read(&item).expect("a fact")
}

fn placement(
    item: &Item<'_>,
    settings: Settings,
    needs: &Needs,
) -> Result<Fact, serde_json::Error> {
    let read = lenient::with_conditions::<Placement>(&item.trimmed(&PLACEMENT)?)?;
    needs.note_spread(&read.object.spec);
    let facts = PlacementFacts::new(read.object, settings);
    needs.note_reads(&facts.reads);
    Ok(Fact::Placement(Box::new(facts)))
}

fn decision(item: &Item<'_>, settings: Settings) -> Result<DecisionFacts, serde_json::Error> {
    let decision = PlacementDecision::deserialize(&item.trimmed(&DECISION)?)?;
    Ok(DecisionFacts::new(decision, settings.gates.scores))
}

/// Reads a ManagedClusterSet. What is no selector selects unknown clusters: the former selector must not stay in effect.
fn set(item: &Item<'_>, needs: &Needs) -> Result<Result<Membership, String>, serde_json::Error> {
    let set = match ManagedClusterSet::deserialize(&item.trimmed(&SET)?) {
        Ok(set) => set,
        Err(error) => return Ok(Err(error.to_string())),
    };
    needs.note_set(&set.spec);
    Ok(Membership::new(&item.meta.name, &set.spec.cluster_selector))
}

fn slice(item: &Item<'_>) -> Result<SliceFacts, serde_json::Error> {
    let slice = inventory::PlacementDecision::deserialize(&item.trimmed(&SLICE)?)?;
    Ok(slice.into())
}

/// Upper bound on the bytes of memory of the taints of a cluster while it is read. The facts keep less.
const TAINTS: usize = 256 * 1024;

/// All labels of a cluster that is not accepted are kept up to this many bytes of memory.
const FEW_LABELS: usize = 2 * 1024;

/// Reads a ManagedCluster. The user who registers it or runs its agent writes its lists, and the hub may have thousands of them.
fn cluster(item: &Item<'_>, needs: &Needs) -> Result<Cluster, serde_json::Error> {
    let is_of_hub = |taint: &Value| taint["key"].as_str().is_some_and(labels::is_taint_of_hub);
    let taints = First::new(TAINTS, Keep::Whole, is_of_hub);
    let resources = Keep::Fields(&[("cpu", Keep::Whole), ("memory", Keep::Whole)]);
    let mut value = item.trimmed(&Keep::Fields(&[
        (
            "metadata",
            Keep::Fields(&[
                ("name", Keep::Whole),
                ("labels", Keep::Labels(&needs.labels)),
                ("deletionTimestamp", Keep::Whole),
            ]),
        ),
        (
            "spec",
            Keep::Fields(&[
                ("hubAcceptsClient", Keep::Whole),
                ("taints", Keep::First(&taints)),
            ]),
        ),
        (
            "status",
            Keep::Fields(&[
                ("allocatable", resources),
                ("capacity", resources),
                ("clusterClaims", Keep::Named(&needs.claims)),
            ]),
        ),
    ]))?;
    let is_accepted = value["spec"]["hubAcceptsClient"] == true;
    if !is_accepted && let Some(labels) = value.pointer_mut("/metadata/labels") {
        needs.labels.cut(labels, FEW_LABELS);
    }
    Ok(Cluster {
        object: needs.whole.object(item, is_accepted),
        ..Cluster::from(&lenient::cluster(&value).object)
    })
}

/// Upper bound on the bytes of memory of the scores of one AddOnPlacementScore. An agent of the cluster writes them.
const LARGEST_SCORES: usize = 64 * 1024;

/// Reads an AddOnPlacementScore. Scores beyond the bound count as missing.
fn scores(item: &Item<'_>) -> Result<Scores, serde_json::Error> {
    let scores = First::new(LARGEST_SCORES, Keep::Whole, |_| false);
    let status = Keep::Fields(&[
        ("scores", Keep::First(&scores)),
        ("validUntil", Keep::Whole),
    ]);
    let value = item.trimmed(&Keep::Fields(&[("status", status)]))?;
    Ok(Scores::from(&AddOnPlacementScore::deserialize(&value)?))
}

const PLACEMENT: Keep<'_> = Keep::But(&[(
    "metadata",
    Keep::Fields(&[
        ("name", Keep::Whole),
        ("namespace", Keep::Whole),
        ("uid", Keep::Whole),
        ("resourceVersion", Keep::Whole),
        ("generation", Keep::Whole),
        ("deletionTimestamp", Keep::Whole),
        (
            "annotations",
            Keep::Fields(&[(labels::SCHEDULING_DISABLE, Keep::Text(8))]),
        ),
    ]),
)]);

const DECISION: Keep<'_> = Keep::But(&[(
    "metadata",
    Keep::Fields(&[
        ("name", Keep::Whole),
        ("namespace", Keep::Whole),
        ("uid", Keep::Whole),
        ("resourceVersion", Keep::Whole),
        ("deletionTimestamp", Keep::Whole),
        ("ownerReferences", Keep::Whole),
        (
            "labels",
            Keep::Fields(&[
                (labels::PLACEMENT, Keep::Whole),
                (labels::DECISION_GROUP_INDEX, Keep::Whole),
                (labels::DECISION_GROUP_NAME, Keep::Whole),
            ]),
        ),
    ]),
)]);

const SLICE: Keep<'_> = Keep::But(&[(
    "metadata",
    Keep::Fields(&[
        ("name", Keep::Whole),
        ("namespace", Keep::Whole),
        ("uid", Keep::Whole),
        ("resourceVersion", Keep::Whole),
        ("deletionTimestamp", Keep::Whole),
        ("ownerReferences", Keep::Whole),
        (
            "labels",
            Keep::Fields(&[
                (inventory::MANAGER, Keep::Whole),
                (inventory::PLACEMENT_KEY, Keep::Whole),
                (inventory::DECISION_KEY, Keep::Whole),
                (inventory::DECISION_INDEX, Keep::Whole),
            ]),
        ),
    ]),
)]);

const SET: Keep<'_> = Keep::Fields(&[("spec", Keep::Fields(&[("clusterSelector", Keep::Whole)]))]);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use berth_placement_core::MORE_TAINTS;
    use serde_json::{Map, json};

    use super::*;

    /// A cluster with much of everything that its agent or its creator writes.
    fn hostile(is_accepted: bool) -> Value {
        let labels = (0..12_500).map(|it| (format!("label{it}.example.com/a"), json!("x")));
        let labels: Map<_, _> = labels.collect();
        let long = "x".repeat(1000);
        let taint = |it| json!({"key": format!("t{it}"), "value": long, "effect": "NoSelect"});
        let taints: Vec<_> = (0..900).map(taint).collect();
        let claim = |it| json!({"name": format!("c{it}"), "value": long});
        let claims: Vec<_> = (0..900).map(claim).collect();
        json!({
            "metadata": {"name": "c1", "labels": labels},
            "spec": {"hubAcceptsClient": is_accepted, "taints": taints},
            "status": {"clusterClaims": claims},
        })
    }

    fn facts(object: &Value, needs: &Needs) -> Cluster {
        match read(Kind::Cluster, &object.to_string(), needs) {
            Fact::Cluster(cluster) => cluster,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn little_is_kept_of_any_cluster() {
        let needs = Needs::default();
        for (is_accepted, most) in [(false, 4 * 1024), (true, 128 * 1024)] {
            let kept = facts(&hostile(is_accepted), &needs);
            let text = |(key, value): (&String, &String)| key.len() + value.len() + 96;
            let labels: usize = kept.labels.iter().map(text).sum();
            let claims: usize = kept.claims.iter().map(text).sum();
            let taints = kept
                .taints
                .iter()
                .map(|it| it.key.len() + it.value.len() + 96);
            let bytes = labels + claims + taints.sum::<usize>();
            assert!(
                bytes < most,
                "accepted: {is_accepted}: {bytes} bytes are kept"
            );
            assert!(kept.taints.iter().any(|it| it.key == MORE_TAINTS));
        }
        assert!(!needs.takes_in());
    }

    #[test]
    fn few_scores_are_kept_of_an_object_with_many() {
        let score = |it| json!({"name": format!("s{it:05}"), "value": 1});
        let scores: Vec<_> = (0..20_000).map(score).collect();
        let object = json!({"metadata": {"name": "a"}, "status": {"scores": scores, "validUntil": "2026-08-11T12:00:00Z"}});
        let Fact::Scores(kept) = read(Kind::Scores, &object.to_string(), &Needs::default()) else {
            panic!("no scores");
        };
        assert!(
            (100..1_000).contains(&kept.values.len()),
            "{}",
            kept.values.len()
        );
        assert!(kept.valid_until.is_some());
    }

    #[test]
    fn what_selectors_read_is_kept_of_every_cluster_and_listed_again() {
        let needs = Needs::default();
        let hostile = hostile(false);
        let few = json!({"metadata": {"name": "c2", "labels": {"a": "b"}}, "spec": {}});
        assert_eq!(facts(&few, &needs).labels.len(), 1);
        assert_eq!(facts(&hostile, &needs).labels.len(), 0);
        let [label, other, third] =
            ["label7", "label8", "label9"].map(|it| format!("{it}.example.com/a"));
        let equal = |key: &str| json!({"matchLabels": {key: "x"}});
        let claim = json!({"matchExpressions": [{"key": "c7", "operator": "Exists"}]});
        let placement = json!({
            "metadata": {"name": "p", "namespace": "n"},
            "spec": {
                "predicates": [{"requiredClusterSelector": {"labelSelector": equal(&label), "claimSelector": claim}}],
                "spreadPolicy": {"spreadConstraints": [{"topologyKey": other, "topologyKeyType": "Label"}]},
            },
        });
        let set = json!({
            "metadata": {"name": "s"},
            "spec": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": equal(&third)}},
        });
        for (kind, object) in [(Kind::Placement, placement), (Kind::Set, set)] {
            read(kind, &object.to_string(), &needs);
            assert!(needs.takes_in(), "{kind:?}");
        }
        let kept = facts(&hostile, &needs);
        let labels: Vec<_> = kept.labels.keys().collect();
        assert_eq!(labels, [&label, &other, &third]);
        let claims: Vec<_> = kept.claims.keys().collect();
        assert_eq!(claims, ["c7"]);
    }
}
