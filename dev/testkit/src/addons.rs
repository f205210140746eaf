//! The kinds of add-ons in one version that is stored: devhub converts nothing, and tests read v1beta1.

use berth_api::crds;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

/// The CustomResourceDefinitions of add-ons. Without a gate nothing is converted: those with two versions have the newer one only.
pub fn definitions() -> Vec<Value> {
    crds::addons().into_iter().map(in_one_version).collect()
}

fn in_one_version(mut crd: CustomResourceDefinition) -> Value {
    if crd.spec.conversion.take().is_some() {
        crd.spec.versions.retain(|it| it.name == "v1beta1");
        for version in &mut crd.spec.versions {
            version.storage = true;
        }
    }
    let mut crd = json!(crd);
    crd["apiVersion"] = json!("apiextensions.k8s.io/v1");
    crd["kind"] = json!("CustomResourceDefinition");
    crd
}

/// A minimal CustomResourceDefinition of ManagedClusterAddOn, in v1beta1.
pub fn definition() -> Value {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let conditions = json!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type"],
            "properties": {"type": {"type": "string"}},
            "x-kubernetes-preserve-unknown-fields": true,
        },
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "managedclusteraddons.addon.open-cluster-management.io"},
        "spec": {
            "group": "addon.open-cluster-management.io",
            "scope": "Namespaced",
            "names": {
                "plural": "managedclusteraddons",
                "singular": "managedclusteraddon",
                "kind": "ManagedClusterAddOn",
                "listKind": "ManagedClusterAddOnList",
            },
            "versions": [{
                "name": "v1beta1",
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": any,
                        "status": {
                            "type": "object",
                            "properties": {"conditions": conditions},
                            "x-kubernetes-preserve-unknown-fields": true,
                        },
                    },
                }},
            }],
        },
    })
}
