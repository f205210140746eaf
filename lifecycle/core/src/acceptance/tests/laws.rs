//! Laws of acceptance and removal together, from any state of a hub.

use super::*;
use proptest::prelude::*;

/// A fault of one of the five objects.
#[derive(Clone, Copy, Debug)]
enum Flaw {
    Right,
    Missing,
    Edited,
    Deleting,
    NoFinalizer,
}

#[derive(Clone, Debug)]
struct Start {
    accepted: bool,
    deleting: bool,
    gone: bool,
    finalizers: Vec<&'static str>,
    shown: Option<(&'static str, &'static str, &'static str)>,
    flaws: [Flaw; 5],
    works: Vec<(bool, bool, Option<&'static str>)>,
    addons: Vec<(bool, bool, Option<&'static str>)>,
    bound: bool,
    gate: bool,
    auto: bool,
    collects: bool,
    label: bool,
    now: bool,
}

fn flaw() -> impl Strategy<Value = Flaw> {
    prop_oneof![
        4 => Just(Flaw::Right),
        2 => Just(Flaw::Missing),
        1 => Just(Flaw::Edited),
        1 => Just(Flaw::Deleting),
        1 => Just(Flaw::NoFinalizer),
    ]
}

fn content() -> impl Strategy<Value = Vec<(bool, bool, Option<&'static str>)>> {
    let priority = prop::sample::select(vec![None, Some("1"), Some("100"), Some("101"), Some("x")]);
    prop::collection::vec((any::<bool>(), any::<bool>(), priority), 0..4)
}

prop_compose! {
    fn start()(
        (accepted, deleting, gone) in (any::<bool>(), any::<bool>(), prop::bool::weighted(0.15)),
        finalizers in prop::sample::subsequence(
            vec![labels::API_RESOURCE_CLEANUP, labels::RESOURCE_CLEANUP, "example.com/other"], 0..=3),
        shown in prop::sample::select(vec![None, Some(ACCEPTED), Some(DENIED), Some(("False", "Error", "x"))]),
        flaws in prop::array::uniform5(flaw()),
        works in content(),
        addons in content(),
        (bound, gate, auto) in (any::<bool>(), prop::bool::weighted(0.8), any::<bool>()),
        (collects, label, now) in (prop::bool::weighted(0.8), any::<bool>(), prop::bool::weighted(0.3)),
    ) -> Start {
        Start {
            accepted, deleting, gone, finalizers, shown, flaws, works, addons, bound, gate, auto, collects, label, now,
        }
    }
}

impl Start {
    fn hub(&self) -> FakeHub {
        let mut hub = FakeHub::new("c1");
        let bodies = [
            roles::namespace(&hub.config, "c1"),
            roles::cluster_role(&hub.config, "c1", self.accepted),
            roles::cluster_role_binding(&hub.config, "c1"),
            roles::registration_binding(&hub.config, "c1"),
            roles::work_binding(&hub.config, "c1"),
        ];
        let no_namespace = matches!(self.flaws[0], Flaw::Missing);
        for (mut body, flaw) in bodies.into_iter().zip(self.flaws) {
            if matches!(flaw, Flaw::Missing)
                || (no_namespace && body["metadata"]["namespace"].is_string())
            {
                continue;
            }
            if matches!(flaw, Flaw::Edited) {
                if body["kind"] == "Namespace" {
                    body["metadata"]["labels"] = Value::Null;
                } else {
                    body["metadata"]["labels"]["team"] = json!("z");
                    // A role without any rule about the cluster would be another's, once the cluster is gone.
                    match body["rules"].as_array_mut() {
                        Some(rules) => rules.push(json!({ "verbs": ["*"] })),
                        None => body["subjects"] = json!([{ "kind": "User", "name": "eve" }]),
                    }
                }
            }
            let is_namespace = body["kind"] == "Namespace";
            let stored = hub.insert(body);
            match flaw {
                // A deleted object without a finalizer is gone; a namespace has a finalizer outside its metadata.
                Flaw::Deleting => stored.deleting = is_namespace || !stored.finalizers.is_empty(),
                Flaw::NoFinalizer => stored.finalizers.clear(),
                _ => {}
            }
        }
        if !no_namespace {
            for (kind, objects) in [(WORKS, &self.works), (ADDONS, &self.addons)] {
                for (at, (finalizer, deleting, priority)) in objects.iter().enumerate() {
                    hub.put(kind, &format!("o{at}"), *priority, *finalizer);
                    let stored = hub
                        .content
                        .get_mut(&super::kind(kind))
                        .and_then(|all| all.last_mut());
                    stored.expect("it was put").object.deleting = *finalizer && *deleting;
                }
            }
        }
        hub.config.gates.resource_cleanup = self.gate;
        hub.config.gates.auto_approval = self.auto;
        if self.label {
            hub.config.labels.insert("team".to_owned(), "a".to_owned());
        }
        if !self.collects {
            hub.config.gc_resources.clear();
        }
        hub.trusted_request = true;
        hub.bindings.extend(self.bound.then(|| "prod".to_owned()));
        let cluster = hub.cluster();
        cluster.accepted = self.accepted;
        cluster.denied_now = self.now && !self.accepted;
        cluster.deleting = self.deleting && !self.finalizers.is_empty();
        cluster.finalizers = self.finalizers.iter().map(|&own| own.to_owned()).collect();
        cluster.conditions = (self.shown.iter())
            .map(|(status, reason, message)| condition(HUB_ACCEPTED, status, reason, message))
            .collect();
        if self.gone {
            hub.cluster = None;
        }
        hub
    }
}

/// Carries out some of the writes, in an order that depends on `seed`, and then stops, as if killed.
fn killed_after(hub: &mut FakeHub, mut budget: usize, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..20 {
        let mut plan = hub.decide();
        let changes = std::mem::take(&mut plan.changes);
        let mut steps: Vec<Option<Write>> = plan.writes.into_iter().map(Some).collect();
        if changes != ClusterChanges::default() {
            steps.push(None);
        }
        random.shuffle(&mut steps);
        for step in steps {
            if budget == 0 {
                return;
            }
            budget -= 1;
            match step {
                None => hub.change(changes.clone()),
                // After the last finalizer, the object of the status is gone.
                Some(write) => {
                    let _ = hub.write(write);
                }
            }
        }
    }
}

/// The conditions that must hold at the end.
fn check(hub: &FakeHub) {
    let work = hub.object("rolebindings", WORK);
    let permissions = [
        role_of(hub),
        hub.object("clusterrolebindings", &names_role()),
        hub.object("rolebindings", REGISTRATION),
        work,
    ];
    // Without clean-up, works stay until a user deletes them, and so do the agent's permissions for that.
    let now = hub.cluster.as_ref().is_some_and(|it| it.denied_now);
    let waits = work.is_some_and(|work| work.deleting) && !hub.names(WORKS).is_empty() && !now;
    match &hub.cluster {
        None => {
            assert_eq!(
                permissions[..3],
                [None; 3],
                "the agent of a cluster that is gone has no permissions"
            );
            assert!(work.is_none() || waits);
        }
        Some(cluster) if cluster.deleting => {
            assert_eq!(permissions[..3], [None; 3]);
            assert!(work.is_none() || waits);
            let gc = labels::RESOURCE_CLEANUP;
            assert!(!cluster.has_finalizer(gc), "it is not stranded");
            let api = labels::API_RESOURCE_CLEANUP;
            assert!(waits || !cluster.has_finalizer(api), "it is not stranded");
        }
        Some(cluster) if cluster.accepted => match hub_accepted(hub) {
            Some(ACCEPTED) => {
                for stored in permissions {
                    assert!(stored.is_some());
                }
                assert_eq!(rule_count(hub), 4);
                assert!(cluster.has_finalizer(labels::API_RESOURCE_CLEANUP));
            }
            Some(("False", "Error", message)) => {
                assert!(message.contains("is a workspace"), "{message}");
                let namespace = hub.object("namespaces", "c1");
                assert!(
                    namespace
                        .is_none_or(|namespace| namespace.body["metadata"]["labels"].is_null())
                );
            }
            other => panic!("{other:?}"),
        },
        Some(_) => {
            assert!(rule_count(hub) <= 1);
            assert!(permissions[2].is_none());
            if work.is_some() {
                assert!(waits);
            } else {
                assert!(
                    matches!(hub_accepted(hub), None | Some(DENIED)),
                    "{:?}",
                    hub_accepted(hub)
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// [`FakeHub::settle`] panics if that takes more than ten rounds, or a write is refused.
    #[test]
    fn from_any_start_it_comes_to_rest(start in start()) {
        let mut hub = start.hub();
        hub.settle();
        check(&hub);
        prop_assert!(hub.decide().is_empty());
    }

    #[test]
    fn killed_anywhere_it_ends_in_the_same_objects(
        mut start in start(),
        kills in prop::collection::vec((0usize..8, any::<u64>()), 1..4),
    ) {
        // After a forced removal of the cluster, only the finalizer of the work binding records the unfinished clean-up.
        let remembers = matches!(start.flaws[4], Flaw::Right | Flaw::Edited | Flaw::Deleting);
        start.gone &= remembers;
        let mut undisturbed = start.hub();
        undisturbed.settle();
        let mut hub = start.hub();
        for (budget, seed) in kills {
            killed_after(&mut hub, budget, seed);
        }
        hub.settle();
        prop_assert_eq!(hub.portrait(), undisturbed.portrait());
    }

    /// The last decision of an admin counts, whatever happened before.
    #[test]
    fn the_last_word_counts(words in prop::collection::vec((any::<bool>(), 0usize..8, any::<u64>()), 1..6)) {
        let mut hub = FakeHub::new("c1");
        for &(accepted, budget, seed) in &words {
            hub.cluster().accepted = accepted;
            killed_after(&mut hub, budget, seed);
        }
        hub.settle();
        check(&hub);
        let last = words.last().map(|&(accepted, ..)| accepted);
        prop_assert_eq!(Some(hub.cluster().accepted), last);
        hub.delete_cluster();
        hub.settle();
        check(&hub);
        prop_assert!(hub.cluster.is_none());
        prop_assert!(hub.objects.keys().all(|(resource, _)| resource == "namespaces"));
    }
}
