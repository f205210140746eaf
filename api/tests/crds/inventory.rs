//! The CRDs of the inventory API, compared with SIG-Multicluster's.

use berth_api::crds::{cluster_profile, inventory, inventory_placement_decision};
use serde_json::{Value, json};

use super::structure::{
    assert_structure, conditions, list, list_by, object, text, time, with_metadata,
};

fn crd(plural: &str, kind: &str, schema: Value, has_status: bool) -> Value {
    let mut version = json!({
        "name": "v1alpha1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": with_metadata(schema)},
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
            "extensions": list(&extension),
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
            "lastObservedTime": time(),
            "name": {"type": "string", "minLength": 1, "maxLength": 253},
            "value": {"type": "string", "minLength": 1, "maxLength": 1024},
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
            "conditions": conditions(),
            "credentialProviders": list_by("name", &provider),
            "properties": list_by("name", &property),
            "version": object(&[], json!({"kubernetes": text()})),
        }),
    );
    let schema = object(&["spec"], json!({"spec": spec, "status": status}));
    let expected = crd("clusterprofiles", "ClusterProfile", schema, true);
    assert_structure(&cluster_profile(), &expected);
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
            "decisions": {"type": "array", "minItems": 0, "maxItems": 100, "items": decision},
            "schedulerName": text(),
        }),
    );
    let expected = crd("placementdecisions", "PlacementDecision", schema, false);
    assert_structure(&inventory_placement_decision(), &expected);
}

#[test]
fn both_kinds_are_written_to_the_manifests() {
    assert_eq!(
        inventory(),
        [cluster_profile(), inventory_placement_decision()]
    );
}
