//! A ManagedCluster.

use std::collections::BTreeMap;

use berth_api::conditions::{cluster, condition_of};
use berth_api::{labels, lenient};
use serde_json::Value;

use super::on_cluster::is_of_add_ons;

/// A ManagedCluster, as far as its add-ons depend on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// The hub has accepted it.
    pub is_accepted: bool,
    /// It is being deleted.
    pub is_deleting: bool,
    /// The annotations that its add-ons get, too.
    pub annotations: BTreeMap<String, String>,
    /// The annotation with other registries for images.
    pub image_registries: Option<String>,
    /// The status of the condition that its API server is available.
    pub available: Option<String>,
}

// === impl Cluster ===

impl Cluster {
    /// Reads a ManagedCluster. Its agent writes parts of it, so that each field is read on its own.
    ///
    /// # Errors
    /// The text is not JSON.
    pub fn read(json: &str) -> Result<Self, serde_json::Error> {
        let value: Value = serde_json::from_str(json)?;
        let stored = lenient::cluster(&value).object;
        let mut annotations = stored.metadata.annotations.unwrap_or_default();
        let image_registries = annotations.remove(labels::IMAGE_REGISTRIES);
        annotations.retain(|key, _| is_of_add_ons(key));
        let conditions = stored.status.map(|it| it.conditions).unwrap_or_default();
        Ok(Self {
            is_accepted: stored.spec.hub_accepts_client,
            is_deleting: stored.metadata.deletion_timestamp.is_some(),
            annotations,
            image_registries,
            available: condition_of(&conditions, cluster::AVAILABLE).map(|it| it.status.clone()),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_add_ons_depend_on_is_kept() {
        let object = json!({
            "metadata": {
                "name": "c1", "deletionTimestamp": "2026-01-01T00:00:00Z",
                "annotations": {
                    "addon.open-cluster-management.io/x": "1", "other": "2", "open-cluster-management.io/image-registries": "r",
                },
            },
            "spec": {"hubAcceptsClient": true},
            "status": {"conditions": [{
                "type": "ManagedClusterConditionAvailable", "status": "Unknown", "reason": "R", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }]},
        });
        let expected = Cluster {
            is_accepted: true,
            is_deleting: true,
            annotations: [(
                "addon.open-cluster-management.io/x".to_owned(),
                "1".to_owned(),
            )]
            .into(),
            image_registries: Some("r".to_owned()),
            available: Some("Unknown".to_owned()),
        };
        assert_eq!(Cluster::read(&object.to_string()).unwrap(), expected);
        let bare =
            Cluster::read(r#"{"metadata": {"name": "c1"}, "spec": {"hubAcceptsClient": "yes"}}"#);
        assert_eq!(bare.unwrap(), Cluster::default());
    }
}
