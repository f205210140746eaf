//! `metadata.managedFields`: who set which fields.
//!
//! Server-side apply removes a field only if it was this manager that applied it before. An object that another client made by other
//! requests would keep its fields for ever. So its entries become this manager's, as `kubectl apply --server-side` does it with those of
//! `kubectl apply`.

use serde_json::{Map, Value, json};

use super::MANAGER;

/// Not this manager's, even if another client set it.
const CA_BUNDLE: &str = "f:caBundle";

/// The fields that this manager applied; `None` if it never did.
pub(super) fn applied(managed: &Value) -> Option<&Map<String, Value>> {
    let mut entries = managed.as_array()?.iter();
    let ours = entries.find(|it| {
        it["manager"] == MANAGER && it["operation"] == "Apply" && it.get("subresource").is_none()
    })?;
    ours["fieldsV1"].as_object()
}

/// The entries, once the content that others set without server-side apply is this manager's; `None` if there is none, or if this manager has
/// applied the object before.
pub(super) fn adopted(managed: &Value, api_version: &str) -> Option<Value> {
    if applied(managed).is_some() {
        return None;
    }
    let mut ours = Map::new();
    let mut kept = Vec::new();
    for entry in managed.as_array()? {
        let is_update = entry["operation"] == "Update"
            && entry.get("subresource").is_none()
            && entry["apiVersion"] == api_version;
        let fields = entry["fieldsV1"].as_object().filter(|_| is_update);
        let Some(fields) = fields else {
            kept.push(entry.clone());
            continue;
        };
        let mut left = Map::new();
        for (path, below) in fields {
            if path == "f:metadata" {
                left.insert(path.clone(), below.clone());
            } else {
                let (taken, rest) = without_bundles(below);
                merge(
                    ours.entry(path).or_insert(Value::Object(Map::new())),
                    &taken,
                );
                if let Some(rest) = rest {
                    left.insert(path.clone(), rest);
                }
            }
        }
        if !left.is_empty() {
            let mut entry = entry.clone();
            entry["fieldsV1"] = Value::Object(left);
            kept.push(entry);
        }
    }
    if ours.is_empty() {
        return None;
    }
    kept.push(json!({
        "manager": MANAGER, "operation": "Apply", "apiVersion": api_version, "fieldsType": "FieldsV1", "fieldsV1": ours,
    }));
    Some(Value::Array(kept))
}

/// Fields without those of bundles, and those of bundles, if there are any.
fn without_bundles(fields: &Value) -> (Value, Option<Value>) {
    let Some(all) = fields.as_object() else {
        return (fields.clone(), None);
    };
    let (mut taken, mut rest) = (Map::new(), Map::new());
    for (path, below) in all {
        if path == CA_BUNDLE {
            rest.insert(path.clone(), below.clone());
            continue;
        }
        let (below, left) = without_bundles(below);
        taken.insert(path.clone(), below);
        if let Some(left) = left {
            rest.insert(path.clone(), left);
        }
    }
    let rest = (!rest.is_empty()).then_some(Value::Object(rest));
    (Value::Object(taken), rest)
}

fn merge(into: &mut Value, from: &Value) {
    if let (Value::Object(into), Value::Object(from)) = (into, from) {
        for (path, below) in from {
            merge(into.entry(path).or_insert(Value::Object(Map::new())), below);
        }
    }
}
