//! What changes concern, and the graces.

use std::time::Duration;

use berth_api::Now;
use berth_api::plan::Action;
use serde_json::{Value, json};

use super::*;
use crate::kinds::watched;

/// Reads an object as the watch does.
fn fact(kind: Kind, object: &Value) -> Fact {
    let json = object.to_string();
    let item = berth_reconcile::Item::read(json.as_bytes()).unwrap();
    let mut rows = watched().into_iter();
    let (_, row) = rows.find(|(of, _)| *of == kind).unwrap();
    row.read(&item).unwrap()
}

pub(super) fn apply(view: &mut View, kind: Kind, at: (&str, &str), object: Value) -> Vec<Key> {
    view.apply(&place(at.0, at.1), fact(kind, &object))
}

fn add_on() -> Value {
    json!({
        "apiVersion": "addon.open-cluster-management.io/v1beta1", "kind": "ClusterManagementAddOn",
        "metadata": {"name": "a", "uid": "u", "resourceVersion": "1"},
        "spec": {"installStrategy": {"type": "Placements", "placements": [{"namespace": "n", "name": "p"}]}},
    })
}

/// As [`on`], with another condition.
fn reported(cluster: &str, version: &str) -> Value {
    let mut on = on(cluster, version);
    on["status"]["conditions"][0]["reason"] = json!("Other");
    on
}

