//! Which placements a change wakes, and which it does not.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Change, Hub};
use crate::view::Key;
use crate::wanted::WantedClusters;

/// Two clusters in a set `all` that is bound to the namespaces `a` and `b`, with a placement `p` of this spec in `a`.
fn hub(spec: Value) -> Hub {
    let mut hub = Hub::new();
    let everything = json!({"selectorType": "LabelSelector", "labelSelector": {}});
    hub.apply(&Change::Set("all".to_owned(), Some(everything)));
    for namespace in ["a", "b"] {
        hub.apply(&Change::Binding(
            namespace.to_owned(),
            "all".to_owned(),
            true,
        ));
    }
    for name in ["c0", "c1"] {
        hub.apply(&cluster(name, json!({})));
    }
    hub.apply(&Change::Placement(Key::new("a", "p"), Some(spec)));
    hub
}

fn cluster(name: &str, cluster: Value) -> Change {
    let mut whole = json!({"metadata": {}});
    if let (Some(whole), Value::Object(cluster)) = (whole.as_object_mut(), cluster) {
        whole.extend(cluster);
    }
    Change::Cluster(name.to_owned(), Some(whole))
}

#[test]
fn a_change_of_a_cluster_wakes_those_that_read_it() {
    let taint = |effect| json!({"spec": {"taints": [{"key": "k", "effect": effect}]}});
    let label = || json!({"metadata": {"labels": {"region": "eu"}}});
    let claim = || json!({"status": {"clusterClaims": [{"name": "region", "value": "eu"}]}});
    let cpu = || json!({"status": {"allocatable": {"cpu": "1"}, "capacity": {"cpu": "1"}}});
    let predicate = |selector: &str| {
        let expression = json!({"matchExpressions": [{"key": "region", "operator": "Exists"}]});
        json!({"predicates": [{"requiredClusterSelector": {selector: expression}}]})
    };
    let group = || {
        let selector = json!({"labelSelector": {"matchLabels": {"region": "eu"}}});
        let groups = json!([{"groupName": "eu", "groupClusterSelector": selector}]);
        json!({"decisionStrategy": {"groupStrategy": {"decisionGroups": groups}}})
    };
    let scorer = |weight: i32| {
        let coordinate = json!({"type": "BuiltIn", "builtIn": "ResourceAllocatableCPU"});
        let configuration = json!({"scoreCoordinate": coordinate, "weight": weight});
        json!({"prioritizerPolicy": {"configurations": [configuration]}})
    };
    for (sentence, spec, change, wakes) in [
        ("nothing", json!({}), json!({}), false),
        (
            "a condition",
            json!({}),
            json!({"status": {"conditions": []}}),
            false,
        ),
        ("a label that is not read", json!({}), label(), false),
        (
            "a label that a predicate reads",
            predicate("labelSelector"),
            label(),
            true,
        ),
        (
            "a label where claims are read",
            predicate("claimSelector"),
            label(),
            false,
        ),
        (
            "a claim that a predicate reads",
            predicate("claimSelector"),
            claim(),
            true,
        ),
        ("a label that a group reads", group(), label(), true),
        ("a claim where labels are read", group(), claim(), false),
        ("a taint", json!({}), taint("NoSelect"), true),
        (
            "a taint without effect",
            json!({}),
            taint("PreferNoSelect"),
            false,
        ),
        (
            "a tolerated taint",
            json!({"tolerations": [{"operator": "Exists"}]}),
            taint("NoSelect"),
            false,
        ),
        (
            "a taint that is tolerated for a time",
            json!({"tolerations": [{"operator": "Exists", "tolerationSeconds": 9}]}),
            json!({"spec": {"taints": [{"key": "k", "effect": "NoSelect", "timeAdded": "2026-08-11T12:00:00Z"}]}}),
            true,
        ),
        ("an amount that is not read", json!({}), cpu(), false),
        ("an amount that is read", scorer(1), cpu(), true),
        ("an amount without weight", scorer(0), cpu(), false),
        (
            "its deletion",
            json!({}),
            json!({"metadata": {"deletionTimestamp": "2026-08-11T12:00:00Z"}}),
            true,
        ),
    ] {
        let mut hub = hub(spec);
        let woken = hub.apply(&cluster("c0", change));
        let expected = if wakes {
            vec![Key::new("a", "p")]
        } else {
            Vec::new()
        };
        assert_eq!(
            woken.into_iter().collect::<Vec<_>>(),
            expected,
            "{sentence}"
        );
    }
}

