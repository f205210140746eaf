//! In which steps ManifestWorks get the template, and what their conditions mean.

use serde_json::{Value, json};

use crate::bench::Hub;

fn progressive(settings: Value) -> Value {
    json!({"type": "Progressive", "progressive": settings})
}

fn hub(strategy: &Value, clusters: &[&str]) -> Hub {
    let mut hub = Hub::new(&["p"], strategy);
    hub.select("p", clusters);
    hub.settle();
    hub
}

/// Conditions of a ManifestWork, whether the next cluster follows, and whether the rollout counts the cluster as succeeded.
#[test]
fn conditions_decide_about_the_next_cluster() {
    for (sentence, conditions, follows) in [
        ("not reported", "", false),
        ("not applied", "A- V-", false),
        (
            "applied, and nothing says that it progresses",
            "A+ V+",
            true,
        ),
        ("applied, and not available", "A+ V-", false),
        ("applied, availability unknown", "A+ V?", false),
        ("progressing", "A+ V+ P+", false),
        ("it is unknown whether it progresses", "A+ V+ P?", false),
        ("progressed", "A+ V+ P-", true),
        ("progressed, not available", "A+ V- P-", true),
        ("progressing and degraded", "A+ V+ P+ D+", false),
        ("progressed and degraded", "A+ V+ P- D+", false),
        (
            "degraded, and nothing says that it progresses",
            "A+ V+ D+",
            false,
        ),
        ("progressed, not degraded", "A+ V+ P- D-", true),
        ("progressed, not applied", "A- V+ P-", false),
    ] {
        let mut hub = hub(&progressive(json!({"maxConcurrency": 1})), &["c1", "c2"]);
        hub.report("c1", conditions);
        hub.settle();
        let expected = if follows { "c1 c2" } else { "c1" };
        assert_eq!(hub.current(), expected, "{sentence}");
        let said = hub.condition("PlacementRolledOut");
        let count = usize::from(follows);
        assert!(
            said.starts_with(&format!(
                "False Progressing: {count} of 2 clusters have succeeded"
            )),
            "{sentence}: {said}"
        );
    }
}

/// OCM's agent evaluates rules some seconds after it applied the objects.
#[test]
fn a_template_with_a_rule_for_progressing_waits_for_its_condition() {
    let mut hub = Hub::new(&["p"], &progressive(json!({"maxConcurrency": 1})));
    hub.set["spec"]["manifestWorkTemplate"]["manifestConfigs"] = json!([{
        "resourceIdentifier": {"group": "", "resource": "configmaps", "name": "*", "namespace": "*"},
        "conditionRules": [{"condition": "Progressing", "type": "CEL", "celExpressions": ["false"]}],
    }]);
    hub.select("p", &["c1", "c2"]);
    hub.settle();
    hub.report("c1", "A+ V+");
    hub.settle();
    assert_eq!(hub.current(), "c1");
    hub.report("c1", "A+ V+ P-");
    hub.settle();
    assert_eq!(hub.current(), "c1 c2");
}

#[test]
fn conditions_of_an_earlier_template_do_not_count() {
    let mut hub = hub(&progressive(json!({"maxConcurrency": 1})), &["c1", "c2"]);
    for cluster in ["c1", "c2"] {
        hub.report(cluster, "A+ V+ P-");
        hub.settle();
    }
    assert_eq!(
        hub.condition("PlacementRolledOut"),
        "True Complete: 2 of 2 clusters have succeeded"
    );
    hub.template(2);
    hub.settle();
    assert_eq!(hub.current(), "c1");
    assert_eq!(
        hub.condition("PlacementRolledOut"),
        "False Progressing: 0 of 2 clusters have succeeded"
    );
    hub.report("c1", "A+ V+ P-");
    hub.settle();
    assert_eq!(hub.current(), "c1 c2");
}

#[test]
fn at_most_max_concurrency_clusters_are_changed_at_the_same_time() {
    let clusters = ["c1", "c2", "c3", "c4", "c5", "c6"];
    let mut hub = hub(&progressive(json!({"maxConcurrency": 2})), &clusters);
    assert_eq!(hub.current(), "c1 c2");
    for (reported, expected) in [
        (["c1", "c2"], "c1 c2 c3 c4"),
        (["c3", "c4"], "c1 c2 c3 c4 c5 c6"),
        (["c5", "c6"], "c1 c2 c3 c4 c5 c6"),
    ] {
        for cluster in reported {
            hub.report(cluster, "A+ V+ P-");
        }
        hub.settle();
        assert_eq!(hub.current(), expected);
    }
    assert!(
        hub.condition("PlacementRolledOut")
            .starts_with("True Complete: 6 of 6")
    );
}

