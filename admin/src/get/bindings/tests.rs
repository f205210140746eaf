use serde_json::{Value, json};

use super::*;

fn binding(namespace: &str, name: &str, conditions: Value) -> Item<ManagedClusterSetBinding> {
    Item::of(json!({
        "metadata": {"namespace": namespace, "name": name, "creationTimestamp": "1969-12-31T23:55:00Z"},
        "spec": {"clusterSet": name},
        "status": {"conditions": conditions},
    }))
}

fn told(status: &str, reason: &str) -> Value {
    json!([{"type": "Bound", "status": status, "reason": reason, "message": "why", "lastTransitionTime": "1970-01-01T00:00:00Z"}])
}

fn bindings(wide: bool, namespace: Option<&str>) -> Bindings {
    Bindings {
        wide,
        namespaces: Namespaces(namespace.map(str::to_owned)),
    }
}

#[test]
fn a_row_has_a_cell_for_each_column() {
    let item = binding("team-a", "prod", told("False", "ClusterSetNotFound"));
    let row = [
        "team-a",
        "prod",
        "prod",
        "False",
        "ClusterSetNotFound",
        "5m",
        "why",
    ];
    for (wide, namespace, expected) in [
        (true, None, &row[..]),
        (false, None, &row[..6]),
        (true, Some("team-a"), &row[1..]),
        (false, Some("team-a"), &row[1..6]),
    ] {
        let view = bindings(wide, namespace);
        assert_eq!(view.cells(&item, Timestamp::UNIX_EPOCH), expected);
        assert_eq!(view.titles().len(), expected.len());
    }
}

#[test]
fn of_what_cannot_be_read_the_names_are_shown() {
    let item =
        Item::of(json!({"metadata": {"namespace": "a", "name": "b"}, "spec": {"clusterSet": 1}}));
    let row = bindings(false, None).cells(&item, Timestamp::UNIX_EPOCH);
    assert_eq!(
        row,
        ["a", "b", UNREADABLE, UNREADABLE, UNREADABLE, "<unknown>"]
    );
}

#[test]
fn a_tree_shows_what_may_be_used_where() {
    let items = [
        binding("b", "dev", told("True", "ClusterSetBound")),
        binding("a", "prod", told("False", "ClusterSetNotFound")),
        binding("b", "prod", json!([])),
    ];
    let mut out = Vec::new();
    bindings(false, None).tree(&items).write(&mut out).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "<ManagedClusterSetBinding>\n\
         ├── <a>\n\
         │   └── <prod> not bound (ClusterSetNotFound)\n\
         └── <b>\n    \
             ├── <dev> Bound\n    \
             └── <prod>\n"
    );
}
