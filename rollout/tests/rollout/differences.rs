//! Where OCM differs: it waits without need, goes on where it should stop, or reports less.

use berth_rollout::{RolloutGroup, rollout};
use serde_json::json;

use crate::bench::{check, now, rules, shown, states};

#[test]
fn nothing_starts_after_a_breach() {
    check(
        &json!({"type": "Progressive"}),
        &[(
            "not even a cluster whose name precedes the failed one",
            ": c1 c2 c3",
            "c1 ToApply, c2 Failed 1",
            "c2 Failed; breach",
        )],
    );
    check(
        &json!({"type": "ProgressivePerGroup"}),
        &[
            (
                "nor another cluster of the group",
                ": c1 c2; : c3",
                "c1 Failed 1",
                "c1 Failed; breach",
            ),
            (
                "nor one of another group",
                ": c1 c2; : c3",
                "c1 Succeeded 1, c3 Failed 1",
                "c3 Failed; breach",
            ),
        ],
    );
    let settings = json!({"maxFailures": 1, "mandatoryDecisionGroups": [{"groupIndex": 0}]});
    check(
        &json!({"type": "Progressive", "progressive": settings}),
        &[(
            "a mandatory cluster was reported as timed out",
            ": c1; : c2 c3",
            "c1 TimeOut 1",
            "breach",
        )],
    );
}

#[test]
fn a_tolerated_failure_does_not_hold_the_groups_that_follow() {
    check(
        &json!({"type": "ProgressivePerGroup", "progressivePerGroup": {"maxFailures": 1}}),
        &[(
            "a failure in the second group",
            ": c1; : c2 c3; : c4",
            "c1 Succeeded 1, c2 Failed 1, c3 Succeeded 1",
            "c2 Failed, c4 ToApply",
        )],
    );
}

#[test]
fn a_timeout_does_not_release_the_next_group_while_another_cluster_is_in_progress() {
    let settings = json!({"maxFailures": 1, "progressDeadline": "90s"});
    check(
        &json!({"type": "ProgressivePerGroup", "progressivePerGroup": settings}),
        &[(
            "one timed out, one is in progress",
            ": c1 c2; : c3",
            "c1 Failed 100, c2 Progressing 30",
            "c2 Progressing; timed out c1; next 60",
        )],
    );
}

#[test]
fn after_the_mandatory_groups_the_limits_are_those_of_the_strategy() {
    let settings = json!({
        "maxConcurrency": 2, "maxFailures": 1, "progressDeadline": "90s",
        "mandatoryDecisionGroups": [{"groupIndex": 0}],
    });
    let clusters = ": c1; : c2 c3 c4 c5";
    check(
        &json!({"type": "Progressive", "progressive": settings}),
        &[
            (
                "the next cluster does not wait for all in progress",
                clusters,
                "c1 Succeeded 1, c2 Succeeded 1, c3 Progressing 30",
                "c3 Progressing, c4 ToApply; next 60",
            ),
            (
                "a tolerated timeout holds nothing",
                clusters,
                "c1 Succeeded 1, c2 Failed 100",
                "c3 ToApply, c4 ToApply; timed out c2",
            ),
        ],
    );
}

#[test]
fn clusters_in_progress_come_before_those_to_be_changed() {
    check(
        &json!({"type": "Progressive", "progressive": {"maxConcurrency": 2}}),
        &[
            (
                "a cluster that precedes them waits",
                ": c1 c2 c3",
                "c1 ToApply, c2 Progressing 1, c3 Progressing 1",
                "c2 Progressing, c3 Progressing",
            ),
            (
                "all of them are listed, and all failures count",
                ": c1 c2 c3 c4",
                "c1 Progressing 1, c2 Progressing 1, c3 Failed 1",
                "c1 Progressing, c2 Progressing, c3 Failed; breach",
            ),
            (
                "a cluster with a known state precedes one without",
                ": c1 c2 c3 c4",
                "c2 Progressing 1, c4 ToApply",
                "c2 Progressing, c4 ToApply",
            ),
        ],
    );
}

#[test]
fn the_index_of_a_group_only_orders_it() {
    let group = |index, name: &str, clusters: &[&str]| RolloutGroup {
        index,
        name: name.to_owned(),
        clusters: clusters.iter().map(|&it| it.to_owned()).collect(),
    };
    let rules = rules(&json!({"type": "ProgressivePerGroup"}));
    for (sentence, groups, known, expected) in [
        (
            "an index is missing",
            [group(5, "", &["c2"]), group(0, "", &["c1"])],
            "c1 Succeeded 1",
            "c2 ToApply",
        ),
        (
            "an index occurs twice",
            [group(0, "b", &["c1"]), group(0, "a", &["c2"])],
            "",
            "c2 ToApply",
        ),
        (
            "a group in two parts",
            [group(0, "a", &["c1"]), group(0, "a", &["c2"])],
            "",
            "c1 ToApply, c2 ToApply",
        ),
        (
            "a cluster in two groups",
            [group(1, "", &["c1", "c2"]), group(0, "", &["c1"])],
            "c1 Failed 1",
            "c1 Failed; breach",
        ),
    ] {
        let states = states(known);
        let result = rollout(&rules, &groups, &states, now());
        assert_eq!(shown(&result), expected, "{sentence}");
    }
}
