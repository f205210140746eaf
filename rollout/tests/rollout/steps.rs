//! The steps of each strategy.

use serde_json::{Value, json};

use crate::bench::check;

/// The first group has a name, the second none.
const TWO: &str = "group1: c1 c2 c3; : c4 c5 c6";
const THREE: &str = "group1: c1 c2 c3; : c4 c5 c6; : c7 c8 c9";

fn progressive(settings: Value) -> Value {
    json!({"type": "Progressive", "progressive": settings})
}

fn per_group(settings: Value) -> Value {
    json!({"type": "ProgressivePerGroup", "progressivePerGroup": settings})
}

fn mandatory() -> Value {
    json!([{"groupName": "group1"}])
}

#[test]
fn all_changes_every_cluster_at_once() {
    check(
        &json!({"type": "All", "all": {"progressDeadline": "90s", "minSuccessTime": "1h"}}),
        &[
            (
                "nothing was changed",
                TWO,
                "",
                "c1 ToApply, c2 ToApply, c3 ToApply, c4 ToApply, c5 ToApply, c6 ToApply",
            ),
            (
                "failures stop nothing, and nothing soaks",
                TWO,
                "c1 Succeeded 1, c2 Failed 120, c3 Progressing 60, c4 Failed 10, c6 Skip",
                "c3 Progressing, c4 Failed, c5 ToApply; timed out c2; next 30",
            ),
            ("no cluster is selected", ":", "", ""),
            (
                "a cluster is not selected any more",
                "group1: c1",
                "c1 Succeeded 1, c2 Progressing 1, c3 ToApply",
                "removed c2 c3",
            ),
        ],
    );
    check(
        &json!({}),
        &[(
            "it is the default, and has no deadline",
            "group1: c1",
            "c1 Progressing 100000000",
            "c1 Progressing",
        )],
    );
}

#[test]
fn progressive_changes_a_number_of_clusters_at_a_time() {
    let settings = json!({"progressDeadline": "90s", "maxConcurrency": 2});
    let done = "c1 Succeeded 60, c2 Failed 120, c3 Progressing 60";
    check(
        &progressive(settings),
        &[
            (
                "the first clusters by name",
                TWO,
                "",
                "c1 ToApply, c2 ToApply",
            ),
            (
                "a success makes room for the next",
                TWO,
                "c1 Succeeded 0, c2 Progressing 60",
                "c2 Progressing, c3 ToApply; next 30",
            ),
            (
                "R1: no failure is tolerated",
                TWO,
                done,
                "c3 Progressing; timed out c2; breach; next 30",
            ),
            (
                "a cluster that takes no part occupies no place",
                TWO,
                "c1 Skip, c2 Progressing 60",
                "c2 Progressing, c3 ToApply; next 30",
            ),
            (
                "the rollout is complete",
                "group1: c1 c2",
                "c1 Succeeded 0, c2 Succeeded 0",
                "",
            ),
        ],
    );
    let settings = json!({"progressDeadline": "90s", "maxConcurrency": 2, "maxFailures": 1});
    check(
        &progressive(settings),
        &[(
            "R2: one failure is tolerated, and occupies no place after the deadline",
            TWO,
            done,
            "c3 Progressing, c4 ToApply; timed out c2; next 30",
        )],
    );
    let settings = json!({"progressDeadline": "0s", "maxConcurrency": 2, "maxFailures": 3});
    check(
        &progressive(settings),
        &[(
            "R4: a deadline of zero passes at once",
            TWO,
            "c1 Succeeded 30, c2 Progressing 30, c3 Progressing 30",
            "c4 ToApply, c5 ToApply; timed out c2 c3",
        )],
    );
}

