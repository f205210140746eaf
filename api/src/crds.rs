//! The CustomResourceDefinitions of the stored types, generated from the types.
//!
//! They have the same fields, defaults, limits, columns and list types as OCM's, so that either can replace the other on a running hub;
//! those of the inventory API as SIG-Multicluster's. Only the descriptions differ.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceConversion, CustomResourceDefinition, JSON, JSONSchemaProps,
    JSONSchemaPropsOrArray, JSONSchemaPropsOrBool, ServiceReference, WebhookClientConfig,
    WebhookConversion,
};
use kube::core::crd::CustomResourceExt;
use serde_json::json;

use crate::addon::{self, AddOnDeploymentConfig, AddOnTemplate};
use crate::addon_placement_score;
use crate::cluster::ManagedCluster;
use crate::cluster_claim::ClusterClaim;
use crate::cluster_set::ManagedClusterSet;
use crate::cluster_set_binding::ManagedClusterSetBinding;
use crate::inventory::{self, ClusterProfile};
use crate::operator::{ClusterManager, Klusterlet};
use crate::placement::Placement;
use crate::placement_decision;
use crate::work::{AppliedManifestWork, ManifestWork, ManifestWorkReplicaSet};

/// The URL path under which the gate converts add-ons, as in OCM.
pub const CONVERSION_PATH: &str = "/convert";

/// The Service of the gate, its port and its namespace.
const GATE_SERVICE: &str = "cluster-manager-registration-webhook";
const GATE_PORT: i32 = 9443;
const HUB_NAMESPACE: &str = "open-cluster-management-hub";

/// Returns the CRDs of OCM's kinds: first the hub's, then the agent's.
#[must_use]
pub fn all() -> Vec<CustomResourceDefinition> {
    vec![
        managed_cluster(),
        managed_cluster_set(),
        managed_cluster_set_binding(),
        placement(),
        placement_decision(),
        addon_placement_score(),
        cluster_claim(),
    ]
}

/// Returns the CRDs of the inventory API, for a hub that serves it.
#[must_use]
pub fn inventory() -> Vec<CustomResourceDefinition> {
    vec![cluster_profile(), inventory_placement_decision()]
}

/// Returns the CRDs of the work API: first the hub's, then the agent's.
#[must_use]
pub fn work() -> Vec<CustomResourceDefinition> {
    vec![
        manifest_work(),
        manifest_work_replica_set(),
        applied_manifest_work(),
    ]
}

/// Returns the CRD of `ManagedCluster`, for the hub.
#[must_use]
pub fn managed_cluster() -> CustomResourceDefinition {
    let mut crd = finish(ManagedCluster::crd());
    // An absent field is not the same as false.
    schema_at(&mut crd, &["spec"]).default = None;
    schema_at(&mut crd, &["spec", "hubAcceptsClient"]).default = None;
    // Go clients write a taint without a time as `timeAdded: null`.
    schema_at(&mut crd, &["spec", "taints", "timeAdded"]).nullable = Some(true);
    crd
}

/// Returns the CRD of `ManagedClusterSet`, for the hub.
#[must_use]
pub fn managed_cluster_set() -> CustomResourceDefinition {
    finish(ManagedClusterSet::crd())
}

/// Returns the CRD of `ManagedClusterSetBinding`, for the hub.
#[must_use]
pub fn managed_cluster_set_binding() -> CustomResourceDefinition {
    finish(ManagedClusterSetBinding::crd())
}

/// Returns the CRD of `Placement`, for the hub.
#[must_use]
pub fn placement() -> CustomResourceDefinition {
    let mut crd = finish(Placement::crd());
    // Reading is more lenient than the schema.
    schema_at(&mut crd, &[]).required = Some(vec!["spec".to_owned()]);
    // An absent field is not the same as zero.
    for path in [
        &["status", "numberOfSelectedClusters"][..],
        &["status", "decisionGroups", "decisionGroupIndex"],
        &["status", "decisionGroups", "decisionGroupName"],
        &["status", "decisionGroups", "decisions"],
    ] {
        schema_at(&mut crd, path).default = None;
    }
    crd
}

/// Returns the CRD of `PlacementDecision`, for the hub.
#[must_use]
pub fn placement_decision() -> CustomResourceDefinition {
    let mut crd = without_spec(placement_decision::definition::PlacementDecision::crd());
    for path in [
        &["status", "decisions"][..],
        &["status", "decisions", "clusterName"],
        &["status", "decisions", "reason"],
    ] {
        schema_at(&mut crd, path).default = None;
    }
    crd
}

