//! A ManagedClusterAddOn.

use berth_api::lenient;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use serde::Deserialize;
use serde_json::Value;

use crate::addons::AVAILABLE;

/// The version that current hubs serve.
const VERSION: &str = "v1beta1";

/// A ManagedClusterAddOn in a cluster's namespace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Addon {
    /// The version of its apiVersion: an older hub serves `v1alpha1` only.
    pub version: Box<str>,
    /// metadata.uid
    pub uid: String,
    /// metadata.resourceVersion
    pub resource_version: String,
    /// It is being deleted.
    pub deleting: bool,
    /// The condition `Available`.
    pub available: Option<Condition>,
}

/// The stored object; its fields are the same in every version of the group.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManagedClusterAddOn {
    #[serde(default)]
    api_version: Option<String>,
    metadata: ObjectMeta,
    #[serde(default)]
    status: Option<Status>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Status {
    #[serde(default)]
    conditions: Option<Vec<Condition>>,
}

impl Addon {
    /// Reads a ManagedClusterAddOn. Its agent writes the status, so that each condition is read on its own.
    ///
    /// # Errors
    /// It is not an object with metadata.
    pub fn read(object: &Value) -> Result<Self, serde_json::Error> {
        lenient::with_conditions::<ManagedClusterAddOn>(object).map(|read| read.object.into())
    }
}

impl From<ManagedClusterAddOn> for Addon {
    fn from(object: ManagedClusterAddOn) -> Self {
        let conditions = object
            .status
            .and_then(|status| status.conditions)
            .unwrap_or_default();
        let version = object
            .api_version
            .as_deref()
            .and_then(|api_version| api_version.rsplit_once('/'))
            .map(|(_, version)| version)
            .filter(|version| !version.is_empty())
            .unwrap_or(VERSION);
        Self {
            version: version.into(),
            uid: object.metadata.uid.unwrap_or_default(),
            resource_version: object.metadata.resource_version.unwrap_or_default(),
            deleting: object.metadata.deletion_timestamp.is_some(),
            available: conditions
                .into_iter()
                .find(|condition| condition.type_ == AVAILABLE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_version_is_the_objects() {
        let since = "2026-08-01T00:00:00Z";
        for (api_version, expected) in [
            (json!("addon.open-cluster-management.io/v1beta1"), "v1beta1"),
            (
                json!("addon.open-cluster-management.io/v1alpha1"),
                "v1alpha1",
            ),
            (json!("addon.open-cluster-management.io/v1"), "v1"),
            (json!("v1alpha1"), "v1beta1"),
            (json!("addon.open-cluster-management.io/"), "v1beta1"),
            (json!(null), "v1beta1"),
        ] {
            let object = json!({
                "apiVersion": api_version,
                "metadata": { "name": "a" },
                "status": { "conditions": [
                    { "type": "Other", "status": "True", "reason": "R", "message": "", "lastTransitionTime": since },
                    { "type": "Available", "status": "False", "reason": "R", "message": "", "lastTransitionTime": since },
                ] },
            });
            let addon = Addon::read(&object).unwrap();
            assert_eq!(&*addon.version, expected, "{api_version}");
            assert_eq!(addon.available.unwrap().status, "False");
        }
    }
}