#[test]
fn more_failures_than_allowed_stop_the_rollout() {
    let settings = json!({"maxConcurrency": 2, "maxFailures": 1});
    let mut hub = hub(&progressive(settings), &["c1", "c2", "c3", "c4"]);
    for cluster in ["c1", "c2"] {
        hub.report(cluster, "A+ V+ P+ D+");
    }
    hub.settle();
    assert_eq!(hub.current(), "c1 c2");
    assert_eq!(
        hub.condition("PlacementRolledOut"),
        "False Progressing: 0 of 4 clusters have succeeded; the rollout of placement p has stopped, since more clusters have failed or \
         timed out than its strategy allows: c1, c2"
    );
}

/// An agent keeps the time of a condition whose status is the same as with the earlier template.
#[test]
fn times_begin_with_the_template() {
    let settings = json!({"maxConcurrency": 1, "minSuccessTime": "10m", "progressDeadline": "30m"});
    let mut hub = hub(&progressive(settings), &["c1", "c2"]);
    hub.report("c1", "A+ V+ P-");
    hub.settle();
    hub.after(600);
    hub.settle();
    hub.report("c2", "A+ V+ P-");
    hub.after(3600);
    hub.settle();
    hub.template(2);
    hub.settle();
    assert_eq!(hub.current(), "c1");
    hub.report("c1", "A+ V+ P-");
    hub.after(599);
    hub.settle();
    assert_eq!(hub.current(), "c1", "the soak began with the template");
    hub.after(1);
    hub.settle();
    assert_eq!(hub.current(), "c1 c2");
    // It is stuck, for longer than the deadline.
    hub.report("c2", "A+ V+ P+");
    hub.after(3600);
    hub.settle();
    let stopped = hub.condition("PlacementRolledOut");
    assert!(stopped.contains("has stopped"), "{stopped}");
    // The template that mends it has its own time.
    hub.template(3);
    hub.settle();
    hub.report("c1", "A+ V+ P-");
    hub.after(600);
    hub.settle();
    hub.report("c2", "A+ V+ P+");
    hub.after(1799);
    hub.settle();
    assert_eq!(
        hub.condition("PlacementRolledOut"),
        "False Progressing: 1 of 2 clusters have succeeded"
    );
    hub.after(1);
    hub.settle();
    let stopped = hub.condition("PlacementRolledOut");
    assert!(stopped.contains("has stopped"), "{stopped}");
}

/// The agent of the cluster is off: nobody removes the finalizer of the ManifestWork.
#[test]
fn a_work_that_is_being_deleted_counts_against_the_deadline() {
    let settings = json!({"maxConcurrency": 1, "progressDeadline": "30m", "maxFailures": 1});
    let mut hub = hub(&progressive(settings), &["c1", "c2"]);
    hub.work("c1", "set")["metadata"]["finalizers"] = json!(["agent"]);
    hub.work("c1", "set")["metadata"]["deletionTimestamp"] = json!(hub.now);
    hub.after(1799);
    hub.settle();
    assert_eq!(hub.made(), "c1/setx");
    hub.after(1);
    hub.settle();
    assert_eq!(hub.made(), "c1/setx c2/set=");
}

#[test]
fn times_far_ahead_stall_no_rollout() {
    let far = json!("2090-01-01T00:00:00Z");
    let settings = json!({"maxConcurrency": 1, "progressDeadline": "30m", "minSuccessTime": "30m", "maxFailures": 1});
    for (conditions, is_write_ahead) in [("A+ V+ P+", false), ("A+ V+ P-", false), ("", true)] {
        let mut hub = hub(&progressive(settings.clone()), &["c1", "c2"]);
        hub.report("c1", conditions);
        let created = json!(hub.now);
        let work = hub.work("c1", "set");
        work["metadata"]["creationTimestamp"] = created;
        if is_write_ahead {
            work["metadata"]["managedFields"][0]["time"] = far.clone();
        }
        for condition in work["status"]["conditions"]
            .as_array_mut()
            .into_iter()
            .flatten()
        {
            condition["lastTransitionTime"] = far.clone();
        }
        hub.after(1799);
        hub.settle();
        assert_eq!(hub.current(), "c1", "{conditions}");
        hub.after(1);
        hub.settle();
        assert_eq!(hub.current(), "c1 c2", "{conditions}");
    }
}

#[test]
fn a_cluster_soaks_before_the_next_follows() {
    let settings = json!({"maxConcurrency": 1, "minSuccessTime": "5s"});
    for conditions in ["A+ V+ P-", "A+ V+"] {
        let mut hub = hub(&progressive(settings.clone()), &["c1", "c2"]);
        hub.after(60);
        hub.report("c1", conditions);
        hub.settle();
        assert_eq!(hub.current(), "c1");
        let next = hub.next.unwrap();
        assert_eq!(next.duration_since(hub.now).as_secs(), 5);
        hub.after(5);
        hub.settle();
        assert_eq!(hub.current(), "c1 c2", "{conditions}");
    }
}

