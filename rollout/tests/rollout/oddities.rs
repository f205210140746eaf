//! What is odd in OCM, and the same here.

use serde_json::json;

use crate::bench::check;

#[test]
fn more_failures_than_clusters_means_no_failure() {
    for (failures, expected) in [(2, "c2 ToApply; timed out c1"), (3, "timed out c1; breach")] {
        let settings = json!({"maxFailures": failures, "progressDeadline": "0s"});
        let strategy = json!({"type": "Progressive", "progressive": settings});
        let rows = [("of two", ": c1 c2", "c1 Failed 1", expected)];
        check(&strategy, &rows);
    }
}

#[test]
fn concurrency_is_a_percentage_of_the_clusters_that_are_not_mandatory() {
    let settings = json!({"maxConcurrency": "50%", "mandatoryDecisionGroups": [{"groupIndex": 0}]});
    check(
        &json!({"type": "Progressive", "progressive": settings}),
        &[(
            "two of four, not three of six",
            ": c1 c2; : c3 c4 c5 c6",
            "c1 Succeeded 1, c2 Succeeded 1",
            "c3 ToApply, c4 ToApply",
        )],
    );
}

#[test]
fn a_state_without_a_time_has_just_begun() {
    let settings = json!({"minSuccessTime": "1m", "progressDeadline": "2m", "maxConcurrency": 2});
    check(
        &json!({"type": "Progressive", "progressive": settings}),
        &[
            (
                "it soaks for ever",
                ": c1 c2",
                "c1 Succeeded, c2 Skip",
                "c1 Succeeded; next 60",
            ),
            (
                "it never times out",
                ": c1 c2",
                "c1 Progressing, c2 Failed",
                "c1 Progressing, c2 Failed; breach; next 120",
            ),
        ],
    );
}

#[test]
fn a_cluster_whose_clock_is_ahead_soaks_until_then() {
    check(
        &json!({"type": "ProgressivePerGroup"}),
        &[(
            "by five seconds",
            ": c1; : c2",
            "c1 Succeeded -5",
            "c1 Succeeded; next 5",
        )],
    );
    check(
        &json!({"type": "All"}),
        &[(
            "even so",
            ": c1 c2",
            "c1 Succeeded -5",
            "c1 Succeeded, c2 ToApply; next 5",
        )],
    );
}

#[test]
fn a_cluster_that_is_reported_as_timed_out_is_a_failure_and_not_listed() {
    check(
        &json!({"type": "Progressive"}),
        &[("one", ": c1 c2", "c1 TimeOut 1", "breach")],
    );
}

#[test]
fn a_new_cluster_of_a_group_in_progress_waits_unless_the_group_is_the_first() {
    check(
        &json!({"type": "ProgressivePerGroup"}),
        &[
            (
                "the second group",
                ": c1; : c2 c3; : c4",
                "c1 Succeeded 1, c2 Progressing 1",
                "c2 Progressing",
            ),
            (
                "the first group",
                ": c1 c2; : c3",
                "c2 Progressing 1",
                "c1 ToApply, c2 Progressing",
            ),
        ],
    );
}
