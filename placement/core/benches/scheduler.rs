//! Measures the scheduler in memory: `cargo bench -p berth-placement-core`.
//!
//! Each case evaluates placements one after another, of ten clusters each, over a hub with one set of all clusters. The decisions of a
//! placement count for the next ones. `100 x 1`, `1000 x 1000` and `10000 x 1000` (placements x clusters) are the sizes of OCM's
//! `test/benchmark/placement`; `1000 x 10000` is our own. `floor` is what no scheduler can avoid: to match the label selector of each
//! placement with each cluster. Divide by it to compare machines.

#![allow(missing_docs, reason = "made by divan's macros")]
#![allow(clippy::unwrap_used, reason = "a benchmark")]

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use berth_api::cluster_set::Membership;
use berth_api::selector::Selector;
use berth_api::{ManagedCluster, Placement};
use berth_placement_core::{
    CelObject, Cluster, Eligible, EligibleSet, Hub, Rules, Scene, Scores, Settings, schedule,
};
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use jiff::Timestamp;
use serde_json::{Value, json};

fn main() {
    divan::main();
}

/// Placements x clusters.
#[derive(Clone, Copy)]
struct Size(usize, usize);

const ALL: [Size; 4] = [
    Size(100, 1),
    Size(1_000, 1_000),
    Size(10_000, 1_000),
    Size(1_000, 10_000),
];

/// Expressions cost so much that some placements say enough.
const FEW: [Size; 2] = [Size(10, 1_000), Size(1, 10_000)];

/// A hub in memory, with what an index keeps up to date.
struct Fleet {
    clusters: BTreeMap<String, Cluster>,
    set: Result<Membership, String>,
    scores: HashMap<String, Scores>,
    /// How often decisions list each cluster.
    decisions: HashMap<String, u64>,
    most: u64,
    now: Timestamp,
}

/// `floor`: the label selector alone.
#[divan::bench(args = ALL, sample_count = 5, sample_size = 1)]
fn floor(bencher: Bencher<'_, '_>, size: Size) {
    let fleet = Fleet::new(size, false);
    let selectors: Vec<_> = (0..size.0)
        .map(|number| Selector::parse(&serde_json::from_value(tier(number)).unwrap()).unwrap())
        .collect();
    size.counted(bencher).bench_local(|| {
        let matches = |it: &Selector| {
            let clusters = fleet.clusters.values();
            clusters
                .filter(|cluster| it.matches(&cluster.labels))
                .count()
        };
        black_box(&selectors).iter().map(matches).sum::<usize>()
    });
}

/// A label selector and a toleration; the default prioritizers.
#[divan::bench(args = ALL, sample_count = 5, sample_size = 1)]
fn labels_and_taints(bencher: Bencher<'_, '_>, size: Size) {
    measure(bencher, size, false, |number| {
        json!({
            "numberOfClusters": 10,
            "predicates": [{"requiredClusterSelector": {"labelSelector": tier(number)}}],
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
        })
    });
}

/// The placement of OCM's benchmark: scores of an add-on, allocatable CPU and Balance, no predicates.
#[divan::bench(args = ALL, sample_count = 5, sample_size = 1)]
fn prioritizers(bencher: Bencher<'_, '_>, size: Size) {
    let built_in = |name: &str| json!({"scoreCoordinate": {"type": "BuiltIn", "builtIn": name}});
    let add_on = json!({"type": "AddOn", "addOn": {"resourceName": "demo", "scoreName": "demo"}});
    let configurations = json!([
        {"scoreCoordinate": add_on}, built_in("ResourceAllocatableCPU"), built_in("Balance"),
    ]);
    measure(bencher, size, false, |_| {
        json!({
            "numberOfClusters": 10,
            "prioritizerPolicy": {"mode": "Exact", "configurations": configurations},
        })
    });
}

/// A CEL expression on labels and claims.
#[divan::bench(args = FEW, sample_count = 5, sample_size = 1)]
fn cel(bencher: Bencher<'_, '_>, size: Size) {
    let expression = r#"managedCluster.metadata.labels.region == "eu" && managedCluster.status.clusterClaims.exists(c, c.name == "cloud" && c.value == "Amazon")"#;
    measure(bencher, size, true, |_| {
        json!({
            "numberOfClusters": 10,
            "predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": [expression]}}}],
        })
    });
}

