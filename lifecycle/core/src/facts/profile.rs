//! A ClusterProfile.

use std::collections::{BTreeMap, BTreeSet};

use berth_api::inventory::{MANAGER, OPEN_CLUSTER_MANAGEMENT};
use serde_json::{Map, Value};

use crate::names::managers;

/// A ClusterProfile.
///
/// Items of lists are kept as they are stored, because a patch of a list repeats those of other writers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// metadata.uid
    pub uid: String,
    /// metadata.resourceVersion
    pub resource_version: String,
    /// It is being deleted.
    pub deleting: bool,
    /// The labels that the hub writes.
    pub labels: BTreeMap<String, String>,
    /// spec.clusterManager.name
    pub manager: String,
    /// status.version.kubernetes
    pub kubernetes: String,
    /// status.properties
    pub properties: Vec<Value>,
    /// The names of properties that another writer than a hub's controller added.
    pub others: BTreeSet<String>,
    /// status.conditions
    pub conditions: Vec<Value>,
}

// === impl Profile ===

impl Profile {
    /// Reads a ClusterProfile with its managed fields. Never fails: what cannot be read counts as absent.
    pub fn read(object: &Value) -> Self {
        let metadata = &object["metadata"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let labels = metadata["labels"].as_object().into_iter().flatten();
        let profile = Self {
            uid: text(&metadata["uid"]),
            resource_version: text(&metadata["resourceVersion"]),
            deleting: !metadata["deletionTimestamp"].is_null(),
            labels: labels
                .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
                .collect(),
            manager: text(&object["spec"]["clusterManager"]["name"]),
            ..Self::default()
        };
        if profile.is_foreign() {
            return profile;
        }
        let status = &object["status"];
        let items = |list: &Value| list.as_array().cloned().unwrap_or_default();
        Self {
            kubernetes: text(&status["version"]["kubernetes"]),
            properties: items(&status["properties"]),
            others: others(&metadata["managedFields"]),
            conditions: items(&status["conditions"]),
            ..profile
        }
    }

    /// Returns true if it belongs to another cluster manager, by its spec or by its label.
    pub fn is_foreign(&self) -> bool {
        let label = self.labels.get(MANAGER);
        self.manager != OPEN_CLUSTER_MANAGEMENT
            || label.is_some_and(|label| label != OPEN_CLUSTER_MANAGEMENT)
    }

    /// Returns true if spec and label say that it belongs to the hub.
    pub fn is_own(&self) -> bool {
        !self.is_foreign() && self.labels.contains_key(MANAGER)
    }
}

/// The names of the items of status.properties that managers other than the hub's controllers own.
///
/// Who only changed a field of an item does not own the item. If the CRD declares the list as one field, as OCM's does,
/// no item has an owner, and all belong to the hub.
fn others(managed_fields: &Value) -> BTreeSet<String> {
    let entries = managed_fields.as_array().into_iter().flatten();
    let foreign = entries.filter(|entry| {
        let manager = entry["manager"].as_str().unwrap_or_default();
        ![managers::PATCHES, managers::OCM].contains(&manager)
    });
    let none = Map::new();
    let items = foreign.flat_map(|entry| {
        let items = &entry["fieldsV1"]["f:status"]["f:properties"];
        items.as_object().unwrap_or(&none)
    });
    let owned = items.filter(|(_, fields)| fields.get(".").is_some());
    let names = owned.filter_map(|(key, _)| {
        let key: Value = serde_json::from_str(key.strip_prefix("k:")?).ok()?;
        key["name"].as_str().map(str::to_owned)
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn item(name: &str, fields: &[&str]) -> (String, Value) {
        let fields: Map<_, _> = fields
            .iter()
            .map(|it| ((*it).to_owned(), json!({})))
            .collect();
        (format!("k:{{\"name\":\"{name}\"}}"), fields.into())
    }

    fn entry(manager: &str, items: &[(String, Value)]) -> Value {
        let items: Map<_, _> = items.iter().cloned().collect();
        json!({"manager": manager, "fieldsV1": {"f:status": {"f:properties": items}}})
    }

    #[test]
    fn properties_belong_to_the_hub_unless_another_writer_added_them() {
        let whole = &[".", "f:name", "f:value"][..];
        for (sentence, entries, expected) in [
            ("no managed fields", vec![], &[][..]),
            ("ours", vec![entry("berth", &[item("a", whole)])], &[]),
            (
                "those of OCM's controller",
                vec![entry("registration", &[item("a", whole)])],
                &[],
            ),
            (
                "another's",
                vec![
                    entry("berth", &[item("a", whole)]),
                    entry("inspector", &[item("b", whole), item("c", whole)]),
                ],
                &["b", "c"],
            ),
            (
                "ours, and another changed the value",
                vec![entry("kubectl-edit", &[item("a", &["f:value"])])],
                &[],
            ),
            (
                "both wrote it",
                vec![
                    entry("berth", &[item("a", whole)]),
                    entry("inspector", &[item("a", whole)]),
                ],
                &["a"],
            ),
            ("a list that is one field", vec![entry("x", &[])], &[]),
            (
                "keys that are none",
                vec![entry(
                    "x",
                    &[
                        (".".into(), json!({})),
                        ("k:x".into(), json!({".": {}})),
                        ("k:{}".into(), json!({".": {}})),
                    ],
                )],
                &[],
            ),
        ] {
            let found: Vec<_> = others(&json!(entries)).into_iter().collect();
            assert_eq!(found, expected, "{sentence}");
        }
    }

    #[test]
    fn a_profile_is_foreign_if_spec_or_label_name_another_manager() {
        let ours = "open-cluster-management";
        for (manager, label, foreign, own) in [
            (json!(ours), json!(ours), false, true),
            (json!(ours), Value::Null, false, false),
            (json!(ours), json!("fleet"), true, false),
            (json!("fleet"), json!(ours), true, false),
            (json!("fleet"), json!("fleet"), true, false),
            (Value::Null, json!(ours), true, false),
            (json!(7), Value::Null, true, false),
        ] {
            let profile = Profile::read(&json!({
                "metadata": {"labels": {MANAGER: label}},
                "spec": {"clusterManager": {"name": manager}},
                "status": {"properties": "nonsense", "conditions": null},
            }));
            let found = (profile.is_foreign(), profile.is_own());
            assert_eq!(found, (foreign, own), "{manager} {label}");
        }
        assert!(Profile::read(&Value::Null).is_foreign());
    }
}
