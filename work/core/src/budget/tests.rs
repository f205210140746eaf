#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn claim(standing: Standing, created: i64, cost: u64) -> Claim {
    Claim {
        standing,
        created: Some(Timestamp::from_second(created).unwrap()),
        cost,
        list: 0,
    }
}

fn work(value: Value) -> ManifestWork {
    serde_json::from_value(value).unwrap()
}

#[test]
fn works_are_refused_from_the_newest_on() {
    use Standing::{Begun, Carried, New};
    for (sentence, claims, expected) in [
        (
            "all fit",
            vec![("a", New, 1, 60), ("b", New, 2, 40)],
            &[][..],
        ),
        (
            "the younger does not",
            vec![("a", New, 2, 60), ("b", New, 1, 60)],
            &["a"],
        ),
        (
            "of one age, the name decides",
            vec![("b", New, 1, 60), ("a", New, 1, 60)],
            &["b"],
        ),
        (
            "what is applied stays, also if it is younger",
            vec![("a", New, 1, 60), ("b", Carried, 2, 60)],
            &["a"],
        ),
        (
            "a change that needs more takes nothing from what is applied",
            vec![("a", Begun, 1, 60), ("b", Carried, 2, 60)],
            &["a"],
        ),
        (
            "a change comes before newcomers",
            vec![("a", New, 1, 60), ("b", Begun, 2, 60)],
            &["a"],
        ),
        (
            "a small one fits beside a large one that does not",
            vec![("large", New, 1, 101), ("small", New, 2, 1)],
            &["large"],
        ),
        (
            "a large one frees its share",
            vec![("small", New, 2, 100)],
            &[],
        ),
    ] {
        let claims = (claims.iter())
            .map(|(name, standing, created, cost)| (*name, claim(*standing, *created, *cost)));
        let refused = refused(claims, 100);
        let names: Vec<_> = refused.keys().copied().collect();
        assert_eq!(names, expected, "{sentence}");
    }
}

#[test]
fn a_cost_depends_on_the_spec() {
    let manifests = |count: usize, bytes: usize| {
        let manifest = json!({"data": "x".repeat(bytes)});
        json!({"workload": {"manifests": vec![manifest; count]}})
    };
    let with_rules = |name: &str| {
        let mut spec = manifests(100, 10);
        spec["manifestConfigs"] = json!([{
            "resourceIdentifier": {"group": "", "resource": "configmaps", "namespace": "n", "name": name},
            "feedbackRules": [{"type": "WellKnownStatus"}],
        }]);
        spec
    };
    let at_least_of = |spec: Value, least: u64, most: u64| {
        let cost = Claim::of(&work(json!({ "spec": spec }))).cost;
        assert!((least..most).contains(&cost), "{cost}, {least} to {most}");
    };
    at_least_of(manifests(0, 0), PER_WORK, PER_WORK + 100);
    at_least_of(manifests(1, 500_000), 1_000_000, 1_020_000);
    at_least_of(manifests(5_500, 60), 22 << 20, 24 << 20);
    at_least_of(with_rules("a"), 400 << 10, 430 << 10);
    at_least_of(with_rules("*"), 600 << 10, 640 << 10);
}

#[test]
fn labels_and_finalizers_cost_too() {
    let many = |prefix: &'static str| (0..1_000).map(move |at| format!("{prefix}{at:063}"));
    let labels: serde_json::Map<_, _> = many("l").map(|it| (it, json!("v"))).collect();
    let finalizers: Vec<_> = many("a.b/").collect();
    for metadata in [
        json!({ "labels": labels }),
        json!({ "finalizers": finalizers }),
    ] {
        let cost = Claim::of(&work(json!({ "metadata": metadata }))).cost;
        assert!((190_000..410_000).contains(&cost), "{cost}");
    }
}

#[test]
fn the_standing_is_what_the_hub_has() {
    let conditions = |generation: i64, reason: &str| {
        json!([{"type": "Applied", "status": "False", "reason": reason, "message": "",
                "observedGeneration": generation, "lastTransitionTime": "2026-01-01T00:00:00Z"}])
    };
    let failed = manifest_work::APPLIED_FAILED;
    for (finalizer, conditions, expected) in [
        (false, json!([]), Standing::New),
        (
            false,
            conditions(2, manifest_work::TOO_LARGE),
            Standing::New,
        ),
        (true, json!([]), Standing::Begun),
        (true, conditions(1, failed), Standing::Begun),
        (
            true,
            conditions(2, manifest_work::TOO_LARGE),
            Standing::Begun,
        ),
        (true, conditions(2, failed), Standing::Carried),
    ] {
        let finalizers = finalizer.then_some([MANIFEST_WORK_CLEANUP]);
        let work = work(json!({
            "metadata": {"generation": 2, "finalizers": finalizers},
            "spec": {}, "status": {"conditions": conditions},
        }));
        assert_eq!(Claim::of(&work).standing, expected, "{conditions}");
    }
}