fn on(cluster: &str, version: &str) -> Value {
    json!({
        "apiVersion": "addon.open-cluster-management.io/v1beta1", "kind": "ManagedClusterAddOn",
        "metadata": {
            "name": "a", "namespace": cluster, "uid": "m", "resourceVersion": version,
            "annotations": {"berth.open-cluster-management.io/installed-for": format!("u/{cluster}")},
            "ownerReferences": [{
                "apiVersion": "addon.open-cluster-management.io/v1beta1", "kind": "ClusterManagementAddOn", "name": "a",
                "uid": "u", "controller": true,
            }],
        },
        "spec": {},
        "status": {"conditions": [{
            "type": "Progressing", "status": "False", "reason": "WaitingForManifestApplied",
            "message": "Waiting for ManagedClusterAddOn ManifestApplied condition", "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]},
    })
}

fn placement(selected: usize) -> Value {
    json!({
        "metadata": {"name": "p", "namespace": "n"},
        "status": {"conditions": [{}], "numberOfSelectedClusters": selected},
    })
}

fn decision(clusters: &[&str]) -> Value {
    let decisions: Vec<_> = clusters
        .iter()
        .map(|it| json!({"clusterName": it}))
        .collect();
    json!({
        "metadata": {"name": "d", "labels": {"cluster.open-cluster-management.io/placement": "p"}},
        "status": {"decisions": decisions},
    })
}

/// An add-on on `c1`, which its placement selects.
pub(super) fn view() -> View {
    let mut view = View::new(Settings::default());
    apply(&mut view, Kind::AddOn, ("", "a"), add_on());
    apply(&mut view, Kind::OnCluster, ("c1", "a"), on("c1", "1"));
    apply(&mut view, Kind::Placement, ("n", "p"), placement(1));
    apply(&mut view, Kind::Decision, ("n", "d"), decision(&["c1"]));
    let cluster = json!({"metadata": {"name": "c1"}});
    apply(&mut view, Kind::Cluster, ("", "c1"), cluster);
    view
}

/// What is due for the add-on on `c1`, some seconds after the beginning.
fn due(view: &mut View, start: Instant, seconds: u64) -> String {
    let now = Now {
        wall: "2026-06-01T00:00:00Z".parse().unwrap(),
        instant: start + Duration::from_secs(seconds),
    };
    let Due::Plan(plan) = view.decide_on_cluster(&place("c1", "a"), now) else {
        panic!("there is no template");
    };
    let wait = plan
        .again
        .map(|it| it.duration_since(now.instant).as_secs());
    match &plan.writes[..] {
        [] => wait.map_or("nothing".to_owned(), |it| format!("wait {it}")),
        [write] => match write.action {
            Action::Create { .. } => "create".to_owned(),
            Action::Delete { .. } => "delete".to_owned(),
            _ => "update".to_owned(),
        },
        more => format!("{more:?}"),
    }
}

fn keys(keys: Vec<Key>) -> Vec<String> {
    let keys: BTreeSet<_> = keys.into_iter().collect();
    let shown = keys.into_iter().map(|it| match it {
        Key::AddOn(name) => name,
        Key::OnCluster((cluster, name)) => format!("{cluster}/{name}"),
        Key::Permissions(name) => format!("permissions of {name}"),
        Key::Request(name) => format!("request {name}"),
        Key::Tokens((cluster, name)) => format!("tokens of {cluster}/{name}"),
    });
    shown.collect()
}

#[test]
fn a_change_wakes_what_it_concerns() {
    let mut view = view();
    let work = |hash: &str| {
        json!({"metadata": {
            "name": "w", "namespace": "c1", "labels": {"open-cluster-management.io/addon-name": "a"},
            "annotations": {"open-cluster-management.io/config-spec-hash": json!({"x": hash}).to_string()},
        }})
    };
    let cluster = |value: Option<&str>| json!({"metadata": {"name": "c1", "annotations": {"addon.open-cluster-management.io/x": value, "y": "1"}}});
    for (sentence, kind, at, object, expected) in [
        (
            "the same Placement",
            Kind::Placement,
            ("n", "p"),
            placement(1),
            vec![],
        ),
        (
            "another count",
            Kind::Placement,
            ("n", "p"),
            placement(2),
            vec!["a", "c1/a"],
        ),
        (
            "another Placement",
            Kind::Placement,
            ("n", "q"),
            placement(2),
            vec![],
        ),
        (
            "the same decision",
            Kind::Decision,
            ("n", "d"),
            decision(&["c1"]),
            vec![],
        ),
        (
            "one more",
            Kind::Decision,
            ("n", "d"),
            decision(&["c1", "c2"]),
            vec!["a", "c1/a", "c2/a"],
        ),
        (
            "one leaves",
            Kind::Decision,
            ("n", "d"),
            decision(&["c2"]),
            vec!["a", "c1/a", "c2/a"],
        ),
        (
            "a new version only",
            Kind::OnCluster,
            ("c1", "a"),
            on("c1", "2"),
            vec![],
        ),
        (
            "a new object",
            Kind::OnCluster,
            ("c2", "a"),
            on("c2", "2"),
            vec!["a", "c2/a", "permissions of a"],
        ),
        (
            "another condition",
            Kind::OnCluster,
            ("c2", "a"),
            reported("c2", "3"),
            vec!["a", "c2/a"],
        ),
        ("a work", Kind::Work, ("c1", "w"), work("1"), vec!["c1/a"]),
        ("the same work", Kind::Work, ("c1", "w"), work("1"), vec![]),
        (
            "another hash",
            Kind::Work,
            ("c1", "w"),
            work("2"),
            vec!["c1/a"],
        ),
        (
            "another annotation",
            Kind::Cluster,
            ("", "c1"),
            cluster(None),
            vec![],
        ),
        (
            "an annotation of add-ons",
            Kind::Cluster,
            ("", "c1"),
            cluster(Some("1")),
            vec!["c1/a"],
        ),
    ] {
        let mut object = object;
        if object["metadata"]["annotations"]["addon.open-cluster-management.io/x"].is_null()
            && let Some(annotations) = object["metadata"]["annotations"].as_object_mut()
        {
            annotations.remove("addon.open-cluster-management.io/x");
        }
        let found = keys(apply(&mut view, kind, at, object));
        assert_eq!(found, expected, "{sentence}");
    }
    let mut of_status = add_on();
    of_status["status"] = json!({"installProgressions": [{"namespace": "n", "name": "p"}]});
    let found = keys(apply(&mut view, Kind::AddOn, ("", "a"), of_status));
    assert_eq!(found, ["a"], "nothing on a cluster depends on it");
    assert_eq!(
        keys(view.remove(Kind::Placement, &place("n", "p"))),
        ["a", "c1/a", "c2/a"]
    );
    assert_eq!(
        keys(view.remove(Kind::OnCluster, &place("c1", "a"))),
        ["a", "c1/a", "permissions of a"]
    );
    assert_eq!(
        keys(view.remove(Kind::AddOn, &place("", "a"))),
        ["a", "c2/a"]
    );
}

#[test]
fn a_new_hash_wakes_the_add_ons_with_a_template_that_name_the_config() {
    let mut view = view();
    let config = |value: &str| json!({"metadata": {"name": "x"}, "spec": {"a": value}});
    assert!(apply(&mut view, Kind::DeploymentConfig, ("n", "x"), config("1")).is_empty());
    let mut with_template = add_on();
    let group = "addon.open-cluster-management.io";
    with_template["metadata"]["name"] = json!("t");
    let template = |name: &str| json!({"group": group, "resource": "addontemplates", "name": name});
    let named = json!({"group": group, "resource": "addondeploymentconfigs", "namespace": "n", "name": "x"});
    with_template["spec"]["defaultConfigs"] = json!([template("x"), named]);
    apply(&mut view, Kind::AddOn, ("", "t"), with_template.clone());
    with_template["metadata"]["name"] = json!("other");
    with_template["spec"]["defaultConfigs"] = json!([template("y")]);
    apply(&mut view, Kind::AddOn, ("", "other"), with_template);
    for (value, expected) in [("1", vec![]), ("2", vec!["t"])] {
        let found = apply(&mut view, Kind::DeploymentConfig, ("n", "x"), config(value));
        assert_eq!(keys(found), expected);
    }
    assert_eq!(
        keys(view.remove(Kind::DeploymentConfig, &place("n", "x"))),
        ["t"]
    );
    assert_eq!(
        keys(apply(&mut view, Kind::Template, ("", "x"), config("1"))),
        ["t"]
    );
}

#[test]
fn the_grace_begins_when_the_cluster_is_not_selected_and_anew_after_any_doubt() {
    let (mut view, start) = (view(), Instant::now());
    assert_eq!(due(&mut view, start, 0), "nothing");
    apply(&mut view, Kind::Decision, ("n", "d"), decision(&[]));
    assert_eq!(
        due(&mut view, start, 100),
        "nothing",
        "the status still counts it"
    );
    apply(&mut view, Kind::Placement, ("n", "p"), placement(0));
    assert_eq!(due(&mut view, start, 100), "wait 15");
    assert_eq!(due(&mut view, start, 114), "wait 1");
    apply(&mut view, Kind::Placement, ("n", "p"), placement(1));
    assert_eq!(due(&mut view, start, 200), "nothing");
    apply(&mut view, Kind::Placement, ("n", "p"), placement(0));
    assert_eq!(due(&mut view, start, 200), "wait 15");
    // The hub was restored to an earlier state.
    view.begin_graces_anew();
    assert_eq!(due(&mut view, start, 300), "wait 15");
    // The Placement is deleted: another question, with a longer grace.
    view.remove(Kind::Placement, &place("n", "p"));
    assert_eq!(due(&mut view, start, 310), "wait 300");
    assert_eq!(due(&mut view, start, 609), "wait 1");
    apply(&mut view, Kind::Placement, ("n", "p"), placement(0));
    assert_eq!(
        due(&mut view, start, 610),
        "wait 15",
        "it is back, without the cluster"
    );
    assert_eq!(due(&mut view, start, 625), "delete");
}

#[test]
fn a_placement_without_a_status_deletes_nothing_and_one_that_is_paused_decides() {
    let (mut view, start) = (view(), Instant::now());
    apply(&mut view, Kind::Decision, ("n", "d"), decision(&[]));
    let new = json!({"metadata": {"name": "p", "namespace": "n"}});
    apply(&mut view, Kind::Placement, ("n", "p"), new);
    for seconds in [0, 100, 9_999] {
        assert_eq!(due(&mut view, start, seconds), "nothing");
    }
    let pause = "cluster.open-cluster-management.io/experimental-scheduling-disable";
    let paused =
        json!({"metadata": {"name": "p", "namespace": "n", "annotations": {pause: "true"}}});
    apply(&mut view, Kind::Placement, ("n", "p"), paused);
    assert_eq!(due(&mut view, start, 10_000), "wait 15");
    assert_eq!(due(&mut view, start, 10_015), "delete");
}

#[test]
fn what_cannot_be_read_deletes_nothing() {
    for (sentence, kind, at) in [
        (
            "a PlacementDecision of the namespace",
            Kind::Decision,
            ("n", "other"),
        ),
        ("the Placement", Kind::Placement, ("n", "p")),
        ("the add-on", Kind::AddOn, ("", "a")),
        ("the add-on on the cluster", Kind::OnCluster, ("c1", "a")),
    ] {
        let (mut view, start) = (view(), Instant::now());
        apply(&mut view, Kind::Decision, ("n", "d"), decision(&[]));
        apply(&mut view, Kind::Placement, ("n", "p"), placement(0));
        assert_eq!(due(&mut view, start, 0), "wait 15");
        view.unreadable(kind, place(at.0, at.1));
        assert_eq!(due(&mut view, start, 999), "nothing", "{sentence}");
    }
    let (mut view, start) = (view(), Instant::now());
    apply(&mut view, Kind::Decision, ("n", "d"), decision(&[]));
    apply(&mut view, Kind::Placement, ("n", "p"), placement(0));
    view.unreadable(Kind::Decision, place("n", "other"));
    assert_eq!(due(&mut view, start, 0), "nothing");
    let concerned = view.remove(Kind::Decision, &place("n", "other"));
    let expected = ["a", "c1/a", "permissions of a"];
    assert_eq!(keys(concerned), expected, "it is gone");
    assert_eq!(due(&mut view, start, 1), "wait 15");
}

#[test]
fn a_cluster_that_two_decisions_list_stays_when_one_of_them_goes() {
    let (mut view, start) = (view(), Instant::now());
    apply(&mut view, Kind::Decision, ("n", "e"), decision(&["c1"]));
    view.remove(Kind::Decision, &place("n", "d"));
    assert_eq!(due(&mut view, start, 999), "nothing");
    view.remove(Kind::OnCluster, &place("c1", "a"));
    assert_eq!(due(&mut view, start, 999), "create");
    view.remove(Kind::Cluster, &place("", "c1"));
    assert_eq!(
        due(&mut view, start, 999),
        "nothing",
        "the cluster does not exist"
    );
}
