//! Compares our CRDs with facts about OCM's and SIG-Multicluster's, so that either can replace the other on a running hub.

mod addons;
mod inventory;
mod operator;
mod placement;
mod structure;
mod work;

use berth_api::crds::{
    addons, all, cluster_claim, managed_cluster, managed_cluster_set, managed_cluster_set_binding,
    work,
};
use berth_api::groups;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

fn json(crd: &CustomResourceDefinition) -> Value {
    serde_json::to_value(crd).expect("a CRD is JSON")
}

/// The schema at a path such as `spec.taints[].key`; `[]` goes to the items of a list, `{}` to the values of a map.
fn at(crd: &CustomResourceDefinition, path: &str) -> Value {
    let mut pointer = String::from("/spec/versions/0/schema/openAPIV3Schema");
    for step in path.split('.').filter(|step| !step.is_empty()) {
        let name = step.trim_end_matches("[]").trim_end_matches("{}");
        pointer.push_str("/properties/");
        pointer.push_str(name);
        match &step[name.len()..] {
            "" => {}
            "[]" => pointer.push_str("/items"),
            "{}" => pointer.push_str("/additionalProperties"),
            other => panic!("{other} in {path}"),
        }
    }
    json(crd)
        .pointer(&pointer)
        .unwrap_or_else(|| panic!("no {path} in the schema"))
        .clone()
}

#[test]
fn names_scopes_versions_and_columns_are_those_of_ocm() {
    let cluster = json!([
        ["Hub Accepted", "boolean", ".spec.hubAcceptsClient"],
        [
            "Managed Cluster URLs",
            "string",
            ".spec.managedClusterClientConfigs[*].url"
        ],
        [
            "Joined",
            "string",
            ".status.conditions[?(@.type==\"ManagedClusterJoined\")].status"
        ],
        [
            "Available",
            "string",
            ".status.conditions[?(@.type==\"ManagedClusterConditionAvailable\")].status"
        ],
        ["Age", "date", ".metadata.creationTimestamp"],
    ]);
    let set = json!([
        [
            "Empty",
            "string",
            ".status.conditions[?(@.type==\"ClusterSetEmpty\")].status"
        ],
        ["Age", "date", ".metadata.creationTimestamp"],
    ]);
    let placement = json!([
        [
            "Succeeded",
            "string",
            ".status.conditions[?(@.type==\"PlacementSatisfied\")].status"
        ],
        [
            "Reason",
            "string",
            ".status.conditions[?(@.type==\"PlacementSatisfied\")].reason"
        ],
        [
            "SelectedClusters",
            "integer",
            ".status.numberOfSelectedClusters"
        ],
    ]);
    let rows = [
        (
            "ManagedCluster",
            "managedcluster",
            json!(["mcl", "mcls"]),
            "Cluster",
            "v1",
            true,
            cluster,
        ),
        (
            "ManagedClusterSet",
            "managedclusterset",
            json!(["mclset", "mclsets"]),
            "Cluster",
            "v1beta2",
            true,
            set,
        ),
        (
            "ManagedClusterSetBinding",
            "managedclustersetbinding",
            json!(["mclsetbinding", "mclsetbindings"]),
            "Namespaced",
            "v1beta2",
            true,
            json!([]),
        ),
        (
            "Placement",
            "placement",
            Value::Null,
            "Namespaced",
            "v1beta1",
            true,
            placement,
        ),
        (
            "PlacementDecision",
            "placementdecision",
            Value::Null,
            "Namespaced",
            "v1beta1",
            true,
            json!([]),
        ),
        (
            "AddOnPlacementScore",
            "addonplacementscore",
            Value::Null,
            "Namespaced",
            "v1alpha1",
            true,
            json!([]),
        ),
        (
            "ClusterClaim",
            "clusterclaim",
            Value::Null,
            "Cluster",
            "v1alpha1",
            false,
            json!([]),
        ),
    ];
    assert_eq!(all().len(), rows.len());
    for (crd, (kind, singular, short, scope, version, has_status, columns)) in
        all().iter().zip(rows)
    {
        let crd = json(crd);
        let spec = &crd["spec"];
        let plural = format!("{singular}s");
        assert_eq!(
            crd["metadata"]["name"],
            json!(format!("{plural}.{}", groups::CLUSTER)),
            "{kind}"
        );
        assert_eq!(spec["group"], groups::CLUSTER, "{kind}");
        let mut names = json!({"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": singular});
        if !short.is_null() {
            names["shortNames"] = short;
        }
        assert_eq!(spec["names"], names, "{kind}");
        assert_eq!(spec["scope"], scope, "{kind}");
        assert_eq!(spec["preserveUnknownFields"], false, "{kind}");
        assert_eq!(spec["conversion"], json!({"strategy": "None"}), "{kind}");
        let versions = spec["versions"].as_array().expect("versions");
        assert_eq!(versions.len(), 1, "{kind}");
        assert_eq!(versions[0]["name"], version, "{kind}");
        assert_eq!(
            (&versions[0]["served"], &versions[0]["storage"]),
            (&json!(true), &json!(true)),
            "{kind}"
        );
        let subresources = if has_status {
            json!({"status": {}})
        } else {
            Value::Null
        };
        assert_eq!(versions[0]["subresources"], subresources, "{kind}");
        let of_column =
            |column: &Value| json!([column["name"], column["type"], column["jsonPath"]]);
        let found: Vec<Value> = versions[0]["additionalPrinterColumns"]
            .as_array()
            .into_iter()
            .flatten()
            .map(of_column)
            .collect();
        assert_eq!(json!(found), columns, "{kind}");
    }
}

