//! Scores, reasons and counts: with other writes at once, alone at most once in the time of `spec.scoreRateLimit`.

use std::time::Instant;

use berth_api::Now;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Model, Step, Wanted, kept, now, text, wanted};
use crate::recorded::Recorded;
use crate::told::Pending;

/// As [`wanted`], with the score of each cluster, as `cluster=score`, and a count.
fn scored(groups: &[&str], count: usize) -> Wanted {
    let mut records = Vec::new();
    let groups: Vec<_> = groups
        .iter()
        .map(|group| {
            let (name, clusters) = group.split_once(':').expect("a colon");
            let clusters = clusters.split_whitespace().map(|it| {
                let (cluster, score) = it.split_once('=').expect("a score");
                let recorded = Recorded {
                    score: Some(score.parse().expect("a number")),
                    reason: format!("score {score}"),
                };
                records.push((cluster.to_owned(), recorded));
                cluster.to_owned()
            });
            format!("{name}:{}", clusters.collect::<Vec<_>>().join(" "))
        })
        .collect();
    let groups: Vec<_> = groups.iter().map(String::as_str).collect();
    let mut wanted = wanted(&groups);
    wanted.records = records.into_iter().collect();
    wanted.conditions.satisfied.message = "A sentence".to_owned();
    wanted.conditions.satisfied.counts = format!("; clusters in the sets: {count}");
    wanted
}

fn at(seconds: i64) -> Timestamp {
    now() + SignedDuration::from_secs(seconds)
}

impl Model {
    /// The decisions of a PlacementDecision as `cluster=score`.
    fn scores(&self, name: &str) -> String {
        let listed = self.decisions[name]["status"]["decisions"].as_array();
        let listed = listed.into_iter().flatten().map(|it| {
            let name = it["clusterName"].as_str().expect("a name");
            format!("{name}={}", it["score"])
        });
        listed.collect::<Vec<_>>().join(" ")
    }

    fn message(&self) -> &str {
        let conditions = &self.placement["status"]["conditions"];
        conditions[0]["message"].as_str().unwrap_or_default()
    }

    fn last(&self) -> &Value {
        &self.placement["status"]["lastScoreUpdateTime"]
    }

    /// In how many seconds the controller looks again.
    fn again(&self, wanted: &Wanted) -> Option<u64> {
        let instant = Instant::now();
        let wall = self.now;
        let plan = self.plan_with_timer(wanted, Step::Next, Now { instant, wall });
        assert_eq!(plan.writes, [], "it has settled");
        plan.again.map(|it| (it - instant).as_secs())
    }
}

#[test]
fn a_new_placement_gets_scores_and_reasons_with_its_clusters() {
    let mut model = Model::new().scoring();
    let rounds = model.settle(&scored(&[":a=7 b=-3"], 2));
    let expected = [
        "create p-decision-1",
        "list p-decision-1: a b",
        "status of p",
    ];
    assert_eq!(rounds, expected.map(|it| vec![it.to_owned()]));
    assert_eq!(
        model.decisions["p-decision-1"]["status"]["decisions"],
        json!([
            {"clusterName": "a", "reason": "score 7", "score": 7},
            {"clusterName": "b", "reason": "score -3", "score": -3},
        ])
    );
    assert_eq!(model.message(), "A sentence; clusters in the sets: 2");
    assert_eq!(*model.last(), "2026-08-11T12:00:00Z");
}

#[test]
fn without_the_gate_what_is_stored_stays_until_its_object_is_written() {
    let mut model = Model::new().scoring();
    model.settle(&scored(&[":a=7 b=-3", "x:c=1"], 3));
    model.has_scores = false;
    let plain = wanted(&[":a b", "x:c"]);
    assert_eq!(model.settle(&plain).concat(), ["status of p"]);
    assert_eq!(model.scores("p-decision-1"), "a=7 b=-3");
    assert_eq!(*model.last(), "2026-08-11T12:00:00Z");
    model.now = at(1000);
    assert_eq!(model.again(&plain), None);
    model.settle(&wanted(&[":a", "x:c"]));
    let listed = json!([{"clusterName": "a", "reason": ""}]);
    assert_eq!(
        model.decisions["p-decision-1"]["status"]["decisions"],
        listed
    );
    assert_eq!(model.scores("p-decision-2"), "c=1");
}

