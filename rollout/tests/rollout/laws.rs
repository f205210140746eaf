//! What holds for every rollout.

use std::collections::BTreeMap;

use berth_rollout::{
    Rollout, RolloutCluster, RolloutGroup, RolloutRules, RolloutState, RolloutStatus, rollout,
};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use crate::bench::{after, now, rules};

const TYPES: [(&str, &str); 3] = [
    ("All", "all"),
    ("Progressive", "progressive"),
    ("ProgressivePerGroup", "progressivePerGroup"),
];
const DEADLINES: [&str; 4] = ["None", "0s", "90s", "3m"];
const NAMES: [&str; 8] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];

type States = BTreeMap<String, RolloutState>;

fn any_share() -> impl Strategy<Value = Value> {
    let percentage = (0_u8..=100).prop_map(|it| Value::from(format!("{it}%")));
    prop_oneof![Just(Value::Null), (0..6).prop_map(Value::from), percentage]
}

fn any_settings(
    deadlines: &'static [&'static str],
    mandatory: usize,
) -> impl Strategy<Value = Value> {
    let deadline = select(deadlines);
    let soak = select(&["0", "1m", "2m"][..]);
    let group = prop_oneof![
        (0..4).prop_map(|index| json!({"groupIndex": index})),
        Just(json!({"groupName": "a"})),
    ];
    let mandatory = prop::collection::vec(group, 0..=mandatory);
    (deadline, soak, any_share(), any_share(), mandatory).prop_map(
        |(deadline, soak, failures, concurrency, mandatory)| {
            json!({
                "progressDeadline": deadline, "minSuccessTime": soak, "maxFailures": failures,
                "maxConcurrency": concurrency, "mandatoryDecisionGroups": mandatory,
            })
        },
    )
}

fn any_strategy(deadlines: &'static [&'static str]) -> impl Strategy<Value = Value> {
    (select(&TYPES[..]), any_settings(deadlines, 2))
        .prop_map(|((name, field), settings)| json!({"type": name, field: settings}))
}

/// Up to four groups of the clusters. Some clusters are in no group.
fn any_groups() -> impl Strategy<Value = Vec<RolloutGroup>> {
    (any::<[Index; 8]>(), select(&["", "a"][..])).prop_map(|(homes, name)| {
        let mut groups: Vec<_> = (0..4)
            .map(|index| RolloutGroup {
                index,
                name: if index < 2 { name } else { "b" }.to_owned(),
                ..RolloutGroup::default()
            })
            .collect();
        for (cluster, home) in NAMES.iter().zip(homes) {
            if let Some(group) = groups.get_mut(home.index(5)) {
                group.clusters.insert((*cluster).to_owned());
            }
        }
        groups
    })
}

fn any_states() -> impl Strategy<Value = States> {
    let status = select(
        &[
            RolloutStatus::ToApply,
            RolloutStatus::Progressing,
            RolloutStatus::Succeeded,
            RolloutStatus::Succeeded,
            RolloutStatus::Failed,
            RolloutStatus::TimeOut,
            RolloutStatus::Skip,
        ][..],
    );
    let state = (status, -10_i64..200).prop_map(|(status, ago)| RolloutState {
        status,
        since: Some(after(-ago)),
    });
    prop::collection::btree_map(select(&NAMES[..]).prop_map(str::to_owned), state, 0..=8)
}

fn starts(result: &Rollout<'_>) -> usize {
    let clusters = result.clusters.iter();
    clusters
        .filter(|it| it.status == RolloutStatus::ToApply)
        .count()
}

/// The number of places that a strategy has for `total` clusters.
fn places(concurrency: &Value, total: usize) -> usize {
    let part = match concurrency {
        Value::String(text) => {
            let percentage: usize = text.trim_end_matches('%').parse().unwrap();
            (percentage * total).div_ceil(100)
        }
        other => usize::try_from(other.as_u64().unwrap_or(0)).unwrap(),
    };
    if part == 0 || part > total {
        total
    } else {
        part
    }
}

