//! `PlacementDecision`: clusters that a placement selected.
//!
//! Read and written as leniently as [`ManagedCluster`](crate::cluster::ManagedCluster).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::wire::{Typed, null_as_default};

/// At most [`LIMIT`] of the clusters that a placement selected, all of one group.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Resource)]
#[resource(inherit = definition::PlacementDecision)]
#[serde(default)]
pub struct PlacementDecision {
    /// Name, namespace, and labels: the placement, and the index and the name of the group.
    pub metadata: ObjectMeta,

    /// The clusters. Absent from an object that was created and not filled yet.
    pub status: Option<PlacementDecisionStatus>,
}

/// The most clusters in one PlacementDecision. The schema does not limit them.
pub const LIMIT: usize = 100;

/// The clusters that are selected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["decisions"]))]
pub struct PlacementDecisionStatus {
    /// The selected clusters, at most 100.
    #[serde(deserialize_with = "null_as_default")]
    pub decisions: Vec<ClusterDecision>,
}

/// A selected cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["clusterName", "reason"]))]
pub struct ClusterDecision {
    /// The name of the ManagedCluster. No other decision of the placement has it.
    #[serde(deserialize_with = "null_as_default")]
    pub cluster_name: String,

    /// Why the cluster is selected. May be empty.
    #[serde(deserialize_with = "null_as_default")]
    pub reason: String,

    /// The cluster's score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<i64>,
}

impl Serialize for PlacementDecision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Typed::new::<Self>(&self.metadata, self.status.as_ref()).serialize(serializer)
    }
}

/// The derive of kube knows objects with a spec only. This one exists for its names and its schema.
pub(crate) mod definition {
    use kube::CustomResource;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::PlacementDecisionStatus;

    #[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
    #[kube(
        group = "cluster.open-cluster-management.io",
        version = "v1beta1",
        kind = "PlacementDecision",
        namespaced,
        status = "PlacementDecisionStatus",
        doc = "Lists clusters that a Placement selected: the one that the label \
               cluster.open-cluster-management.io/placement names. All PlacementDecisions of a Placement together list each \
               selected cluster once."
    )]
    pub struct PlacementDecisionSpec {}
}
