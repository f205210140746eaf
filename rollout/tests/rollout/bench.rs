//! Rollouts as short texts.

use std::collections::BTreeMap;

use berth_rollout::{Rollout, RolloutGroup, RolloutRules, RolloutState, RolloutStatus, rollout};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

pub(crate) fn now() -> Timestamp {
    "2022-01-01T00:00:00Z".parse().unwrap()
}

pub(crate) fn after(seconds: i64) -> Timestamp {
    now() + SignedDuration::from_secs(seconds)
}

pub(crate) fn rules(strategy: &Value) -> RolloutRules {
    RolloutRules::new(&serde_json::from_value(strategy.clone()).unwrap()).unwrap()
}

/// Reads `name: c1 c2; : c3`: a group per semicolon, which may have no name.
pub(crate) fn groups(text: &str) -> Vec<RolloutGroup> {
    let group = |(index, text): (usize, &str)| {
        let (name, clusters) = text.split_once(':').unwrap();
        RolloutGroup {
            index: i32::try_from(index).unwrap(),
            name: name.trim().to_owned(),
            clusters: clusters.split_whitespace().map(str::to_owned).collect(),
        }
    };
    text.split(';').enumerate().map(group).collect()
}

/// Reads `c1 Succeeded 60, c2 Skip`: clusters, their status, and for how many seconds they have been in it.
pub(crate) fn states(text: &str) -> BTreeMap<String, RolloutState> {
    let state = |text: &str| {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap().to_owned();
        let status = status(words.next().unwrap());
        let since = words.next().map(|ago| after(-ago.parse::<i64>().unwrap()));
        (name, RolloutState { status, since })
    };
    text.split_terminator(',').map(state).collect()
}

fn status(text: &str) -> RolloutStatus {
    match text {
        "ToApply" => RolloutStatus::ToApply,
        "Progressing" => RolloutStatus::Progressing,
        "Succeeded" => RolloutStatus::Succeeded,
        "Failed" => RolloutStatus::Failed,
        "TimeOut" => RolloutStatus::TimeOut,
        "Skip" => RolloutStatus::Skip,
        other => panic!("no status: {other}"),
    }
}

/// Writes a result as `c1 Progressing, c2 ToApply; timed out c3; removed c4; breach; next 30`, without the parts that are empty.
pub(crate) fn shown(rollout: &Rollout<'_>) -> String {
    let mut parts = Vec::new();
    let clusters = rollout.clusters.iter();
    let clusters: Vec<_> = clusters
        .map(|it| format!("{} {:?}", it.name, it.status))
        .collect();
    if !clusters.is_empty() {
        parts.push(clusters.join(", "));
    }
    let timed_out: Vec<_> = rollout.timed_out.iter().map(|it| it.name).collect();
    if !timed_out.is_empty() {
        parts.push(format!("timed out {}", timed_out.join(" ")));
    }
    if !rollout.removed.is_empty() {
        parts.push(format!("removed {}", rollout.removed.join(" ")));
    }
    if rollout.is_breached {
        parts.push("breach".to_owned());
    }
    if let Some(next) = rollout.next {
        parts.push(format!("next {}", next.duration_since(now()).as_secs()));
    }
    parts.join("; ")
}

/// Rows of a sentence, the groups, the states, and the expected result.
pub(crate) fn check(strategy: &Value, rows: &[(&str, &str, &str, &str)]) {
    for (sentence, groups, states, expected) in rows {
        let (groups, states) = (self::groups(groups), self::states(states));
        let result = rollout(&rules(strategy), &groups, &states, now());
        assert_eq!(shown(&result), *expected, "{sentence}: {strategy}");
    }
}
