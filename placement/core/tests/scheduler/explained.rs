//! Explanations of placements, out of the JSON of a hub.

use berth_placement_core::explain::ClusterResult;
use berth_placement_core::{Explanation, Gates, Inventory, Source};
use jiff::Timestamp;
use serde_json::{Value, json};

fn now() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

fn object(version: &str, kind: &str, fields: Value) -> Value {
    let mut object = json!({
        "apiVersion": format!("cluster.open-cluster-management.io/{version}"),
        "kind": kind,
    });
    for (name, field) in fields.as_object().unwrap() {
        object[name] = field.clone();
    }
    object
}

fn placement(spec: &Value) -> Value {
    let fields = json!({"metadata": {"name": "app", "namespace": "team-a"}, "spec": spec});
    object("v1beta1", "Placement", fields)
}

fn cluster(name: &str, region: &str, taints: Value) -> Value {
    let labels = json!({"region": region, "cluster.open-cluster-management.io/clusterset": "prod"});
    object(
        "v1",
        "ManagedCluster",
        json!({"metadata": {"name": name, "labels": labels}, "spec": {"taints": taints}}),
    )
}

fn decision(clusters: &[&str]) -> Value {
    let listed: Vec<_> = clusters
        .iter()
        .map(|name| json!({"clusterName": name, "reason": ""}))
        .collect();
    object(
        "v1beta1",
        "PlacementDecision",
        json!({
            "metadata": {
                "name": "app-decision-1", "namespace": "team-a",
                "labels": {"cluster.open-cluster-management.io/placement": "app"},
            },
            "status": {"decisions": listed},
        }),
    )
}

/// A hub with the sets prod and lost bound to team-a, of which lost does not exist.
fn hub(objects: impl IntoIterator<Item = Value>) -> Inventory {
    let mut inventory = Inventory::default();
    let set = object(
        "v1beta2",
        "ManagedClusterSet",
        json!({"metadata": {"name": "prod"}}),
    );
    let bindings = ["prod", "lost"].map(|name| {
        let metadata = json!({"name": name, "namespace": "team-a"});
        object(
            "v1beta2",
            "ManagedClusterSetBinding",
            json!({"metadata": metadata, "spec": {"clusterSet": name}}),
        )
    });
    for object in [set].into_iter().chain(bindings).chain(objects) {
        let source = Source::of(&object).unwrap();
        inventory.add(source, &object);
    }
    inventory
}

fn explain(inventory: &Inventory) -> Explanation {
    let placement = inventory.placements.values().next().unwrap();
    Explanation::new(inventory, placement, Gates::default(), now())
}

#[test]
fn each_cluster_has_its_result_and_the_selected_ones_come_first() {
    let spec = json!({
        "numberOfClusters": 1,
        "predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"region": "eu"}}}}],
        "tolerations": [{"key": "gpu", "value": "a", "operator": "Equal"}],
        "decisionStrategy": {"groupStrategy": {"decisionGroups": [
            {"groupName": "canary", "groupClusterSelector": {"labelSelector": {"matchLabels": {"region": "eu"}}}},
        ]}},
    });
    let gone = object("v1", "ManagedCluster", json!({"metadata": {"name": "out"}}));
    let inventory = hub([
        placement(&spec),
        cluster("a", "eu", json!([])),
        cluster("b", "eu", json!([])),
        cluster("far", "us", json!([])),
        cluster(
            "gpu",
            "eu",
            json!([{"key": "gpu", "value": "b", "effect": "NoSelect"}]),
        ),
        cluster(
            "sick",
            "eu",
            json!([{"key": "sick", "effect": "NoSelect", "timeAdded": "2026-01-01T11:00:00Z"}]),
        ),
        gone,
        decision(&["b", "sick"]),
    ]);
    let explained = explain(&inventory);
    let rows: Vec<_> = explained
        .clusters
        .iter()
        .map(|it| (it.name.as_str(), it.result, it.reason.as_str()))
        .collect();
    use ClusterResult::{NotInSets, RankedOut, Selected, Tainted, Unmatched};
    let tainted = [
        "taint sick is not tolerated (no toleration has its key)",
        "taint gpu=b is not tolerated (spec.tolerations[0] has the key, but the value \"a\", not \"b\": the operator Exists tolerates any value)",
    ];
    assert_eq!(
        rows,
        [
            ("b", Selected, "Balance 100 + Steady 100"),
            (
                "a",
                RankedOut,
                "Balance 100 + Steady 0; rank 2, cut after b with score 200"
            ),
            ("sick", Tainted, tainted[0]),
            (
                "far",
                Unmatched,
                "predicate 0: the labels do not match region in (eu) (the cluster has region=us)"
            ),
            ("gpu", Tainted, tainted[1]),
            (
                "out",
                NotInSets,
                "the cluster belongs to none of the sets prod"
            ),
        ]
    );
    let first = &explained.clusters[0];
    let group = first.group.as_ref().unwrap();
    assert_eq!((group.index, group.name.as_str()), (0, "canary"));
    assert_eq!(first.decision.as_deref(), Some("app-decision-1"));
    assert_eq!(explained.stored.to_remove, ["sick"]);
    assert_eq!(explained.sets.bound, ["prod"]);
    assert_eq!(explained.sets.missing, ["lost"]);
    let value = serde_json::to_value(&explained).unwrap();
    assert_eq!(value["clusters"][1]["scores"][1]["score"], 0, "{value}");
    assert_eq!(value["counts"]["tainted"], 2);
    assert_eq!(value["conditions"][0]["reason"], "AllDecisionsScheduled");
}

