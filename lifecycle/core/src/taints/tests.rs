use super::*;
use crate::testing::scene::Scene;
use conditions::cluster::AVAILABLE;
use proptest::prelude::*;

const UNREACHABLE: &str = labels::TAINT_UNREACHABLE;
const UNAVAILABLE: &str = labels::TAINT_UNAVAILABLE;

/// `key=value:effect`, and a time after a space.
fn read(text: &str) -> Taint {
    let (mark, time) = text.split_once(' ').unwrap_or((text, ""));
    let (key, effect) = mark.split_once(':').unwrap();
    let (key, value) = key.split_once('=').unwrap_or((key, ""));
    Taint {
        effect: serde_json::from_value(effect.into()).unwrap(),
        key: match key {
            "unreachable" => UNREACHABLE,
            "unavailable" => UNAVAILABLE,
            other => other,
        }
        .to_owned(),
        time_added: (!time.is_empty()).then(|| serde_json::from_value(time.into()).unwrap()),
        value: value.to_owned(),
    }
}

fn tainted(status: Option<&str>, taints: &[&str]) -> Scene {
    let mut scene = Scene::new();
    if let Some(status) = status {
        scene = scene.with(AVAILABLE, status);
    }
    scene.cluster().taints = taints.iter().copied().map(read).collect();
    scene
}

#[test]
fn taints_follow_the_condition_and_leave_others_alone() {
    let (works, fails, silent) = (Some("True"), Some("False"), Some("Unknown"));
    // None means that nothing is written.
    type Row<'t> = (
        &'t str,
        Option<&'t str>,
        &'t [&'t str],
        Option<&'t [&'t str]>,
    );
    let rows: &[Row<'_>] = &[
        // Upstream's cases.
        ("it works", works, &[], None),
        ("it does not", fails, &[], Some(&["unavailable:NoSelect"])),
        (
            "nothing is known yet",
            None,
            &[],
            Some(&["unreachable:NoSelect"]),
        ),
        (
            "nobody can tell",
            silent,
            &[],
            Some(&["unreachable:NoSelect"]),
        ),
        // And others.
        (
            "it comes back",
            works,
            &["unreachable:NoSelect 2026-01-01T00:00:00Z"],
            Some(&[]),
        ),
        (
            "it works again",
            works,
            &["unavailable:NoSelect"],
            Some(&[]),
        ),
        (
            "both go",
            works,
            &["unavailable:NoSelect", "unreachable:NoSelect"],
            Some(&[]),
        ),
        (
            "it falls silent",
            silent,
            &["unavailable:NoSelect"],
            Some(&["unreachable:NoSelect"]),
        ),
        (
            "it comes back broken",
            fails,
            &["unreachable:NoSelect"],
            Some(&["unavailable:NoSelect"]),
        ),
        (
            "said already",
            fails,
            &["unavailable:NoSelect 2026-01-01T00:00:00Z"],
            None,
        ),
        (
            "said already, without a time",
            silent,
            &["unreachable:NoSelect"],
            None,
        ),
        (
            "a status that is none",
            Some("true"),
            &["unreachable:NoSelect"],
            None,
        ),
        (
            "others stay, in order, with their times",
            silent,
            &[
                "b:NoSelect 2026-01-01T00:00:00Z",
                "unavailable:NoSelect",
                "a=x:PreferNoSelect",
                "a=x:Odd",
            ],
            Some(&[
                "b:NoSelect 2026-01-01T00:00:00Z",
                "a=x:PreferNoSelect",
                "a=x:Odd",
                "unreachable:NoSelect",
            ]),
        ),
        (
            "others are no reason to write",
            works,
            &["a:NoSelect", "a:NoSelect"],
            None,
        ),
        (
            "each of ours goes",
            works,
            &[
                "unreachable:NoSelect",
                "a:NoSelect",
                "unreachable:NoSelect 2026-01-01T00:00:00Z",
            ],
            Some(&["a:NoSelect"]),
        ),
        (
            "two of ours are enough",
            silent,
            &["unreachable:NoSelect", "unreachable:NoSelect"],
            None,
        ),
        (
            "our keys with another effect or value are somebody else's",
            works,
            &[
                "unreachable:PreferNoSelect",
                "unavailable=x:NoSelect",
                "unreachable:NoSelect",
            ],
            Some(&["unreachable:PreferNoSelect", "unavailable=x:NoSelect"]),
        ),
        (
            "these are no reason to write",
            works,
            &["unreachable:NoSelectIfNew", "unreachable=x:NoSelect"],
            None,
        ),
        (
            "another effect is another taint",
            silent,
            &["unreachable:NoSelectIfNew"],
            Some(&["unreachable:NoSelectIfNew", "unreachable:NoSelect"]),
        ),
        (
            "the same key and effect: the gate lets no second one in",
            silent,
            &["unreachable=x:NoSelect"],
            None,
        ),
        (
            "the same key and effect, and one to go",
            silent,
            &["unavailable:NoSelect", "unreachable=x:NoSelect"],
            Some(&["unreachable=x:NoSelect"]),
        ),
    ];
    for (sentence, status, before, after) in rows {
        let mut scene = tainted(*status, before);
        let plan = scene.decide(decide);
        let after = after.map(|after| after.iter().copied().map(read).collect::<Vec<_>>());
        assert_eq!(plan.changes.taints, after, "{sentence}");
        assert_eq!(plan.is_empty(), after.is_none(), "{sentence}");
        assert!(plan.writes.is_empty() && plan.again.is_none(), "{sentence}");
        scene.settles(decide, usize::from(after.is_some()));

        scene = tainted(*status, before);
        scene.cluster().deleting = true;
        assert!(scene.decide(decide).is_empty(), "deleting: {sentence}");
        scene.cluster = None;
        assert!(scene.decide(decide).is_empty(), "gone: {sentence}");
    }
}

