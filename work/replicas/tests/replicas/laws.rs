//! What holds for every replica set.

use berth_work_replicas::{ReplicaSet, Work};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use crate::bench::Hub;

const CLUSTERS: [&str; 6] = ["c0", "c1", "c2", "c3", "c4", "c5"];
const REPORTS: [&str; 8] = [
    "",
    "A-",
    "A+ V+",
    "A+ V-",
    "A+ V+ P+",
    "A+ V+ P-",
    "A+ V+ P+ D+",
    "A+ P?",
];

/// An event on the hub.
#[derive(Clone, Debug)]
enum Event {
    Select(usize, Vec<usize>),
    Unlist(usize),
    Template(u32),
    Report(usize, &'static str),
    Refs(bool),
    Foreign(usize),
    Gone(Index),
    Time(i64),
    Pause(bool),
}

fn any_event() -> impl Strategy<Value = Event> {
    let clusters = prop::collection::vec(0..CLUSTERS.len(), 0..6);
    prop_oneof![
        3 => (0..2_usize, clusters).prop_map(|(placement, clusters)| Event::Select(placement, clusters)),
        1 => (0..2_usize).prop_map(Event::Unlist),
        1 => (0..3_u32).prop_map(Event::Template),
        6 => (0..CLUSTERS.len(), select(&REPORTS[..])).prop_map(|(cluster, report)| Event::Report(cluster, report)),
        1 => any::<bool>().prop_map(Event::Refs),
        1 => (0..CLUSTERS.len()).prop_map(Event::Foreign),
        1 => any::<Index>().prop_map(Event::Gone),
        1 => (0..100_i64).prop_map(Event::Time),
        1 => any::<bool>().prop_map(Event::Pause),
    ]
}

fn any_strategy() -> impl Strategy<Value = Value> {
    let settings = (
        0..4,
        select(&["None", "30s"][..]),
        select(&["0", "10s"][..]),
        0..3,
    );
    let settings = settings.prop_map(|(concurrency, deadline, soak, failures)| {
        json!({
            "maxConcurrency": concurrency, "progressDeadline": deadline, "minSuccessTime": soak, "maxFailures": failures,
        })
    });
    (select(&["All", "Progressive", "ProgressivePerGroup"][..]), settings).prop_map(|(name, settings)| {
        json!({"type": name, "progressive": settings, "progressivePerGroup": settings})
    })
}

const PLACEMENTS: [&str; 2] = ["p", "q"];

fn happen(hub: &mut Hub, event: &Event) {
    match event {
        Event::Select(placement, clusters) => {
            let clusters: Vec<_> = clusters.iter().map(|it| CLUSTERS[*it]).collect();
            hub.select(PLACEMENTS[*placement], &clusters);
        }
        Event::Unlist(placement) => {
            let placed = hub.placed.get_mut(PLACEMENTS[*placement]).unwrap();
            placed.selected = placed.groups.iter().map(|it| it.clusters.len()).sum();
            placed.groups.clear();
        }
        Event::Template(version) => hub.template(*version),
        Event::Report(cluster, report) => hub.report(CLUSTERS[*cluster], report),
        Event::Refs(both) => {
            let names = if *both {
                &PLACEMENTS[..]
            } else {
                &PLACEMENTS[..1]
            };
            let refs: Vec<_> = names.iter().map(|it| json!({"name": it})).collect();
            hub.set["spec"]["placementRefs"] = json!(refs);
        }
        Event::Foreign(cluster) => {
            let cluster = CLUSTERS[*cluster];
            if !hub
                .works
                .contains_key(&(cluster.to_owned(), "set".to_owned()))
            {
                hub.taken.insert(cluster.to_owned());
            }
        }
        Event::Gone(index) => {
            let keys: Vec<_> = hub.works.keys().cloned().collect();
            if !keys.is_empty() {
                hub.works.remove(index.get(&keys));
            }
        }
        Event::Time(seconds) => hub.after(*seconds),
        Event::Pause(pauses) => pause(hub, *pauses),
    }
}

fn pause(hub: &mut Hub, pauses: bool) {
    let value = if pauses { "a reason" } else { "false" };
    let annotations = json!({"berth.open-cluster-management.io/rollout-paused": value});
    hub.set["metadata"]["annotations"] = annotations;
}

proptest! {
    /// While the rollouts are paused, no ManifestWork is created and none gets another spec. Once they are resumed, the hub is as one that
    /// was never paused.
    #[test]
    fn a_pause_changes_no_spec_and_leaves_no_trace(
        before in prop::collection::vec(any_event(), 0..6),
        during in prop::collection::vec(any_event(), 0..6),
    ) {
        let mut hub = Hub::new(&PLACEMENTS, &json!({"type": "All"}));
        for event in before {
            happen(&mut hub, &event);
            hub.settle();
        }
        pause(&mut hub, true);
        for event in during.iter().filter(|it| !matches!(it, Event::Pause(_))) {
            let specs = |hub: &Hub| hub.works.clone().into_iter().map(|(at, it)| (at, it["spec"].clone())).collect::<Vec<_>>();
            happen(&mut hub, event);
            let was = specs(&hub);
            hub.settle();
            prop_assert!(specs(&hub).iter().all(|it| was.contains(it)), "{event:?}");
        }
        let mut never = hub.clone();
        never.works.clear();
        for hub in [&mut hub, &mut never] {
            pause(hub, false);
            for placed in hub.placed.values_mut() {
                placed.selected = 0;
            }
            hub.settle();
        }
        let clusters = |hub: &Hub| hub.made().split(' ').map(|it| {
            (it.split('/').next().unwrap_or_default().to_owned(), it.ends_with('='))
        }).collect::<Vec<_>>();
        prop_assert_eq!(clusters(&hub), clusters(&never));
    }

    /// Whatever happens, decisions settle, and then nothing is due. A process that is killed after any of the changes goes on to the same end.
    #[test]
    fn decisions_settle_and_survive_kills(
        strategy in any_strategy(),
        events in prop::collection::vec((any_event(), 0..4_usize), 0..12),
    ) {
        let mut hub = Hub::new(&PLACEMENTS, &strategy);
        hub.settle();
        let mut killed = hub.clone();
        for (event, kills) in events {
            happen(&mut hub, &event);
            hub.settle();
            happen(&mut killed, &event);
            for most in 0..kills {
                killed.step(most);
            }
            killed.settle();
            prop_assert_eq!(hub.made(), killed.made());
            prop_assert_eq!(&hub.set["status"], &killed.set["status"]);
        }
        let status = hub.set["status"].clone();
        prop_assert_eq!(hub.settle(), 0);
        prop_assert_eq!(&hub.set["status"], &status);
    }

    /// With the strategy All, each selected cluster has exactly the works of its placements.
    #[test]
    fn works_are_what_placements_select(events in prop::collection::vec(any_event(), 0..12)) {
        let mut hub = Hub::new(&PLACEMENTS, &json!({"type": "All"}));
        for event in events {
            happen(&mut hub, &event);
            hub.settle();
        }
        pause(&mut hub, false);
        for placed in hub.placed.values_mut() {
            placed.selected = 0;
        }
        hub.set["spec"]["placementRefs"] = json!([{"name": "p"}, {"name": "q"}]);
        hub.settle();
        let mut expected: Vec<_> = (hub.placed.values())
            .flat_map(|it| it.groups.iter().flat_map(|it| it.clusters.clone()))
            .collect();
        expected.sort_unstable();
        let made: Vec<_> = hub.works.keys().map(|(cluster, _)| cluster.clone()).collect();
        prop_assert_eq!(made, expected);
        let made = hub.made();
        prop_assert!(made.is_empty() || made.split(' ').all(|it| it.ends_with('=')));
    }

    #[test]
    fn no_object_makes_the_readers_panic(metadata in any_json(), spec in any_json(), status in any_json()) {
        let object = json!({"metadata": metadata, "spec": spec, "status": status}).to_string();
        let _ = ReplicaSet::read(&object);
        let _ = Work::read(&object);
        let object = json!({
            "metadata": {"name": "a", "labels": {"work.open-cluster-management.io/manifestworkreplicaset": "a.b"}, "managedFields": [metadata]},
            "spec": spec, "status": status,
        }).to_string();
        prop_assert!(Work::read(&object).unwrap().is_some());
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z]{0,4}".prop_map(Value::from),
    ];
    let key = select(
        &[
            "conditions",
            "type",
            "status",
            "lastTransitionTime",
            "workload",
            "manifests",
            "labels",
            "name",
            "fieldsV1",
        ][..],
    );
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(key.clone().prop_map(str::to_owned), inner, 0..4)
                .prop_map(|it| Value::Object(it.into_iter().collect())),
        ]
    })
}
