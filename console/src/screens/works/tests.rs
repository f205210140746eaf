#![allow(clippy::unwrap_used, reason = "tests")]

use berth_reconcile::Item;
use serde_json::{Value, json};

use super::*;
use crate::live::{Fact, Store};

/// A store of these objects, as a watch fills it.
pub(crate) fn stored<F: Fact>(objects: &[Value]) -> Objects<F> {
    let mut store = Objects::default();
    for object in objects {
        let text = object.to_string();
        let item = Item::read(text.as_bytes()).unwrap();
        let key = format!("{}/{}", item.meta.namespace, item.meta.name);
        store.insert(&key, F::read(&item));
    }
    store
}

fn condition(type_: &str, status: &str, message: &str) -> Value {
    json!({
        "type": type_, "status": status, "reason": "R", "message": message, "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

/// A ManifestWork with one Deployment, whose condition Drifted has this message.
fn drifted(cluster: &str, name: &str, message: Option<&str>) -> Value {
    let mut of_object = vec![
        condition("Applied", "True", ""),
        condition("Available", "True", ""),
    ];
    of_object.extend(message.map(|it| condition("Drifted", "True", it)));
    json!({
        "metadata": {
            "name": name, "namespace": cluster, "generation": 1,
            "labels": {"work.open-cluster-management.io/manifestworkreplicaset": "team-a.web"},
        },
        "spec": {"workload": {"manifests": [{"kind": "Deployment"}]}},
        "status": {
            "conditions": [condition("Applied", "True", ""), condition("Available", "True", "")],
            "resourceStatus": {"manifests": [{
                "resourceMeta": {"group": "apps", "version": "v1", "kind": "Deployment", "resource": "deployments", "namespace": "shop", "name": "web"},
                "conditions": of_object,
                "statusFeedback": {"values": [
                    {"name": "ready", "fieldValue": {"type": "Integer", "integer": 3}},
                    {"name": "on", "fieldValue": {"type": "Boolean", "boolean": true}},
                ]},
            }]},
        },
    })
}

const REPLICAS: &str = "spec.replicas: prescribed 3, found 5 (written by kubectl-edit)";

fn searched(works: &Objects<WorkFact>, part: &str, state: &str) -> WorksAnswer {
    let search = Search {
        part: part.to_owned(),
        state: state.to_owned(),
    };
    super::works(
        Some(works),
        &Objects::default(),
        &search,
        Vec::new(),
        Timestamp::UNIX_EPOCH,
    )
}

#[test]
fn works_are_found_by_name_cluster_and_set_the_worst_first() {
    let works = stored::<WorkFact>(&[
        drifted("c1", "a", None),
        drifted("c1", "b", Some(REPLICAS)),
        drifted("c10", "a", None),
        json!({"metadata": {"name": "new", "namespace": "c2"}}),
        json!({"metadata": {"name": "broken", "namespace": "c3"}, "spec": 7}),
    ]);
    for (part, state, expected, total) in [
        (
            "",
            "",
            vec!["c3/broken", "c1/b", "c2/new", "c1/a", "c10/a"],
            5,
        ),
        ("c1/", "", vec!["c1/b", "c1/a"], 2),
        ("c1", "", vec!["c1/b", "c1/a", "c10/a"], 3),
        ("/a", "", vec!["c1/a", "c10/a"], 2),
        ("team-a/web", "", vec!["c1/b", "c1/a", "c10/a"], 3),
        ("", "drifted", vec!["c1/b"], 5),
        ("c1/", "asPrescribed", vec!["c1/a"], 2),
        ("none", "", vec![], 0),
    ] {
        let answer = searched(&works, part, state);
        let rows = answer.works.iter();
        let rows: Vec<_> = rows
            .map(|it| format!("{}/{}", it.cluster.as_str(), it.name.as_str()))
            .collect();
        assert_eq!(rows, expected, "{part:?} {state:?}");
        assert_eq!(answer.matched, rows.len());
        // The states are counted of all that the text matches.
        let counted: usize = answer.states.iter().map(|it| it.count).sum();
        assert_eq!((counted, answer.total), (total, 5), "{part:?} {state:?}");
    }
}

#[test]
fn the_same_difference_on_several_clusters_is_one_group() {
    let two = format!("{REPLICAS}; metadata.labels.a: not in the manifest, found \"x\"");
    let works = stored::<WorkFact>(&[
        drifted("c1", "a", Some(REPLICAS)),
        drifted("c1", "b", Some(&two)),
        drifted("c2", "a", Some("the rest was cut")),
        json!({"metadata": {"name": "new", "namespace": "c3"}}),
    ]);
    let answer = searched(&works, "", "");
    let groups = answer.differences.iter();
    let groups: Vec<_> = groups
        .map(|it| (it.what.as_str(), it.count, it.clusters))
        .collect();
    assert_eq!(
        groups,
        [
            ("deployments.apps: spec.replicas", 2, 1),
            ("deployments.apps", 1, 1),
            ("deployments.apps: metadata.labels.a", 1, 1),
            ("the whole ManifestWork", 1, 1),
        ]
    );
    let first = &answer.differences[0];
    assert_eq!(first.managers, [Text::line("kubectl-edit")]);
    assert_eq!(first.places[1].found.as_str(), "prescribed 3, found 5");
    let object = first.places[0].object.as_ref().map(Text::as_str);
    assert_eq!(object, Some("deployments.apps shop/web"));
}

#[test]
fn what_is_shown_of_works_is_bounded() {
    let works = (0..300).map(|at| {
        let field = format!("data.f{at}: prescribed 1, found 2");
        drifted(&format!("c{at}"), "a", Some(&field))
    });
    let works = stored::<WorkFact>(&works.collect::<Vec<_>>());
    let answer = searched(&works, "", "");
    assert_eq!((answer.works.len(), answer.matched), (MOST_ROWS, 300));
    assert_eq!(answer.differences.len(), MOST_GROUPS);
    assert_eq!(answer.more_differences, 300 - MOST_GROUPS);
    let same = (0..300).map(|at| drifted(&format!("c{at}"), "a", Some(REPLICAS)));
    let answer = searched(&stored(&same.collect::<Vec<_>>()), "", "");
    let group = &answer.differences[0];
    assert_eq!((group.places.len(), group.count), (MOST_PLACES, 300));
}

#[test]
fn an_object_of_a_work_is_shown_field_by_field() {
    let contested = format!("{REPLICAS}; another client changes it again and again");
    for (message, fields, why, is_contested) in [
        (REPLICAS, 1, "", false),
        (contested.as_str(), 1, "", true),
        ("something else", 0, "something else", false),
    ] {
        let all = stored::<WholeWork>(&[drifted("c1", "a", Some(message))]);
        let answer = super::work(all.get("c1/a").unwrap());
        assert_eq!(
            (answer.row.manifests, answer.row.state),
            (1, WorkCondition::Drifted)
        );
        let [object] = &answer.objects[..] else {
            panic!("{answer:?}")
        };
        assert_eq!(object.fields.len(), fields, "{message}");
        assert_eq!(object.wrong[0].why.as_str(), why);
        assert_eq!(object.contested, is_contested);
        assert_eq!(
            (object.applied.as_str(), object.available.as_str()),
            ("True", "True")
        );
        let values = object.values.iter();
        let values: Vec<_> = values.map(|it| it.value.as_str()).collect();
        assert_eq!(values, ["3", "true"]);
        if let Some(field) = object.fields.first() {
            let manager = field.manager.as_ref().map(Text::as_str);
            assert_eq!(manager, Some("kubectl-edit"));
            assert_eq!(field.found, Some(Text::line("5")));
        }
    }
}

#[test]
fn a_work_that_differs_says_that_it_is_held() {
    let held = condition("Held", "True", "held on the cluster");
    let note = "held on the cluster; at the cluster, berth work release a ends it";
    for (message, held, notes) in [
        (Some(REPLICAS), Some(&held), &[note][..]),
        // The state says it.
        (None, Some(&held), &[]),
        (Some(REPLICAS), Some(&condition("Held", "False", "")), &[]),
        (Some(REPLICAS), None, &[]),
    ] {
        let mut object = drifted("c1", "a", message);
        let conditions = object["status"]["conditions"].as_array_mut().unwrap();
        conditions.extend(held.cloned());
        let all = stored::<WholeWork>(&[object]);
        let answer = super::work(all.get("c1/a").unwrap());
        let found: Vec<_> = answer.notes.iter().map(Text::as_str).collect();
        assert_eq!(found, notes, "{held:?}");
    }
}
