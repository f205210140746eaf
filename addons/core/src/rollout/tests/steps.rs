//! In which steps new configs reach the clusters of a placement.

use serde_json::{Value, json};

use super::play::{Play, placement, settled};

fn play(strategy: &Value, groups: &str, clusters: &[&str]) -> Play {
    let placements = [placement("p1", strategy, json!([]))];
    Play::new(&placements, vec![settled(groups)], clusters)
}

fn progressive(settings: Value) -> Value {
    json!({"type": "Progressive", "progressive": settings})
}

const THREE: [&str; 3] = ["c1", "c2", "c3"];

#[test]
fn all_clusters_change_at_once() {
    let mut play = play(&json!({"type": "All"}), "c1,c2,c3", &THREE);
    assert_eq!(play.hashes(), "c1=0 c2=0 c3=0");
    assert_eq!(
        play.said(0),
        "Completed: selected clusters 3. configured addons 3/3 completed with no errors, 0 failed 0 timeout."
    );
    assert_eq!(play.applied(0), "0");
    assert_eq!(play.settle(), 0, "nothing at rest");
    play.publish("1");
    play.settle();
    assert_eq!(play.hashes(), "c1=1 c2=1 c3=1");
    assert_eq!(play.applied(0), "0");
    assert_eq!(play.condition("c1", "Progressing"), "True Progressing");
    assert_eq!(
        play.said(0),
        "Progressing: selected clusters 3. configured addons 3/3 progressing..., 0 failed 0 timeout."
    );
    play.report("c1", true);
    play.report("c2", false);
    play.settle();
    assert_eq!(
        play.said(0),
        "Progressing: selected clusters 3. configured addons 2/3 progressing..., 1 failed 0 timeout."
    );
    for cluster in THREE {
        play.report(cluster, true);
    }
    play.settle();
    assert_eq!(play.applied(0), "1");
    assert_eq!(play.condition("c2", "Progressing"), "False Completed");
    assert_eq!(play.settle(), 0);
}

#[test]
fn a_progressive_rollout_changes_one_cluster_after_the_other() {
    let strategy = progressive(json!({"maxConcurrency": 1}));
    let mut play = play(&strategy, "c1,c2,c3", &THREE);
    play.publish("1");
    play.settle();
    assert_eq!(play.hashes(), "c1=1 c2=0? c3=0?");
    assert_eq!(
        play.condition("c2", "Configured"),
        "False ConfigurationsNotConfigured"
    );
    assert_eq!(
        play.said(0),
        "Progressing: selected clusters 3. configured addons 1/3 progressing..., 0 failed 0 timeout."
    );
    play.report("c1", true);
    play.settle();
    assert_eq!(play.hashes(), "c1=1 c2=1 c3=0?");
    assert_eq!(
        play.condition("c2", "Configured"),
        "True ConfigurationsConfigured"
    );
    play.report("c2", true);
    play.settle();
    play.report("c3", true);
    play.settle();
    assert!(
        play.said(0)
            .starts_with("Completed: selected clusters 3. configured addons 3/3")
    );
}

/// OCM compares the deadline with the last change of the condition, which may be long before the new configs.
#[test]
fn a_failed_cluster_past_its_deadline_stops_the_rollout() {
    let strategy =
        progressive(json!({"maxConcurrency": 1, "maxFailures": 0, "progressDeadline": "60s"}));
    let mut play = play(&strategy, "c1,c2,c3", &THREE);
    play.pass(9_999);
    play.publish("1");
    play.settle();
    assert!(
        play.said(0)
            .ends_with("1/3 progressing..., 0 failed 0 timeout."),
        "{}",
        play.said(0)
    );
    let deadline = play.next.unwrap();
    assert_eq!(deadline.duration_since(play.now).as_secs(), 60);
    play.report("c1", false);
    play.settle();
    assert_eq!(play.condition("c1", "Progressing"), "False Failed");
    assert!(
        play.said(0)
            .ends_with("0/3 progressing..., 1 failed 0 timeout."),
        "{}",
        play.said(0)
    );
    play.pass(61);
    play.settle();
    assert_eq!(play.hashes(), "c1=1 c2=0? c3=0?", "no further cluster");
    assert!(
        play.said(0)
            .ends_with("0/3 progressing..., 0 failed 1 timeout."),
        "{}",
        play.said(0)
    );
    play.report("c1", true);
    play.settle();
    assert_eq!(play.hashes(), "c1=1 c2=1 c3=0?", "a late success goes on");
}