#[test]
fn a_cluster_that_soaks_keeps_its_place() {
    let settings = json!({
        "progressDeadline": "90s", "minSuccessTime": "1m", "maxFailures": "100%", "maxConcurrency": 2,
    });
    check(
        &progressive(settings),
        &[
            (
                "R3: within minSuccessTime",
                TWO,
                "c1 Succeeded 30, c2 Failed 120, c3 Progressing 30",
                "c1 Succeeded, c3 Progressing; timed out c2; next 30",
            ),
            (
                "exactly after it",
                TWO,
                "c1 Succeeded 60, c3 Progressing 30",
                "c2 ToApply, c3 Progressing; next 60",
            ),
        ],
    );
    check(
        &per_group(json!({"minSuccessTime": "1m"})),
        &[
            (
                "the next group waits for it",
                "a: c1 c2; b: c3",
                "c1 Succeeded 30, c2 Succeeded 70",
                "c1 Succeeded; next 30",
            ),
            (
                "the next group follows",
                "a: c1 c2; b: c3",
                "c1 Succeeded 60, c2 Succeeded 100",
                "c3 ToApply",
            ),
        ],
    );
}

#[test]
fn without_a_deadline_a_failed_cluster_keeps_its_place() {
    let clusters = "group1: c1 c2; : c3 c4 c5 c6";
    let states = "c1 Succeeded 60, c2 Failed 120, c3 Progressing 60";
    for (failures, sentence, expected) in [
        (
            "100%",
            "R5: every failure is tolerated",
            "c2 Failed, c3 Progressing, c4 ToApply",
        ),
        (
            "0%",
            "R5: none is tolerated",
            "c2 Failed, c3 Progressing; breach",
        ),
    ] {
        let settings =
            json!({"progressDeadline": "None", "maxConcurrency": "50%", "maxFailures": failures});
        let rows = [(sentence, clusters, states, expected)];
        check(&progressive(settings), &rows);
    }
}

#[test]
fn mandatory_groups_come_first_and_tolerate_no_failure() {
    let settings = json!({
        "progressDeadline": "90s", "maxConcurrency": 3, "maxFailures": 2,
        "mandatoryDecisionGroups": mandatory(),
    });
    check(
        &progressive(settings),
        &[
            (
                "all clusters of the group at once",
                TWO,
                "",
                "c1 ToApply, c2 ToApply, c3 ToApply",
            ),
            (
                "one is in progress",
                TWO,
                "c1 Succeeded 60, c2 Succeeded 60, c3 Progressing 60",
                "c3 Progressing; next 30",
            ),
            (
                "one timed out",
                TWO,
                "c1 Succeeded 60, c2 Failed 120, c3 Progressing 60",
                "c3 Progressing; timed out c2; breach; next 30",
            ),
            (
                "R6: both failed",
                "group1: c1 c2; : c3 c4; : c5 c6",
                "c1 Failed 120, c2 Failed 60",
                "c2 Failed; timed out c1; breach; next 30",
            ),
            (
                "the group succeeded",
                "group1: c1 c2; : c3 c4; : c5 c6",
                "c1 Succeeded 60, c2 Succeeded 120",
                "c3 ToApply, c4 ToApply, c5 ToApply",
            ),
        ],
    );
}

#[test]
fn a_mandatory_group_is_selected_by_its_name_or_else_by_its_index() {
    let groups = "a: c1; b: c2; a: c3; : c4; : c5";
    for (mandatory, first, expected) in [
        (json!([{"groupIndex": 3}]), "the index", "c4 ToApply"),
        (json!([{}]), "the index zero", "c1 ToApply"),
        (
            json!([{"groupName": "b", "groupIndex": 3}]),
            "the name before the index",
            "c2 ToApply",
        ),
        (
            json!([{"groupIndex": 3}, {"groupName": "a"}]),
            "of several, the first index",
            "c1 ToApply",
        ),
        (
            json!([{"groupName": "x"}, {"groupIndex": 9}]),
            "no such group",
            "c1 ToApply, c2 ToApply, c3 ToApply, c4 ToApply, c5 ToApply",
        ),
    ] {
        let settings = json!({"mandatoryDecisionGroups": mandatory});
        check(&progressive(settings), &[(first, groups, "", expected)]);
    }
    let settings = json!({"mandatoryDecisionGroups": [{"groupName": "a"}]});
    let rows = [(
        "mandatory groups follow each other",
        groups,
        "c1 Succeeded 0",
        "c3 ToApply",
    )];
    check(&per_group(settings), &rows);
}

