use berth_api::cluster_set::Membership;
use berth_placement_core::{Cluster, Settings};
use prometheus::Registry;
use serde_json::{Value, json};

use super::*;
use crate::facts::PlacementFacts;
use crate::kinds::Fact;
use crate::metrics::Metrics;
use crate::needs::Needs;
use crate::view::Circumstances;

/// Clusters of the hub. With as many predicates as the gate permits, an evaluation is large.
const CLUSTERS: usize = 300;

/// One evaluation spends it.
const RATE: u64 = 100_000;

#[test]
fn placements_rest_after_costly_evaluations_and_between_restless_ones() {
    let millis = Duration::from_millis;
    for (took, is_restless, expected) in [
        (millis(9), false, None),
        (millis(10), false, Some(millis(100))),
        (millis(9), true, Some(RESTLESS)),
        (millis(2000), true, Some(millis(20_000))),
    ] {
        assert_eq!(
            rest_after(took, is_restless),
            expected,
            "{took:?} {is_restless}"
        );
    }
}

/// A hub with a set of all clusters that is bound to the namespaces `a` and `b`.
fn hub() -> Placements {
    let metrics = Metrics::new(&Registry::new()).expect("metrics");
    let mut world = Placements::new(metrics, Needs::default());
    let selector = json!({"selectorType": "LabelSelector", "labelSelector": {}});
    let selector = serde_json::from_value(selector).expect("a selector");
    add(
        &mut world,
        ("", "all"),
        Fact::Set(Membership::new("all", &selector)),
    );
    for namespace in ["a", "b"] {
        add(&mut world, (namespace, "all"), Fact::Binding);
    }
    for number in 0..CLUSTERS {
        let cluster = Cluster {
            name: format!("c{number:03}"),
            labels: [("tier".to_owned(), number.to_string())].into(),
            ..Cluster::default()
        };
        let name = cluster.name.clone();
        add(&mut world, ("", &name), Fact::Cluster(cluster));
    }
    world
}

fn add(world: &mut Placements, place: (&str, &str), fact: Fact) {
    let by = Circumstances {
        is_own: false,
        is_listing: false,
        now: now().wall,
    };
    world.view.apply(place, fact, by);
}

fn place(world: &mut Placements, namespace: &str, name: &str, spec: &Value) -> Key {
    let metadata = json!({"namespace": namespace, "name": name, "uid": "u"});
    let placement = json!({"metadata": metadata, "spec": spec});
    let placement = serde_json::from_value(placement).expect("a Placement");
    let settings = Settings {
        cel_rate: RATE,
        ..Settings::default()
    };
    let facts = PlacementFacts::new(placement, settings);
    let fact = Fact::Placement(Box::new(facts));
    add(world, (namespace, name), fact);
    Key::new(namespace, name)
}

/// A spec with 1,000 predicates, of which the last one selects two clusters.
fn large() -> Value {
    let selector = |values: &[&str]| {
        let tier = json!({"key": "tier", "operator": "In", "values": values});
        json!({"requiredClusterSelector": {"labelSelector": {"matchExpressions": [tier]}}})
    };
    let mut predicates = vec![selector(&["none"]); 999];
    predicates.push(selector(&["7", "8"]));
    json!({"predicates": predicates})
}

fn names(wanted: &Option<Arc<Wanted>>) -> Vec<String> {
    wanted.as_ref().map_or_else(Vec::new, |it| it.names())
}

#[test]
fn a_large_evaluation_is_made_apart_while_others_go_on() {
    let mut world = hub();
    let first = place(&mut world, "a", "first", &large());
    let second = place(&mut world, "a", "second", &large());
    let small = place(&mut world, "a", "small", &json!({}));
    let other = place(&mut world, "b", "other", &json!({"numberOfClusters": 3}));
    let mut progress = Progress::default();
    let Step::Apart(evaluation) = world.step(&first, &mut progress, now()) else {
        panic!("it is evaluated with the world locked");
    };
    assert!(progress.is_permitted);

    let mut step = |key: &Key| world.step(key, &mut Progress::default(), now());
    assert!(
        matches!(step(&second), Step::Busy),
        "one of each namespace at a time"
    );
    for (key, number) in [(&small, CLUSTERS), (&other, 3)] {
        let Step::Evaluated(wanted, _) = step(key) else {
            panic!("{key:?} waits");
        };
        assert_eq!(names(&wanted).len(), number, "{key:?}");
    }

    let evaluated = evaluation.run();
    assert!(
        evaluated.steps > 300_000,
        "{} steps are charged",
        evaluated.steps
    );
    world.charge(&first, evaluated.steps, RATE);
    let (wanted, rest) = world.conclude(&first, evaluated, Duration::from_secs(1));
    assert_eq!(names(&wanted), ["c007", "c008"]);
    assert_eq!(rest, Some(Duration::from_secs(10)));

    let woken = world.budgets.ended(&first.namespace);
    assert_eq!(woken.as_slice(), std::slice::from_ref(&second));
    let step = world.step(&second, &mut Progress::default(), now());
    let Step::Evaluated(Some(wanted), _) = step else {
        panic!("the budget is spent");
    };
    let message = &wanted.conditions.satisfied.message;
    assert!(
        message.contains("exceed the limit of 100000 steps in a minute"),
        "{message}"
    );
    assert!(wanted.next.is_some(), "it is evaluated later");
}

#[test]
fn a_large_evaluation_of_another_spec_is_dropped() {
    let mut world = hub();
    let key = place(&mut world, "a", "p", &large());
    let Step::Apart(evaluation) = world.step(&key, &mut Progress::default(), now()) else {
        panic!("it is evaluated with the world locked");
    };
    place(&mut world, "a", "p", &json!({}));
    assert_eq!(world.view.wakes().last(), Some(&key));
    let (wanted, _) = world.conclude(&key, evaluation.run(), Duration::ZERO);
    assert_eq!(wanted, None);
}
