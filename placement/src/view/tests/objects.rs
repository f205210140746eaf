//! Whole clusters, for CEL expressions.

use std::sync::Arc;

use berth_placement_core::{CelObject, Cluster, OnFault, Settings};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{Change, Circumstances, Hub, Known};
use crate::facts::PlacementFacts;
use crate::kinds::{Fact, Kind};
use crate::view::Key;
use crate::wanted::WantedClusters;

const VERSION: &str = r#"managedCluster.status.version.kubernetes == "v1.31.0""#;

fn cluster(name: &str, version: &str, object: bool) -> Cluster {
    let object = object.then(|| {
        let cluster =
            json!({"metadata": {"name": name}, "status": {"version": {"kubernetes": version}}});
        Arc::new(CelObject::new(&cluster))
    });
    Cluster {
        name: name.to_owned(),
        object,
        ..Cluster::default()
    }
}

fn spec(expressions: &[&str]) -> Value {
    json!({"predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": expressions}}}]})
}

/// A hub with the clusters `a` and `b`, whose objects have not been read, and a placement with a CEL expression.
fn hub() -> (Hub, Key) {
    let mut hub = Hub::new();
    let everything = json!({"selectorType": "LabelSelector", "labelSelector": {}});
    hub.apply(&Change::Set("all".to_owned(), Some(everything)));
    hub.apply(&Change::Binding("ns".to_owned(), "all".to_owned(), true));
    for name in ["a", "b"] {
        see(&mut hub, cluster(name, "v1.31.0", false), false);
    }
    let key = Key::new("ns", "p");
    hub.apply(&Change::Placement(key.clone(), Some(spec(&[VERSION]))));
    (hub, key)
}

/// Applies a cluster. Returns whether it wakes a placement.
fn see(hub: &mut Hub, cluster: Cluster, is_listing: bool) -> bool {
    let by = Circumstances {
        is_listing,
        ..hub.by(false)
    };
    let name = cluster.name.clone();
    hub.view.apply(("", &name), Fact::Cluster(cluster), by);
    !hub.view.wakes().is_empty()
}

fn selected(hub: &Hub, key: &Key) -> Option<Vec<String>> {
    let wanted = hub.view.evaluate(key, hub.now)?;
    (!wanted.is_unread).then(|| wanted.names())
}

#[test]
fn a_placement_waits_until_the_objects_of_all_its_clusters_have_been_read() {
    let (mut hub, key) = hub();
    assert_eq!(selected(&hub, &key), None);
    let wanted = hub.view.evaluate(&key, hub.now).expect("a placement");
    assert!(matches!(wanted.clusters, WantedClusters::Kept(_)));
    assert!(!see(&mut hub, cluster("a", "v1.31.0", true), true));
    assert_eq!(selected(&hub, &key), None);
    assert!(!see(&mut hub, cluster("b", "v1.30.0", true), true));
    assert_eq!(selected(&hub, &key), Some(vec!["a".to_owned()]));
    hub.view.wake_readers_of_objects();
    assert_eq!(hub.view.wakes(), [key]);
}

#[test]
fn a_change_of_an_object_wakes_the_placements_that_read_it_and_no_others() {
    let (mut hub, key) = hub();
    hub.apply(&Change::Placement(Key::new("ns", "other"), Some(json!({}))));
    for name in ["a", "b"] {
        see(&mut hub, cluster(name, "v1.31.0", true), true);
    }
    assert!(!see(&mut hub, cluster("a", "v1.31.0", true), false));
    hub.view.apply(
        ("", "a"),
        Fact::Cluster(cluster("a", "v1.32.0", true)),
        hub.by(false),
    );
    assert_eq!(hub.view.wakes(), vec![key.clone()]);
    assert_eq!(selected(&hub, &key), Some(vec!["b".to_owned()]));
}

