//! Laws over random histories.

use std::collections::BTreeMap;

use berth_placement_core::{Counts, Gates};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Change, Hub, Known};
use crate::view::Key;
use crate::wanted::Wanted;

const CLUSTERS: [&str; 6] = ["c0", "c1", "c2", "c3", "c4", "c5"];
const SETS: [&str; 3] = ["s0", "s1", "s2"];

fn any_key() -> impl Strategy<Value = Key> {
    ("[ab]", "[pq]").prop_map(|(namespace, name)| Key::new(&namespace, &name))
}

fn any_cluster() -> impl Strategy<Value = Value> {
    let key = prop::sample::select(vec![
        "a",
        "b",
        "cluster.open-cluster-management.io/clusterset",
    ]);
    let value = prop::sample::select(vec!["x", "s0", "s1"]);
    let labels = prop::collection::btree_map(key, value, 0..3);
    let claim = prop::option::of("[xy]");
    let effect = prop::sample::select(vec!["NoSelect", "NoSelectIfNew", "PreferNoSelect"]);
    let taint = ("[kl]", effect, 0_u8..60).prop_map(|(key, effect, ago)| {
        json!({"key": key, "effect": effect, "timeAdded": format!("2026-08-11T11:59:{ago:02}Z")})
    });
    let taints = prop::collection::vec(taint, 0..2);
    (labels, claim, taints, prop::option::of(0_u8..4), 0_u8..8).prop_map(
        |(labels, claim, taints, cpu, chance)| {
            let claims: Vec<_> = claim
                .iter()
                .map(|it| json!({"name": "a", "value": it}))
                .collect();
            let deleted = (chance == 0).then_some("2026-08-11T11:00:00Z");
            let cpu = cpu.map_or(json!({}), |cpu| json!({"cpu": cpu.to_string()}));
            json!({
                "metadata": {"labels": labels, "deletionTimestamp": deleted},
                "spec": {"taints": taints},
                "status": {"clusterClaims": claims, "allocatable": cpu, "capacity": cpu},
            })
        },
    )
}

fn any_selector() -> impl Strategy<Value = Value> {
    prop_oneof![
        2 => Just(json!({"selectorType": "ExclusiveClusterSetLabel"})),
        2 => Just(json!({"selectorType": "LabelSelector", "labelSelector": {}})),
        2 => "[ab]".prop_map(|key| json!({
            "selectorType": "LabelSelector",
            "labelSelector": {"matchExpressions": [{"key": key, "operator": "Exists"}]},
        })),
        1 => Just(json!({"selectorType": "None"})),
    ]
}

/// Costs too much on clusters with the label `b`: it matches a text of 64 KiB with a regular expression as long.
const COSTLY: &str = concat!(
    r#"!has(managedCluster.metadata.labels.b) || optional.of("aaaaaaaaaaaaaaaa")"#,
    ".optMap(x, x + x + x + x + x + x + x + x).optMap(x, x + x + x + x + x + x + x + x)",
    ".optMap(x, x + x + x + x + x + x + x + x).optMap(x, x + x + x + x + x + x + x + x)",
    ".optMap(x, x.matches(x)).value()",
);

fn any_expression() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        r#"managedCluster.metadata.labels["a"] == "x""#,
        r#"managedCluster.status.clusterClaims.exists(it, it.name == "a" && it.value == "y")"#,
        r#"managedCluster.scores("r").all(it, it.value > 0)"#,
        r#"has(managedCluster.status.allocatable.cpu)"#,
        COSTLY,
        "nothing",
    ])
}