/// Returns the CRD of `AddOnPlacementScore`, for the hub.
#[must_use]
pub fn addon_placement_score() -> CustomResourceDefinition {
    without_spec(addon_placement_score::definition::AddOnPlacementScore::crd())
}

/// Returns the CRD of `ClusterClaim`, for managed clusters.
#[must_use]
pub fn cluster_claim() -> CustomResourceDefinition {
    finish(ClusterClaim::crd())
}

/// Returns the CRD of `ClusterProfile`, for the hub.
#[must_use]
pub fn cluster_profile() -> CustomResourceDefinition {
    let mut crd = finish_inventory(ClusterProfile::crd());
    // Reading is more lenient than the schema.
    schema_at(&mut crd, &[]).required = Some(vec!["spec".to_owned()]);
    crd
}

/// Returns the CRD of the inventory API's `PlacementDecision`, for the hub.
#[must_use]
pub fn inventory_placement_decision() -> CustomResourceDefinition {
    let mut crd = finish_inventory(inventory::definition::PlacementDecision::crd());
    // The kind has the fields of the derived spec at its top.
    let root = schema_at(&mut crd, &[]);
    let spec = root.properties.get_or_insert_default().remove("spec");
    let spec = spec.unwrap_or_default();
    root.properties
        .get_or_insert_default()
        .extend(spec.properties.into_iter().flatten());
    root.required = spec.required;
    crd
}

/// Returns the CRD of `ManifestWork`, for the hub.
#[must_use]
pub fn manifest_work() -> CustomResourceDefinition {
    let mut crd = finish_work(ManifestWork::crd());
    no_defaults(schema_at(&mut crd, &["status"]));
    crd
}

/// Returns the CRD of `ManifestWorkReplicaSet`, for the hub.
#[must_use]
pub fn manifest_work_replica_set() -> CustomResourceDefinition {
    let mut crd = finish_work(ManifestWorkReplicaSet::crd());
    // An absent spec is invalid.
    schema_at(&mut crd, &["spec"]).default = None;
    no_defaults(schema_at(&mut crd, &["status"]));
    crd
}

/// Returns the CRD of `AppliedManifestWork`, for managed clusters.
#[must_use]
pub fn applied_manifest_work() -> CustomResourceDefinition {
    let mut crd = finish_work(AppliedManifestWork::crd());
    no_defaults(schema_at(&mut crd, &[]));
    crd
}

/// Returns the CRDs of add-ons, for the hub.
#[must_use]
pub fn addons() -> Vec<CustomResourceDefinition> {
    vec![
        cluster_management_addon(),
        managed_cluster_addon(),
        addon_deployment_config(),
        addon_template(),
    ]
}

/// Returns the CRD of `ClusterManagementAddOn`, for the hub.
#[must_use]
pub fn cluster_management_addon() -> CustomResourceDefinition {
    let [stored, served] = [
        addon::v1alpha1::ClusterManagementAddOn::crd(),
        addon::ClusterManagementAddOn::crd(),
    ]
    .map(|crd| {
        let mut crd = finish_work(crd);
        // Reading is more lenient than the schema.
        schema_at(&mut crd, &[]).required = Some(vec!["spec".to_owned()]);
        crd
    });
    converted(stored, served)
}

/// Returns the CRD of `ManagedClusterAddOn`, for the hub.
#[must_use]
pub fn managed_cluster_addon() -> CustomResourceDefinition {
    let [stored, served] = [
        addon::v1alpha1::ManagedClusterAddOn::crd(),
        addon::ManagedClusterAddOn::crd(),
    ]
    .map(|crd| {
        let mut crd = finish_work(crd);
        schema_at(&mut crd, &[]).required = Some(vec!["spec".to_owned()]);
        // The core group is written as an empty text.
        schema_at(&mut crd, &["status", "relatedObjects", "group"]).default = None;
        crd
    });
    converted(stored, served)
}

/// Returns the CRD of `AddOnDeploymentConfig`, for the hub. Both versions have the same schema, so nothing is converted.
#[must_use]
pub fn addon_deployment_config() -> CustomResourceDefinition {
    let mut served = finish_work(AddOnDeploymentConfig::crd());
    schema_at(&mut served, &[]).required = Some(vec!["spec".to_owned()]);
    let mut stored = served.clone();
    for version in &mut stored.spec.versions {
        version.name = "v1alpha1".to_owned();
    }
    in_two_versions(stored, served)
}