#[test]
fn objects_are_kept_while_a_placement_that_is_worked_on_reads_them() {
    let (mut hub, key) = hub();
    see(&mut hub, cluster("a", "v1.31.0", true), true);
    let has_object = |hub: &Hub| {
        hub.view
            .clusters
            .get("a")
            .is_some_and(|it| it.object.is_some())
    };
    assert!(has_object(&hub) && hub.view.needs_objects());
    hub.apply(&Change::Placement(key.clone(), Some(spec(&[]))));
    assert!(!has_object(&hub) && !hub.view.needs_objects());
    see(&mut hub, cluster("a", "v1.31.0", true), false);
    assert!(!has_object(&hub), "nothing reads it");
    hub.apply(&Change::Placement(key.clone(), Some(spec(&[VERSION]))));
    assert!(hub.view.needs_objects());
    hub.view.remove(Kind::Placement, "ns", "p", hub.now);
    assert!(!hub.view.needs_objects());
}

#[test]
fn objects_beyond_the_limit_are_left_out_until_they_fit() {
    let (mut hub, key) = hub();
    let size = cluster("a", "v1.31.0", true)
        .object
        .map_or(0, |it| it.bytes());
    // There is room for two of them.
    hub.view.clusters.limit = 2 * size + size / 2;
    for name in ["a", "b"] {
        see(&mut hub, cluster(name, "v1.31.0", true), true);
    }
    let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        hub.evaluate(&key).map(|it| it.names()),
        Some(names(&["a", "b"]))
    );

    see(&mut hub, cluster("c", "v1.31.0", true), false);
    let wanted = hub.view.evaluate(&key, hub.now).expect("a placement");
    assert_eq!(wanted.clusters, WantedClusters::Kept(names(&["a", "b"])));
    assert!(!wanted.is_unread, "the condition is written");
    let condition = wanted.conditions.satisfied;
    assert_eq!(condition.reason, "NotAllDecisionsScheduled");
    assert!(
        condition.message.contains("the limit of 0 MiB"),
        "{condition:?}"
    );
    assert!(
        !see(&mut hub, cluster("c", "v1.31.0", true), false),
        "it is the same"
    );
    assert!(!hub.view.takes_in());

    hub.view.remove(Kind::Cluster, "", "a", hub.now);
    assert!(hub.view.takes_in());
    assert!(!hub.view.takes_in(), "the list is on its way");
    see(&mut hub, cluster("b", "v1.31.0", true), true);
    assert!(see(&mut hub, cluster("c", "v1.31.0", true), true));
    assert!(!hub.view.takes_in());
    assert_eq!(selected(&hub, &key), Some(names(&["b", "c"])));

    // One that grows is left out, and an end of its growth takes it in.
    let long = "v".repeat(size);
    see(&mut hub, cluster("b", &long, true), false);
    assert!(matches!(
        hub.view.evaluate(&key, hub.now).map(|it| it.clusters),
        Some(WantedClusters::Kept(_))
    ));
    see(&mut hub, cluster("b", "v1.31.0", true), false);
    assert_eq!(selected(&hub, &key), Some(names(&["b", "c"])));

    hub.view.drop_objects();
    see(&mut hub, cluster("b", &long, true), false);
    assert_eq!(selected(&hub, &key), None, "c is not read");
}

#[test]
fn expressions_that_cost_too_much_keep_the_decisions_of_their_placement() {
    let (mut hub, key) = hub();
    for name in ["a", "b"] {
        see(&mut hub, cluster(name, "v1.31.0", true), true);
    }
    assert_eq!(hub.evaluate(&key).map(|it| it.names().len()), Some(2));
    let placement = json!({
        "metadata": {"namespace": "ns", "name": "p", "uid": "u", "resourceVersion": "2"},
        "spec": spec(&["[1, 2, 3, 4, 5, 6, 7, 8].all(it, it > 9)"]),
    });
    let placement = serde_json::from_value(placement).expect("a Placement");
    let settings = Settings {
        cel_budget: 10,
        on_fault: OnFault::Keep,
        ..Settings::default()
    };
    let fact = Fact::Placement(Box::new(PlacementFacts::new(placement, settings)));
    hub.view.apply(("ns", "p"), fact, hub.by(false));
    let wanted = hub.view.evaluate(&key, hub.now).expect("a placement");
    assert_eq!(
        wanted.clusters,
        WantedClusters::Kept(vec!["a".to_owned(), "b".to_owned()])
    );
    let condition = wanted.conditions.satisfied;
    assert_eq!(condition.reason, "NotAllDecisionsScheduled");
    assert!(condition.message.contains("cost too much"), "{condition:?}");
}