#[test]
fn what_is_stored_is_compared_with_what_is_computed() {
    let mut stored = placement(&json!({}));
    let inventory = hub([stored.clone(), cluster("a", "eu", json!([]))]);
    let explained = explain(&inventory);
    assert!(explained.stored.is_unreported());
    assert_eq!(explained.stored.to_add, ["a"]);
    let conditions: Vec<_> = explained
        .conditions
        .iter()
        .map(|it| {
            json!({"type": it.r#type, "status": it.status, "reason": it.reason, "message": it.message,
                   "lastTransitionTime": "2026-01-01T00:00:00Z"})
        })
        .collect();
    stored["status"] = json!({"conditions": conditions});
    stored["metadata"]["annotations"] =
        json!({"cluster.open-cluster-management.io/experimental-scheduling-disable": "true"});
    let inventory = hub([
        stored.clone(),
        cluster("a", "eu", json!([])),
        decision(&["a"]),
    ]);
    let explained = explain(&inventory);
    assert!(!explained.stored.differs(), "{:?}", explained.stored);
    assert!(explained.stored.is_paused);
    // With the gate, counts follow the message.
    let message = &mut stored["status"]["conditions"][0]["message"];
    *message = json!("All cluster decisions scheduled; clusters in the sets: 1; selected: 1");
    let inventory = hub([
        stored.clone(),
        cluster("a", "eu", json!([])),
        decision(&["a"]),
    ]);
    assert!(!explain(&inventory).stored.differs());
    stored["status"]["conditions"][0]["reason"] = json!("Other");
    let inventory = hub([stored, cluster("a", "eu", json!([])), decision(&["a"])]);
    let different = explain(&inventory).stored.conditions;
    assert_eq!(different.len(), 1);
    assert_eq!(different[0].reason.as_deref(), Some("Other"));
}

#[test]
fn a_misconfigured_placement_names_the_field_and_what_it_keeps() {
    let spec = json!({"predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": ["1 +"]}}}]});
    let inventory = hub([
        placement(&spec),
        cluster("a", "eu", json!([])),
        cluster("b", "eu", json!([])),
        decision(&["a"]),
    ]);
    let explained = explain(&inventory);
    assert_eq!(
        explained.field.as_deref(),
        Some("spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[0]")
    );
    assert!(explained.fault.is_some());
    assert_eq!(explained.clusters[0].result, ClusterResult::Kept);
    assert_eq!(explained.clusters[1].result, ClusterResult::Undecided);
    assert_eq!(explained.selected(), ["a"].into());
}

#[test]
fn an_expression_that_costs_too_much_is_named_with_the_cluster_and_the_limit() {
    let doubled = ".optMap(x, [x, x])".repeat(24);
    let expression = format!(r#"optional.of([1]){doubled}.optMap(x, x == x).value()"#);
    let spec = json!({"predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": [expression]}}}]});
    let mut inventory = Inventory {
        keeps_whole_clusters: true,
        ..Inventory::default()
    };
    for object in [
        placement(&spec),
        cluster("a", "eu", json!([])),
        cluster("b", "eu", json!([])),
        decision(&["a"]),
    ] {
        inventory.add(Source::of(&object).unwrap(), &object);
    }
    inventory.merge(hub([]));
    let explained = explain(&inventory);
    assert_eq!(
        explained.field.as_deref(),
        Some("spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[0]")
    );
    let fault = explained.fault.as_deref().unwrap_or_default();
    assert!(
        fault.contains(
            "celExpressions[0] costs too much on the cluster a: it exceeds the limit of 1000000 steps for an expression on a cluster"
        ),
        "{fault}"
    );
    assert_eq!(explained.clusters[0].result, ClusterResult::Kept);
    assert_eq!(explained.clusters[1].result, ClusterResult::Undecided);
}

#[test]
fn an_object_that_cannot_be_read_is_named_and_hides_no_other() {
    let inventory = hub([
        placement(&json!({})),
        cluster("a", "eu", json!([])),
        object(
            "v1beta1",
            "PlacementDecision",
            json!({"metadata": {"name": "app-decision-1", "namespace": "team-a"}, "status": {"decisions": 7}}),
        ),
    ]);
    assert_eq!(
        inventory.unreadable[0].0,
        "PlacementDecision team-a/app-decision-1"
    );
    assert_eq!(explain(&inventory).selected(), ["a"].into());
}