fn measure(bencher: Bencher<'_, '_>, size: Size, has_objects: bool, spec: impl Fn(usize) -> Value) {
    let mut fleet = Fleet::new(size, has_objects);
    let rules: Vec<_> = (0..size.0)
        .map(|number| {
            let metadata = json!({"namespace": "ns", "name": format!("p{number}")});
            let placement = json!({"metadata": metadata, "spec": spec(number)});
            let placement: Placement = serde_json::from_value(placement).unwrap();
            Rules::new(&placement, Settings::default())
        })
        .collect();
    size.counted(bencher).bench_local(|| {
        fleet.decisions.clear();
        fleet.most = 0;
        black_box(&rules).iter().for_each(|it| fleet.evaluate(it));
    });
}

fn tier(number: usize) -> Value {
    json!({"matchLabels": {"tier": (number % 7).to_string()}})
}

// === impl Size ===

impl Size {
    fn counted<'a, 'b>(self, bencher: Bencher<'a, 'b>) -> Bencher<'a, 'b> {
        bencher.counter(ItemsCount::new(self.0 * self.1))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {}", self.0, self.1)
    }
}

// === impl Fleet ===

impl Fleet {
    fn new(Size(_, clusters): Size, has_objects: bool) -> Self {
        let everything = json!({"selectorType": "LabelSelector", "labelSelector": {}});
        let score = Scores {
            values: [("demo".to_owned(), 80)].into(),
            valid_until: Some("2026-11-22T00:00:00Z".parse().unwrap()),
        };
        let clusters: BTreeMap<_, _> = (0..clusters)
            .map(|number| cluster(number, has_objects))
            .map(|it| (it.name.clone(), it))
            .collect();
        Self {
            scores: clusters
                .keys()
                .map(|it| (it.clone(), score.clone()))
                .collect(),
            clusters,
            set: Membership::new("all", &serde_json::from_value(everything).unwrap()),
            decisions: HashMap::new(),
            most: 0,
            now: "2026-11-21T12:00:00Z".parse().unwrap(),
        }
    }

    /// Evaluates a new placement, and counts its decisions.
    fn evaluate(&mut self, rules: &Rules) {
        let set = EligibleSet {
            name: "all",
            membership: &self.set,
        };
        let scene = Scene {
            eligible: Eligible::new([set], rules.sets(), self.clusters.values()),
            previous: &HashSet::new(),
            hub: self,
            now: self.now,
        };
        let schedule = schedule(rules, scene);
        assert!(schedule.fault.is_none());
        let names: Vec<_> = schedule.decisions.names().map(str::to_owned).collect();
        for name in names {
            let count = self.decisions.entry(name).or_default();
            *count += 1;
            self.most = self.most.max(*count);
        }
    }
}

impl Hub for Fleet {
    fn cluster(&self, name: &str) -> Option<&Cluster> {
        self.clusters.get(name)
    }

    fn foreign(&self, cluster: &str) -> u64 {
        self.decisions.get(cluster).copied().unwrap_or_default()
    }

    fn most_foreign(&self) -> u64 {
        self.most
    }

    fn scores(&self, cluster: &str, _: &str) -> Option<&Scores> {
        self.scores.get(cluster)
    }
}

/// A fifth of the clusters are in each region, a seventh in each tier, and every fiftieth has a taint.
fn cluster(number: usize, has_object: bool) -> Cluster {
    let regions = ["eu", "us", "ap", "sa", "af"];
    let clouds = ["Amazon", "Google", "Azure"];
    let labels = json!({"region": regions[number % 5], "tier": (number % 7).to_string()});
    let taint = json!({"key": "gpu", "effect": "NoSelect"});
    let taints = number.is_multiple_of(50).then_some(json!([taint]));
    let cpu = json!({"cpu": (number % 97).to_string()});
    let json = json!({
        "metadata": {"name": format!("cluster-{number:05}"), "labels": labels},
        "spec": {"taints": taints},
        "status": {
            "allocatable": cpu, "capacity": cpu,
            "clusterClaims": [{"name": "cloud", "value": clouds[number % 3]}],
        },
    });
    let object: ManagedCluster = serde_json::from_value(json.clone()).unwrap();
    Cluster {
        object: has_object.then(|| Arc::new(CelObject::new(&json))),
        ..Cluster::from(&object)
    }
}
