use super::*;
use crate::testing::scene::{Scene, condition};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;

const SINCE: &str = "2026-08-01T00:00:00Z";

fn addon(status: Option<&str>) -> Addon {
    let since: Timestamp = SINCE.parse().unwrap();
    Addon {
        version: "v1beta1".into(),
        resource_version: "3".to_owned(),
        available: status.map(|status| condition(AVAILABLE, status, since)),
        ..Addon::default()
    }
}

fn going(addon: Addon) -> Addon {
    Addon {
        deleting: true,
        ..addon
    }
}

/// A cluster of this status with these add-ons and labels.
fn scene(status: Option<&str>, addons: &[(&str, Addon)], labels: &[(&str, &str)]) -> Scene {
    let mut scene = Scene::new();
    if let Some(status) = status {
        scene = scene.with(conditions::cluster::AVAILABLE, status);
    }
    for (name, addon) in addons {
        scene.addons.insert((*name).into(), addon.clone());
    }
    for (key, value) in labels {
        let (key, value) = ((*key).to_owned(), (*value).to_owned());
        scene.cluster().labels.insert(key, value);
    }
    scene
}

fn key(name: &str) -> String {
    format!("feature.open-cluster-management.io/addon-{name}")
}

#[test]
fn labels_tell_of_the_add_ons() {
    let (bare, works, fails, silent) = (
        addon(None),
        addon(Some("True")),
        addon(Some("False")),
        addon(Some("Unknown")),
    );
    let odd = addon(Some("odd"));
    let long = "a".repeat(57);
    let too_long = "a".repeat(58);
    let dotted = "a.b".repeat(84);
    let (ok, bad, lost) = (Some("available"), Some("unhealthy"), Some("unreachable"));
    let up = Some("True");
    // The status of the cluster, its add-ons, the labels it has, and the changes to them.
    type Row<'t> = (
        &'t str,
        Option<&'t str>,
        Vec<(&'t str, &'t Addon)>,
        Vec<(&'t str, &'t str)>,
        Vec<(&'t str, Option<&'t str>)>,
    );
    let rows: Vec<Row<'_>> = vec![
        // Upstream's cases.
        (
            "no condition",
            up,
            vec![("a", &bare)],
            vec![],
            vec![("a", lost)],
        ),
        ("it works", up, vec![("a", &works)], vec![], vec![("a", ok)]),
        (
            "it does not",
            up,
            vec![("a", &fails)],
            vec![],
            vec![("a", bad)],
        ),
        (
            "nobody can tell",
            up,
            vec![("a", &silent)],
            vec![],
            vec![("a", lost)],
        ),
        (
            "the cluster has no condition yet",
            None,
            vec![("a", &works)],
            vec![("b", "available")],
            vec![],
        ),
        ("no add-on, no label", up, vec![], vec![], vec![]),
        (
            "some come, one is there, one goes",
            up,
            vec![("addon1", &bare), ("addon3", &works)],
            vec![("addon4", "available")],
            vec![("addon1", lost), ("addon3", ok), ("addon4", None)],
        ),
        // And others.
        (
            "right already",
            up,
            vec![("a", &works), ("b", &bare)],
            vec![("a", "available"), ("b", "unreachable")],
            vec![],
        ),
        (
            "it fell ill",
            up,
            vec![("a", &fails), ("b", &works)],
            vec![("a", "available"), ("b", "available")],
            vec![("a", bad)],
        ),
        (
            "a status that is none",
            up,
            vec![("a", &odd)],
            vec![("a", "available")],
            vec![("a", lost)],
        ),
        (
            "a cluster that does not work",
            Some("False"),
            vec![("a", &works)],
            vec![],
            vec![("a", ok)],
        ),
        (
            "one between, one before, one after",
            up,
            vec![("b", &works), ("d", &works)],
            vec![
                ("a", "available"),
                ("b", "available"),
                ("c", "x"),
                ("d", "available"),
                ("e", ""),
            ],
            vec![("a", None), ("c", None), ("e", None)],
        ),
        (
            "a label for no name",
            up,
            vec![],
            vec![("", "available")],
            vec![("", None)],
        ),
        (
            "as long as a label can be",
            up,
            vec![(&long, &works)],
            vec![],
            vec![(&long, ok)],
        ),
        (
            "too long for a label",
            up,
            vec![(&too_long, &works), ("b", &works)],
            vec![],
            vec![("b", ok)],
        ),
        (
            "far too long for a label",
            up,
            vec![(&dotted, &works)],
            vec![],
            vec![],
        ),
        (
            "a name with dots",
            up,
            vec![("a.b", &works)],
            vec![],
            vec![("a.b", ok)],
        ),
        (
            "names that no API server lets in",
            up,
            vec![
                ("", &works),
                ("a/b", &works),
                ("ä", &works),
                ("a-", &works),
                ("a\n", &works),
                ("b", &works),
            ],
            vec![],
            vec![("b", ok)],
        ),
    ];
    for (sentence, status, addons, labels, expected) in rows {
        let addons: Vec<_> = addons
            .into_iter()
            .map(|(name, addon)| (name, addon.clone()))
            .collect();
        let keys: Vec<_> = labels.iter().map(|(name, _)| key(name)).collect();
        let mut labels: Vec<_> = keys
            .iter()
            .zip(&labels)
            .map(|(key, (_, value))| (&**key, *value))
            .collect();
        // Other labels, next to these in the order of keys.
        labels.extend([
            ("a", "b"),
            ("feature.open-cluster-management.io/addon", "x"),
            ("feature.open-cluster-management.io/addon.x", "x"),
            ("feature.open-cluster-management.io/b", "x"),
            ("z", "b"),
        ]);
        let mut scene = scene(status, &addons, &labels);
        let expected: BTreeMap<_, _> = expected
            .into_iter()
            .map(|(name, value)| (key(name), value.map(str::to_owned)))
            .collect();
        let plan = scene.decide(decide);
        assert_eq!(plan.changes.labels, expected, "{sentence}");
        assert!(plan.writes.is_empty() && plan.again.is_none(), "{sentence}");
        scene.settles(decide, usize::from(!expected.is_empty()));

        scene.cluster().labels.clear();
        scene.cluster().deleting = true;
        assert!(scene.decide(decide).is_empty(), "deleting: {sentence}");
        scene.cluster = None;
        assert!(scene.decide(decide).is_empty(), "gone: {sentence}");
    }
}