/// The spec of a placement. Those with an even number of clusters use Balance.
fn any_spec() -> impl Strategy<Value = Value> {
    let label = prop::option::of(("[ab]", "[xy]"));
    let claim = prop::option::of("[xy]");
    let toleration = prop::option::of(("[kl]?", prop::option::of(0_i64..120)));
    let sets = prop::collection::vec(prop::sample::select(SETS.to_vec()), 0..2);
    let scorer = prop_oneof![
        Just(json!({"type": "BuiltIn", "builtIn": "ResourceAllocatableCPU"})),
        Just(json!({"type": "AddOn", "addOn": {"resourceName": "r", "scoreName": "s"}})),
        Just(json!({"type": "BuiltIn", "builtIn": "Nothing"})),
        Just(json!({"type": "BuiltIn", "builtIn": "Steady"})),
    ];
    let group = prop::option::of(("[ab]", any::<bool>()));
    let expression = prop::option::weighted(0.3, any_expression());
    let predicate = (label, claim, expression);
    (predicate, toleration, sets, 0_i32..5, scorer, group).prop_map(
        |((label, claim, expression), toleration, sets, number, scorer, group)| {
            let labels = label.map(|(key, value)| json!({"matchLabels": {key: value}}));
            let claims = claim
                .map(|it| json!({"matchExpressions": [{"key": "a", "operator": "In", "values": [it]}]}));
            let cel = expression.map(|it| json!({"celExpressions": [it]}));
            let predicates: Vec<_> = (labels.is_some() || claims.is_some() || cel.is_some())
                .then(|| json!({"requiredClusterSelector": {
                    "labelSelector": labels, "claimSelector": claims, "celSelector": cel,
                }}))
                .into_iter()
                .collect();
            let tolerations: Vec<_> = toleration
                .map(|(key, seconds)| json!({"key": key, "operator": "Exists", "tolerationSeconds": seconds}))
                .into_iter()
                .collect();
            let groups: Vec<_> = group
                .map(|(key, of_claims)| {
                    let by = json!({"matchExpressions": [{"key": key, "operator": "Exists"}]});
                    let selector = if of_claims { "claimSelector" } else { "labelSelector" };
                    json!({"groupName": "group", "groupClusterSelector": {selector: by}})
                })
                .into_iter()
                .collect();
            json!({
                "clusterSets": sets,
                "numberOfClusters": number,
                "predicates": predicates,
                "tolerations": tolerations,
                "decisionStrategy": {"groupStrategy": {"decisionGroups": groups}},
                "prioritizerPolicy": {
                    "mode": if number % 2 == 0 { "Additive" } else { "Exact" },
                    "configurations": [{"scoreCoordinate": scorer, "weight": 2}],
                },
            })
        },
    )
}

fn any_change() -> impl Strategy<Value = Change> {
    let name = || prop::sample::select(&CLUSTERS[..]).prop_map(str::to_owned);
    let set = || prop::sample::select(&SETS[..]).prop_map(str::to_owned);
    let maybe = |chance: f64| prop::bool::weighted(chance);
    prop_oneof![
        8 => (name(), any_cluster(), maybe(0.9))
            .prop_map(|(name, cluster, exists)| Change::Cluster(name, exists.then_some(cluster))),
        3 => (set(), any_selector(), maybe(0.9))
            .prop_map(|(set, selector, exists)| Change::Set(set, exists.then_some(selector))),
        4 => ("[ab]", set(), maybe(0.8)).prop_map(|(namespace, set, exists)| Change::Binding(namespace, set, exists)),
        5 => (any_key(), any_spec(), maybe(0.9))
            .prop_map(|(key, spec, exists)| Change::Placement(key, exists.then_some(spec))),
        3 => (name(), prop::option::weighted(0.8, (-100..100, prop::option::of(-10_i64..50))))
            .prop_map(|(name, scores)| Change::Scores(name, scores)),
        1 => prop::collection::vec(name(), 0..4).prop_map(Change::Foreign),
        2 => (0_i64..40).prop_map(Change::Time),
    ]
}

/// Whether the placement reads other placements' decisions.
fn balances(hub: &Hub, key: &Key) -> bool {
    let number = hub.placements[key].spec.number_of_clusters;
    number.is_some_and(|it| it % 2 == 0)
}

/// With or without scores.
fn any_gates() -> impl Strategy<Value = Gates> {
    any::<bool>().prop_map(|scores| Gates {
        scores,
        ..Gates::default()
    })
}

/// The result without the counts of rejected clusters: which step rejects a cluster wakes no placement, unless its status has the counts.
fn uncounted(wanted: &Wanted) -> Wanted {
    Wanted {
        counts: Counts::default(),
        ..wanted.clone()
    }
}

/// A change of the hub, or of the writes of a placement.
#[derive(Clone, Debug)]
enum Turn {
    Change(Change),
    /// The placement is evaluated, and its decisions are being written.
    Begins(Key),
    /// They have been written.
    Ends(Key),
}

