use serde_json::{Value, json};

use super::*;

fn set(name: &str, selector: Value) -> Item<ManagedClusterSet> {
    Item::of(json!({
        "metadata": {"name": name, "creationTimestamp": "1969-12-31T23:55:00Z"},
        "spec": {"clusterSelector": selector, "managedNamespaces": [{"name": "n1"}, {"name": "n2"}]},
        "status": {"conditions": [{
            "type": EMPTY, "status": "False", "reason": "ClustersSelected",
            "message": "2 ManagedClusters selected", "lastTransitionTime": "1970-01-01T00:00:00Z",
        }]},
    }))
}

fn by_label() -> Value {
    json!({"selectorType": "ExclusiveClusterSetLabel"})
}

fn by_selector(selector: Value) -> Value {
    json!({"selectorType": "LabelSelector", "labelSelector": selector})
}

fn binding(set: &str, namespace: &str, bound: &str) -> Item<ManagedClusterSetBinding> {
    let condition = json!({
        "type": "Bound", "status": bound, "reason": "x", "message": "", "lastTransitionTime": "1970-01-01T00:00:00Z",
    });
    Item::of(json!({
        "metadata": {"name": set, "namespace": namespace},
        "spec": {"clusterSet": set},
        "status": {"conditions": if bound.is_empty() { json!([]) } else { json!([condition]) }},
    }))
}

fn cluster(name: &str, labels: Value) -> Item<ManagedCluster> {
    Item::of(json!({"metadata": {"name": name, "labels": labels}}))
}

/// Three clusters, one of them in `prod`, which is bound to three namespaces.
fn sets(wide: bool) -> Sets {
    let mut facts = Facts::default();
    facts.bindings_are(&[
        binding("prod", "b", "True"),
        binding("prod", "a", ""),
        binding("prod", "c", "False"),
        binding("dev", "a", "True"),
    ]);
    facts.clusters_are(&[
        cluster(
            "c1",
            json!({"env": "prod", "cluster.open-cluster-management.io/clusterset": "prod"}),
        ),
        cluster("c2", json!({"env": "prod"})),
        cluster("c3", json!({"env": "dev"})),
    ]);
    Sets { wide, facts }
}