#[test]
fn per_group_changes_one_group_after_the_other() {
    check(
        &per_group(json!({"progressDeadline": "90s"})),
        &[
            (
                "the first group",
                THREE,
                "",
                "c1 ToApply, c2 ToApply, c3 ToApply",
            ),
            (
                "a cluster is in progress",
                THREE,
                "c1 Succeeded 60, c2 Succeeded 60, c3 Progressing 60",
                "c3 Progressing; next 30",
            ),
            (
                "no failure is tolerated",
                TWO,
                "c1 Succeeded 60, c2 Failed 120, c3 Progressing 60",
                "c3 Progressing; timed out c2; breach; next 30",
            ),
        ],
    );
    let tolerant = json!({"progressDeadline": "90s", "maxFailures": 2});
    let one_failed = "c1 Succeeded 60, c2 Failed 120, c3 Succeeded 60";
    check(
        &per_group(tolerant),
        &[
            (
                "R7: a timeout is tolerated",
                THREE,
                one_failed,
                "c4 ToApply, c5 ToApply, c6 ToApply; timed out c2",
            ),
            (
                "R7: and in the group after the next, too",
                THREE,
                "c1 Succeeded 60, c2 Failed 120, c3 Succeeded 60, \
                 c4 Succeeded 60, c5 Succeeded 60, c6 Succeeded 60",
                "c7 ToApply, c8 ToApply, c9 ToApply; timed out c2",
            ),
        ],
    );
    let strict = json!({
        "progressDeadline": "90s", "maxFailures": 2, "mandatoryDecisionGroups": mandatory(),
    });
    check(
        &per_group(strict),
        &[
            (
                "R7: a timeout in a mandatory group is not",
                THREE,
                one_failed,
                "timed out c2; breach",
            ),
            (
                "the mandatory group succeeded",
                THREE,
                "c1 Succeeded 60, c2 Succeeded 60, c3 Succeeded 60",
                "c4 ToApply, c5 ToApply, c6 ToApply",
            ),
        ],
    );
}

#[test]
fn failures_count_by_group() {
    let one = "c1 Succeeded 60, c2 Failed 120, c3 Succeeded 60";
    let two = "c1 Succeeded 60, c2 Failed 120, c3 Failed 120";
    for (failures, sentence, states, expected) in [
        (json!(0), "R8: one of none", one, "c2 Failed; breach"),
        (
            json!(2),
            "R8: one of two",
            one,
            "c2 Failed, c4 ToApply, c5 ToApply, c6 ToApply",
        ),
        (
            json!("30%"),
            "R8: two of one, as 30% of three",
            two,
            "c2 Failed, c3 Failed; breach",
        ),
        (
            json!("30%"),
            "one of one",
            one,
            "c2 Failed, c4 ToApply, c5 ToApply, c6 ToApply",
        ),
    ] {
        let settings = json!({"progressDeadline": "None", "maxFailures": failures});
        check(&per_group(settings), &[(sentence, THREE, states, expected)]);
    }
}

#[test]
fn the_deadline_itself_is_too_late() {
    let deadline = |deadline: &str| json!({"type": "All", "all": {"progressDeadline": deadline}});
    check(
        &deadline("90s"),
        &[
            (
                "R11: at the deadline",
                ": c1",
                "c1 Failed 90",
                "timed out c1",
            ),
            ("before it", ": c1", "c1 Failed 89", "c1 Failed; next 1"),
            (
                "the earliest deadline comes next",
                ": c1 c2",
                "c1 Failed 10, c2 Progressing 20",
                "c1 Failed, c2 Progressing; next 70",
            ),
        ],
    );
    check(
        &deadline("1h30m"),
        &[(
            "several units",
            ": c1",
            "c1 Progressing 0",
            "c1 Progressing; next 5400",
        )],
    );
}