/// Two groups, in one PlacementDecision each, and three clusters.
#[test]
fn scores_alone_wait_for_the_limit_and_everything_else_does_not() {
    let mut model = Model::new().scoring();
    model.placement["spec"] = json!({"scoreRateLimit": "30s"});
    model.settle(&scored(&[":a=1 b=1", "x:c=1"], 3));
    let (first, second, status) = (
        "list p-decision-1: a b",
        "list p-decision-2: c",
        "status of p",
    );
    for (sentence, seconds, groups, count, writes, again, stored, last) in [
        (
            "nothing changed",
            1,
            [":a=1 b=1", "x:c=1"],
            3,
            vec![],
            None,
            "a=1 b=1, c=1",
            0,
        ),
        (
            "a score changed",
            2,
            [":a=2 b=1", "x:c=1"],
            3,
            vec![],
            Some(29),
            "a=1 b=1, c=1",
            0,
        ),
        (
            "it changed back",
            3,
            [":a=1 b=1", "x:c=1"],
            3,
            vec![],
            None,
            "a=1 b=1, c=1",
            0,
        ),
        (
            "a count changed",
            4,
            [":a=1 b=1", "x:c=1"],
            4,
            vec![],
            Some(27),
            "a=1 b=1, c=1",
            0,
        ),
        (
            "the last moment",
            30,
            [":a=2 b=1", "x:c=1"],
            4,
            vec![],
            Some(1),
            "a=1 b=1, c=1",
            0,
        ),
        (
            "the limit is over: one object and the count",
            31,
            [":a=2 b=1", "x:c=1"],
            4,
            vec![first, status],
            None,
            "a=2 b=1, c=1",
            31,
        ),
        (
            "a cluster goes: its object has the scores of that moment, the others wait",
            32,
            [":a=3", "x:c=2"],
            3,
            vec!["list p-decision-1: a", status],
            Some(30),
            "a=3, c=1",
            31,
        ),
        (
            "it comes back, and now all scores are written",
            33,
            [":a=4 b=4", "x:c=1"],
            4,
            vec![first, status],
            None,
            "a=4 b=4, c=1",
            33,
        ),
        (
            "the limit is over: a cluster goes, and all scores are written",
            90,
            [":a=5", "x:c=5"],
            3,
            vec!["list p-decision-1: a", second, status],
            None,
            "a=5, c=5",
            90,
        ),
        (
            "at rest",
            1000,
            [":a=5", "x:c=5"],
            3,
            vec![],
            None,
            "a=5, c=5",
            90,
        ),
        (
            "a count alone, after the limit",
            1001,
            [":a=5", "x:c=5"],
            4,
            vec![status],
            None,
            "a=5, c=5",
            1001,
        ),
    ] {
        model.now = at(seconds);
        let wanted = scored(&groups, count);
        let mut done = model.settle(&wanted).concat();
        done.sort();
        assert_eq!(done, writes, "{sentence}");
        assert_eq!(model.again(&wanted), again, "{sentence}");
        let scores = [1, 2].map(|it| model.scores(&format!("p-decision-{it}")));
        assert_eq!(scores.join(", "), stored, "{sentence}");
        let last = json!(format!("{:.0}", at(last)));
        assert_eq!(*model.last(), last, "{sentence}");
    }
}

#[test]
fn another_sentence_is_written_at_once_with_its_counts() {
    let mut model = Model::new().scoring();
    model.settle(&scored(&[":a=1"], 1));
    let mut changed = scored(&[":a=1"], 2);
    model.now = at(5);
    assert_eq!(model.settle(&changed).concat(), [""; 0]);
    changed.conditions.satisfied.message = "2 cluster decisions unscheduled".to_owned();
    assert_eq!(model.settle(&changed).concat(), ["status of p"]);
    let message = "2 cluster decisions unscheduled; clusters in the sets: 2";
    assert_eq!(model.message(), message);
    assert_eq!(*model.last(), "2026-08-11T12:00:05Z");
}

#[test]
fn the_order_by_score_is_no_reason_to_write() {
    let mut model = Model::new().scoring();
    model.settle(&scored(&[":b=2 a=1"], 2));
    let other = scored(&[":a=3 b=2"], 2);
    assert_eq!(model.settle(&other).concat(), [""; 0]);
    model.now = at(61);
    let done = model.settle(&other).concat();
    assert_eq!(done, ["list p-decision-1: a b", "status of p"]);
}

#[test]
fn decisions_that_are_kept_keep_their_scores_and_reasons() {
    let mut model = Model::new().scoring();
    model.settle(&scored(&[":a=1 b=2 c=3"], 3));
    model.now = at(1000);
    model.settle(&kept("a c"));
    assert_eq!(model.scores("p-decision-1"), "a=1 c=3");
    assert_eq!(model.again(&kept("a c")), None);
    // Also those that move, because their object is being deleted.
    let deleted = json!({"metadata": {"deletionTimestamp": "2026-08-11T12:00:00Z"}});
    let mut model = model.with("p-decision-1", deleted);
    model.settle(&kept("a c"));
    assert_eq!(model.scores("p-decision-2"), "a=1 c=3");
    let reason = &model.decisions["p-decision-2"]["status"]["decisions"][1]["reason"];
    assert_eq!(*reason, "score 3");
}