#[test]
fn sets_and_bindings_wake_those_that_may_select_from_them() {
    let mut hub = hub(json!({}));
    let names_all = json!({"clusterSets": ["all"]});
    let names_other = json!({"clusterSets": ["other"]});
    hub.apply(&Change::Placement(Key::new("b", "all"), Some(names_all)));
    hub.apply(&Change::Placement(
        Key::new("b", "other"),
        Some(names_other),
    ));
    hub.apply(&Change::Placement(
        Key::new("c", "unbound"),
        Some(json!({})),
    ));
    let woken = |keys: BTreeSet<Key>| {
        let keys = keys.into_iter();
        keys.map(|key| format!("{}/{}", key.namespace, key.name))
            .collect::<Vec<_>>()
    };
    let none: [&str; 0] = [];
    let by_label = json!({"selectorType": "ExclusiveClusterSetLabel"});
    for (sentence, change, expected) in [
        (
            "a cluster comes",
            cluster("c2", json!({})),
            &["a/p", "b/all"][..],
        ),
        (
            "a cluster goes",
            Change::Cluster("c2".to_owned(), None),
            &["a/p", "b/all"],
        ),
        (
            "an unbound set",
            Change::Set("other".to_owned(), Some(by_label.clone())),
            &none,
        ),
        (
            "its binding",
            Change::Binding("b".to_owned(), "other".to_owned(), true),
            &["b/all", "b/other"],
        ),
        (
            "a set loses all",
            Change::Set("all".to_owned(), Some(by_label)),
            &["a/p", "b/all"],
        ),
        (
            "a binding goes",
            Change::Binding("a".to_owned(), "all".to_owned(), false),
            &["a/p"],
        ),
        (
            "a set goes",
            Change::Set("all".to_owned(), None),
            &["b/all", "b/other"],
        ),
        (
            "decisions of others",
            Change::Foreign(vec!["c0".to_owned()]),
            &none,
        ),
    ] {
        assert_eq!(woken(hub.apply(&change)), expected, "{sentence}");
    }
}

#[test]
fn while_decisions_are_written_they_count_for_other_placements() {
    let mut hub = hub(json!({"numberOfClusters": 1}));
    let (p, q) = (Key::new("a", "p"), Key::new("b", "q"));
    hub.apply(&Change::Placement(
        q.clone(),
        Some(json!({"numberOfClusters": 1})),
    ));
    let names = |hub: &Hub, key| hub.view.evaluate(key, hub.now).map(|it| it.names());
    assert_eq!(names(&hub, &p), Some(vec!["c0".to_owned()]));
    assert_eq!(names(&hub, &q), Some(vec!["c0".to_owned()]));
    let wanted = WantedClusters::Kept(vec!["c0".to_owned()]);
    hub.view.writes(&p, &wanted);
    assert_eq!(names(&hub, &q), Some(vec!["c1".to_owned()]));
    assert_eq!(
        names(&hub, &p),
        Some(vec!["c0".to_owned()]),
        "its own do not count"
    );
    hub.view.written(&p);
    assert_eq!(
        names(&hub, &q),
        Some(vec!["c0".to_owned()]),
        "they were not written"
    );
}

#[test]
fn scores_that_are_kept_follow_the_most_decisions_that_any_cluster_has() {
    let mut hub = hub(json!({"numberOfClusters": 2}));
    let p = Key::new("a", "p");
    let names = |text: &str| text.split(' ').map(str::to_owned).collect();
    for listed in ["c0", "c0 c1 c1", "c0 c0 c0 c1"] {
        hub.apply(&Change::Foreign(names(listed)));
        let [kept, anew] = hub.view.evaluate_both(&p, hub.now);
        assert!(kept.as_ref().is_some_and(|(_, scores)| scores.is_some()));
        assert_eq!(kept, anew, "{listed}");
    }
}
