//! What holds on every hub.

use std::collections::BTreeMap;

use berth_placement_core::{Eligible, Gates, Hub, OnFault, Scene, Settings, Snapshot, schedule};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::bench::{Bench, NAME, NAMESPACE, Seen, after, cluster, names};

const NAMES: [&str; 8] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];
const EFFECTS: [&str; 3] = ["NoSelect", "NoSelectIfNew", "PreferNoSelect"];

fn any_taint() -> impl Strategy<Value = Value> {
    let effect = prop::sample::select(&EFFECTS[..]);
    ("[ab]", "[xy]?", effect, prop::option::of(0_i64..60)).prop_map(|(key, value, effect, ago)| {
        let now = Bench::new(json!({})).now;
        let added = ago.map(|ago| after(now, -ago).to_string());
        json!({"key": key, "value": value, "effect": effect, "timeAdded": added})
    })
}

fn any_cluster(name: &'static str) -> impl Strategy<Value = Value> {
    let map = || prop::collection::btree_map("[ab]", "[xyz]", 0..3);
    let amount = || prop::option::of(0_u32..20);
    let taints = prop::collection::vec(any_taint(), 0..3);
    (map(), map(), amount(), taints, 0_u8..10).prop_map(
        move |(labels, claims, cpu, taints, chance)| {
            let deleted = (chance == 0).then_some("2022-01-01T00:00:00Z");
            let cpu = cpu.map(|cpu| json!([cpu.to_string(), "20"]));
            json!({
                "name": name, "labels": labels, "claims": claims, "cpu": cpu, "taints": taints,
                "deletionTimestamp": deleted,
            })
        },
    )
}

fn any_selector() -> impl Strategy<Value = Value> {
    let operator = prop::sample::select(&["In", "NotIn", "Exists", "DoesNotExist", "Has"][..]);
    let requirement = ("[ab]", operator, "[xyz]").prop_map(|(key, operator, value)| {
        let values = if operator.ends_with("In") {
            json!([value])
        } else {
            json!([])
        };
        json!({"key": key, "operator": operator, "values": values})
    });
    prop::collection::vec(requirement, 0..2).prop_map(|all| json!({"matchExpressions": all}))
}

fn any_selectors() -> impl Strategy<Value = Value> {
    (any_selector(), any_selector())
        .prop_map(|(labels, claims)| json!({"labelSelector": labels, "claimSelector": claims}))
}

fn any_toleration() -> impl Strategy<Value = Value> {
    let operator = prop::sample::select(&["Equal", "Exists", "Exists"][..]);
    ("[ab]?", "[xy]?", operator, prop::option::of(0_i64..90)).prop_map(
        |(key, value, operator, seconds)| {
            let value = if operator == "Exists" {
                String::new()
            } else {
                value
            };
            json!({"key": key, "value": value, "operator": operator, "tolerationSeconds": seconds})
        },
    )
}

fn any_weight() -> impl Strategy<Value = Value> {
    let built_in = [
        "Balance",
        "Steady",
        "ResourceAllocatableCPU",
        "ResourceAllocatableMemory",
    ];
    let built_in = prop::sample::select(built_in.to_vec())
        .prop_map(|name| json!({"type": "BuiltIn", "builtIn": name}));
    let add_on = json!({"type": "AddOn", "addOn": {"resourceName": "r", "scoreName": "s"}});
    let coordinate = prop_oneof![4 => built_in, 1 => Just(add_on)];
    (coordinate, -3_i32..=10)
        .prop_map(|(it, weight)| json!({"scoreCoordinate": it, "weight": weight}))
}

fn any_constraint() -> impl Strategy<Value = Value> {
    let of = prop::sample::select(&["Label", "Claim"][..]);
    let when = prop::sample::select(&["DoNotSchedule", "ScheduleAnyway"][..]);
    ("[ab]", of, 1_i32..3, when).prop_map(|(key, of, skew, when)| {
        json!({"topologyKey": key, "topologyKeyType": of, "maxSkew": skew, "whenUnsatisfiable": when})
    })
}