/// Also a cluster whose agent is silent. OCM waits for it for ever.
#[test]
fn a_cluster_that_takes_too_long_counts_as_a_failure() {
    let settings = json!({"maxConcurrency": 1, "progressDeadline": "5s", "maxFailures": 1});
    for conditions in ["A+ V+ P+ D+", "A+ V+ P+", "A- V-", ""] {
        let mut hub = hub(&progressive(settings.clone()), &["c1", "c2", "c3"]);
        hub.report("c1", conditions);
        hub.settle();
        assert_eq!(hub.current(), "c1", "{conditions}");
        assert_eq!(hub.next.unwrap().duration_since(hub.now).as_secs(), 5);
        hub.after(5);
        hub.settle();
        assert_eq!(hub.current(), "c1 c2", "{conditions}");
        hub.after(5);
        hub.settle();
        assert_eq!(hub.current(), "c1 c2", "{conditions}");
        assert!(hub.condition("PlacementRolledOut").contains("has stopped"));
    }
}

#[test]
fn a_strategy_with_a_mistake_changes_nothing_and_says_so() {
    let mut hub = hub(&json!({"type": "All"}), &["c1", "c2"]);
    let refs = &mut hub.set["spec"]["placementRefs"][0];
    refs["rolloutStrategy"] = progressive(json!({"maxConcurrency": "x"}));
    hub.template(2);
    hub.select("p", &["c1", "c3"]);
    hub.settle();
    assert_eq!(hub.made(), "c1/set");
    let said = hub.condition("PlacementVerified");
    assert!(
        said.starts_with("False NotAsExpected: the rollout strategy of placement p is invalid: "),
        "{said}"
    );
    assert!(
        hub.condition("PlacementRolledOut")
            .starts_with("False Progressing: ")
    );
}

#[test]
fn placements_have_their_own_strategies() {
    let mut hub = Hub::new(&["p", "q"], &progressive(json!({"maxConcurrency": 1})));
    hub.set["spec"]["placementRefs"][1]["rolloutStrategy"] = json!({"type": "All"});
    hub.select("p", &["c1", "c2"]);
    hub.select("q", &["d1", "d2"]);
    hub.settle();
    assert_eq!(hub.current(), "c1 d1 d2");
}

/// One Event for each change of a rollout, however often the status is written meanwhile.
#[test]
fn a_rollout_that_stops_goes_on_or_ends_has_an_event() {
    let settings = json!({"maxConcurrency": 1});
    let mut hub = hub(&progressive(settings), &["c1", "c2", "c3"]);
    hub.report("c1", "A+ V+ P+");
    hub.settle();
    assert_eq!(hub.events(), [""; 0]);
    hub.report("c1", "A+ V+ P+ D+");
    hub.settle();
    let stopped = "Warning RolloutStopped: the rollout of placement p has stopped, since more clusters have failed or timed out than its \
                   strategy allows: c1";
    assert_eq!(hub.events(), [stopped]);
    hub.report("c1", "A+ V- P+ D+");
    hub.settle();
    assert_eq!(hub.events(), [""; 0]);
    hub.report("c1", "A+ V+ P-");
    hub.settle();
    assert_eq!(
        hub.events(),
        ["Normal RolloutResumed: the rollout of placement p goes on"]
    );
    for cluster in ["c2", "c3"] {
        hub.report(cluster, "A+ V+ P-");
        hub.settle();
    }
    let complete = "Normal RolloutComplete: 3 of 3 clusters have succeeded";
    assert_eq!(hub.events(), [complete]);
    // A new template is a new rollout.
    hub.template(2);
    hub.settle();
    hub.report("c1", "A+ V+ P+ D+");
    hub.settle();
    assert_eq!(hub.events(), [stopped]);
    // Without the failed cluster, the others follow.
    hub.select("p", &["c2"]);
    hub.settle();
    assert_eq!(
        hub.events(),
        ["Normal RolloutResumed: the rollout of placement p goes on"]
    );
    // A placement that selects no cluster has nothing to roll out.
    hub.select("p", &[]);
    hub.settle();
    assert_eq!(hub.events(), [""; 0]);
}

#[test]
fn a_rollout_without_its_placement_has_no_event() {
    let mut hub = Hub::new(&["p", "pp"], &progressive(json!({"maxConcurrency": 1})));
    hub.select("p", &["c1", "c2"]);
    hub.select("pp", &["d1", "d2"]);
    hub.settle();
    for cluster in ["c1", "d1"] {
        hub.report(cluster, "A+ V+ P+ D+");
    }
    hub.settle();
    assert_eq!(hub.events().len(), 2);
    hub.placed.remove("p");
    hub.settle();
    assert_eq!(hub.events(), [""; 0]);
}