/// Returns the CRD of `AddOnTemplate`, for the hub.
#[must_use]
pub fn addon_template() -> CustomResourceDefinition {
    let mut crd = finish_work(AddOnTemplate::crd());
    schema_at(&mut crd, &[]).required = Some(vec!["spec".to_owned()]);
    // An absent spec is invalid.
    schema_at(&mut crd, &["spec"]).default = None;
    crd
}

/// Returns the CRD of `ClusterManager`, for the cluster where the operator of a hub runs.
#[must_use]
pub fn cluster_manager() -> CustomResourceDefinition {
    let mut crd = finish_operator(ClusterManager::crd());
    let default = json!({"deployOption": {"mode": "Default"}});
    schema_at(&mut crd, &["spec"]).default = Some(JSON(default));
    crd
}

/// Returns the CRD of `Klusterlet`, for the cluster where the operator of agents runs.
#[must_use]
pub fn klusterlet() -> CustomResourceDefinition {
    finish_operator(Klusterlet::crd())
}

/// Joins the CRDs of two versions of a kind. The first is stored.
fn in_two_versions(
    mut stored: CustomResourceDefinition,
    served: CustomResourceDefinition,
) -> CustomResourceDefinition {
    let others = served.spec.versions.into_iter().map(|mut version| {
        version.storage = false;
        version
    });
    stored.spec.versions.extend(others);
    stored
}

/// As [`in_two_versions`]; the gate converts objects between them.
fn converted(
    stored: CustomResourceDefinition,
    served: CustomResourceDefinition,
) -> CustomResourceDefinition {
    let mut crd = in_two_versions(stored, served);
    crd.spec.conversion = Some(CustomResourceConversion {
        strategy: "Webhook".to_owned(),
        webhook: Some(WebhookConversion {
            client_config: Some(WebhookClientConfig {
                service: Some(ServiceReference {
                    name: GATE_SERVICE.to_owned(),
                    namespace: HUB_NAMESPACE.to_owned(),
                    path: Some(CONVERSION_PATH.to_owned()),
                    port: Some(GATE_PORT),
                }),
                ..WebhookClientConfig::default()
            }),
            conversion_review_versions: vec!["v1".to_owned(), "v1beta1".to_owned()],
        }),
    });
    crd
}

/// Changes the derived CRD to the form of OCM's generator for the work API, which does not state the conversion.
fn finish_work(crd: CustomResourceDefinition) -> CustomResourceDefinition {
    let mut crd = finish(crd);
    crd.spec.conversion = None;
    crd
}

/// Changes the derived CRD to the form of OCM's generator for the operator's API, in which no field of the kind is required.
fn finish_operator(crd: CustomResourceDefinition) -> CustomResourceDefinition {
    let mut crd = finish_work(crd);
    schema_at(&mut crd, &[]).required = None;
    no_defaults(schema_at(&mut crd, &["status"]));
    crd
}

/// Changes the derived CRD to the form of SIG-Multicluster's generator.
fn finish_inventory(crd: CustomResourceDefinition) -> CustomResourceDefinition {
    let mut crd = finish(crd);
    crd.spec.preserve_unknown_fields = None;
    crd.spec.conversion = None;
    no_defaults(schema_at(&mut crd, &[]));
    crd
}

/// Removes all defaults: an absent field is not the same as an empty one.
fn no_defaults(schema: &mut JSONSchemaProps) {
    schema.default = None;
    for property in schema.properties.iter_mut().flatten() {
        no_defaults(property.1);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        no_defaults(items);
    }
}

/// Removes the spec that the derive adds to every kind, and finishes the CRD.
fn without_spec(crd: CustomResourceDefinition) -> CustomResourceDefinition {
    let mut crd = finish(crd);
    let root = schema_at(&mut crd, &[]);
    root.required = None;
    root.properties.get_or_insert_default().remove("spec");
    crd
}

/// Changes the derived CRD to the form of OCM's generator.
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

/// Removes, at all depths, what the derive adds because of Rust's types.
fn plain(schema: &mut JSONSchemaProps) {
    // The title is the name of a Rust type.
    schema.title = None;
    // Line breaks of the source are not paragraphs.
    schema.description = schema
        .description
        .take()
        .map(|text| text.replace('\n', " "));
    // An `Option` is a field that may be absent, not one that may be null.
    schema.nullable = None;
    // The derive writes an empty object as the default of an absent one.
    schema.default.take_if(|default| default.0 == json!({}));
    if schema.x_kubernetes_int_or_string == Some(true) {
        // OCM's generator states these types; kube removes them.
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

/// Returns the schema of the property at the path. The path skips the items of lists.
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
