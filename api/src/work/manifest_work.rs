//! `ManifestWork`: objects to apply on a managed cluster. It is stored in the cluster's namespace on the hub.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Manifest, ManifestConfigOption, ManifestWorkStatus};
use crate::schema;
use crate::wire::{is_default, null_as_default, text_of};

/// What to apply on the cluster, and how.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "work.open-cluster-management.io",
    version = "v1",
    kind = "ManifestWork",
    namespaced,
    status = "ManifestWorkStatus",
    derive = "Default",
    derive = "PartialEq",
    // Lets an object without a spec be read; see ManagedCluster.
    attr = "cfg_attr(all(), serde(default))",
    doc = "Kubernetes objects that the agent of a managed cluster applies there, and keeps as they are written here. It is \
           stored in the cluster's namespace on the hub."
)]
#[serde(rename_all = "camelCase", default)]
pub struct ManifestWorkSpec {
    /// Rules for the deletion: which objects are deleted with the ManifestWork, and how long a finished ManifestWork stays. If absent,
    /// all objects are deleted, and the ManifestWork stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete_option: Option<DeleteOption>,

    /// The identity that must have the permissions to write the objects on the cluster. If absent, the agent's own permissions are
    /// enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executor: Option<ManifestWorkExecutor>,

    /// How single objects are updated, which of their fields are reported, and which conditions are derived from them.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub manifest_configs: Vec<ManifestConfigOption>,

    /// The objects.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_default"
    )]
    pub workload: ManifestsTemplate,
}

/// The objects of a ManifestWork.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ManifestsTemplate {
    /// Kubernetes objects, each with its apiVersion, kind and metadata.name.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub manifests: Vec<Manifest>,
}

/// Rules for the deletion of a ManifestWork.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DeleteOption {
    /// Foreground: the objects are deleted, and the ManifestWork stays until they are gone. Orphan: the objects stay.
    /// SelectivelyOrphan: the objects in selectivelyOrphans stay, the others are deleted. To move an
    /// object to another ManifestWork, add it there, name it in selectivelyOrphans here, then remove it from the manifests here.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "String", extend("enum" = ["Foreground", "Orphan", "SelectivelyOrphan"]))]
    pub propagation_policy: DeletePropagationPolicy,

    /// The objects that stay, for the policy SelectivelyOrphan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selectively_orphans: Option<SelectivelyOrphan>,

    /// The number of seconds after which a ManifestWork is deleted whose condition Complete is True. Zero: at once. If absent, it is
    /// not deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds_after_finished: Option<i64>,
}

/// Which objects are deleted with their ManifestWork.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DeletePropagationPolicy {
    /// All of them.
    #[default]
    Foreground,
    /// None of them.
    Orphan,
    /// All but those of [`SelectivelyOrphan`].
    SelectivelyOrphan,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(DeletePropagationPolicy: Foreground, Orphan, SelectivelyOrphan);

/// The objects that stay when their ManifestWork is deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SelectivelyOrphan {
    /// The objects. Each rule names one object of the ManifestWork, without wildcards.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub orphaning_rules: Vec<ResourceIdentifier>,
}

/// An object of the ManifestWork.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["name", "resource"]))]
pub struct ResourceIdentifier {
    /// The API group of the object. Empty for the core group.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub group: String,

    /// The name of the object. In manifestConfigs, * stands for any characters.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub name: String,

    /// The namespace of the object. Empty for an object without a namespace. In manifestConfigs, * stands for any characters.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub namespace: String,

    /// The resource of the object: the plural name of its kind, such as deployments.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub resource: String,
}

/// The identity that must have the permissions to write the objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ManifestWorkExecutor {
    /// The identity. Setting it needs permission to execute-as this identity on manifestworks in the cluster's namespace. The CRD
    /// allows an executor without a subject; that is an invalid identity, not an absent executor.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        description = "The identity. Setting it needs permission to execute-as this identity on manifestworks in the cluster's \
                              namespace."
    )]
    pub subject: Option<ManifestWorkExecutorSubject>,
}

/// An identity on the managed cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManifestWorkExecutorSubject {
    /// The service account, for the type ServiceAccount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account: Option<ManifestWorkSubjectServiceAccount>,

    /// The type of the identity: ServiceAccount.
    #[schemars(with = "String", extend("enum" = ["ServiceAccount"]))]
    pub r#type: ExecutorSubjectType,
}

/// The type of an identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecutorSubjectType {
    /// A service account on the managed cluster.
    ServiceAccount,
    /// A value that the CRD of this version does not allow, unchanged.
    Other(String),
}

text_of!(ExecutorSubjectType: ServiceAccount);

/// A service account on the managed cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManifestWorkSubjectServiceAccount {
    /// The name of the service account.
    #[schemars(length(min = 1, max = 253), extend("pattern" = schema::DNS_SUBDOMAIN))]
    pub name: String,

    /// The namespace of the service account.
    #[schemars(length(min = 1, max = 253), extend("pattern" = schema::DNS_SUBDOMAIN))]
    pub namespace: String,
}
