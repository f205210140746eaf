//! Removes empty lists and maps that Kubernetes' types do not distinguish from absent ones.

use serde_json::Value;

use super::Schema;
use super::kubernetes::unfolded;

pub(super) fn drop_empty(schema: &Schema, value: &mut Value) {
    let schema = unfolded(schema, value);
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            let Some(child) = schema.child(name) else {
                return true;
            };
            drop_empty(child, value);
            // An entry of a map is one, also when it is empty.
            let optional = schema.properties.contains_key(name) && !schema.required.contains(name);
            !optional || !is_nothing(child, value)
        }),
        Value::Array(list) => {
            if let Some(items) = schema.items.as_deref() {
                list.iter_mut().for_each(|item| drop_empty(items, item));
            }
        }
        _ => {}
    }
}

/// A structure is something even without fields, as `emptyDir: {}` is.
fn is_nothing(schema: &Schema, value: &Value) -> bool {
    match value {
        Value::Array(list) => schema.items.is_some() && list.is_empty(),
        Value::Object(map) => schema.additional.is_some() && map.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, PodSpec};
    use k8s_openapi::api::rbac::v1::ClusterRole;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_optional_and_empty_goes() {
        let rows = [
            (Schema::of::<ConfigMap>(), json!({"data": {}}), json!({})),
            (
                Schema::of::<PodSpec>(),
                json!({"volumes": [{"name": "a", "emptyDir": {}}], "tolerations": [], "containers": []}),
                json!({"volumes": [{"name": "a", "emptyDir": {}}], "containers": []}),
            ),
            (
                Schema::of::<ClusterRole>(),
                json!({"rules": [{"verbs": [], "resources": []}]}),
                json!({"rules": [{"verbs": []}]}),
            ),
        ];
        for (schema, mut value, expected) in rows {
            drop_empty(&schema, &mut value);
            assert_eq!(value, expected);
        }
    }
}
