//! `PlacementDecision` of the inventory API: clusters that a scheduler chose, by their ClusterProfiles.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::null_as_default;

/// A slice of a decision: at most [`LIMIT`] of its clusters.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Resource)]
#[resource(inherit = definition::PlacementDecision)]
#[serde(rename_all = "camelCase", default)]
pub struct PlacementDecision {
    /// Name, namespace, and the labels that connect the slices of a decision.
    pub metadata: ObjectMeta,

    /// The clusters.
    #[serde(deserialize_with = "null_as_default")]
    pub decisions: Vec<ClusterDecision>,

    /// The name of the scheduler.
    #[serde(deserialize_with = "null_as_default")]
    pub scheduler_name: String,
}

/// The most clusters in one PlacementDecision, by its schema.
pub const LIMIT: usize = 100;

/// A cluster that was chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["clusterProfileRef"]))]
pub struct ClusterDecision {
    /// The ClusterProfile of the cluster.
    #[serde(deserialize_with = "null_as_default")]
    pub cluster_profile_ref: ClusterProfileReference,

    /// Why the cluster was chosen.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(with = "Option<String>")]
    pub reason: String,
}

/// A ClusterProfile, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["name"]))]
pub struct ClusterProfileReference {
    /// The name of the ClusterProfile.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,

    /// The namespace of the ClusterProfile. If empty, the PlacementDecision's.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(with = "Option<String>")]
    pub namespace: String,
}

/// The derive of kube knows objects with a spec only. This one exists for its names and its schema.
pub(crate) mod definition {
    use kube::CustomResource;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::ClusterDecision;

    #[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
    #[kube(
        group = "multicluster.x-k8s.io",
        version = "v1alpha1",
        kind = "PlacementDecision",
        namespaced,
        doc = "Clusters that a scheduler chose. A decision about more than 100 clusters is in several PlacementDecisions with the \
               same label multicluster.x-k8s.io/decision-key."
    )]
    #[serde(rename_all = "camelCase")]
    pub struct PlacementDecisionSpec {
        /// The chosen clusters, at most 100.
        #[schemars(length(min = 0, max = 100))]
        pub decisions: Vec<ClusterDecision>,
        /// The name of the scheduler.
        pub scheduler_name: Option<String>,
    }
}
