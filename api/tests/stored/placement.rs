//! Objects of placement.

use berth_api::cluster::TaintEffect;
use berth_api::placement::{
    PrioritizerMode, ScoreType, SortBy, TolerationOperator, WhenUnsatisfiable,
};
use berth_api::{AddOnPlacementScore, Placement, PlacementDecision};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::core::Resource;
use serde_json::{Value, json};

use super::{read, write};

/// A placement with every field of its type, as the API server stores it.
fn full_placement() -> Value {
    let labels = json!({
        "matchLabels": {"env": "prod"},
        "matchExpressions": [{"key": "region", "operator": "In", "values": ["eu"]}],
    });
    let claims = json!({"matchExpressions": [{"key": "cloud", "operator": "Exists"}]});
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "metadata": {"name": "shop", "namespace": "shop"},
        "spec": {
            "clusterSets": ["prod"],
            "numberOfClusters": 3,
            "predicates": [{"requiredClusterSelector": {
                "labelSelector": labels,
                "claimSelector": claims,
                "celSelector": {"celExpressions": ["true"]},
            }}],
            "prioritizerPolicy": {
                "mode": "Exact",
                "configurations": [
                    {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}, "weight": 0},
                    {"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "r", "scoreName": "s"}}, "weight": -3},
                ],
            },
            "spreadPolicy": {"spreadConstraints": [{
                "topologyKey": "region", "topologyKeyType": "Claim", "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule",
            }]},
            "tolerations": [
                {"key": "a", "operator": "Exists", "effect": "NoSelect", "tolerationSeconds": 60},
                {"key": "b", "operator": "Equal", "value": "c"},
            ],
            "decisionStrategy": {"groupStrategy": {
                "clustersPerDecisionGroup": "25%",
                "decisionGroups": [{
                    "groupName": "canary",
                    "groupClusterSelector": {"labelSelector": labels, "claimSelector": claims},
                }],
            }},
            "sortBy": "Score",
            "scoreRateLimit": "5m",
        },
        "status": {
            "numberOfSelectedClusters": 1,
            "decisionGroups": [{
                "decisionGroupIndex": 0, "decisionGroupName": "", "decisions": ["shop-decision-1"], "clusterCount": 1,
            }],
            "conditions": [{
                "type": "PlacementSatisfied",
                "status": "True",
                "reason": "AllDecisionsScheduled",
                "message": "All cluster decisions scheduled",
                "lastTransitionTime": "2026-01-02T03:04:05Z",
            }],
            "lastScoreUpdateTime": "2026-01-02T03:04:05Z",
        },
    })
}

#[test]
fn a_full_object_is_written_as_it_was_read() {
    let placement = full_placement();
    assert_eq!(write(&read::<Placement>(&placement)), placement);

    let decision = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "PlacementDecision",
        "metadata": {"name": "shop-decision-1", "namespace": "shop"},
        "status": {"decisions": [{"clusterName": "c1", "reason": "", "score": 100}, {"clusterName": "c2", "reason": ""}]},
    });
    assert_eq!(write(&read::<PlacementDecision>(&decision)), decision);

    let score = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1alpha1",
        "kind": "AddOnPlacementScore",
        "metadata": {"name": "usage", "namespace": "c1"},
        "status": {"scores": [{"name": "cpu", "value": -5}], "validUntil": "2026-01-02T03:04:05Z"},
    });
    assert_eq!(write(&read::<AddOnPlacementScore>(&score)), score);
}

#[test]
fn an_object_without_spec_or_status_is_read() {
    let object = json!({"metadata": {"name": "p", "namespace": "ns"}});
    let placement: Placement = read(&object);
    assert_eq!(placement.meta().name.as_deref(), Some("p"));
    assert_eq!(placement.spec.number_of_clusters, None);
    let decision: PlacementDecision = read(&object);
    assert_eq!(
        (decision.meta().namespace.as_deref(), &decision.status),
        (Some("ns"), &None)
    );
    let score: AddOnPlacementScore = read(&object);
    assert_eq!(score.status, None);
    assert_eq!(
        (PlacementDecision::kind(&()), PlacementDecision::plural(&())),
        ("PlacementDecision".into(), "placementdecisions".into())
    );
}

#[test]
fn empty_structs_of_go_clients_are_read_as_absent() {
    let mut object = full_placement();
    object["spec"] = json!({
        "predicates": [{"requiredClusterSelector": {"labelSelector": {}, "claimSelector": {}, "celSelector": {}}}],
        "prioritizerPolicy": {"configurations": null},
        "spreadPolicy": {"spreadConstraints": [{"topologyKey": "a", "topologyKeyType": "Label"}]},
        "tolerations": [{"key": "a", "effect": null}],
        "decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": 0}},
    });
    let placement: Placement = read(&object);
    let spec = placement.spec;
    assert_eq!(spec.predicates, [Default::default()]);
    assert_eq!(spec.prioritizer_policy, Default::default());
    assert_eq!(spec.tolerations[0].operator, TolerationOperator::Equal);
    assert_eq!(spec.tolerations[0].effect, None);
    let spread = &spec.spread_policy.spread_constraints[0];
    assert_eq!(
        (spread.max_skew, &spread.when_unsatisfiable),
        (1, &WhenUnsatisfiable::ScheduleAnyway)
    );
    assert_eq!(
        spec.decision_strategy
            .group_strategy
            .clusters_per_decision_group,
        Some(IntOrString::Int(0))
    );
}

#[test]
fn values_of_a_newer_version_are_kept() {
    let mut object = full_placement();
    object["spec"]["prioritizerPolicy"]["mode"] = json!("Most");
    object["spec"]["prioritizerPolicy"]["configurations"][0]["scoreCoordinate"]["type"] =
        json!("Model");
    object["spec"]["tolerations"][0]["operator"] = json!("Matches");
    object["spec"]["tolerations"][0]["effect"] = json!("NoExecute");
    object["spec"]["sortBy"] = json!("Age");
    let placement: Placement = read(&object);
    let spec = &placement.spec;
    let policy = &spec.prioritizer_policy;
    assert_eq!(policy.mode, PrioritizerMode::Other("Most".to_owned()));
    let coordinate = policy.configurations[0].score_coordinate.as_ref();
    assert_eq!(
        coordinate.map(|it| &it.r#type),
        Some(&ScoreType::Other("Model".to_owned()))
    );
    assert_eq!(
        spec.tolerations[0].effect,
        Some(TaintEffect::Other("NoExecute".to_owned()))
    );
    assert_eq!(spec.sort_by, Some(SortBy::Other("Age".to_owned())));
    assert_eq!(write(&placement), object);
}
