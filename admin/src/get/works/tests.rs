use serde_json::{Value, json};

use super::*;

fn work(conditions: Value, spec: Value) -> Item<ManifestWork> {
    Item::of(json!({
        "metadata": {
            "name": "web", "namespace": "c1", "generation": 2, "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"work.open-cluster-management.io/manifestworkreplicaset": "team-a.web"},
        },
        "spec": spec,
        "status": {
            "conditions": conditions,
            "resourceStatus": {"manifests": [{
                "resourceMeta": {"ordinal": 0, "kind": "ConfigMap", "name": "a", "namespace": "n"},
                "conditions": [condition("Applied", "True", 2)],
            }]},
        },
    }))
}

fn condition(type_: &str, status: &str, generation: i64) -> Value {
    json!({
        "type": type_, "status": status, "reason": "R", "message": "", "observedGeneration": generation,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

fn view(wide: bool, namespace: Option<&str>) -> Works {
    Works {
        wide,
        namespaces: Namespaces(namespace.map(str::to_owned)),
    }
}

#[test]
fn a_row_says_how_the_work_is() {
    let now: Timestamp = "2026-01-01T00:05:00Z".parse().unwrap();
    let spec = json!({
        "workload": {"manifests": [{"kind": "ConfigMap"}, {"kind": "Secret"}]},
        "executor": {"subject": {"type": "ServiceAccount", "serviceAccount": {"namespace": "n", "name": "deployer"}}},
    });
    let conditions = json!([
        condition("Applied", "True", 2),
        condition("Available", "True", 1),
        condition("Drifted", "False", 2),
    ]);
    let item = work(conditions, spec);
    assert_eq!(
        view(true, None).cells(&item, now),
        [
            "c1",
            "web",
            "2",
            "True",
            "Outdated",
            "5m",
            "",
            "",
            "False",
            "team-a.web",
            "n/deployer",
            ""
        ]
    );
    let empty = work(json!([]), json!({"executor": {}}));
    let cells = view(true, Some("c1")).cells(&empty, now);
    assert_eq!(cells[..4], ["web", "0", "", ""]);
    assert_eq!(cells[cells.len() - 2..], ["<invalid>", ""]);
    for wide in [false, true] {
        for namespace in [None, Some("c1")] {
            let view = view(wide, namespace);
            assert_eq!(view.titles().len(), view.cells(&empty, now).len());
        }
    }
}

#[test]
fn a_work_that_cannot_be_read_keeps_its_name() {
    let item: Item<ManifestWork> = Item::of(json!({
        "metadata": {"name": "web", "namespace": "c1"}, "spec": {"workload": 7},
    }));
    let cells = view(false, None).cells(&item, Timestamp::UNIX_EPOCH);
    assert_eq!(cells[..3], ["c1", "web", UNREADABLE]);
}

#[test]
fn the_tree_shows_the_objects() {
    let item = work(json!([condition("Applied", "True", 2)]), json!({}));
    let mut shown = Vec::new();
    view(false, None).tree(&[item]).write(&mut shown).unwrap();
    let shown = String::from_utf8(shown).unwrap();
    assert!(
        shown.contains("<ConfigMap/n/a> Applied True, Available Unknown"),
        "{shown}"
    );
}

#[test]
fn the_message_is_what_is_wrong_or_what_a_deletion_waits_for() {
    let said = |type_: &str, status: &str, message: &str| {
        let mut condition = condition(type_, status, 2);
        condition["message"] = message.into();
        condition
    };
    let status = |conditions: Value, object: Value| {
        json!({"conditions": conditions, "resourceStatus": {"manifests": [
            {"resourceMeta": {"ordinal": 0, "kind": "Namespace", "name": "n"}, "conditions": [condition("Applied", "True", 2)]},
            {"resourceMeta": {"ordinal": 1, "kind": "ConfigMap", "name": "a", "namespace": "n"}, "conditions": [object]},
        ]}})
    };
    let well = condition("Applied", "True", 2);
    let deleting = said("Deleting", "True", "waits for a finalizer");
    for (deleted, status, expected) in [
        (None, json!({}), ""),
        (
            None,
            status(
                json!([well, condition("Available", "True", 2)]),
                well.clone(),
            ),
            "",
        ),
        (
            None,
            status(
                json!([said("Applied", "False", "one failed")]),
                said("Applied", "False", "no rights"),
            ),
            "ConfigMap/n/a: no rights",
        ),
        (
            None,
            status(json!([said("Applied", "False", "too large")]), well.clone()),
            "too large",
        ),
        (
            None,
            status(
                json!([well, said("Degraded", "True", "d")]),
                said("Degraded", "True", "crashes"),
            ),
            "ConfigMap/n/a: crashes",
        ),
        (
            Some("2026-01-01T00:00:00Z"),
            status(
                json!([said("Applied", "False", "x"), deleting]),
                well.clone(),
            ),
            "waits for a finalizer",
        ),
    ] {
        let item: Item<ManifestWork> = Item::of(json!({
            "metadata": {"name": "web", "namespace": "c1", "generation": 2, "deletionTimestamp": deleted},
            "spec": {}, "status": status,
        }));
        assert!(item.unreadable.is_none(), "{:?}", item.unreadable);
        assert_eq!(message(&item.object), expected, "{status}");
    }
}
