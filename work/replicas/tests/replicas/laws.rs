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
    Require(bool),
    Approve,
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
        1 => any::<bool>().prop_map(Event::Require),
        2 => Just(Event::Approve),
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
        Event::Require(requires) => require(hub, *requires),
        Event::Approve => match hub.offered() {
            offered if offered.is_empty() => {}
            offered => annotate(hub, APPROVED, &offered),
        },
    }
}

const PAUSED: &str = "berth.open-cluster-management.io/rollout-paused";
const APPROVAL: &str = "berth.open-cluster-management.io/rollout-approval";
const APPROVED: &str = "berth.open-cluster-management.io/rollout-approved";

fn annotate(hub: &mut Hub, key: &str, value: &str) {
    hub.set["metadata"]["annotations"][key] = json!(value);
}

fn pause(hub: &mut Hub, pauses: bool) {
    annotate(hub, PAUSED, if pauses { "a reason" } else { "false" });
}

fn require(hub: &mut Hub, requires: bool) {
    annotate(hub, APPROVAL, if requires { "required" } else { "" });
}

/// How many ManifestWorks of a placement have the template.
fn current(hub: &Hub, placement: &str) -> usize {
    let template = &hub.set["spec"]["manifestWorkTemplate"];
    let of = |it: &&Value| {
        let label = "work.open-cluster-management.io/placementname";
        it["metadata"]["labels"][label] == placement && it["spec"] == *template
    };
    hub.works.values().filter(of).count()
}

/// How many were approved.
fn approved(hub: &Hub, placement: &str) -> usize {
    let set = ReplicaSet::read(&hub.set.to_string()).unwrap();
    set.approval.of(placement)
}

/// A strategy with steps.
fn any_steps() -> impl Strategy<Value = Value> {
    any_strategy().prop_filter("it has no steps", |it| it["type"] != "All")
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

    /// No more clusters of a placement get the template than were approved for it, whatever happens, and wherever the process is killed.
    #[test]
    fn an_approval_never_lets_more_clusters_change_than_it_says(
        strategy in any_steps(),
        events in prop::collection::vec((any_event(), 0..4_usize), 0..16),
    ) {
        let mut hub = Hub::new(&PLACEMENTS, &strategy);
        require(&mut hub, true);
        hub.settle();
        let rules = |it: &Event| matches!(it, Event::Refs(_) | Event::Require(_));
        for (event, kills) in events.iter().filter(|(it, _)| !rules(it)) {
            happen(&mut hub, event);
            for most in (0..*kills).chain([usize::MAX]) {
                let before = PLACEMENTS.map(|it| current(&hub, it));
                match most {
                    usize::MAX => drop(hub.settle()),
                    most => drop(hub.step(most)),
                }
                for (placement, before) in PLACEMENTS.iter().zip(before) {
                    let most = before.max(approved(&hub, placement));
                    prop_assert!(current(&hub, placement) <= most, "{placement}: {event:?}");
                }
            }
        }
    }

    /// A rollout whose steps are approved one after the other ends as one that needs no approval.
    #[test]
    fn approved_rollouts_end(
        strategy in any_steps(),
        events in prop::collection::vec(any_event(), 0..8),
    ) {
        let mut hub = Hub::new(&PLACEMENTS, &strategy);
        require(&mut hub, true);
        for event in events.iter().filter(|it| !matches!(it, Event::Refs(_))) {
            happen(&mut hub, event);
            hub.settle();
        }
        require(&mut hub, true);
        pause(&mut hub, false);
        for placed in hub.placed.values_mut() {
            placed.selected = 0;
        }
        for _ in 0..4 * CLUSTERS.len() {
            hub.settle();
            CLUSTERS.iter().for_each(|it| hub.report(it, "A+ V+ P-"));
            hub.after(60);
            hub.settle();
            happen(&mut hub, &Event::Approve);
        }
        hub.settle();
        prop_assert_eq!(hub.offered(), "");
        let selected = hub.placed.values().flat_map(|it| &it.groups).map(|it| it.clusters.len());
        let selected: usize = selected.sum();
        let current: usize = PLACEMENTS.iter().map(|it| current(&hub, it)).sum();
        prop_assert_eq!(current, selected);
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