proptest! {
    #[test]
    fn after_a_breach_no_cluster_starts(
        strategy in any_strategy(&DEADLINES), groups in any_groups(), states in any_states(),
    ) {
        let rules = rules(&strategy);
        let result = rollout(&rules, &groups, &states, now());
        prop_assert!(!result.is_breached || starts(&result) == 0, "{result:?}");
    }

    #[test]
    fn the_time_to_look_again_is_in_the_future_and_until_then_nothing_changes(
        strategy in any_strategy(&DEADLINES), groups in any_groups(), states in any_states(), at in any::<Index>(),
    ) {
        let rules = rules(&strategy);
        let result = rollout(&rules, &groups, &states, now());
        let seconds = result.next.map_or(100_000, |next| next.duration_since(now()).as_secs());
        prop_assert!(seconds > 0, "{result:?}");
        let seconds = at.index(usize::try_from(seconds).unwrap());
        let later = after(i64::try_from(seconds).unwrap());
        prop_assert_eq!(rollout(&rules, &groups, &states, later), result);
    }

    #[test]
    fn the_order_of_the_groups_does_not_matter(
        strategy in any_strategy(&DEADLINES), states in any_states(),
        (groups, shuffled) in any_groups().prop_flat_map(|it| (Just(it.clone()), Just(it).prop_shuffle())),
    ) {
        let rules = rules(&strategy);
        let result = rollout(&rules, &groups, &states, now());
        prop_assert_eq!(rollout(&rules, &shuffled, &states, now()), result);
    }

    #[test]
    fn each_cluster_has_one_place_in_the_result(
        strategy in any_strategy(&DEADLINES), groups in any_groups(), states in any_states(),
    ) {
        let rules = rules(&strategy);
        let result = rollout(&rules, &groups, &states, now());
        let mut names: Vec<_> = result.clusters.iter().chain(&result.timed_out).map(|it| it.name).collect();
        names.extend(&result.removed);
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        prop_assert_eq!(names.len(), all, "{:?}", result);
        for name in &result.removed {
            prop_assert!(states.contains_key(*name) && !groups.iter().any(|it| it.clusters.contains(*name)));
        }
    }

    #[test]
    fn no_cluster_starts_beyond_the_concurrency(
        settings in any_settings(&DEADLINES, 0), groups in any_groups(), states in any_states(),
    ) {
        let rules = rules(&json!({"type": "Progressive", "progressive": settings}));
        let result = rollout(&rules, &groups, &states, now());
        let total = groups.iter().map(|it| it.clusters.len()).sum();
        let places = places(&settings["maxConcurrency"], total);
        prop_assert!(starts(&result) == 0 || result.clusters.len() <= places, "{places}: {result:?}");
    }

    #[test]
    fn a_rollout_without_failures_reaches_every_cluster(
        strategy in any_strategy(&["None", "90s", "3m"]), groups in any_groups(), seconds in any::<[Index; 8]>(),
    ) {
        let end = run(&rules(&strategy), &groups, |cluster| {
            (RolloutStatus::Succeeded, 1 + seconds[cluster].index(30))
        });
        for cluster in groups.iter().flat_map(|it| &it.clusters) {
            let status = end.get(cluster).map(|it| it.status);
            prop_assert_eq!(status, Some(RolloutStatus::Succeeded), "{} of {:?}", cluster, end);
        }
    }

    #[test]
    fn a_rollout_with_a_deadline_reaches_every_cluster_or_a_breach(
        strategy in any_strategy(&["0s", "90s", "3m"]), groups in any_groups(), fails in any::<[bool; 8]>(),
    ) {
        let rules = rules(&strategy);
        let end = run(&rules, &groups, |cluster| {
            let ends = [RolloutStatus::Succeeded, RolloutStatus::Failed];
            (ends[usize::from(fails[cluster])], 10)
        });
        let result = rollout(&rules, &groups, &end, after(100_000));
        let total: usize = groups.iter().map(|it| it.clusters.len()).sum();
        prop_assert!(result.is_breached || end.len() == total, "{result:?}");
    }
}

/// Runs a rollout from the beginning: applies each step, and lets each cluster end after its number of seconds. Returns the states when
/// nothing is left to do. No cluster starts twice, and each step lists all clusters that are in progress.
fn run(
    rules: &RolloutRules,
    groups: &[RolloutGroup],
    end_of: impl Fn(usize) -> (RolloutStatus, usize),
) -> States {
    let mut states = States::new();
    let mut ends: BTreeMap<String, (RolloutStatus, Timestamp)> = BTreeMap::new();
    let mut time = now();
    // Each cluster starts, ends, and soaks or times out.
    for _ in 0..=3 * NAMES.len() {
        let result = rollout(rules, groups, &states, time);
        let listed: Vec<_> = (result.clusters.iter().chain(&result.timed_out))
            .map(|it| it.name)
            .collect();
        assert!(ends.keys().all(|it| listed.contains(&it.as_str())));
        let next = result.next;
        let to_apply = |it: &&RolloutCluster<'_>| it.status == RolloutStatus::ToApply;
        let started: Vec<_> = (result.clusters.iter().filter(to_apply))
            .map(|it| it.name.to_owned())
            .collect();
        for name in started {
            let cluster = NAMES.iter().position(|it| *it == name).unwrap();
            let (status, seconds) = end_of(cluster);
            let seconds = i64::try_from(seconds).unwrap();
            ends.insert(
                name.clone(),
                (status, time + SignedDuration::from_secs(seconds)),
            );
            let state = RolloutState {
                status: RolloutStatus::Progressing,
                since: Some(time),
            };
            assert!(states.insert(name, state).is_none(), "started twice");
        }
        let observed = ends.values().map(|it| it.1).min();
        let Some(later) = observed.into_iter().chain(next).min() else {
            return states;
        };
        time = later;
        ends.retain(|name, &mut (status, end)| {
            if end <= time {
                let since = Some(end);
                states.insert(name.clone(), RolloutState { status, since });
            }
            end > time
        });
    }
    panic!("too many steps: {states:?}");
}
