//! Names of Go types for error messages, and the metadata of tables.

use serde_json::{Map, Value};

use crate::object::Object;
use crate::resources::Resource;

/// The metadata of a table of one object.
pub(crate) fn metadata_of_table(object: &Object) -> Map<String, Value> {
    let version = object.resource_version();
    Map::from_iter([("resourceVersion".to_owned(), version.into())])
}

/// How Go would call the type of an object.
pub(crate) fn go_type(resource: &Resource, kind: &str) -> String {
    if resource.custom {
        let list = if kind == resource.list_kind {
            "List"
        } else {
            ""
        };
        return format!("*unstructured.Unstructured{list}");
    }
    let group = resource.group.split('.').next().unwrap_or_default();
    let group = if group.is_empty() { "core" } else { group };
    format!("*{group}.{kind}")
}
