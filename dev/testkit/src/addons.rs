//! A kind of add-ons for those who need little of it.

use serde_json::{Value, json};

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