fn any_spec() -> impl Strategy<Value = Value> {
    let predicates = prop::collection::vec(any_selectors(), 0..3);
    let tolerations = prop::collection::vec(any_toleration(), 0..3);
    let weights = prop::collection::vec(any_weight(), 0..4);
    let mode = prop::sample::select(&["Additive", "Additive", "Exact"][..]);
    let size = prop_oneof![
        Just(Value::Null),
        (0..4).prop_map(Value::from),
        Just(json!("40%"))
    ];
    let groups = prop::collection::vec(any_selectors(), 0..3);
    let spread = prop::collection::vec(any_constraint(), 0..3);
    let number = prop::option::weighted(0.7, -1_i32..9);
    let sort = prop::sample::select(&["ClusterName", "Score"][..]);
    (predicates, tolerations, (mode, weights), (size, groups), spread, number, sort).prop_map(
        |(predicates, tolerations, (mode, weights), (size, groups), spread, number, sort)| {
            let predicates: Vec<_> = predicates
                .into_iter()
                .map(|it| json!({"requiredClusterSelector": it}))
                .collect();
            let groups: Vec<_> = groups
                .into_iter()
                .map(|it| json!({"groupName": "group", "groupClusterSelector": it}))
                .collect();
            json!({
                "predicates": predicates,
                "tolerations": tolerations,
                "prioritizerPolicy": {"mode": mode, "configurations": weights},
                "decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": size, "decisionGroups": groups}},
                "spreadPolicy": {"spreadConstraints": spread},
                "numberOfClusters": number,
                "sortBy": sort,
            })
        },
    )
}

fn any_settings() -> impl Strategy<Value = Settings> {
    (any::<[bool; 4]>(), any::<bool>()).prop_map(
        |([spread, sort_by, prefer_no_select, scores], keep)| Settings {
            gates: Gates {
                spread,
                sort_by,
                prefer_no_select,
                scores,
            },
            on_fault: if keep { OnFault::Keep } else { OnFault::Remove },
            ..Settings::default()
        },
    )
}

fn any_bench() -> impl Strategy<Value = Bench> {
    let clusters = NAMES.map(any_cluster);
    let listed = || prop::sample::subsequence(NAMES.to_vec(), 0..NAMES.len());
    let others = prop::collection::vec(listed(), 0..4);
    let scores = prop::collection::vec(
        (0..NAMES.len(), -100_i32..=100, prop::option::of(-5_i64..60)),
        0..6,
    );
    (
        any_spec(),
        any_settings(),
        clusters,
        listed(),
        others,
        scores,
    )
        .prop_map(|(spec, settings, clusters, own, others, scores)| {
            let mut bench = Bench::new(spec);
            bench.settings = settings;
            for cluster in clusters {
                bench = bench.cluster(cluster);
            }
            bench = bench.own(&own);
            for other in others {
                bench = bench.other(&other);
            }
            for (index, value, until) in scores {
                bench = bench.score_until(NAMES[index], ("r", "s"), value, until);
            }
            bench
        })
}

/// The clusters in another order.
fn with_candidates_reversed(bench: &Bench) -> Vec<(String, Vec<String>)> {
    let rules = bench.rules();
    let previous = bench.snapshot.previous(NAMESPACE, NAME);
    let view = bench.snapshot.view(&rules);
    let mut eligible = bench.snapshot.eligible(&rules);
    eligible.candidates.reverse();
    let scene = Scene {
        eligible,
        previous: &previous,
        hub: &view,
        now: bench.now,
    };
    let schedule = schedule(&rules, scene);
    match &schedule.decisions {
        berth_placement_core::Decisions::Kept(names) => {
            vec![(
                String::new(),
                names.iter().map(|it| (*it).to_owned()).collect(),
            )]
        }
        berth_placement_core::Decisions::Groups(groups) => groups
            .iter()
            .map(|group| {
                let clusters = group.clusters.iter().map(|it| it.cluster.name.clone());
                (group.name.to_owned(), clusters.collect())
            })
            .collect(),
    }
}