#[test]
fn what_changes_while_expressions_are_evaluated_is_evaluated_again() {
    let (mut hub, key) = hub();
    assert!(
        hub.view.unmatched(&key, &Known::default()).is_none(),
        "not read"
    );
    for name in ["a", "b"] {
        see(&mut hub, cluster(name, "v1.31.0", true), true);
    }
    let mut known = Known::default();
    let mut matches = |hub: &mut Hub, sentence: &str| {
        let matching = hub.view.unmatched(&key, &known);
        let names: Vec<_> = matching.iter().flat_map(|it| it.names()).collect();
        let names = names.join(" ");
        if let Some(matching) = matching {
            known.add(matching.run().0);
        }
        let wanted = hub.view.evaluate_kept(&key, &known, hub.now);
        let anew = hub.view.evaluate(&key, hub.now);
        assert_eq!(wanted.map(|it| (*it).clone()), anew, "{sentence}");
        names
    };
    assert_eq!(matches(&mut hub, "at first"), "a b");
    assert_eq!(matches(&mut hub, "nothing changes"), "");
    see(&mut hub, cluster("a", "v1.20.0", true), false);
    assert_eq!(matches(&mut hub, "an object"), "a");
    hub.apply(&Change::Scores("b".to_owned(), Some((1, None))));
    assert_eq!(matches(&mut hub, "scores"), "b");
    see(&mut hub, cluster("c", "v1.31.0", true), false);
    assert_eq!(matches(&mut hub, "another cluster"), "c");
    hub.apply(&Change::Cluster("c".to_owned(), None));
    assert_eq!(matches(&mut hub, "one is gone"), "");
    hub.apply(&Change::Placement(key.clone(), Some(spec(&["true"]))));
    assert_eq!(matches(&mut hub, "the spec"), "a b");
    hub.apply(&Change::Placement(
        key.clone(),
        Some(json!({"numberOfClusters": 1})),
    ));
    assert_eq!(matches(&mut hub, "a spec without expressions"), "");
}

#[test]
fn a_placement_that_waits_for_the_budget_of_its_namespace_keeps_its_decisions() {
    let (mut hub, key) = hub();
    for name in ["a", "b"] {
        see(&mut hub, cluster(name, "v1.31.0", true), true);
    }
    assert_eq!(hub.evaluate(&key).map(|it| it.names().len()), Some(2));
    hub.apply(&Change::Placement(key.clone(), Some(spec(&["false"]))));
    let until = hub.now + SignedDuration::from_secs(7);
    let wanted = hub
        .view
        .postpone(&key, hub.now, until)
        .expect("a placement");
    assert_eq!(
        wanted.clusters,
        WantedClusters::Kept(vec!["a".to_owned(), "b".to_owned()])
    );
    assert_eq!(wanted.next, Some(until));
    let condition = &wanted.conditions.satisfied;
    assert_eq!(
        (condition.status, condition.reason),
        ("False", "NotAllDecisionsScheduled")
    );
    assert!(
        condition
            .message
            .contains("limit of 100000000 steps in a minute, so this Placement waits;"),
        "{condition:?}"
    );
    assert_eq!(wanted.conditions.misconfigured.status, "False");
    // A mistake is reported at once.
    hub.apply(&Change::Placement(key.clone(), Some(spec(&["wrong("]))));
    let wanted = hub
        .view
        .postpone(&key, hub.now, until)
        .expect("a placement");
    assert_eq!(wanted.conditions.misconfigured.status, "True");
}
