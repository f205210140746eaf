//! The CRDs of the inventory API, compared with SIG-Multicluster's.

use berth_api::crds::{cluster_profile, inventory, inventory_placement_decision};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

/// The CRD without descriptions, with numbers in one form.
fn bare(crd: &CustomResourceDefinition) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|name, value| name != "description" || !value.is_string());
                fields.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            Value::Number(number) => {
                *value = json!(number.as_f64());
            }
            _ => {}
        }
    }
    let mut value = super::json(crd);
    strip(&mut value);
    value
}

fn crd(plural: &str, kind: &str, mut schema: Value, has_status: bool) -> Value {
    let properties = &mut schema["properties"];
    properties["apiVersion"] = json!({"type": "string"});
    properties["kind"] = json!({"type": "string"});
    properties["metadata"] = json!({"type": "object"});
    let mut version = json!({
        "name": "v1alpha1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": schema},
    });
    if has_status {
        version["subresources"] = json!({"status": {}});
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.multicluster.x-k8s.io")},
        "spec": {
            "group": "multicluster.x-k8s.io",
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase()},
            "scope": "Namespaced",
            "versions": [version],
        },
    })
}

fn object(required: &[&str], properties: Value) -> Value {
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn list_by(key: &str, items: &Value) -> Value {
    json!({
        "type": "array", "items": items,
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key],
    })
}

fn text() -> Value {
    json!({"type": "string"})
}

#[test]
fn cluster_profiles_are_those_of_sig_multicluster() {
    let extension = object(
        &["extension", "name"],
        json!({
            "extension": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "name": text(),
        }),
    );
    let cluster = object(
        &["server"],
        json!({
            "certificate-authority": text(),
            "certificate-authority-data": {"type": "string", "format": "byte"},
            "disable-compression": {"type": "boolean"},
            "extensions": {"type": "array", "items": extension},
            "insecure-skip-tls-verify": {"type": "boolean"},
            "proxy-url": text(),
            "server": text(),
            "tls-server-name": text(),
        }),
    );
    let provider = object(&["name"], json!({"cluster": cluster, "name": text()}));
    let property = object(
        &["name", "value"],
        json!({
            "lastObservedTime": {"type": "string", "format": "date-time"},
            "name": {"type": "string", "minLength": 1.0, "maxLength": 253.0},
            "value": {"type": "string", "minLength": 1.0, "maxLength": 1024.0},
        }),
    );
    let qualified = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";
    let condition = object(
        &["lastTransitionTime", "message", "reason", "status", "type"],
        json!({
            "lastTransitionTime": {"type": "string", "format": "date-time"},
            "message": {"type": "string", "maxLength": 32768.0},
            "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0.0},
            "reason": {
                "type": "string", "minLength": 1.0, "maxLength": 1024.0,
                "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
            },
            "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
            "type": {"type": "string", "maxLength": 316.0, "pattern": qualified},
        }),
    );
    let mut manager = object(&["name"], json!({"name": text()}));
    manager["x-kubernetes-validations"] =
        json!([{"rule": "self == oldSelf", "message": "ClusterManager is immutable"}]);
    let spec = object(
        &["clusterManager"],
        json!({"clusterManager": manager, "displayName": text()}),
    );
    let status = object(
        &[],
        json!({
            "accessProviders": list_by("name", &provider),
            "conditions": list_by("type", &condition),
            "credentialProviders": list_by("name", &provider),
            "properties": list_by("name", &property),
            "version": object(&[], json!({"kubernetes": text()})),
        }),
    );
    let schema = object(&["spec"], json!({"spec": spec, "status": status}));
    let expected = crd("clusterprofiles", "ClusterProfile", schema, true);
    assert_eq!(bare(&cluster_profile()), expected);
}

#[test]
fn placement_decisions_are_those_of_sig_multicluster() {
    let reference = object(&["name"], json!({"name": text(), "namespace": text()}));
    let decision = object(
        &["clusterProfileRef"],
        json!({"clusterProfileRef": reference, "reason": text()}),
    );
    let schema = object(
        &["decisions"],
        json!({
            "decisions": {"type": "array", "minItems": 0.0, "maxItems": 100.0, "items": decision},
            "schedulerName": text(),
        }),
    );
    let expected = crd("placementdecisions", "PlacementDecision", schema, false);
    assert_eq!(bare(&inventory_placement_decision()), expected);
}

#[test]
fn both_kinds_are_written_to_the_manifests() {
    assert_eq!(
        inventory(),
        [cluster_profile(), inventory_placement_decision()]
    );
}