proptest! {
    #[test]
    fn the_order_of_clusters_does_not_matter(bench in any_bench()) {
        prop_assert_eq!(with_candidates_reversed(&bench), bench.run().groups);
    }

    /// An expression that is stopped on a cluster, on which no other predicate decides, changes no decision.
    #[test]
    fn an_expression_that_costs_too_much_evicts_nothing(mut bench in any_bench(), stopped in prop::sample::subsequence(NAMES.to_vec(), 1..4)) {
        let doubled = ".optMap(x, [x, x])".repeat(24);
        let text = format!(
            r#"managedCluster.metadata.name in {} ? optional.of([1]){doubled}.optMap(x, x == x).value() : true"#,
            json!(stopped)
        );
        let predicate = json!({"requiredClusterSelector": {"celSelector": {"celExpressions": [text]}}});
        bench.spec["predicates"] = json!([predicate]);
        let seen = bench.run();
        let first = bench.snapshot.clusters.values().find(|it| !it.is_deleting && stopped.contains(&it.name.as_str()));
        if let (Some(first), None) = (first, bench.rules().misconfiguration()) {
            let previous = bench.snapshot.previous(NAMESPACE, NAME);
            let stays = |name: &&str| previous.contains(*name) && !bench.snapshot.clusters[*name].is_deleting;
            prop_assert_eq!(seen.decided(), NAMES.into_iter().filter(stays).collect::<Vec<_>>());
            let on = format!("costs too much on the cluster {}: ", first.name);
            prop_assert!(seen.fault.as_ref().is_some_and(|it| it.contains(&on)), "{:?}", seen.fault);
        }
        prop_assert_eq!(with_candidates_reversed(&bench), seen.groups);
    }

    #[test]
    fn the_order_of_decisions_does_not_matter(bench in any_bench()) {
        let mut other = bench.clone();
        other.snapshot.decisions.reverse();
        prop_assert_eq!(other.run(), bench.run());
    }

    #[test]
    fn a_decision_is_a_feasible_cluster_and_is_listed_once(bench in any_bench()) {
        let seen = bench.run();
        let listed = seen.decided();
        let mut once = listed.clone();
        once.dedup();
        prop_assert_eq!(&once, &listed);
        if seen.fault.is_none() {
            let mut selected = names(&seen.selected);
            selected.sort_unstable();
            prop_assert_eq!(&selected, &listed);
            for name in &listed {
                prop_assert!(names(&seen.feasible).contains(name), "{} is {}", name, seen.outcomes[*name]);
                prop_assert!(seen.outcomes[*name].starts_with("selected: "), "{} is {}", name, seen.outcomes[*name]);
            }
        } else {
            let previous = bench.snapshot.previous(NAMESPACE, NAME);
            prop_assert!(listed.iter().all(|name| previous.contains(*name)));
        }
    }

    #[test]
    fn no_more_clusters_are_selected_than_asked_for(bench in any_bench()) {
        let seen = bench.run();
        if let Some(number) = bench.spec["numberOfClusters"].as_u64() && seen.fault.is_none() {
            prop_assert_eq!(seen.selected.len() + seen.unscheduled, number as usize);
            if !bench.settings.gates.spread {
                prop_assert_eq!(seen.selected.len(), seen.feasible.len().min(number as usize));
            }
        }
    }

    #[test]
    fn the_selected_clusters_are_the_best(bench in any_bench()) {
        let seen = bench.run();
        let gates = bench.settings.gates;
        if gates.spread || gates.prefer_no_select || seen.fault.is_some() {
            return Ok(());
        }
        let key = |name: &String| (-seen.totals[name], name.clone());
        let worst = seen.selected.iter().map(key).max();
        for name in seen.feasible.iter().filter(|name| !seen.selected.contains(name)) {
            prop_assert!(worst.as_ref().is_none_or(|worst| key(name) > *worst));
        }
    }

    #[test]
    fn groups_have_an_order_and_a_size(bench in any_bench()) {
        let seen = bench.run();
        prop_assert!(!seen.groups.is_empty());
        let size = bench.spec["decisionStrategy"]["groupStrategy"]["clustersPerDecisionGroup"].as_u64();
        for (name, clusters) in &seen.groups {
            prop_assert!(name.is_empty() || name == "group");
            if !bench.settings.gates.sort_by {
                prop_assert!(clusters.is_sorted());
            }
            if let Some(size @ 1..) = size && seen.fault.is_none() {
                prop_assert!(clusters.len() <= size as usize);
            }
        }
        let named = seen.groups.iter().map(|(name, _)| name.is_empty());
        prop_assert!(named.is_sorted(), "the groups without a name come last");
    }

    /// Before the time that the schedule names, nothing but the reasons for rejected clusters changes by time alone.
    #[test]
    fn until_next_time_does_not_matter(bench in any_bench(), seconds in 0_i64..90) {
        let seen = bench.run();
        let next = seen.next;
        prop_assert!(next.is_none_or(|next| next > 0.0));
        if next.is_none_or(|next| (seconds as f64) < next) {
            let mut later = bench.clone();
            later.now = after(bench.now, seconds);
            let later = later.run();
            let result = |seen: &Seen| (seen.groups.clone(), seen.unscheduled, seen.scores.clone(), seen.warnings.clone());
            prop_assert_eq!(result(&later), result(&seen));
        }
    }

    /// What was decided is decided again, unless users ask for the opposite.
    #[test]
    fn a_decision_stands(bench in any_bench()) {
        let gates = bench.settings.gates;
        let steady = bench.run().scores.get("Steady").is_some_and(|(weight, _)| *weight < 0);
        if gates.spread || steady {
            return Ok(());
        }
        let bound = bench.bind();
        let once = bound.run();
        prop_assert_eq!(bound.bind().run().groups, once.groups);
    }

    /// What is recorded of a cluster is what the next evaluation finds, and records again if it selects the same clusters.
    #[test]
    fn a_record_stands(mut bench in any_bench()) {
        bench.settings.gates.scores = true;
        let seen = bench.run();
        let recorded = |seen: &Seen| {
            let mut records = seen.records.clone();
            records.sort_unstable();
            records
        };
        let records = recorded(&seen);
        let mut selected = seen.selected.clone();
        selected.sort_unstable();
        let names: Vec<_> = records.iter().map(|(name, ..)| name.clone()).collect();
        prop_assert_eq!(names, selected);
        let next = bench.bind().run();
        // A cluster that is not selected any more may not be tolerated any more, and amounts are compared among the others.
        if next.feasible == seen.feasible {
            for (name, score, _) in &records {
                prop_assert_eq!(next.totals[name], *score, "{}", name);
            }
            if next.groups == seen.groups {
                prop_assert_eq!(recorded(&next), records);
            }
        }
    }

    /// A cluster that is not in the sets, or is being deleted, changes nothing, if no other placement's decisions list it.
    #[test]
    fn a_cluster_that_cannot_be_selected_changes_nothing(bench in any_bench()) {
        let mut other = bench.clone();
        other.snapshot.clusters.insert("x".to_owned(), cluster(&json!({
            "name": "x", "cpu": ["1000", "1000"], "deletionTimestamp": "2022-01-01T00:00:00Z",
        })));
        prop_assert_eq!(other.run().groups, bench.run().groups);
    }

    /// A cluster that is worse than the last selected one changes nothing, unless scores depend on it.
    #[test]
    fn a_worse_cluster_changes_nothing_without_shared_scales(bench in any_bench()) {
        let seen = bench.run();
        let is_relative = seen.scores.keys().any(|name| name.starts_with("Resource"));
        if bench.settings.gates.spread || is_relative || seen.unscheduled > 0 || seen.fault.is_some() {
            return Ok(());
        }
        let worse = seen.feasible.iter().find(|name| !seen.selected.contains(name));
        if let Some(worse) = worse {
            let mut other = bench.clone();
            other.snapshot.clusters.remove(worse);
            prop_assert_eq!(other.run().groups, seen.groups);
        }
    }

    /// With one hard constraint, no value has more clusters than the skew allows.
    #[test]
    fn a_hard_constraint_holds(mut bench in any_bench(), key in "[ab]", skew in 1_usize..3) {
        bench.settings.gates.spread = true;
        bench.spec["spreadPolicy"] = json!({"spreadConstraints": [{
            "topologyKey": key, "topologyKeyType": "Label", "maxSkew": skew, "whenUnsatisfiable": "DoNotSchedule",
        }]});
        let seen = bench.run();
        if seen.fault.is_some() {
            return Ok(());
        }
        let value = |name: &String| bench.snapshot.clusters[name].labels.get(&key).cloned();
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for name in &seen.feasible {
            counts.extend(value(name).map(|value| (value, 0)));
        }
        for name in &seen.selected {
            let value = value(name);
            prop_assert!(value.is_some(), "{} has no label {}", name, key);
            *counts.entry(value.unwrap_or_default()).or_default() += 1;
        }
        let least = counts.values().min().copied().unwrap_or_default();
        let most = counts.values().max().copied().unwrap_or_default();
        prop_assert!(most - least <= skew, "{:?}", counts);
    }

    /// Gates that are off change nothing.
    #[test]
    fn fields_behind_gates_are_ignored(mut bench in any_bench()) {
        bench.settings.gates = Gates::default();
        let seen = bench.run();
        bench.spec["spreadPolicy"] = Value::Null;
        bench.spec["sortBy"] = Value::Null;
        prop_assert_eq!(bench.run(), seen);
    }
}

/// The snapshot's own way to a scene is the same as by hand.
#[test]
fn a_scene_can_be_made_by_hand() {
    let bench = Bench::new(json!({})).clusters(&["c1", "c2"]);
    let rules = bench.rules();
    let snapshot: &Snapshot = &bench.snapshot;
    let view = snapshot.view(&rules);
    assert_eq!(view.cluster("c1").map(|it| it.name.as_str()), Some("c1"));
    let previous = Default::default();
    let eligible = Eligible {
        bindings: 1,
        ..snapshot.eligible(&rules)
    };
    let scene = Scene {
        eligible,
        previous: &previous,
        hub: &view,
        now: bench.now,
    };
    let by_hand: Vec<_> = schedule(&rules, scene)
        .decisions
        .names()
        .map(str::to_owned)
        .collect();
    assert_eq!(names(&by_hand), bench.run().decided());
}