fn any_turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        4 => any_change().prop_map(Turn::Change),
        4 => any_key().prop_map(Turn::Begins),
        2 => any_key().prop_map(Turn::Ends),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// What is kept of an evaluation gives the same result as a new one, and the same scores, also while decisions are being written.
    #[test]
    fn what_is_kept_equals_a_new_evaluation(
        specs in prop::collection::vec(any_spec(), 4..5),
        history in prop::collection::vec((any_turn(), any::<bool>()), 1..80),
        gates in any_gates(),
    ) {
        let mut hub = Hub::gated(gates);
        for name in CLUSTERS {
            let labels = json!({"cluster.open-cluster-management.io/clusterset": "s0"});
            hub.apply(&Change::Cluster(name.to_owned(), Some(json!({"metadata": {"labels": labels}}))));
        }
        hub.apply(&Change::Set("s0".to_owned(), Some(json!({"selectorType": "ExclusiveClusterSetLabel"}))));
        for (spec, (namespace, name)) in specs.iter().zip([("a", "p"), ("a", "q"), ("b", "p"), ("b", "q")]) {
            hub.apply(&Change::Binding(namespace.to_owned(), "s0".to_owned(), true));
            hub.apply(&Change::Placement(Key::new(namespace, name), Some(spec.clone())));
        }
        let mut writing = BTreeMap::new();
        for (turn, compares) in history {
            match turn {
                Turn::Change(change) => drop(hub.apply(&change)),
                Turn::Begins(key) => {
                    if let Some(wanted) = hub.view.evaluate_kept(&key, &Known::default(), hub.now) {
                        hub.view.writes(&key, &wanted.clusters);
                        writing.insert(key, (*wanted).clone());
                    }
                }
                Turn::Ends(key) => {
                    if let Some(wanted) = writing.remove(&key) {
                        hub.store(&key, &wanted);
                    }
                }
            }
            let keys: Vec<_> = hub.placements.keys().cloned().collect();
            for key in keys.iter().filter(|_| compares) {
                let [kept, anew] = hub.view.evaluate_both(key, hub.now);
                prop_assert_eq!(kept, anew, "{:?}", key);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Every evaluation, also from what was kept of an earlier one, equals that of the pure scheduler on the whole hub; and a placement that a change does not wake would get the
    /// same result as before, if it does not read other placements' decisions.
    #[test]
    fn the_view_equals_the_pure_scheduler_and_wakes_all_that_a_change_concerns(
        history in prop::collection::vec(any_change(), 1..60),
        gates in any_gates(),
    ) {
        let mut hub = Hub::gated(gates);
        let mut last = BTreeMap::new();
        for (round, change) in history.iter().enumerate() {
            let mut due = hub.apply(change);
            last.retain(|key, _| hub.placements.contains_key(key));
            let timers = last.iter().filter(|(_, (_, next))| {
                matches!(next, Some(next) if *next <= hub.now)
            });
            due.extend(timers.map(|(key, _)| Key::clone(key)));
            for (key, (result, _)) in last.iter().filter(|(key, _)| !due.contains(*key)) {
                if !balances(&hub, key) {
                    let now = hub.reference(key).map(|wanted| uncounted(&wanted));
                    prop_assert_eq!(&now, result, "{:?} by {:?}", key, change);
                }
            }
            // Those that are not due catch up with several changes at once.
            let keys: Vec<_> = hub.placements.keys().cloned().collect();
            for key in keys.iter().filter(|_| round % 4 == 3) {
                let wanted = hub.view.evaluate_kept(key, &Known::default(), hub.now);
                let wanted = wanted.map(|it| (*it).clone());
                prop_assert_eq!(wanted, hub.view.evaluate(key, hub.now), "{:?}", key);
            }
            for key in due {
                let expected = hub.reference(&key);
                let wanted = hub.evaluate(&key);
                prop_assert_eq!(&wanted, &expected, "{:?}", key);
                // Its own decisions count from now on; of the next evaluation they are the previous ones.
                let settled = hub.reference(&key);
                let next = settled.as_ref().and_then(|it| it.next);
                if settled.is_some() {
                    last.insert(key, (settled.as_ref().map(uncounted), next));
                }
            }
        }
    }
}
