use berth_placement_core::{Gates, Inventory, Source};

use super::*;

const CLUSTERS: [(&str, &str, bool); 4] = [
    ("c1", "prod", false),
    ("c2", "prod", true),
    ("c3", "prod", false),
    ("c4", "test", false),
];

fn hub(bound: &[&str]) -> Inventory {
    let mut hub = Inventory::default();
    for (name, set, is_tainted) in CLUSTERS {
        let taints = match is_tainted {
            true => json!([{"key": "maintenance", "effect": "NoSelect"}]),
            false => json!([]),
        };
        let cluster = json!({
            "metadata": {"name": name, "labels": {"cluster.open-cluster-management.io/clusterset": set}},
            "spec": {"hubAcceptsClient": true, "taints": taints},
        });
        hub.add(Source::Cluster, &cluster);
    }
    for set in ["prod", "test"] {
        let set = json!({"metadata": {"name": set}, "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}});
        hub.add(Source::Set, &set);
    }
    for set in bound {
        let binding =
            json!({"metadata": {"name": set, "namespace": "team-a"}, "spec": {"clusterSet": set}});
        hub.add(Source::Binding, &binding);
    }
    hub
}

fn placement(spec: &Value) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {
            "name": "app", "namespace": "team-a", "resourceVersion": "7", "uid": "u",
            "managedFields": [{"manager": "kubectl"}], "labels": {"a": "b"},
        },
        "spec": spec,
        "status": {"numberOfSelectedClusters": 1},
    })
}

fn explained(hub: &Inventory, spec: &Value) -> Explained {
    let placement: Placement = serde_json::from_value(placement(spec)).unwrap();
    let now = Timestamp::UNIX_EPOCH;
    Explained {
        explanation: Explanation::new(hub, &placement, Gates::default(), now),
        notes: Vec::new(),
        hint: None,
    }
}

fn funnel(selection: &Selection) -> Vec<(&str, usize, &str)> {
    let steps = selection.steps.iter();
    steps
        .map(|it| {
            let without = it.without.as_ref().map_or("", Text::as_str);
            (it.title.as_str(), it.clusters, without)
        })
        .collect()
}

#[test]
fn the_funnel_says_what_each_step_leaves_and_why() {
    let hub = hub(&["prod"]);
    let found = selection(&explained(&hub, &json!({"numberOfClusters": 1})));
    assert_eq!(
        funnel(&found),
        [
            ("on the hub", 4, ""),
            ("in its sets", 3, "1 cluster is in none of them"),
            ("match its predicates", 3, ""),
            (
                "have only tolerated taints",
                2,
                "1 cluster has a taint that it does not tolerate"
            ),
            ("selected", 1, "1 cluster ranks behind: 1 is wanted"),
        ]
    );
    let found = selection(&explained(&hub, &json!({"numberOfClusters": 5})));
    assert_eq!(funnel(&found)[4], ("selected", 2, "5 are wanted"));
    let wrong =
        json!({"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": "nonsense"}}});
    let found = selection(&explained(&hub, &wrong));
    let last = funnel(&found).pop().unwrap();
    assert_eq!((last.0, last.1), ("kept", 0));
    assert!(!found.faults.is_empty());
}

#[test]
fn sets_that_do_not_count_are_named() {
    let hub = hub(&["prod", "lost"]);
    let spec = json!({"clusterSets": ["test", "prod"]});
    let found = selection(&explained(&hub, &spec));
    let notes: Vec<_> = found.set_notes.iter().map(Text::as_str).collect();
    assert_eq!(
        notes,
        [
            "Named by it, and not bound to the namespace: test",
            "Bound to the namespace, and they do not exist: lost",
        ]
    );
    assert_eq!(found.sets, [Text::line("prod")]);
}

#[test]
fn clusters_are_found_by_name_and_by_result() {
    let hub = hub(&["prod"]);
    let spec = json!({"numberOfClusters": 1});
    let (value, explained) = (placement(&spec), explained(&hub, &spec));
    let whole = Whole {
        value: &value,
        explained: &explained,
        missing: None,
        read_only: false,
        at: Timestamp::UNIX_EPOCH,
    };
    let found = |part: &str, result: &str| -> Vec<String> {
        let answer = whole.answer(&Chosen {
            part: part.to_owned(),
            result: result.to_owned(),
        });
        assert_eq!(answer.matched, answer.clusters.len());
        let clusters = answer.clusters.iter();
        clusters.map(|it| it.name.as_str().to_owned()).collect()
    };
    assert_eq!(found("", ""), ["c1", "c3", "c2", "c4"]);
    assert_eq!(found("c4", ""), ["c4"]);
    assert_eq!(found("", "Tainted"), ["c2"]);
    assert_eq!(found("c1", "Tainted"), Vec::<String>::new());
    let answer = whole.answer(&Chosen::default());
    let results = answer.results.iter();
    let results: Vec<_> = results.map(|it| (&*it.result, it.clusters)).collect();
    let expected = [
        ("Selected", 1),
        ("RankedOut", 1),
        ("Tainted", 1),
        ("NotInSets", 1),
    ];
    assert_eq!(results, expected);
    assert_eq!(
        answer.differs[1].as_str(),
        "Cluster c1 would be selected, and no decision lists it yet."
    );
    // What the hub alone writes is no part of what a person changes.
    assert!(answer.yaml.contains("resourceVersion:"), "{}", answer.yaml);
    for field in ["managedFields", "uid", "status"] {
        assert!(!answer.yaml.contains(field), "{field}: {}", answer.yaml);
    }
}

#[test]
fn what_if_names_the_clusters_that_come_and_go() {
    let mut hub = hub(&["prod"]);
    hub.add(
        Source::Decision,
        &json!({
            "metadata": {
                "name": "app-1", "namespace": "team-a",
                "labels": {"cluster.open-cluster-management.io/placement": "app"},
            },
            "status": {"decisions": [{"clusterName": "c1"}, {"clusterName": "c2"}, {"clusterName": "gone"}]},
        }),
    );
    let answer = what_if(&explained(&hub, &json!({})));
    let names = |changes: &[ChangedCluster]| -> Vec<String> {
        let changes = changes.iter();
        changes.map(|it| it.name.as_str().to_owned()).collect()
    };
    assert_eq!(names(&answer.added), ["c3"]);
    assert_eq!(names(&answer.removed), ["c2", "gone"]);
    assert_eq!(
        answer.removed[1].reason.as_str(),
        "the cluster does not exist"
    );
    assert_eq!(answer.stay, 1);
}

#[test]
fn another_placement_is_not_changed() {
    let read = |value: Value| serde_json::from_value::<Placement>(value).unwrap();
    let same = read(placement(&json!({})));
    assert_eq!(another(&same, "team-a", "app"), Vec::<String>::new());
    assert_eq!(
        another(&same, "team-a", "other"),
        ["metadata.name: this page changes \"other\"; create another placement by kubectl"]
    );
    assert!(another(&same, "team-b", "app")[0].starts_with("metadata.namespace: "));
}