#[test]
fn a_score_of_zero_may_be_left_out_and_what_ocm_wrote_is_completed() {
    let mut model = Model::new().scoring().decision(1, (0, ""), &["a"]);
    let zero = scored(&[":a=0"], 1);
    let done = model.settle(&zero).concat();
    assert_eq!(done, ["list p-decision-1: a", "status of p"]);
    let entry =
        &mut model.decisions.get_mut("p-decision-1").expect("it exists")["status"]["decisions"][0];
    assert_eq!(
        *entry,
        json!({"clusterName": "a", "reason": "score 0", "score": 0})
    );
    entry.as_object_mut().expect("an object").remove("score");
    model.now = at(1000);
    assert_eq!(model.settle(&zero).concat(), [""; 0]);
}

#[test]
fn while_additions_fail_scores_alone_are_not_written() {
    let mut model = Model::new().scoring();
    model.settle(&scored(&[":a=1", "x:b=1"], 2));
    model.now = at(1000);
    let wanted = scored(&[":a=2", "x:b=2", "y:c=2"], 3);
    let writes = model.plan(&wanted, Step::Failed(Some("quota")));
    assert_eq!(writes.iter().map(text).collect::<Vec<_>>(), ["status of p"]);
    writes.iter().for_each(|write| model.carry_out(write));
    assert_eq!(model.message(), "the decisions cannot be written: quota");
    assert_eq!(*model.last(), "2026-08-11T12:00:00Z");
}

#[test]
fn scores_alone_are_no_news() {
    let mut model = Model::new().scoring();
    model.settle(&scored(&[":a=1 b=1"], 2));
    model.now = at(1000);
    for (groups, is_news) in [([":a=2 b=1"], false), ([":a=2"], true)] {
        let writes = model.plan(&scored(&groups, 2), Step::Next);
        let write = writes
            .iter()
            .find(|it| text(it).starts_with("list"))
            .expect("a write");
        let stored = model.facts();
        assert_eq!(
            Pending::of(write, Some(&stored)).is_some(),
            is_news,
            "{groups:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Scores and counts that change all the time are written alone at most once in the time of the limit, and the last ones are written
    /// once it is over. The controller looks again when there is something to write, and never else.
    #[test]
    fn jitter_is_written_at_most_once_in_the_time_of_the_limit(
        limit in 1_i64..20,
        history in prop::collection::vec((0_i64..2500, 0_usize..3, [0_i64..3, 0..3, 0..3], 0_u8..12), 1..120),
    ) {
        let mut model = Model::new().scoring();
        model.placement["spec"] = json!({"scoreRateLimit": format!("{limit}s")});
        let mut clusters = vec!["a", "b", "c"];
        let mut last: Option<Timestamp> = None;
        for (milliseconds, count, scores, change) in history {
            model.now += SignedDuration::from_millis(milliseconds);
            if change == 0 {
                clusters = if clusters.len() == 3 { vec!["a", "c"] } else { vec!["a", "b", "c"] };
            }
            let entries = clusters.iter().zip(scores).map(|(name, score)| format!("{name}={score}"));
            let entries: Vec<_> = entries.collect();
            // The first one is in a group of its own.
            let groups = [format!("x:{}", entries[0]), format!(":{}", entries[1..].join(" "))];
            let groups = groups.each_ref().map(String::as_str);
            let wanted = scored(&groups, count);
            let before = model.layout();
            let writes = model.settle(&wanted).concat();
            let is_alone = model.layout() == before;
            if is_alone && !writes.is_empty() {
                let since = last.map(|last| model.now.duration_since(last));
                prop_assert!(since.is_none_or(|it| it >= SignedDuration::from_secs(limit)), "{:?}", since);
            }
            if !writes.is_empty() && model.last() == &json!(stored_time(model.now)) {
                last = Some(model.now);
            }
            let stored = [1, 2].map(|it| model.scores(&format!("p-decision-{it}")));
            let is_stored = stored == [entries[0].clone(), entries[1..].join(" ")]
                && model.message().ends_with(&format!(": {count}"));
            let again = model.again(&wanted);
            prop_assert_eq!(again.is_none(), is_stored);
            prop_assert!(again.is_none_or(|it| it <= limit.unsigned_abs() + 1));
            if change == 1 && let Some(again) = again {
                model.now += SignedDuration::from_secs(again.cast_signed() + 1);
                model.settle(&wanted);
                last = Some(model.now);
                prop_assert_eq!(model.again(&wanted), None);
                prop_assert_eq!(model.scores("p-decision-1"), entries[0].clone());
            }
        }
    }
}

/// A time as it is stored.
fn stored_time(time: Timestamp) -> String {
    let seconds = Timestamp::from_second(time.as_second()).expect("a time");
    format!("{seconds:.0}")
}