#[test]
fn a_duplicate_condition_counts_by_its_first() {
    let scene = tainted(Some("True"), &[]).with(AVAILABLE, "False");
    assert!(scene.decide(decide).is_empty());
}

#[test]
fn our_taint_has_neither_time_nor_value_for_the_gate_to_refuse() {
    let plan = tainted(None, &[]).decide(decide);
    assert_eq!(
        serde_json::to_value(plan.changes.taints).unwrap(),
        serde_json::json!([{ "effect": "NoSelect", "key": "cluster.open-cluster-management.io/unreachable" }])
    );
}

#[test]
fn the_event_says_it_as_ocm_does_and_fits() {
    let note = |taints: &[&str]| {
        let plan = tainted(Some("False"), taints).decide(decide);
        let [event] = &plan.changes.events[..] else {
            panic!("{plan:?}");
        };
        assert_eq!(
            (event.warning, event.reason, &event.namespace),
            (false, "ManagedClusterConditionAvailableUpdated", &None)
        );
        event.note.clone()
    };
    assert_eq!(
        note(&["a=x:PreferNoSelect 2026-01-01T00:00:00Z"]),
        "Update the original taints to the [{Key:a Value:x Effect:PreferNoSelect TimeAdded:2026-01-01 00:00:00 +0000 \
         UTC} {Key:cluster.open-cluster-management.io/unavailable Value: Effect:NoSelect TimeAdded:0001-01-01 00:00:00 \
         +0000 UTC}]"
    );
    let long = format!("a={}:NoSelect", "ä".repeat(900));
    for taints in [&[&*long][..], &["a:NoSelect"; 5000]] {
        let note = note(taints);
        assert!(note.ends_with("..."), "{note}");
        assert!((1020..=1024).contains(&note.len()), "{}", note.len());
    }
}

proptest! {
    #[test]
    fn one_write_sets_it_right_and_takes_nothing_from_anybody(
        status in prop::option::of("True|False|Unknown|Odd"),
        taints in prop::collection::vec(
            "(unreachable|unavailable|a)(=x)?:(NoSelect|PreferNoSelect|Odd)( 2026-0[1-3]-01T00:00:00Z)?", 0..8),
    ) {
        let taints: Vec<&str> = taints.iter().map(String::as_str).collect();
        let mut scene = tainted(status.as_deref(), &taints);
        let before = scene.cluster().taints.clone();
        let rounds = usize::from(!scene.decide(decide).is_empty());
        scene.settles(decide, rounds);
        let others = |taints: &[Taint]| {
            taints.iter().filter(|taint| !is_ours(taint)).cloned().collect::<Vec<_>>()
        };
        prop_assert_eq!(others(&before), others(&scene.cluster().taints));
        let count = |key: &str| {
            scene.cluster.as_ref().unwrap().taints.iter().filter(|taint| is_ours(taint) && taint.key == key).count()
        };
        let keeps_off = |key: &str| {
            let taints = &scene.cluster.as_ref().unwrap().taints;
            taints.iter().any(|taint| taint.key == key && taint.effect == TaintEffect::NoSelect)
        };
        match status.as_deref() {
            Some("False") => prop_assert!(keeps_off(UNAVAILABLE)),
            None | Some("Unknown") => prop_assert!(keeps_off(UNREACHABLE)),
            _ => {}
        }
        // An `Odd` status changes nothing.
        match status.as_deref() {
            Some("True") => prop_assert_eq!((count(UNREACHABLE), count(UNAVAILABLE)), (0, 0)),
            Some("False") => prop_assert_eq!(count(UNREACHABLE), 0),
            None | Some("Unknown") => prop_assert_eq!(count(UNAVAILABLE), 0),
            _ => prop_assert_eq!(rounds, 0),
        }
    }
}
