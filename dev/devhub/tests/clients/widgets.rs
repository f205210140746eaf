//! A custom kind that tests need: lists of every sort, defaults, limits, status, columns.

use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::cluster::Cluster;
use crate::desk::Desk;

pub const GROUP_VERSION: &str = "clients.berth.test/v1";

/// A desk on a hub that serves Widgets.
pub async fn desk() -> Desk {
    static INSTALLED: OnceCell<()> = OnceCell::const_new();
    let install = async || Cluster::shared().await.apply(&[definition()]).await;
    INSTALLED.get_or_init(install).await;
    Desk::new().await
}

pub fn widget(name: &str) -> Value {
    json!({ "apiVersion": GROUP_VERSION, "kind": "Widget", "metadata": { "name": name }, "spec": { "size": 3 } })
}

fn definition() -> Value {
    let text = json!({ "type": "string" });
    let condition = json!({
        "type": "object",
        "required": ["type", "status"],
        "properties": {
            "type": text, "status": { "type": "string", "enum": ["True", "False", "Unknown"] }, "reason": text,
            "message": text, "observedGeneration": { "type": "integer", "format": "int64" },
            "lastTransitionTime": { "type": "string", "format": "date-time" },
        },
    });
    let part = json!({
        "type": "object",
        "required": ["name"],
        "properties": { "name": text, "count": { "type": "integer", "default": 1 } },
    });
    let spec = json!({
        "type": "object",
        "description": "What the widget is to be.",
        "required": ["size"],
        "properties": {
            "size": { "type": "integer", "format": "int32", "minimum": 1, "maximum": 100, "description": "How big it is." },
            "color": { "type": "string", "enum": ["red", "green"], "default": "red" },
            "code": { "type": "string", "pattern": "^[a-z]+$", "maxLength": 5 },
            "parts": { "type": "array", "items": part, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] },
            "tags": { "type": "array", "items": text, "x-kubernetes-list-type": "set" },
            "notes": { "type": "array", "items": text, "x-kubernetes-list-type": "atomic" },
            "limit": { "x-kubernetes-int-or-string": true },
            "anything": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
        },
    });
    let status = json!({
        "type": "object",
        "properties": {
            "phase": text,
            "conditions": {
                "type": "array", "items": condition,
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
            },
        },
    });
    let columns = json!([
        { "name": "Size", "type": "integer", "jsonPath": ".spec.size" },
        { "name": "Phase", "type": "string", "jsonPath": ".status.phase" },
        { "name": "Color", "type": "string", "jsonPath": ".spec.color", "priority": 1 },
        { "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" },
    ]);
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.clients.berth.test" },
        "spec": {
            "group": "clients.berth.test",
            "scope": "Namespaced",
            "names": {
                "kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget",
                "shortNames": ["wg"], "categories": ["gadgets"],
            },
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "subresources": { "status": {} },
                "additionalPrinterColumns": columns,
                "schema": { "openAPIV3Schema": {
                    "type": "object",
                    "description": "A thing for tests.",
                    "required": ["spec"],
                    "properties": {
                        "apiVersion": text, "kind": text, "metadata": { "type": "object" },
                        "spec": spec, "status": status,
                    },
                } },
            }],
        },
    })
}
