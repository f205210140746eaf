//! The CRDs of placement.

use berth_api::crds::{addon_placement_score, placement, placement_decision};
use serde_json::{Value, json};

#[test]
fn schemas_of_placement_equal_those_of_ocm() {
    let (placement, decision, score) = (placement(), placement_decision(), addon_placement_score());
    let qualified = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";
    let topology = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$";
    let effects = json!(["NoSelect", "PreferNoSelect", "NoSelectIfNew"]);
    let strategy = "spec.decisionStrategy.groupStrategy";
    let at_group = |field: &str| format!("{strategy}.decisionGroups[]{field}");
    let at_selector = |field: &str| format!("spec.predicates[].requiredClusterSelector{field}");
    let at_weight = |field: &str| format!("spec.prioritizerPolicy.configurations[]{field}");
    let at_spread = |field: &str| format!("spec.spreadPolicy.spreadConstraints[]{field}");
    let at_toleration = |field: &str| format!("spec.tolerations[]{field}");
    let at = |path: &str| path.to_owned();
    let none = Value::Null;
    for (crd, path, keyword, expected) in [
        (&placement, at(""), "required", json!(["spec"])),
        (&placement, at("spec"), "default", none.clone()),
        (&placement, at("spec"), "required", none.clone()),
        (
            &placement,
            at("spec.clusterSets[]"),
            "type",
            json!("string"),
        ),
        (
            &placement,
            at("spec.decisionStrategy"),
            "default",
            none.clone(),
        ),
        (&placement, at(strategy), "default", none.clone()),
        (
            &placement,
            format!("{strategy}.clustersPerDecisionGroup"),
            "default",
            json!("100%"),
        ),
        (
            &placement,
            format!("{strategy}.clustersPerDecisionGroup"),
            "pattern",
            json!("^((100|[1-9][0-9]{0,1})%|[1-9][0-9]*)$"),
        ),
        (
            &placement,
            format!("{strategy}.clustersPerDecisionGroup"),
            "x-kubernetes-int-or-string",
            json!(true),
        ),
        (
            &placement,
            format!("{strategy}.clustersPerDecisionGroup"),
            "anyOf",
            json!([{"type": "integer"}, {"type": "string"}]),
        ),
        (
            &placement,
            at_group(""),
            "required",
            json!(["groupClusterSelector", "groupName"]),
        ),
        (
            &placement,
            at_group(".groupName"),
            "pattern",
            json!("^[a-zA-Z0-9][-A-Za-z0-9_.]{0,61}[a-zA-Z0-9]$"),
        ),
        (
            &placement,
            at_group(".groupClusterSelector"),
            "default",
            none.clone(),
        ),
        (
            &placement,
            at_group(".groupClusterSelector.labelSelector"),
            "x-kubernetes-map-type",
            json!("atomic"),
        ),
        (
            &placement,
            at_group(".groupClusterSelector.claimSelector.matchExpressions"),
            "x-kubernetes-list-type",
            none.clone(),
        ),
        (
            &placement,
            at("spec.numberOfClusters"),
            "format",
            json!("int32"),
        ),
        (
            &placement,
            at("spec.numberOfClusters"),
            "minimum",
            none.clone(),
        ),
        (
            &placement,
            at("spec.predicates"),
            "x-kubernetes-list-type",
            none.clone(),
        ),
        (&placement, at_selector(""), "default", none.clone()),
        (
            &placement,
            at_selector(".labelSelector"),
            "x-kubernetes-map-type",
            json!("atomic"),
        ),
        (
            &placement,
            at_selector(".labelSelector.matchExpressions"),
            "x-kubernetes-list-type",
            json!("atomic"),
        ),
        (
            &placement,
            at_selector(".claimSelector"),
            "x-kubernetes-map-type",
            none.clone(),
        ),
        (
            &placement,
            at_selector(".claimSelector.matchExpressions"),
            "x-kubernetes-list-type",
            none.clone(),
        ),
        (
            &placement,
            at_selector(".claimSelector.matchExpressions[]"),
            "required",
            json!(["key", "operator"]),
        ),
        (
            &placement,
            at_selector(".claimSelector.matchExpressions[].values"),
            "x-kubernetes-list-type",
            json!("atomic"),
        ),
        (
            &placement,
            at_selector(".celSelector.celExpressions[]"),
            "type",
            json!("string"),
        ),
        (
            &placement,
            at("spec.prioritizerPolicy"),
            "default",
            none.clone(),
        ),
        (
            &placement,
            at("spec.prioritizerPolicy.mode"),
            "default",
            json!("Additive"),
        ),
        (
            &placement,
            at("spec.prioritizerPolicy.mode"),
            "enum",
            none.clone(),
        ),
        (
            &placement,
            at_weight(""),
            "required",
            json!(["scoreCoordinate"]),
        ),
        (&placement, at_weight(".weight"), "default", json!(1)),
        (&placement, at_weight(".weight"), "minimum", json!(-10.0)),
        (&placement, at_weight(".weight"), "maximum", json!(10.0)),
        (
            &placement,
            at_weight(".scoreCoordinate"),
            "required",
            json!(["type"]),
        ),
        (
            &placement,
            at_weight(".scoreCoordinate.type"),
            "default",
            json!("BuiltIn"),
        ),
        (
            &placement,
            at_weight(".scoreCoordinate.type"),
            "enum",
            json!(["BuiltIn", "AddOn"]),
        ),
        (
            &placement,
            at_weight(".scoreCoordinate.builtIn"),
            "enum",
            none.clone(),
        ),
        (
            &placement,
            at_weight(".scoreCoordinate.addOn"),
            "required",
            json!(["resourceName", "scoreName"]),
        ),
        (
            &placement,
            at("spec.scoreRateLimit"),
            "default",
            json!("1m"),
        ),
        (
            &placement,
            at("spec.scoreRateLimit"),
            "pattern",
            json!("^[0-9]+[hms]$"),
        ),
        (
            &placement,
            at("spec.sortBy"),
            "default",
            json!("ClusterName"),
        ),
        (
            &placement,
            at("spec.sortBy"),
            "enum",
            json!(["ClusterName", "Score"]),
        ),
        (&placement, at("spec.spreadPolicy"), "default", none.clone()),
        (
            &placement,
            at("spec.spreadPolicy.spreadConstraints"),
            "maxItems",
            json!(8),
        ),
        (
            &placement,
            at_spread(""),
            "required",
            json!(["topologyKey", "topologyKeyType"]),
        ),
        (
            &placement,
            at_spread(".topologyKey"),
            "pattern",
            json!(topology),
        ),
        (
            &placement,
            at_spread(".topologyKey"),
            "maxLength",
            json!(316),
        ),
        (
            &placement,
            at_spread(".topologyKeyType"),
            "enum",
            json!(["Label", "Claim"]),
        ),
        (&placement, at_spread(".maxSkew"), "default", json!(1)),
        (&placement, at_spread(".maxSkew"), "minimum", json!(1.0)),
        (
            &placement,
            at_spread(".whenUnsatisfiable"),
            "default",
            json!("ScheduleAnyway"),
        ),
        (
            &placement,
            at_spread(".whenUnsatisfiable"),
            "enum",
            json!(["DoNotSchedule", "ScheduleAnyway"]),
        ),
        (&placement, at_toleration(""), "required", none.clone()),
        (&placement, at_toleration(".effect"), "enum", effects),
        (
            &placement,
            at_toleration(".key"),
            "pattern",
            json!(qualified),
        ),
        (&placement, at_toleration(".key"), "maxLength", json!(316)),
        (
            &placement,
            at_toleration(".operator"),
            "default",
            json!("Equal"),
        ),
        (&placement, at_toleration(".operator"), "enum", none.clone()),
        (
            &placement,
            at_toleration(".tolerationSeconds"),
            "format",
            json!("int64"),
        ),
        (
            &placement,
            at_toleration(".value"),
            "maxLength",
            json!(1024),
        ),
        (&placement, at("status"), "required", none.clone()),
        (
            &placement,
            at("status.conditions"),
            "x-kubernetes-list-map-keys",
            json!(["type"]),
        ),
        (
            &placement,
            at("status.decisionGroups[]"),
            "required",
            none.clone(),
        ),
        (
            &placement,
            at("status.decisionGroups[].clusterCount"),
            "default",
            json!(0),
        ),
        (
            &placement,
            at("status.decisionGroups[].decisionGroupIndex"),
            "default",
            none.clone(),
        ),
        (
            &placement,
            at("status.decisionGroups[].decisions"),
            "default",
            none.clone(),
        ),
        (
            &placement,
            at("status.lastScoreUpdateTime"),
            "format",
            json!("date-time"),
        ),
        (
            &placement,
            at("status.numberOfSelectedClusters"),
            "default",
            none.clone(),
        ),
        (&decision, at(""), "required", none.clone()),
        (&decision, at("status"), "required", json!(["decisions"])),
        (&decision, at("status.decisions"), "maxItems", none.clone()),
        (
            &decision,
            at("status.decisions[]"),
            "required",
            json!(["clusterName", "reason"]),
        ),
        (
            &decision,
            at("status.decisions[].score"),
            "format",
            json!("int64"),
        ),
        (&score, at(""), "required", none.clone()),
        (&score, at("status"), "required", none.clone()),
        (
            &score,
            at("status.conditions"),
            "x-kubernetes-list-map-keys",
            json!(["type"]),
        ),
        (
            &score,
            at("status.scores"),
            "x-kubernetes-list-map-keys",
            json!(["name"]),
        ),
        (
            &score,
            at("status.scores[]"),
            "required",
            json!(["name", "value"]),
        ),
        (
            &score,
            at("status.scores[].value"),
            "minimum",
            json!(-100.0),
        ),
        (&score, at("status.scores[].value"), "maximum", json!(100.0)),
        (
            &score,
            at("status.validUntil"),
            "format",
            json!("date-time"),
        ),
    ] {
        assert_eq!(
            super::at(crd, &path)[keyword],
            expected,
            "{} {path}: {keyword}",
            crd.spec.names.kind
        );
    }
    for crd in [&decision, &score] {
        assert_eq!(
            super::at(crd, "")["properties"]["spec"],
            Value::Null,
            "{} has a spec",
            crd.spec.names.kind
        );
    }
}
