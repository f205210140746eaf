//! Objects of the hub, raw and decoded.

use berth_api::ManagedCluster;
use berth_api::lenient::{self, Read, Unreadable};
use berth_rules::path::unreadable;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// An object of the hub: the JSON, for output, and the decoded type.
///
/// If the object cannot be decoded, the readable parts are kept: each readable field of a ManagedCluster, and the metadata of
/// other kinds. Then `unreadable` says why the rest of `object` is empty.
#[derive(Clone, Debug)]
pub(crate) struct Item<K> {
    pub(crate) value: Value,
    pub(crate) object: K,
    pub(crate) unreadable: Option<String>,
    /// Fields that cannot be decoded, and are empty in `object`.
    pub(crate) fields: Unreadable,
}

impl<K> Item<K>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Default,
{
    /// Decodes an object. Lists of built-in kinds omit apiVersion and kind of their items; these are added.
    pub(crate) fn of(mut value: Value) -> Self {
        if let Some(fields) = value.as_object_mut() {
            let kind = || K::kind(&()).into_owned().into();
            let version = || K::api_version(&()).into_owned().into();
            fields.entry("kind").or_insert_with(kind);
            fields.entry("apiVersion").or_insert_with(version);
        }
        match K::deserialize(&value) {
            Ok(object) => Self {
                value,
                object,
                unreadable: None,
                fields: Unreadable::default(),
            },
            Err(_) if let Some((object, fields)) = spared::<K>(&value) => Self {
                value,
                object,
                unreadable: None,
                fields,
            },
            Err(error) => {
                let why = unreadable::<K>("", &value).unwrap_or_else(|| error.to_string());
                let mut object = K::default();
                let metadata = value.get("metadata").map(ObjectMeta::deserialize);
                *object.meta_mut() = metadata.and_then(Result::ok).unwrap_or_default();
                Self {
                    value,
                    object,
                    unreadable: Some(why),
                    fields: Unreadable::default(),
                }
            }
        }
    }

    pub(crate) fn name(&self) -> String {
        self.object.name_any()
    }
}

/// Decodes the readable fields of an object. Returns None if only its metadata may be readable.
fn spared<K>(value: &Value) -> Option<(K, Unreadable)>
where
    K: Resource<DynamicType = ()> + DeserializeOwned,
{
    let kind = (K::group(&()), K::kind(&()));
    if kind != (ManagedCluster::group(&()), ManagedCluster::kind(&())) {
        let Read { object, unreadable } = lenient::with_conditions(value).ok()?;
        return Some((object, unreadable));
    }
    let Read { object, unreadable } = lenient::cluster(value);
    let object = serde_json::to_value(object).ok()?;
    Some((K::deserialize(&object).ok()?, unreadable))
}

#[cfg(test)]
mod tests {
    use berth_api::{ManagedClusterSet, ManagedClusterSetBinding};
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_that_does_not_parse_keeps_its_name() {
        let value = json!({"metadata": {"name": "s1"}, "spec": {"clusterSelector": []}});
        let item = Item::<ManagedClusterSetBinding>::of(json!({
            "metadata": {"name": "s1"}, "spec": {"clusterSet": []},
        }));
        assert_eq!(item.name(), "s1");
        let why = item.unreadable.unwrap();
        assert!(why.starts_with("spec.clusterSet: invalid type"), "{why}");
        let item = Item::<ManagedClusterSet>::of(value);
        assert_eq!(item.name(), "s1");
        assert_eq!(item.value["kind"], "ManagedClusterSet");
    }

    #[test]
    fn of_a_cluster_all_that_can_be_read_is_kept() {
        let value = json!({
            "metadata": {"name": "c1", "managedFields": [{"time": "9999-12-31T23:59:59Z"}]},
            "spec": {"hubAcceptsClient": true},
            "status": {"conditions": [{"type": "A", "lastTransitionTime": "2026-01-01T00:00:00-26:00"}]},
        });
        let item = Item::<ManagedCluster>::of(value);
        assert_eq!((item.name().as_str(), item.unreadable), ("c1", None));
        assert!(item.object.spec.hub_accepts_client);
        assert_eq!(
            item.fields.to_string(),
            "status.conditions[0].lastTransitionTime"
        );
    }
}
