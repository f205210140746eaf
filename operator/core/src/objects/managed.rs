//! `metadata.managedFields`: who set which fields.
//!
//! Server-side apply removes a field only if it was this manager that applied it before. An object that another client made by other
//! requests would keep its fields for ever. So its entries become this manager's, as `kubectl apply --server-side` does it with those of
//! `kubectl apply`.

use serde_json::{Map, Value, json};

use super::MANAGER;

/// What is never this manager's, even if another client set it: labels and annotations, the content of Secrets, and what accounts pull
/// images with, which OCM's operator sets once only.
const OF_OTHERS: [&str; 4] = ["f:metadata", "f:data", "f:stringData", "f:imagePullSecrets"];

/// The same, anywhere in an object.
const CA_BUNDLE: &str = "f:caBundle";

/// The fields that this manager applied; `None` if it never did.
pub(super) fn applied(managed: &Value) -> Option<&Map<String, Value>> {
    let mut entries = managed.as_array()?.iter();
    entries.find(|it| is_ours(it))?["fieldsV1"].as_object()
}

fn is_ours(entry: &Value) -> bool {
    entry["manager"] == MANAGER
        && entry["operation"] == "Apply"
        && entry.get("subresource").is_none()
}

/// The entries, once the content that others set without server-side apply is this manager's; `None` if there is none.
pub(super) fn adopted(managed: &Value, api_version: &str) -> Option<Value> {
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
            if OF_OTHERS.contains(&path.as_str()) {
                left.insert(path.clone(), below.clone());
            } else {
                let (taken, rest) = without_bundles(below);
                if let Some(taken) = taken {
                    merge(
                        ours.entry(path).or_insert(Value::Object(Map::new())),
                        &taken,
                    );
                }
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
    // An entry of this manager is replaced.
    for (path, below) in applied(managed).into_iter().flatten() {
        merge(ours.entry(path).or_insert(Value::Object(Map::new())), below);
    }
    kept.retain(|it| !is_ours(it));
    kept.push(json!({
        "manager": MANAGER, "operation": "Apply", "apiVersion": api_version, "fieldsType": "FieldsV1", "fieldsV1": ours,
    }));
    Some(Value::Array(kept))
}

/// Fields without those of bundles, and those of bundles; `None` where there are none.
fn without_bundles(fields: &Value) -> (Option<Value>, Option<Value>) {
    let children = fields.as_object().filter(|it| !it.is_empty());
    let Some(children) = children else {
        return (Some(fields.clone()), None);
    };
    let (mut taken, mut rest) = (Map::new(), Map::new());
    for (path, below) in children {
        let (of_ours, of_others) = match path.as_str() {
            CA_BUNDLE => (None, Some(below.clone())),
            _ => without_bundles(below),
        };
        taken.extend(of_ours.map(|it| (path.clone(), it)));
        rest.extend(of_others.map(|it| (path.clone(), it)));
    }
    let some = |fields: Map<String, Value>| (!fields.is_empty()).then_some(Value::Object(fields));
    (some(taken), some(rest))
}

fn merge(into: &mut Value, from: &Value) {
    if let (Value::Object(into), Value::Object(from)) = (into, from) {
        for (path, below) in from {
            merge(into.entry(path).or_insert(Value::Object(Map::new())), below);
        }
    }
}
