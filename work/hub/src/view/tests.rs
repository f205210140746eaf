use berth_work_replicas::{Change, Decision};
use serde_json::{Value, json};

use super::*;
use crate::kinds::watched;
use crate::settings::Settings;

fn at(namespace: &str, name: &str) -> Place {
    place(namespace, name)
}

/// Reads an object as the watch does.
fn fact(kind: Kind, object: &Value) -> Fact {
    let json = object.to_string();
    let item = berth_reconcile::Item::read(json.as_bytes()).unwrap();
    let all = Settings {
        replica_sets: true,
        clean_up: true,
    };
    let mut rows = watched(all).into_iter();
    let (_, row) = rows.find(|(of, _)| *of == kind).unwrap();
    row.read(&item).unwrap()
}

fn set(placements: &[&str]) -> Value {
    let refs: Vec<_> = placements.iter().map(|it| json!({"name": it})).collect();
    json!({
        "metadata": {
            "name": "a", "namespace": "ns", "uid": "s",
            "finalizers": ["work.open-cluster-management.io/manifest-work-cleanup"],
        },
        "spec": {"placementRefs": refs, "manifestWorkTemplate": {"workload": {"manifests": [1]}}},
    })
}

fn work(set: &str, manifests: Value) -> Value {
    json!({
        "metadata": {
            "name": "w", "namespace": "c1", "uid": "w",
            "labels": {
                "work.open-cluster-management.io/manifestworkreplicaset": set,
                "work.open-cluster-management.io/placementname": "p",
            },
        },
        "spec": {"workload": {"manifests": manifests}},
    })
}

fn decision(placement: &str, group: &str, clusters: &[&str]) -> Value {
    let clusters: Vec<_> = clusters
        .iter()
        .map(|it| json!({"clusterName": it}))
        .collect();
    json!({
        "metadata": {"name": "d", "namespace": "ns", "labels": {
            "cluster.open-cluster-management.io/placement": placement,
            "cluster.open-cluster-management.io/decision-group-index": "1",
            "cluster.open-cluster-management.io/decision-group-name": group,
        }},
        "status": {"decisions": clusters},
    })
}

fn placement() -> Value {
    json!({"metadata": {"name": "p", "namespace": "ns"}, "status": {"conditions": [{}]}})
}

/// A view of the replica set of the placement `p`, which selects `c1`.
fn view() -> View {
    let mut view = View::default();
    view.apply(at("ns", "a"), fact(Kind::Set, &set(&["p"])));
    view.apply(at("ns", "p"), fact(Kind::Placement, &placement()));
    let decided = decision("p", "g", &["c1"]);
    view.apply(at("ns", "d"), fact(Kind::Decision, &decided));
    view
}

/// What is due for the replica set.
fn due(view: &View) -> Vec<String> {
    let shown = |_: &ReplicaSet, decision: Decision<'_>| {
        let changes = decision.changes.iter().map(|it| match it {
            Change::Create { cluster, name, .. } => format!("create {cluster}/{name}"),
            Change::Update { work, .. } => format!("update {}/{}", work.cluster, work.name),
            Change::Delete { work, .. } => format!("delete {}/{}", work.cluster, work.name),
            other => format!("{other:?}"),
        });
        changes.collect()
    };
    let due = view.decide(&at("ns", "a"), &[], Timestamp::UNIX_EPOCH, shown);
    due.unwrap_or_default()
}

#[test]
fn a_change_wakes_the_replica_sets_that_it_concerns() {
    let key = Key::Set(at("ns", "a"));
    let other = Key::Set(at("ns", "b"));
    let mut view = view();
    for (kind, name, object, expected) in [
        (Kind::Placement, ("ns", "p"), placement(), vec![]),
        (
            Kind::Placement,
            ("ns", "p"),
            json!({"metadata": {"name": "p"}, "status": {"conditions": [{}], "numberOfSelectedClusters": 2}}),
            vec![key.clone()],
        ),
        (Kind::Placement, ("ns", "q"), placement(), vec![]),
        (Kind::Placement, ("other", "p"), placement(), vec![]),
        (
            Kind::Decision,
            ("ns", "d"),
            decision("p", "g", &["c1"]),
            vec![],
        ),
        (
            Kind::Decision,
            ("ns", "d"),
            decision("p", "h", &["c1"]),
            vec![key.clone()],
        ),
        (
            Kind::Decision,
            ("ns", "d"),
            decision("q", "h", &["c1"]),
            vec![key.clone()],
        ),
        (Kind::Decision, ("ns", "d"), decision("q", "h", &[]), vec![]),
        (
            Kind::Work,
            ("c1", "w"),
            work("ns.a", json!([1])),
            vec![key.clone()],
        ),
        (
            Kind::Work,
            ("c1", "w"),
            work("ns.b", json!([1])),
            vec![key.clone(), other.clone()],
        ),
    ] {
        let concerned = view.apply(at(name.0, name.1), fact(kind, &object));
        assert_eq!(concerned, expected, "{kind:?} {object}");
    }
    assert_eq!(view.remove(Kind::Work, &at("c1", "w")), [other]);
    assert_eq!(view.remove(Kind::Placement, &at("ns", "p")), [key]);
}

#[test]
fn a_decision_is_made_of_all_kinds() {
    let mut view = view();
    assert_eq!(due(&view), ["create c1/a"]);
    let stored = work("ns.a", json!([1]));
    view.apply(at("c1", "w"), fact(Kind::Work, &stored));
    assert!(due(&view).is_empty());
    view.remove(Kind::Decision, &at("ns", "d"));
    assert_eq!(due(&view), ["delete c1/w"]);
    view.remove(Kind::Set, &at("ns", "a"));
    assert!(due(&view).is_empty());
}

