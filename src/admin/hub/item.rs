//! An object as the hub has it, and as we understand it.

use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// An object of the hub: all of it, to be shown, and what this version of Berth knows of it.
///
/// One that does not parse is still listed, by its metadata: the rest of `object` is then empty, and `unreadable` says why.
#[derive(Clone, Debug)]
pub(crate) struct Item<K> {
    pub(crate) value: Value,
    pub(crate) object: K,
    pub(crate) unreadable: Option<String>,
}

impl<K> Item<K>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Default,
{
    /// Reads an object; lists of built-in kinds leave out apiVersion and kind, which are put back.
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
            },
            Err(error) => {
                let mut object = K::default();
                let metadata = value.get("metadata").cloned().unwrap_or_default();
                *object.meta_mut() = serde_json::from_value(metadata).unwrap_or_default();
                Self {
                    value,
                    object,
                    unreadable: Some(error.to_string()),
                }
            }
        }
    }

    pub(crate) fn name(&self) -> String {
        self.object.name_any()
    }
}

#[cfg(test)]
mod tests {
    use berth_api::ManagedCluster;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_that_does_not_parse_keeps_its_name() {
        let value = json!({"metadata": {"name": "c1"}, "spec": {"hubAcceptsClient": "yes"}});
        let item = Item::<ManagedCluster>::of(value);
        assert_eq!(item.name(), "c1");
        assert!(
            item.unreadable.unwrap().contains("hubAcceptsClient")
                || item.value["kind"] == "ManagedCluster"
        );
    }
}
