//! The CustomResourceDefinitions of the stored types, generated from the types.
//!
//! They are interchangeable with OCM's: same fields, defaults, limits, columns and list types, so that either can
//! replace the other on a running hub. Only the descriptions differ.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceConversion, CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray,
    JSONSchemaPropsOrBool,
};
use kube::core::crd::CustomResourceExt;
use serde_json::json;

use crate::cluster::ManagedCluster;
use crate::cluster_claim::ClusterClaim;
use crate::cluster_set::ManagedClusterSet;
use crate::cluster_set_binding::ManagedClusterSetBinding;

/// The CRDs of all kinds of this crate: those of the hub, then the agent's.
#[must_use]
pub fn all() -> Vec<CustomResourceDefinition> {
    vec![
        managed_cluster(),
        managed_cluster_set(),
        managed_cluster_set_binding(),
        cluster_claim(),
    ]
}

/// The CRD of `ManagedCluster`, for the hub.
#[must_use]
pub fn managed_cluster() -> CustomResourceDefinition {
    let mut crd = finish(ManagedCluster::crd());
    // Who leaves these out has not said "false".
    schema_at(&mut crd, &["spec"]).default = None;
    schema_at(&mut crd, &["spec", "hubAcceptsClient"]).default = None;
    // Go clients write a taint without a time as `timeAdded: null`.
    schema_at(&mut crd, &["spec", "taints", "timeAdded"]).nullable = Some(true);
    crd
}

/// The CRD of `ManagedClusterSet`, for the hub.
#[must_use]
pub fn managed_cluster_set() -> CustomResourceDefinition {
    finish(ManagedClusterSet::crd())
}

/// The CRD of `ManagedClusterSetBinding`, for the hub.
#[must_use]
pub fn managed_cluster_set_binding() -> CustomResourceDefinition {
    finish(ManagedClusterSetBinding::crd())
}

/// The CRD of `ClusterClaim`, for the managed clusters.
#[must_use]
pub fn cluster_claim() -> CustomResourceDefinition {
    finish(ClusterClaim::crd())
}

/// Turns what the derive makes of a type into what OCM's generator makes of it.
fn finish(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    let spec = &mut crd.spec;
    spec.names.list_kind = Some(format!("{}List", spec.names.kind));
    spec.preserve_unknown_fields = Some(false);
    spec.conversion = Some(CustomResourceConversion {
        strategy: "None".to_owned(),
        webhook: None,
    });
    let root = schema_at(&mut crd, &[]);
    plain(root);
    for (name, kind, description) in [
        (
            "apiVersion",
            "string",
            Some("The API group and version of this object."),
        ),
        ("kind", "string", Some("The kind of this object.")),
        ("metadata", "object", None),
    ] {
        let property = JSONSchemaProps {
            type_: Some(kind.to_owned()),
            description: description.map(str::to_owned),
            ..JSONSchemaProps::default()
        };
        root.properties
            .get_or_insert_default()
            .insert(name.to_owned(), property);
    }
    crd
}

/// Undoes, at all depths, what the derive says because of how Rust writes a type down, and the API does not.
fn plain(schema: &mut JSONSchemaProps) {
    // The name of a Rust type.
    schema.title = None;
    // Where a line of the source ends, a sentence goes on.
    schema.description = schema
        .description
        .take()
        .map(|text| text.replace('\n', " "));
    // An `Option` is a field that may be left out, not one that may be null.
    schema.nullable = None;
    // An empty object is what Rust makes of a missing one.
    schema.default.take_if(|default| default.0 == json!({}));
    if schema.x_kubernetes_int_or_string == Some(true) {
        // kube removes these types, which OCM's generator states.
        let of_type = |name: &str| JSONSchemaProps {
            type_: Some(name.to_owned()),
            ..JSONSchemaProps::default()
        };
        schema.any_of = Some(vec![of_type("integer"), of_type("string")]);
    }
    for property in schema.properties.iter_mut().flatten() {
        plain(property.1);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        plain(items);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        plain(values);
    }
}

/// The schema of the property at the path, through the items of lists.
fn schema_at<'a>(crd: &'a mut CustomResourceDefinition, path: &[&str]) -> &'a mut JSONSchemaProps {
    let version = crd
        .spec
        .versions
        .first_mut()
        .expect("kube derives one version");
    let validation = version.schema.as_mut().expect("kube derives a schema");
    let mut schema = validation
        .open_api_v3_schema
        .as_mut()
        .expect("kube derives a schema");
    for name in path {
        if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
            schema = items;
        }
        schema = schema
            .properties
            .as_mut()
            .and_then(|all| all.get_mut(*name))
            .expect("the path is one of the type's");
    }
    schema
}