#[test]
fn schemas_equal_those_of_ocm() {
    let (cluster, set, binding, claim) = (
        managed_cluster(),
        managed_cluster_set(),
        managed_cluster_set_binding(),
        cluster_claim(),
    );
    let qualified = json!(
        r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
    );
    let exclusive = json!({"selectorType": "ExclusiveClusterSetLabel"});
    let item = "status.conditions[]";
    let namespaces = "status.managedNamespaces";
    for (crd, path, keyword, expected) in [
        (&cluster, "", "required", Value::Null),
        (&cluster, "metadata", "type", json!("object")),
        (&cluster, "apiVersion", "type", json!("string")),
        (&cluster, "kind", "type", json!("string")),
        (&cluster, "spec", "required", Value::Null),
        (&cluster, "spec", "default", Value::Null),
        (&cluster, "spec.hubAcceptsClient", "type", json!("boolean")),
        (&cluster, "spec.hubAcceptsClient", "default", Value::Null),
        (
            &cluster,
            "spec.leaseDurationSeconds",
            "format",
            json!("int32"),
        ),
        (&cluster, "spec.leaseDurationSeconds", "default", json!(60)),
        (
            &cluster,
            "spec.leaseDurationSeconds",
            "minimum",
            Value::Null,
        ),
        (
            &cluster,
            "spec.managedClusterClientConfigs[]",
            "required",
            json!(["url"]),
        ),
        (
            &cluster,
            "spec.managedClusterClientConfigs",
            "x-kubernetes-list-type",
            Value::Null,
        ),
        (
            &cluster,
            "spec.managedClusterClientConfigs[].caBundle",
            "format",
            json!("byte"),
        ),
        (
            &cluster,
            "spec.taints[]",
            "required",
            json!(["effect", "key"]),
        ),
        (
            &cluster,
            "spec.taints",
            "x-kubernetes-list-type",
            Value::Null,
        ),
        (&cluster, "spec.taints[].key", "pattern", qualified.clone()),
        (&cluster, "spec.taints[].key", "maxLength", json!(316)),
        (&cluster, "spec.taints[].value", "maxLength", json!(1024)),
        (&cluster, "spec.taints[].effect", "type", json!("string")),
        (
            &cluster,
            "spec.taints[].effect",
            "enum",
            json!(["NoSelect", "PreferNoSelect", "NoSelectIfNew"]),
        ),
        (
            &cluster,
            "spec.taints[].timeAdded",
            "format",
            json!("date-time"),
        ),
        (&cluster, "spec.taints[].timeAdded", "nullable", json!(true)),
        (&cluster, "status", "nullable", Value::Null),
        (
            &cluster,
            "status.conditions",
            "x-kubernetes-list-map-keys",
            json!(["type"]),
        ),
        (
            &cluster,
            item,
            "required",
            json!(["lastTransitionTime", "message", "reason", "status", "type"]),
        ),
        (&cluster, "status.conditions[].type", "pattern", qualified),
        (
            &cluster,
            "status.conditions[].type",
            "maxLength",
            json!(316),
        ),
        (
            &cluster,
            "status.conditions[].status",
            "enum",
            json!(["True", "False", "Unknown"]),
        ),
        (
            &cluster,
            "status.conditions[].reason",
            "minLength",
            json!(1),
        ),
        (
            &cluster,
            "status.conditions[].reason",
            "maxLength",
            json!(1024),
        ),
        (
            &cluster,
            "status.conditions[].message",
            "maxLength",
            json!(32768),
        ),
        (
            &cluster,
            "status.conditions[].lastTransitionTime",
            "format",
            json!("date-time"),
        ),
        (
            &cluster,
            "status.conditions[].observedGeneration",
            "format",
            json!("int64"),
        ),
        (
            &cluster,
            "status.conditions[].observedGeneration",
            "minimum",
            json!(0.0),
        ),
        (
            &cluster,
            "status.capacity{}",
            "x-kubernetes-int-or-string",
            json!(true),
        ),
        (
            &cluster,
            "status.capacity{}",
            "anyOf",
            json!([{"type": "integer"}, {"type": "string"}]),
        ),
        (&cluster, "status.allocatable{}", "type", Value::Null),
        (
            &cluster,
            "status.version.kubernetes",
            "type",
            json!("string"),
        ),
        (&cluster, "status.clusterClaims[]", "required", Value::Null),
        (
            &cluster,
            "status.clusterClaims[].name",
            "maxLength",
            json!(253),
        ),
        (
            &cluster,
            "status.clusterClaims[].name",
            "minLength",
            json!(1),
        ),
        (
            &cluster,
            "status.clusterClaims[].value",
            "maxLength",
            json!(1024),
        ),
        (&cluster, namespaces, "x-kubernetes-list-type", json!("map")),
        (
            &cluster,
            namespaces,
            "x-kubernetes-list-map-keys",
            json!(["clusterSet", "name"]),
        ),
        (
            &cluster,
            "status.managedNamespaces[]",
            "required",
            json!(["clusterSet", "name"]),
        ),
        (
            &cluster,
            "status.managedNamespaces[].name",
            "maxLength",
            json!(63),
        ),
        (
            &cluster,
            "status.managedNamespaces[].conditions",
            "x-kubernetes-list-map-keys",
            json!(["type"]),
        ),
        (
            &set,
            "spec",
            "default",
            json!({"clusterSelector": exclusive}),
        ),
        (&set, "spec.clusterSelector", "default", exclusive),
        (
            &set,
            "spec.clusterSelector",
            "required",
            json!(["selectorType"]),
        ),
        (
            &set,
            "spec.clusterSelector.selectorType",
            "default",
            json!("ExclusiveClusterSetLabel"),
        ),
        (
            &set,
            "spec.clusterSelector.selectorType",
            "enum",
            json!(["ExclusiveClusterSetLabel", "LabelSelector"]),
        ),
        (
            &set,
            "spec.clusterSelector.labelSelector",
            "x-kubernetes-map-type",
            json!("atomic"),
        ),
        (
            &set,
            "spec.clusterSelector.labelSelector",
            "nullable",
            Value::Null,
        ),
        (
            &set,
            "spec.clusterSelector.labelSelector.matchExpressions",
            "x-kubernetes-list-type",
            json!("atomic"),
        ),
        (
            &set,
            "spec.clusterSelector.labelSelector.matchExpressions[]",
            "required",
            json!(["key", "operator"]),
        ),
        (
            &set,
            "spec.clusterSelector.labelSelector.matchExpressions[].operator",
            "enum",
            Value::Null,
        ),
        (
            &set,
            "spec.clusterSelector.labelSelector.matchLabels{}",
            "type",
            json!("string"),
        ),
        (
            &set,
            "spec.managedNamespaces",
            "x-kubernetes-list-map-keys",
            json!(["name"]),
        ),
        (
            &set,
            "spec.managedNamespaces[].name",
            "pattern",
            json!("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"),
        ),
        (
            &set,
            "status.conditions",
            "x-kubernetes-list-type",
            Value::Null,
        ),
        (&binding, "", "required", Value::Null),
        (&binding, "spec", "required", Value::Null),
        (&binding, "spec", "default", Value::Null),
        (&binding, "spec.clusterSet", "minLength", json!(1)),
        (&binding, "spec.clusterSet", "default", Value::Null),
        (
            &binding,
            "status.conditions",
            "x-kubernetes-list-type",
            Value::Null,
        ),
        (&claim, "spec.value", "minLength", json!(1)),
        (&claim, "spec.value", "maxLength", json!(1024)),
    ] {
        assert_eq!(
            at(crd, path)[keyword],
            expected,
            "{} {path}: {keyword}",
            crd.spec.names.kind
        );
    }
}

#[test]
fn every_field_of_ours_is_described() {
    /// Collects the paths of properties without a description.
    fn bare(schema: &Value, path: &str, found: &mut Vec<String>) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            if property["description"].as_str().is_none_or(str::is_empty) {
                found.push(path.clone());
            }
            bare(property, &path, found);
            bare(&property["items"], &path, found);
        }
    }
    for crd in all().into_iter().chain(work()).chain(addons()) {
        let mut found = Vec::new();
        let root = at(&crd, "");
        assert!(
            root["description"]
                .as_str()
                .is_some_and(|text| !text.contains("Auto-generated"))
        );
        bare(&root, "", &mut found);
        assert_eq!(found, [".metadata"], "{}", crd.spec.names.kind);
    }
}
