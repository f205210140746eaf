//! How long evaluations take on a large hub. To see the figures:
//! `cargo test --release -p berth-placement --lib speed -- --ignored --nocapture`

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Change, Hub};
use crate::view::Key;

const CLUSTERS: usize = 10_000;
const PLACEMENTS: usize = 1_000;

/// The cluster of this number: a fifth of them in each region, every fiftieth with a taint.
fn cluster(number: usize, is_tainted: bool) -> Change {
    let regions = ["eu", "us", "ap", "sa", "af"];
    let labels = json!({"region": regions[number % 5], "tier": (number % 7).to_string()});
    let taint = json!({"key": "k", "effect": "NoSelect"});
    let taints = (is_tainted || number.is_multiple_of(50)).then_some(json!([taint]));
    let cluster = json!({"metadata": {"labels": labels}, "spec": {"taints": taints}});
    Change::Cluster(format!("cluster-{number:05}"), Some(cluster))
}

/// A hub with one set of all clusters, and placements of ten clusters each, a hundred in a namespace.
fn hub() -> (Hub, Vec<Key>) {
    let mut hub = Hub::new();
    let everything = json!({"selectorType": "LabelSelector", "labelSelector": {}});
    hub.apply(&Change::Set("all".to_owned(), Some(everything)));
    for number in 0..CLUSTERS {
        hub.apply(&cluster(number, false));
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
#[allow(clippy::print_stdout, reason = "the figures")]
fn evaluations_of_a_large_hub() {
    let (mut hub, keys) = hub();
    let mut timed = |what: &str, run: &mut dyn FnMut(&mut Hub)| -> Duration {
        let begun = Instant::now();
        run(&mut hub);
        let took = begun.elapsed();
        println!("{what}: {took:?}");
        took
    };
    timed(
        "1,000 placements over 10,000 clusters, first pass",
        &mut |hub| {
            keys.iter().for_each(|key| drop(hub.evaluate(key)));
        },
    );
    timed("once more, with decisions", &mut |hub| {
        keys.iter()
            .for_each(|key| drop(hub.view.evaluate(key, hub.now)));
    });
    timed(
        "1,000 status writes that concern no placement",
        &mut |hub| {
            (0..1000).for_each(|number| assert!(hub.apply(&cluster(number, false)).is_empty()));
        },
    );
    let mut woken = Vec::new();
    timed(
        "a taint on one cluster: which placements it concerns",
        &mut |hub| {
            woken.extend(hub.apply(&cluster(13, true)));
        },
    );
    let what = format!(
        "evaluation of the {} placements that it concerns",
        woken.len()
    );
    timed(&what, &mut |hub| {
        woken
            .iter()
            .for_each(|key| drop(hub.view.evaluate(key, hub.now)));
    });
}