#[test]
fn a_deleted_add_on_has_no_label() {
    let addons = [("a", going(addon(Some("True")))), ("b", going(addon(None)))];
    let mut scene = scene(Some("True"), &addons, &[(&key("a"), "available")]);
    assert_eq!(
        scene.decide(decide).changes.labels,
        [(key("a"), None)].into()
    );
    scene.settles(decide, 1);
}

#[test]
fn add_ons_of_an_unknown_cluster_are_unknown() {
    let same = Addon {
        available: Some(Condition {
            type_: AVAILABLE.to_owned(),
            ..condition(
                conditions::cluster::AVAILABLE,
                "Unknown",
                SINCE.parse().unwrap(),
            )
        }),
        ..addon(None)
    };
    let addons = [
        ("bare", addon(None)),
        ("fails", addon(Some("False"))),
        ("going", going(addon(Some("True")))),
        ("lost", addon(Some("Unknown"))),
        ("same", same),
        (
            "works",
            Addon {
                version: "v1alpha1".into(),
                ..addon(Some("True"))
            },
        ),
    ];
    for (sentence, status, expected) in [
        ("the cluster has no condition", None, &[][..]),
        ("it works", Some("True"), &[]),
        (
            "it does not work: each add-on speaks for itself",
            Some("False"),
            &[],
        ),
        (
            "nobody can tell",
            Some("Unknown"),
            &["bare", "fails", "lost", "works"],
        ),
    ] {
        let mut scene = scene(status, &addons, &[]);
        let plan = scene.decide(decide);
        let names: Vec<_> = plan
            .writes
            .iter()
            .map(|write| &*write.target.name)
            .collect();
        assert_eq!(names, expected, "{sentence}");
        for write in &plan.writes {
            let Action::ApplyStatus { manager, body } = &write.action else {
                panic!("{write:?}");
            };
            assert_eq!(*manager, "berth-addons");
            let name = &*write.target.name;
            let version = if name == "works" {
                "v1alpha1"
            } else {
                "v1beta1"
            };
            assert_eq!(write.target.resource.version, version);
            assert_eq!(
                *body,
                json!({
                    "apiVersion": format!("addon.open-cluster-management.io/{version}"),
                    "kind": "ManagedClusterAddOn",
                    "metadata": { "name": name, "namespace": "c1", "resourceVersion": "3" },
                    "status": { "conditions": [{
                        "type": "Available",
                        "status": "Unknown",
                        "reason": "IsUnknown",
                        "message": "ManagedClusterConditionAvailable is Unknown",
                        // A status that stays keeps its time.
                        "lastTransitionTime": if name == "lost" { SINCE } else { "2026-08-11T12:00:00Z" },
                    }] },
                })
            );
            assert_eq!(
                write.events,
                [Event {
                    warning: false,
                    reason: "ManagedClusterAddOnStatusUpdated",
                    note: format!(
                        "update addon \"{name}\" status to unknown on managed cluster \"c1\""
                    ),
                    namespace: Some("c1".to_owned()),
                }]
            );
        }
        // The labels follow the conditions, so the first round's writes lead to a second round.
        if !expected.is_empty() {
            scene.settles(decide, 2);
            let shown: Vec<_> = scene.cluster().labels.values().collect();
            assert_eq!(shown, ["unreachable"; 5]);
        }
    }
}

proptest! {
    #[test]
    fn whatever_is_there_it_settles_and_labels_are_the_add_ons(
        status in prop::option::of("True|False|Unknown"),
        addons in prop::collection::btree_map("[a-c.]{0,3}", (prop::option::of("True|False|Unknown"), any::<bool>()), 0..8),
        labels in prop::collection::btree_map("[a-c.]{0,3}", "available|x", 0..8),
    ) {
        let addons: Vec<_> = addons
            .iter()
            .map(|(name, (status, deleting))| {
                (&**name, Addon { deleting: *deleting, ..addon(status.as_deref()) })
            })
            .collect();
        let keys: Vec<_> = labels.keys().map(|name| key(name)).collect();
        let labels: Vec<_> = keys.iter().map(|key| &**key).zip(labels.values().map(|value| &**value)).collect();
        let mut scene = scene(status.as_deref(), &addons, &labels);
        let stored = scene.cluster().labels.clone();
        for _ in 0..2 {
            let plan = scene.decide(decide);
            if !plan.is_empty() {
                scene.carry_out(&plan);
            }
        }
        scene.settles(decide, 0);
        let expected: BTreeMap<_, _> = if status.is_none() {
            stored
        } else {
            scene
                .addons
                .iter()
                .filter(|(name, addon)| !addon.deleting && fits_a_label(name))
                .map(|(name, addon)| (key(name), feature(addon).to_owned()))
                .collect()
        };
        prop_assert_eq!(&scene.cluster().labels, &expected);
    }
}