#[test]
fn the_next_cluster_follows_when_the_former_one_has_soaked() {
    let strategy = progressive(json!({"maxConcurrency": 1, "minSuccessTime": "5m"}));
    let mut play = play(&strategy, "c1,c2", &["c1", "c2"]);
    play.pass(9_999);
    play.publish("1");
    play.settle();
    play.pass(30);
    play.report("c1", true);
    play.settle();
    assert_eq!(play.hashes(), "c1=1 c2=0?");
    assert_eq!(play.next.unwrap().duration_since(play.now).as_secs(), 300);
    play.pass(299);
    play.settle();
    assert_eq!(play.hashes(), "c1=1 c2=0?");
    play.pass(1);
    play.settle();
    assert_eq!(play.hashes(), "c1=1 c2=1");
}

#[test]
fn groups_follow_each_other_and_mandatory_ones_come_first() {
    let clusters = ["c1", "c2", "c3", "c4"];
    let per_group = json!({"type": "ProgressivePerGroup"});
    let mut by_group = play(&per_group, "c1,c2 c3,c4", &clusters);
    by_group.publish("1");
    by_group.settle();
    assert_eq!(by_group.hashes(), "c1=1 c2=1 c3=0? c4=0?");
    by_group.report("c1", true);
    by_group.report("c2", true);
    by_group.settle();
    assert_eq!(by_group.hashes(), "c1=1 c2=1 c3=1 c4=1");
    let mandatory = progressive(json!({"mandatoryDecisionGroups": [{"groupIndex": 1}]}));
    let mut first = play(&mandatory, "c1,c2 c3,c4", &clusters);
    first.publish("1");
    first.settle();
    assert_eq!(first.hashes(), "c1=0? c2=0? c3=1 c4=1");
}

#[test]
fn without_a_limit_a_decision_group_is_the_limit() {
    let placements = [placement("p1", &progressive(json!({})), json!([]))];
    let mut placed = settled("c1,c2,c3");
    placed.clusters_per_group =
        Some(k8s_openapi::apimachinery::pkg::util::intstr::IntOrString::Int(2));
    let mut play = Play::new(&placements, vec![placed], &THREE);
    play.publish("1");
    play.settle();
    assert_eq!(play.hashes(), "c1=1 c2=1 c3=0?");
}

#[test]
fn a_mistake_in_a_strategy_stops_its_placement_only() {
    let wrong = progressive(json!({"minSuccessTime": "soon"}));
    let placements = [
        placement("p1", &wrong, json!([])),
        placement("p2", &json!({"type": "All"}), json!([])),
    ];
    let mut play = Play::new(
        &placements,
        vec![settled("c1"), settled("c2")],
        &["c1", "c2"],
    );
    assert_eq!(play.hashes(), "c1=-? c2=0");
    assert!(
        play.said(0)
            .starts_with("RolloutStrategyInvalid: minSuccessTime is 'soon'"),
        "{}",
        play.said(0)
    );
    assert_eq!(play.settle(), 0);
}

#[test]
fn an_add_on_without_placements_changes_at_once() {
    let mut play = Play::new(&[], vec![], &["c1", "c2"]);
    play.publish("1");
    play.settle();
    assert_eq!(play.hashes(), "c1=1 c2=1");
}
