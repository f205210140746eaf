//! `AddOnPlacementScore`: scores that an add-on gives a cluster. It is stored in the cluster's namespace.
//!
//! Read and written as leniently as [`ManagedCluster`](crate::cluster::ManagedCluster).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};
use kube::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::schema;
use crate::wire::{Typed, null_as_default};

/// Scores that an add-on gives the cluster of its namespace.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Resource)]
#[resource(inherit = definition::AddOnPlacementScore)]
#[serde(default)]
pub struct AddOnPlacementScore {
    /// The name that placements refer to, and the namespace: the cluster's name.
    pub metadata: ObjectMeta,

    /// The scores.
    pub status: Option<AddOnPlacementScoreStatus>,
}

/// The scores, and until when they are valid.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AddOnPlacementScoreStatus {
    /// The state of the scores, for the add-on's own use.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(
        with = "Vec<schema::Condition>",
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])
    )]
    pub conditions: Vec<Condition>,

    /// The scores, by name.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub scores: Vec<AddOnPlacementScoreItem>,

    /// Until when the scores are valid. Placements ignore them afterwards. If absent, they are valid for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<schema::Time>")]
    pub valid_until: Option<Time>,
}

/// A score.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddOnPlacementScoreItem {
    /// The name of the score.
    pub name: String,

    /// The score, between -100 and 100. Placements prefer clusters with high scores.
    #[schemars(range(min = -100, max = 100))]
    pub value: i32,
}

impl Serialize for AddOnPlacementScore {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Typed::new::<Self>(&self.metadata, self.status.as_ref()).serialize(serializer)
    }
}

/// The derive of kube knows objects with a spec only. This one exists for its names and its schema.
pub(crate) mod definition {
    use kube::CustomResource;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::AddOnPlacementScoreStatus;

    #[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
    #[kube(
        group = "cluster.open-cluster-management.io",
        version = "v1alpha1",
        kind = "AddOnPlacementScore",
        namespaced,
        status = "AddOnPlacementScoreStatus",
        doc = "Scores of one managed cluster, which Placements can use to prefer clusters. It is stored in the cluster's \
               namespace, and an add-on keeps it up to date."
    )]
    pub struct AddOnPlacementScoreSpec {}
}
