//! A ManagedCluster in the form that OCM's client writes, for CEL expressions.

use berth_api::quantity;
use berth_cel::Value;
use jiff::Timestamp;
use serde_json::{Map, json};

/// A ManagedCluster as expressions see it.
#[derive(Clone, Debug)]
pub struct CelObject {
    /// The object; or the limit on the memory of all objects, in bytes, for which it was left out.
    value: Result<Value, usize>,
    bytes: usize,
}

// === impl CelObject ===

impl CelObject {
    /// Makes the object out of the JSON of a ManagedCluster, with the fields that OCM's client always writes, and without those that it leaves
    /// out when they are empty: `size(managedCluster.spec.taints) == 0` fails, whether an empty list is stored or not. Quantities and times
    /// are texts in the form that OCM's client writes: a stored `4000m` is `4`.
    #[must_use]
    pub fn new(cluster: &serde_json::Value) -> Self {
        let mut cluster = cluster.as_object().cloned().unwrap_or_default();
        cluster.remove("apiVersion");
        cluster.remove("kind");
        let object = |of: &mut Map<String, serde_json::Value>, name: &str| {
            let field = of.entry(name).or_insert_with(|| json!({}));
            if !field.is_object() {
                *field = json!({});
            }
        };
        for name in ["metadata", "spec", "status"] {
            object(&mut cluster, name);
        }
        if let Some(serde_json::Value::Object(metadata)) = cluster.get_mut("metadata") {
            metadata.retain(|_, value| !is_empty(value));
            metadata
                .entry("creationTimestamp")
                .or_insert(serde_json::Value::Null);
        }
        if let Some(serde_json::Value::Object(spec)) = cluster.get_mut("spec") {
            let optional = [
                "managedClusterClientConfigs",
                "leaseDurationSeconds",
                "taints",
            ];
            leave_out(spec, &optional);
            spec.entry("hubAcceptsClient").or_insert(json!(false));
            for taint in items(spec, "taints") {
                leave_out(taint, &["value"]);
                taint.entry("timeAdded").or_insert(serde_json::Value::Null);
                rewrite(taint.get_mut("timeAdded"), time);
            }
            items(spec, "managedClusterClientConfigs").for_each(|it| leave_out(it, &["caBundle"]));
        }
        if let Some(serde_json::Value::Object(status)) = cluster.get_mut("status") {
            let optional = [
                "capacity",
                "allocatable",
                "clusterClaims",
                "managedNamespaces",
            ];
            leave_out(status, &optional);
            for resources in ["capacity", "allocatable"] {
                let resources = status
                    .get_mut(resources)
                    .and_then(serde_json::Value::as_object_mut);
                for amount in resources.into_iter().flat_map(|it| it.values_mut()) {
                    rewrite(Some(amount), quantity::as_go_writes);
                }
            }
            status
                .entry("conditions")
                .or_insert(serde_json::Value::Null);
            conditions(status);
            items(status, "clusterClaims").for_each(|it| leave_out(it, &["name", "value"]));
            for namespace in items(status, "managedNamespaces") {
                leave_out(namespace, &["conditions"]);
                conditions(namespace);
            }
            object(status, "version");
            if let Some(serde_json::Value::Object(version)) = status.get_mut("version") {
                leave_out(version, &["kubernetes"]);
            }
        }
        let value = Value::from(&serde_json::Value::Object(cluster));
        Self {
            bytes: value.bytes(),
            value: Ok(value),
        }
    }

    /// The object, unless it was left out.
    pub(crate) fn value(&self) -> Option<&Value> {
        self.value.as_ref().ok()
    }

    /// Roughly the bytes that the object takes in memory, also if it was left out.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// What stands for this object if all objects take more memory than this limit, in bytes. Placements with CEL expressions that may
    /// select the cluster keep their decisions.
    #[must_use]
    pub fn left_out(&self, limit: usize) -> Self {
        Self {
            value: Err(limit),
            bytes: self.bytes,
        }
    }

    /// The limit for which the object was left out, if it was.
    #[must_use]
    pub fn limit(&self) -> Option<usize> {
        self.value.as_ref().err().copied()
    }
}

/// The objects of a list.
fn items<'a>(
    of: &'a mut Map<String, serde_json::Value>,
    name: &str,
) -> impl Iterator<Item = &'a mut Map<String, serde_json::Value>> {
    let items = of.get_mut(name).and_then(serde_json::Value::as_array_mut);
    items
        .into_iter()
        .flatten()
        .filter_map(serde_json::Value::as_object_mut)
}

/// The fields of an object's conditions, as OCM's client writes them.
fn conditions(of: &mut Map<String, serde_json::Value>) {
    for condition in items(of, "conditions") {
        leave_out(condition, &["observedGeneration"]);
        rewrite(condition.get_mut("lastTransitionTime"), time);
    }
}

/// Replaces a text or a number by what a type of OCM's client makes of it. Another value, and one that the type cannot have, stays.
fn rewrite(value: Option<&mut serde_json::Value>, written: fn(&str) -> Option<String>) {
    if let Some(value) = value {
        let text = match value {
            serde_json::Value::String(text) => written(text),
            serde_json::Value::Number(number) => written(&number.to_string()),
            _ => None,
        };
        if let Some(text) = text {
            *value = serde_json::Value::String(text);
        }
    }
}

/// A time in UTC, in whole seconds.
fn time(text: &str) -> Option<String> {
    let time: Timestamp = text.parse().ok()?;
    Some(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// Removes those of the fields that are empty.
fn leave_out(of: &mut Map<String, serde_json::Value>, names: &[&str]) {
    of.retain(|name, value| !(names.contains(&name.as_str()) && is_empty(value)));
}

/// Returns whether OCM's client leaves the value of an optional field out.
fn is_empty(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::Null => true,
        serde_json::Value::Bool(value) => !value,
        serde_json::Value::Number(number) => number.as_i64() == Some(0),
        serde_json::Value::String(text) => text.is_empty(),
        serde_json::Value::Array(items) => items.is_empty(),
        serde_json::Value::Object(fields) => fields.is_empty(),
    }
}

impl PartialEq for CelObject {
    fn eq(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (Ok(one), Ok(other)) => one.equals(other),
            (Err(one), Err(another)) => one == another && self.bytes == other.bytes,
            _ => false,
        }
    }
}
