//! The objects of the managed cluster, by name: what kind each is of, and how a manifest prescribes it.

use berth_api::GroupVersionResource;
use serde_json::{Value, json};

/// A CustomResourceDefinition.
pub(crate) const DEFINITION: &str = "widgets.example.com";

/// An object of its kind.
pub(crate) const WIDGET: &str = "widget";

/// A Secret. With another value it is of another type, and has to be created anew.
pub(crate) const SECRET: &str = "secret";

/// The group of the custom kind.
pub(crate) const GROUP: &str = "example.com";

/// A kind of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    ConfigMap,
    Secret,
    Definition,
    Widget,
}

/// The manifest of an object with this value.
pub(crate) fn manifest(name: &str, value: u32) -> Value {
    let kind = Kind::of(name);
    let (api_version, kind_name, content) = match kind {
        Kind::ConfigMap => ("v1", "ConfigMap", json!({"data": {"a": value.to_string()}})),
        Kind::Secret => {
            let type_ = format!("example.com/{value}");
            (
                "v1",
                "Secret",
                json!({"type": type_, "data": {"a": "MQ=="}}),
            )
        }
        Kind::Definition => (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            json!({"spec": {
                "group": GROUP, "scope": "Namespaced",
                "names": {"kind": "Widget", "plural": "widgets", "singular": format!("widget{value}")},
            }}),
        ),
        Kind::Widget => (
            "example.com/v1",
            "Widget",
            json!({"spec": {"a": value.to_string()}}),
        ),
    };
    let mut manifest = content;
    manifest["apiVersion"] = json!(api_version);
    manifest["kind"] = json!(kind_name);
    // The model of server-side apply has to own something of the metadata.
    manifest["metadata"] = json!({"name": name, "labels": {"from": "work"}});
    match namespace(name) {
        "" => {}
        namespace => manifest["metadata"]["namespace"] = json!(namespace),
    }
    manifest
}

/// Returns true if the object has the value that a manifest prescribes.
pub(crate) fn has_value(name: &str, object: &Value, value: u32) -> bool {
    let of_manifest = manifest(name, value);
    if name == DEFINITION {
        // The agent fills in the defaults.
        let parts = ["/spec/names/singular", "/spec/scope"];
        return parts
            .iter()
            .all(|it| of_manifest.pointer(it) == object.pointer(it));
    }
    ["data", "type", "spec"]
        .iter()
        .all(|it| of_manifest[it] == object[it])
}

/// The namespace of an object. Those whose names begin with `n` are in a namespace of their own.
pub(crate) fn namespace(name: &str) -> &str {
    match Kind::of(name) {
        Kind::Definition => "",
        _ if name.starts_with('n') => name,
        _ => "n",
    }
}

/// Another client changes what a manifest prescribes. What cannot be changed stays.
pub(crate) fn disturb(name: &str, object: &mut Value) {
    match Kind::of(name) {
        Kind::ConfigMap => object["data"]["a"] = json!("other"),
        Kind::Widget => object["spec"]["a"] = json!("other"),
        Kind::Secret => object["data"]["a"] = json!("Mg=="),
        Kind::Definition => object["spec"]["scope"] = json!("Cluster"),
    }
}

// === impl Kind ===

impl Kind {
    pub(crate) const ALL: [Self; 4] = [
        Self::ConfigMap,
        Self::Secret,
        Self::Definition,
        Self::Widget,
    ];

    pub(crate) fn of(name: &str) -> Self {
        match name {
            DEFINITION => Self::Definition,
            WIDGET => Self::Widget,
            SECRET => Self::Secret,
            _ => Self::ConfigMap,
        }
    }

    pub(crate) fn resource(self) -> GroupVersionResource {
        let (group, resource) = match self {
            Self::ConfigMap => ("", "configmaps"),
            Self::Secret => ("", "secrets"),
            Self::Definition => ("apiextensions.k8s.io", "customresourcedefinitions"),
            Self::Widget => (GROUP, "widgets"),
        };
        GroupVersionResource::new(group, "v1", resource)
    }

    /// The kind of a resource.
    pub(crate) fn of_resource(resource: &GroupVersionResource) -> Self {
        match &*resource.resource {
            "configmaps" => Self::ConfigMap,
            "secrets" => Self::Secret,
            "widgets" => Self::Widget,
            _ => Self::Definition,
        }
    }

    /// The kind that manifests name so.
    pub(crate) fn named(kind: &str) -> Self {
        match kind {
            "ConfigMap" => Self::ConfigMap,
            "Secret" => Self::Secret,
            "Widget" => Self::Widget,
            _ => Self::Definition,
        }
    }
}