/// The placement controller creates PlacementDecisions, fills them, and writes the status of the Placement last.
#[test]
fn works_stay_while_a_placement_that_was_created_again_is_evaluated() {
    let at = at("ns", "p");
    for (sentence, placement, empty, gone) in [
        ("evaluated", json!({"conditions": [{}]}), true, true),
        (
            "evaluated by OCM before it wrote conditions",
            json!({"numberOfSelectedClusters": 1}),
            true,
            false,
        ),
        ("created again, no decisions", Value::Null, false, false),
        (
            "created again, decisions without clusters",
            Value::Null,
            true,
            false,
        ),
    ] {
        for paused in [false, true] {
            let mut view = view();
            let stored = work("ns.a", json!([1]));
            view.apply(super::place("c1", "w"), fact(Kind::Work, &stored));
            let annotations = paused.then(|| json!({"cluster.open-cluster-management.io/experimental-scheduling-disable": "true"}));
            let placement = json!({
                "metadata": {"name": "p", "namespace": "ns", "annotations": annotations},
                "status": placement,
            });
            view.apply(at.clone(), fact(Kind::Placement, &placement));
            if empty {
                view.apply(
                    super::place("ns", "d"),
                    fact(Kind::Decision, &decision("p", "g", &[])),
                );
            } else {
                view.remove(Kind::Decision, &super::place("ns", "d"));
            }
            // The decisions of a paused placement are those of another client, which writes no status.
            let goes = gone || paused && empty;
            let expected: &[&str] = if goes { &["delete c1/w"] } else { &[] };
            assert_eq!(due(&view), expected, "{sentence}, paused: {paused}");
        }
    }
}

/// Another client shortens a PlacementDecision. The status of a paused placement is from before the pause.
#[test]
fn a_paused_placement_selects_what_its_decisions_list_whatever_its_status_counts() {
    for (sentence, paused, listed, goes) in [
        ("as many as counted", "true", Some(vec!["c1", "c2"]), false),
        ("shortened", "true", Some(vec!["c2"]), true),
        ("emptied", "true", Some(vec![]), true),
        ("no PlacementDecision: nobody says so", "true", None, false),
        ("half-written", "false", Some(vec!["c2"]), false),
        ("emptied, not paused", "false", Some(vec![]), false),
    ] {
        let mut view = view();
        let stored = work("ns.a", json!([1]));
        view.apply(at("c1", "w"), fact(Kind::Work, &stored));
        let placement = json!({
            "metadata": {"name": "p", "namespace": "ns", "annotations": {
                "cluster.open-cluster-management.io/experimental-scheduling-disable": paused,
            }},
            "status": {"conditions": [{}], "numberOfSelectedClusters": 2},
        });
        view.apply(at("ns", "p"), fact(Kind::Placement, &placement));
        match listed {
            Some(listed) => {
                let decided = decision("p", "g", &listed);
                view.apply(at("ns", "d"), fact(Kind::Decision, &decided));
            }
            None => drop(view.remove(Kind::Decision, &at("ns", "d"))),
        }
        let due = due(&view);
        assert_eq!(
            due.contains(&"delete c1/w".to_owned()),
            goes,
            "{sentence}: {due:?}"
        );
    }
}

#[test]
fn a_taken_name_is_remembered_until_the_replica_set_is_gone() {
    let mut view = view();
    view.take(&at("ns", "a"), "c1");
    let made = due(&view);
    assert!(made[0].starts_with("create c1/a-"), "{made:?}");
    view.remove(Kind::Set, &at("ns", "a"));
    view.apply(at("ns", "a"), fact(Kind::Set, &set(&["p"])));
    assert_eq!(due(&view), ["create c1/a"]);
}

/// CRDs of different versions: the API server drops fields of the template when it stores the ManifestWork.
#[test]
fn a_work_that_is_stored_otherwise_than_it_was_written_is_not_written_again() {
    let mut view = view();
    let template = match fact(Kind::Set, &set(&["p"])) {
        Fact::Set(set) => set.template.digest(),
        other => panic!("{other:?}"),
    };
    let stored = |manifests| fact(Kind::Work, &work("ns.a", manifests));
    view.apply(at("c1", "w"), stored(json!([2])));
    assert_eq!(due(&view), ["update c1/w"]);
    view.written(&at("ns", "a"), &at("c1", "w"), template);
    assert!(due(&view).is_empty());
    // A status of the agent.
    view.apply(at("c1", "w"), stored(json!([2])));
    assert!(due(&view).is_empty());
    view.apply(at("c1", "w"), stored(json!([3])));
    assert_eq!(due(&view), ["update c1/w"]);
}

#[test]
fn works_that_are_done_have_keys_of_their_own() {
    let mut view = View::default();
    let done = |status: &str| {
        json!({
            "metadata": {"name": "w", "namespace": "c1"},
            "spec": {"deleteOption": {"ttlSecondsAfterFinished": 0}},
            "status": {"conditions": [{"type": "Complete", "status": status}]},
        })
    };
    let key = Key::Finished(at("c1", "w"));
    let concerned = view.apply(at("c1", "w"), fact(Kind::Work, &done("True")));
    assert_eq!((concerned, view.all()), (vec![key.clone()], vec![key]));
    let concerned = view.apply(at("c1", "w"), fact(Kind::Work, &done("False")));
    assert!(concerned.is_empty() && view.all().is_empty());
}
