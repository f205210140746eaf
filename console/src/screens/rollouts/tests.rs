#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::{Value, json};

use super::*;
use crate::screens::works::stored;

const NOW: &str = "2026-01-01T00:10:00Z";

fn condition(type_: &str, status: &str, since: &str) -> Value {
    json!({
        "type": type_, "status": status, "reason": "R", "message": "", "observedGeneration": 1,
        "lastTransitionTime": format!("2026-01-01T00:{since}:00Z"),
    })
}

/// A ManifestWork of the replica set, with this template.
fn work(cluster: &str, template: &Value, conditions: &[Value]) -> Value {
    json!({
        "metadata": {
            "name": "web", "namespace": cluster, "generation": 1,
            "labels": {
                "work.open-cluster-management.io/manifestworkreplicaset": "team-a.web",
                "work.open-cluster-management.io/placementname": "app",
            },
        },
        "spec": template,
        "status": {"conditions": conditions},
    })
}

fn template(image: &str) -> Value {
    json!({"workload": {"manifests": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": image}}]}})
}

fn set(annotations: &Value, conditions: &[Value]) -> Value {
    let progressive = json!({
        "maxConcurrency": "50%", "minSuccessTime": "5m", "progressDeadline": "8m", "maxFailures": 1,
    });
    json!({
        "metadata": {"name": "web", "namespace": "team-a", "annotations": annotations},
        "spec": {
            "placementRefs": [{"name": "app", "rolloutStrategy": {"type": "Progressive", "progressive": progressive}}],
            "manifestWorkTemplate": template("new"),
        },
        "status": {
            "conditions": conditions,
            "placementSummary": [{"name": "app", "availableDecisionGroups": "1 (7 / 9 clusters applied)", "summary": {"total": 7, "available": 5}}],
        },
    })
}

fn decision(clusters: &[&str]) -> Value {
    let decisions = clusters
        .iter()
        .map(|it| json!({"clusterName": it, "reason": ""}));
    json!({
        "metadata": {"name": "app-1", "namespace": "team-a", "labels": {"cluster.open-cluster-management.io/placement": "app"}},
        "status": {"decisions": decisions.collect::<Vec<_>>()},
    })
}

/// One cluster in each stage.
fn works() -> Vec<Value> {
    let applied = |since| condition("Applied", "True", since);
    let on = |status, since| condition("Progressing", status, since);
    vec![
        work(
            "done",
            &template("new"),
            &[applied("01"), on("False", "02")],
        ),
        work(
            "soaks",
            &template("new"),
            &[applied("01"), on("False", "08")],
        ),
        work(
            "works",
            &template("new"),
            &[applied("07"), on("True", "07")],
        ),
        work("late", &template("new"), &[applied("01"), on("True", "01")]),
        work(
            "fails",
            &template("new"),
            &[
                applied("07"),
                on("True", "07"),
                condition("Degraded", "True", "07"),
            ],
        ),
        work("old", &template("old"), &[applied("01"), on("False", "01")]),
        work(
            "gone",
            &template("new"),
            &[applied("01"), on("False", "02")],
        ),
    ]
}

fn answer(set: &Value, works: &[Value], decided: Option<&[Value]>) -> ReplicaSetAnswer {
    answer_of(set, Some(works), decided)
}

fn answer_of(set: &Value, works: Option<&[Value]>, decided: Option<&[Value]>) -> ReplicaSetAnswer {
    let sets = stored::<RolloutFact>(std::slice::from_ref(set));
    let works = works.map(stored::<WorkFact>);
    let decided = decided.map(stored::<DecidedFact>);
    let whole = Whole {
        set: sets.get("team-a/web").unwrap(),
        works: works.as_ref(),
        decided: decided.as_ref(),
        missing: None,
        read_only: false,
        notes: Vec::new(),
    };
    whole.answer(NOW.parse().unwrap())
}

fn stages(answer: &ReplicaSetAnswer) -> Vec<(Stage, usize, Vec<&str>)> {
    let folds = answer.placements[0].folds.iter();
    let each = folds.map(|it| {
        let names = it.clusters.iter().map(|it| it.cluster.as_str());
        (it.stage, it.count, names.collect())
    });
    each.collect()
}

#[test]
fn each_cluster_is_in_the_stage_that_the_rollout_gives_it() {
    let selected = ["done", "soaks", "works", "late", "fails", "old", "next"];
    let decided = [decision(&selected)];
    let found = answer(&set(&json!({}), &[]), &works(), Some(&decided));
    assert_eq!(
        stages(&found),
        [
            (Stage::Failed, 1, vec!["fails"]),
            (Stage::TimedOut, 1, vec!["late"]),
            (Stage::Working, 1, vec!["works"]),
            (Stage::Soaking, 1, vec!["soaks"]),
            (Stage::Waiting, 2, vec!["next", "old"]),
            (Stage::Leaving, 1, vec!["gone"]),
            (Stage::Done, 1, vec!["done"]),
        ]
    );
    let soaks = &found.placements[0].folds[3].clusters[0];
    assert_eq!(soaks.until, Some("2026-01-01T00:13:00Z".parse().unwrap()));
    assert_eq!(soaks.work, Some(Text::line("web")));
    let stage = &found.placements[0].stage;
    assert_eq!(stage.next, soaks.until);
    let strategy: Vec<_> = stage.strategy.iter().map(Text::as_str).collect();
    assert_eq!(
        strategy,
        [
            "at most 50% of the clusters at a time",
            "each must work for 5m",
            "each may take 8m",
            "1 may fail"
        ]
    );
}

#[test]
fn without_decisions_clusters_that_wait_are_counted() {
    let found = answer(&set(&json!({}), &[]), &works(), None);
    let waiting = stages(&found);
    let waiting = waiting.iter().find(|it| it.0 == Stage::Waiting).unwrap();
    // Nine are selected, seven have a ManifestWork, one of them an old one.
    assert_eq!(waiting, &(Stage::Waiting, 3, vec!["old"]));
}

#[test]
fn without_works_the_numbers_of_the_status_are_shown() {
    let decided = [decision(&["c1"])];
    let found = answer_of(&set(&json!({}), &[]), None, Some(&decided));
    assert_eq!(stages(&found), []);
    let reported = found.placements[0].stage.reported.clone().unwrap();
    assert_eq!((reported.total, reported.available), (7, 5));
    let found = answer_of(&set(&json!({}), &[]), Some(&[]), Some(&decided));
    assert_eq!(found.placements[0].stage.reported, None);
}

#[test]
fn the_state_of_a_set_has_its_actions() {
    let paused = json!({"berth.open-cluster-management.io/rollout-paused": "disks"});
    let none = json!({});
    let pending = condition("ApprovalPending", "True", "01");
    let mut failing = condition("ManifestworkApplied", "False", "01");
    failing["reason"] = json!("NotAsExpected");
    for (annotations, conditions, expected) in [
        (&none, vec![], vec![Act::Pause]),
        (&paused, vec![], vec![Act::Resume]),
        (&none, vec![pending.clone()], vec![Act::Approve, Act::Pause]),
        (
            &none,
            vec![pending.clone(), failing],
            vec![Act::Approve, Act::Pause],
        ),
        // An approved step would be held back.
        (&paused, vec![pending], vec![Act::Resume]),
    ] {
        let found = answer(&set(annotations, &conditions), &[], None);
        let acts: Vec<_> = found.actions.iter().map(|it| it.act).collect();
        assert_eq!(acts, expected, "{annotations}");
    }
}

#[test]
fn the_clusters_of_a_stage_are_bounded() {
    let names: Vec<String> = (0..300).map(|at| format!("c{at}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let found = answer(&set(&json!({}), &[]), &[], Some(&[decision(&names)]));
    let fold = &found.placements[0].folds[0];
    assert_eq!((fold.count, fold.clusters.len()), (300, MOST_CLUSTERS));
}