fn drawn(view: &Sets, items: &[Item<ManagedClusterSet>]) -> String {
    let mut out = Vec::new();
    view.tree(items).write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_row_has_a_cell_for_each_column() {
    let row = sets(true).cells(&set("prod", by_label()), Timestamp::UNIX_EPOCH);
    assert_eq!(
        row,
        [
            "prod",
            "a,b,c (not bound)",
            "2 ManagedClusters selected",
            "n1,n2",
            "cluster.open-cluster-management.io/clusterset=prod",
            "c1",
            "5m",
        ]
    );
    assert_eq!(sets(true).titles().len(), row.len());
    assert_eq!(sets(false).titles().len(), 4);
    let narrow = sets(false).cells(&set("prod", by_label()), Timestamp::UNIX_EPOCH);
    assert_eq!(narrow, row[..4]);
}

#[test]
fn a_tree_has_the_fields_of_ocm_in_its_order() {
    let items = [
        set("envs", by_selector(json!({"matchLabels": {"env": "prod"}}))),
        set("global", by_selector(json!({}))),
    ];
    assert_eq!(
        drawn(&sets(false), &items),
        "<ManagedClusterSet>\n\
         ├── <envs>\n\
         │   ├── <BoundNamespace>\n\
         │   ├── <Status> 2 ManagedClusters selected\n\
         │   ├── <Clusters> [c1 c2]\n\
         │   └── <ManagedNamespaces> [n1 n2]\n\
         └── <global>\n    \
             ├── <BoundNamespace>\n    \
             ├── <Status> 2 ManagedClusters selected\n    \
             ├── <Clusters> [c1 c2 c3]\n    \
             └── <ManagedNamespaces> [n1 n2]\n"
    );
}

#[test]
fn a_wrong_selector_concerns_its_set_alone() {
    let wrong = by_selector(json!({"matchExpressions": [{"key": "env", "operator": "Like"}]}));
    let view = sets(false);
    let tree = drawn(&view, &[set("bad", wrong), set("prod", by_label())]);
    assert!(tree.contains("<Clusters> <invalid selector>\n"), "{tree}");
    assert!(tree.contains("<Clusters> [c1]\n"), "{tree}");
    let nobody = set("x", json!({"selectorType": "LabelSelector"}));
    assert_eq!(view.facts.clusters_of(&nobody), Ok(vec![]));
}

#[test]
fn what_could_not_be_read_is_not_taken_for_nothing() {
    let view = Sets {
        wide: true,
        facts: Facts::default(),
    };
    let row = view.cells(&set("prod", by_label()), Timestamp::UNIX_EPOCH);
    assert_eq!((&*row[1], &*row[5]), (UNREADABLE, UNREADABLE));
    let unreadable =
        Item::of(json!({"metadata": {"name": "prod"}, "spec": {"managedNamespaces": 1}}));
    let row = sets(true).cells(&unreadable, Timestamp::UNIX_EPOCH);
    let expected = [
        "prod",
        "a,b,c (not bound)",
        UNREADABLE,
        UNREADABLE,
        UNREADABLE,
        UNREADABLE,
        "<unknown>",
    ];
    assert_eq!(row, expected);
}

#[test]
fn selectors_are_written_as_they_are_typed() {
    for (selector, expected) in [
        (
            by_label(),
            "cluster.open-cluster-management.io/clusterset=s",
        ),
        (
            json!({"selectorType": ""}),
            "cluster.open-cluster-management.io/clusterset=s",
        ),
        (json!({"selectorType": "Other"}), "Other"),
        (json!({"selectorType": "LabelSelector"}), "<none>"),
        (by_selector(json!({})), "<all>"),
        (
            by_selector(
                json!({"matchLabels": {"a": "1", "b": ""}, "matchExpressions": [
                    {"key": "c", "operator": "In", "values": ["x", "y"]},
                    {"key": "d", "operator": "NotIn", "values": ["z"]},
                    {"key": "e", "operator": "Exists"},
                    {"key": "f", "operator": "DoesNotExist"},
                ]}),
            ),
            "a=1,b=,c in (x,y),d notin (z),e,!f",
        ),
    ] {
        assert_eq!(facts::selector(&set("s", selector)), expected);
    }
}

#[test]
fn many_clusters_are_counted() {
    assert_eq!(facts::first(&[]), "");
    assert_eq!(facts::first(&["a", "b", "c"]), "a,b,c");
    assert_eq!(
        facts::first(&["a", "b", "c", "d", "e"]),
        "a,b,c + 2 more..."
    );
}

#[test]
fn bindings_and_clusters_that_change_are_taken_in() {
    let mut view = sets(false);
    let prod = set("prod", by_label());
    assert_eq!(
        view.facts.bound_is(&binding("prod", "b", "True"), false),
        "prod"
    );
    assert_eq!(
        view.facts.bound_is(&binding("prod", "c", "True"), true),
        "prod"
    );
    assert_eq!(view.facts.bound("prod").unwrap(), ["a", "c"]);
    let label = json!({"cluster.open-cluster-management.io/clusterset": "prod"});
    let [before, after] = view.facts.cluster_is(&cluster("c2", label), true);
    assert_eq!((before.unwrap().len(), after.unwrap().len()), (1, 1));
    assert_eq!(view.facts.clusters_of(&prod).unwrap(), ["c1", "c2"]);
    let [before, after] = view.facts.cluster_is(&cluster("c1", json!({})), false);
    assert_eq!((before.is_some(), after), (true, None));
    assert_eq!(view.facts.clusters_of(&prod).unwrap(), ["c2"]);
}
