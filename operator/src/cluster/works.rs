//! What is read of AppliedManifestWorks.

use berth_api::GroupVersionResource;
use berth_operator_core::cluster::AppliedWork;
use serde::Deserialize;

/// AppliedManifestWorks.
pub(super) fn resource_of_works() -> GroupVersionResource {
    GroupVersionResource::new(
        "work.open-cluster-management.io",
        "v1",
        "appliedmanifestworks",
    )
}

/// What is read of an AppliedManifestWork.
#[derive(Deserialize)]
pub(super) struct WorkObject {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    uid: String,
    resource_version: String,
    finalizers: Option<Vec<String>>,
    deletion_timestamp: Option<String>,
}

#[derive(Default, Deserialize)]
struct Spec {
    #[serde(rename = "agentID", default)]
    agent: String,
}

impl From<WorkObject> for AppliedWork {
    fn from(WorkObject { metadata, spec }: WorkObject) -> Self {
        Self {
            uid: metadata.uid,
            resource_version: metadata.resource_version,
            finalizers: metadata.finalizers.unwrap_or_default(),
            is_deleting: metadata.deletion_timestamp.is_some(),
            agent: spec.agent,
        }
    }
}