#[test]
fn a_stripped_work_keeps_what_it_is_known_and_removed_by() {
    let full = work(json!({
        "metadata": {
            "name": "w", "namespace": "c", "uid": "u", "generation": 3, "resourceVersion": "7",
            "finalizers": ["f"], "deletionTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {"a": "b"}, "labels": {"a": "b"},
        },
        "spec": {"workload": {"manifests": [{"a": 1}]}},
        "status": {
            "conditions": [{"type": "Applied", "status": "True", "reason": "R", "message": "m",
                            "lastTransitionTime": "2026-01-01T00:00:00Z"}],
            "resourceStatus": {"manifests": [{"resourceMeta": {"name": "a"}, "conditions": []}]},
        },
    }));
    let stripped = serde_json::to_value(stripped(&full)).unwrap();
    let mut expected = serde_json::to_value(&full).unwrap();
    let metadata = expected["metadata"].as_object_mut().unwrap();
    metadata.retain(|field, _| field != "annotations" && field != "labels");
    expected["spec"] = stripped["spec"].clone();
    expected["status"]
        .as_object_mut()
        .unwrap()
        .remove("resourceStatus");
    assert_eq!(stripped, expected);
    let text = stripped.to_string();
    assert!(
        !text.contains("\"a\":1") && !text.contains("resourceMeta"),
        "{text}"
    );
}

#[test]
fn the_message_has_the_figures() {
    let message = message(Excess::Memory((22 << 20) + 1), 64 << 20);
    assert!(
        message.contains("about 22.1 MiB") && message.contains("64.0 MiB"),
        "{message}"
    );
}

fn any_claims() -> impl Strategy<Value = Vec<Claim>> {
    let standing = prop::sample::select(vec![Standing::Carried, Standing::Begun, Standing::New]);
    let claim = (standing, 0..4_i64, 0..60_u64)
        .prop_map(|(standing, created, cost)| claim(standing, created, cost));
    prop::collection::vec(claim, 0..12)
}

proptest! {
    #[test]
    fn what_is_carried_out_fits_and_newcomers_displace_nothing(
        claims in any_claims(), new in any_claims(), budget in 0..200_u64, turn in 0..12_usize,
    ) {
        let names: Vec<_> = (0..24).map(|it| format!("w{it:02}")).collect();
        let named = |claims: &[Claim], from: usize| -> Vec<_> {
            let named = claims.iter().zip(&names[from..]);
            named.map(|(claim, name)| (name.as_str(), *claim)).collect()
        };
        let of = named(&claims, 0);
        let before = refused(of.clone(), budget);
        let costs = of.iter().filter(|(name, _)| !before.contains_key(name));
        prop_assert!(costs.map(|(_, it)| it.cost).sum::<u64>() <= budget);
        let mut turned = of.clone();
        turned.rotate_left(turn.min(of.len()));
        prop_assert_eq!(&before, &refused(turned, budget), "the order does not count");
        // Each that is refused would not fit beside those before it.
        for (name, excess) in &before {
            prop_assert!(matches!(excess, Excess::Memory(1..)), "{name}");
        }
        let mut new = new;
        new.iter_mut().for_each(|it| it.standing = Standing::New);
        let more = of.iter().copied().chain(named(&new, 12));
        let after = refused(more, budget);
        let of_old: BTreeSet<_> = of.iter().filter(|(_, it)| it.standing != Standing::New)
            .map(|(name, _)| *name).collect();
        for name in of_old {
            prop_assert_eq!(before.contains_key(name), after.contains_key(name), "{}", name);
        }
        // One that is removed displaces nothing either, of those that are applied.
        let carried: Vec<_> = of.iter().copied()
            .filter(|(_, it)| it.standing == Standing::Carried).collect();
        if carried.iter().map(|(_, it)| it.cost).sum::<u64>() <= budget {
            for (name, _) in carried {
                prop_assert!(!before.contains_key(name), "{name}");
            }
        }
    }
}

#[test]
fn a_work_whose_objects_cannot_be_listed_is_refused_as_a_whole() {
    let of = |count: usize, object: Value| {
        Claim::of(&work(
            json!({"spec": {"workload": {"manifests": vec![object; count]}}}),
        ))
    };
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m12345", "namespace": "default"}});
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r".repeat(253), "namespace": "n".repeat(63)}});
    let longest = AppliedManifestResourceMeta {
        group: "g".repeat(253),
        name: "n".repeat(253),
        namespace: "n".repeat(63),
        resource: "r".repeat(63),
        uid: "u".repeat(36),
        version: "v".repeat(63),
    };
    let longest = bytes(serde_json::to_vec(&longest).unwrap().len() + 1);
    assert!(
        bytes(FEW) * longest <= LARGEST_LIST + bytes(FEW) * 100,
        "{longest}"
    );
    assert_eq!(of(FEW, map.clone()).list, 0, "not read");
    for (sentence, claim, is_refused) in [
        ("a few thousand", of(5_000, map.clone()), false),
        ("ten thousand short names", of(10_000, map.clone()), false),
        ("too many", of(13_000, map), true),
        ("too long names", of(4_000, role), true),
        (
            "what is no object has no entry",
            of(20_000, json!({"kind": 5})),
            false,
        ),
    ] {
        let refused = refused([("a", claim)], u64::MAX);
        let expected = is_refused.then_some(Excess::List(claim.list));
        assert_eq!(
            refused.get("a").copied(),
            expected,
            "{sentence}: {}",
            claim.list
        );
    }
    let words = message(Excess::List(LARGEST_LIST + 1), 1);
    assert!(
        words.contains("1.5 MiB, and an AppliedManifestWork can hold 1.5 MiB"),
        "{words}"
    );
}
