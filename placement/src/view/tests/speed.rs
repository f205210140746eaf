//! How long evaluations take on a large hub. To see the figures:
//! `cargo test --release -p berth-placement --lib speed -- --ignored --nocapture`

use std::time::{Duration, Instant};

use berth_placement_core::Cluster;
use serde_json::{Value, json};

use super::{Change, Hub, Known};
use crate::kinds::Fact;
use crate::view::Key;
use crate::wanted::Wanted;

const PLACEMENTS: usize = 1_000;
/// The changes of which the least time and the median are printed: other processes delay some.
const CHANGES: usize = 100;

fn name(number: usize) -> String {
    format!("cluster-{number:05}")
}

/// The cluster of this number: a fifth of them in each region, every fiftieth with a taint.
fn cluster(number: usize) -> Change {
    let regions = ["eu", "us", "ap", "sa", "af"];
    let labels = json!({"region": regions[number % 5], "tier": (number % 7).to_string()});
    let taint = json!({"key": "k", "effect": "NoSelect"});
    let taints = number.is_multiple_of(50).then_some(json!([taint]));
    let cluster = json!({"metadata": {"labels": labels}, "spec": {"taints": taints}});
    Change::Cluster(name(number), Some(cluster))
}

/// A hub with one set of all clusters, as many of them, and placements of ten clusters each, a hundred in a namespace.
fn hub(clusters: usize) -> (Hub, Vec<Key>) {
    let mut hub = Hub::new();
    let everything = json!({"selectorType": "LabelSelector", "labelSelector": {}});
    hub.apply(&Change::Set("all".to_owned(), Some(everything)));
    for number in 0..clusters {
        hub.apply(&cluster(number));
    }
    let keys = (0..PLACEMENTS).map(|number| {
        let namespace = format!("n{}", number / 100);
        Key::new(&namespace, &format!("p{number}"))
    });
    let keys: Vec<_> = keys.collect();
    for (number, key) in keys.iter().enumerate() {
        hub.apply(&Change::Binding(
            key.namespace.to_string(),
            "all".to_owned(),
            true,
        ));
        let labels = json!({"matchLabels": {"tier": (number % 7).to_string()}});
        let predicates: Value = json!([{"requiredClusterSelector": {"labelSelector": labels}}]);
        let spec = json!({"numberOfClusters": 10, "predicates": predicates});
        hub.apply(&Change::Placement(key.clone(), Some(spec)));
    }
    (hub, keys)
}

#[test]
#[ignore = "a measurement: takes minutes without optimization"]
fn evaluations_of_a_large_hub() {
    for clusters in [1_000, 10_000] {
        measure(clusters);
    }
}

#[allow(clippy::print_stdout, reason = "the figures")]
fn measure(clusters: usize) {
    let (mut hub, keys) = hub(clusters);
    println!("{PLACEMENTS} placements of 10 over {clusters} clusters:");
    let took = timed(|| keys.iter().for_each(|key| evaluate(&mut hub, key, true)));
    println!("  first pass, with decisions: {took:?}");
    for pass in [
        "second pass, which catches up",
        "third pass, from what was kept",
    ] {
        let took = timed(|| keys.iter().for_each(|key| evaluate(&mut hub, key, false)));
        println!("  {pass}: {took:?}");
    }
    let took = timed(|| {
        keys.iter()
            .for_each(|key| drop(hub.view.evaluate(key, hub.now)))
    });
    println!("  the same, anew: {took:?}");
    println!("  kept: {} bytes", hub.view.kept.bytes());

    for what in [
        "that change nothing",
        "with amounts that no placement reads",
    ] {
        let facts = (0..1_000).map(|number| {
            let mut it = known(&hub, number);
            it.memory = (what != "that change nothing").then_some(7.0);
            it
        });
        let facts: Vec<_> = facts.collect();
        let by = hub.by(false);
        let took = timed(|| {
            for it in facts {
                let name = it.name.clone();
                hub.view.apply(("", &name), Fact::Cluster(it), by);
            }
        });
        assert!(hub.view.wakes().is_empty());
        println!("  a status write, of 1,000 {what}: {:?}", took / 1_000);
    }

    for (what, writes) in [
        ("", false),
        (", with their decisions as the others' input", true),
    ] {
        for kind in ["taint", "label"] {
            let mut concerned = 0;
            let mut times = Vec::new();
            for number in 0..CHANGES {
                let mut it = known(&hub, 15 * (number / 2) + 13);
                let has_it = number % 2 == 0;
                if kind == "taint" {
                    let taint = json!({"key": "new", "effect": "NoSelect"});
                    let taint = serde_json::from_value(taint).expect("a taint");
                    it.taints = if has_it { vec![taint] } else { vec![] };
                } else {
                    let tier = (number + usize::from(has_it) + 3 * usize::from(writes)) % 7;
                    it.labels.insert("tier".to_owned(), tier.to_string());
                }
                let (by, name) = (hub.by(false), it.name.clone());
                let waking = timed(|| hub.view.apply(("", &name), Fact::Cluster(it), by));
                let woken = hub.view.wakes();
                concerned += woken.len();
                let [mut evaluating, mut storing] = [Duration::ZERO; 2];
                for key in &woken {
                    let begun = Instant::now();
                    let wanted = hub.view.evaluate_kept(key, &Known::default(), hub.now);
                    let evaluated = Instant::now();
                    if let Some(wanted) = wanted.filter(|_| writes) {
                        store(&mut hub, key, &wanted);
                    }
                    evaluating += evaluated - begun;
                    storing += evaluated.elapsed();
                }
                times.push((waking + evaluating, waking, evaluating, storing));
            }
            times.sort_unstable();
            let (least, median) = (times[0], times[CHANGES / 2]);
            println!(
                "  a {kind} of a cluster, which concerns {} placements: {:?} (to wake and to evaluate them: {:?}, {:?}), median {:?} ({:?}, {:?}){what}; to store: {:?}",
                concerned / CHANGES,
                least.0,
                least.1,
                least.2,
                median.0,
                median.1,
                median.2,
                median.3,
            );
        }
    }
}

fn timed<T>(run: impl FnOnce() -> T) -> Duration {
    let begun = Instant::now();
    run();
    begun.elapsed()
}

fn known(hub: &Hub, number: usize) -> Cluster {
    let known = hub.view.clusters.get(&name(number));
    known.cloned().expect("a cluster")
}

/// Evaluates a placement. `writes`: its decisions count for others from now on.
fn evaluate(hub: &mut Hub, key: &Key, writes: bool) {
    let wanted = hub.view.evaluate_kept(key, &Known::default(), hub.now);
    if let Some(wanted) = wanted.filter(|_| writes) {
        store(hub, key, &wanted);
    }
}

/// Stores the wanted decisions, if others are stored.
fn store(hub: &mut Hub, key: &Key, wanted: &Wanted) {
    hub.view.writes(key, &wanted.clusters);
    if hub.view.pending.contains_key(key) {
        hub.store(key, wanted);
    }
}
