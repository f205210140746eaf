//! Strategic merge patches
//! (<https://github.com/kubernetes/community/blob/master/contributors/devel/sig-api-machinery/strategic-merge-patch.md>).
//!
//! Objects are merged here, lists in `lists`.

mod lists;

#[cfg(test)]
mod tests;

use http::StatusCode;
use serde_json::{Map, Value};

use self::lists::Lists;
use super::apply::metadata_schema;
use crate::resources::schema::{ListKind, Schema};
use crate::status::ApiError;

/// What to do with an object or an item: replace it, or delete it.
const PATCH: &str = "$patch";

/// The only fields that stay.
const RETAIN_KEYS: &str = "$retainKeys";

/// Values to take from the list named after the slash.
const DELETE_FROM: &str = "$deleteFromPrimitiveList";

/// The order of the list named after the slash.
const SET_ORDER: &str = "$setElementOrder";

/// `object` with the patch applied: lists merged by their keys, and the directives `$patch`, `$deleteFromPrimitiveList/...`,
/// `$setElementOrder/...`, `$retainKeys`.
///
/// # Errors
/// As kube-apiserver: 400 for a directive that is malformed, 422 for lists of lists, 500 (without a reason) for the rest,
/// such as an item without its key.
pub(crate) fn merge(object: &Value, patch: &Value, schema: &Schema) -> Result<Value, ApiError> {
    let (Value::Object(object), Value::Object(patch)) = (object, patch) else {
        return Err(ApiError::bad_request("invalid JSON document"));
    };
    let root = Place {
        schema: Some(schema),
        root: true,
    };
    merge_maps(object.clone(), patch.clone(), root).map(Value::Object)
}

/// What is known of a value's type.
#[derive(Clone, Copy)]
struct Place<'a> {
    schema: Option<&'a Schema>,
    root: bool,
}

/// How a list is merged.
enum Merging<'a> {
    Replace,
    /// Objects by this key; scalars, where it is empty.
    Merge(&'a str),
}

impl<'a> Place<'a> {
    fn field(self, name: &str) -> Self {
        let schema = match (self.schema, self.root && name == "metadata") {
            (_, true) => Some(metadata_schema()),
            (Some(schema), false) => schema.properties.get(name).or(schema.additional.as_deref()),
            (None, false) => None,
        };
        Self {
            schema,
            root: false,
        }
    }

    fn item(self) -> Self {
        Self {
            schema: self.schema.and_then(|schema| schema.items.as_deref()),
            root: false,
        }
    }

    fn strategy(self) -> Merging<'a> {
        match self.schema {
            Some(schema) if !schema.patch_merge_key.is_empty() => {
                Merging::Merge(&schema.patch_merge_key)
            }
            Some(schema) if schema.list == ListKind::Set => Merging::Merge(""),
            _ => Merging::Replace,
        }
    }
}

fn merge_maps(
    mut object: Map<String, Value>,
    mut patch: Map<String, Value>,
    place: Place<'_>,
) -> Result<Map<String, Value>, ApiError> {
    if let Some(directive) = patch.get(PATCH) {
        match directive.as_str() {
            Some("replace") => {
                patch.remove(PATCH);
                return Ok(patch);
            }
            Some("delete") => return Ok(Map::new()),
            _ => return Err(unknown_directive(directive)),
        }
    }
    retain_keys(&mut object, &mut patch)?;
    set_orders(&mut object, &mut patch, place)?;
    for (name, value) in patch {
        merge_field(&mut object, &name, value, place)?;
    }
    Ok(object)
}

fn merge_field(
    object: &mut Map<String, Value>,
    name: &str,
    value: Value,
    place: Place<'_>,
) -> Result<(), ApiError> {
    let deletes = name.starts_with(DELETE_FROM);
    let name = if deletes {
        directed_list(name, DELETE_FROM, "invalid patch format of primitive list")?
    } else {
        name
    };
    let place = place.field(name);
    let merged = match (object.remove(name), value) {
        (_, Value::Null) => None,
        (Some(Value::Object(old)), Value::Object(new)) => {
            Some(Value::Object(merge_maps(old, new, place)?))
        }
        (Some(Value::Array(old)), Value::Array(new)) => {
            let lists = Lists::new(place);
            Some(Value::Array(if deletes {
                lists.without(old, new)?
            } else {
                lists.merged(old, new)?
            }))
        }
        (old, _) if deletes => old,
        (_, mut new) => {
            discard_nulls(&mut new);
            without_directives(new)
        }
    };
    if let Some(merged) = merged {
        object.insert(name.to_owned(), merged);
    }
    Ok(())
}

/// The list that a directive is for.
fn directed_list<'a>(key: &'a str, prefix: &str, error: &str) -> Result<&'a str, ApiError> {
    match key.split_once('/') {
        Some((directive, list)) if directive == prefix => Ok(list),
        _ => Err(ApiError::bad_request(error)),
    }
}

fn retain_keys(
    object: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
) -> Result<(), ApiError> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let malformed = || ApiError::bad_request("invalid patch format of retainKeys");
    let keys = keys.as_array().ok_or_else(malformed)?;
    let retained = |name: &str| keys.iter().any(|key| key == name);
    for (name, value) in &*patch {
        let directive = name.starts_with(DELETE_FROM) || name.starts_with(SET_ORDER);
        if !value.is_null() && !directive && !retained(name) {
            return Err(malformed());
        }
    }
    object.retain(|name, _| retained(name));
    Ok(())
}

/// Merges the lists whose order the patch sets, and takes them out of it.
fn set_orders(
    object: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    place: Place<'_>,
) -> Result<(), ApiError> {
    const MALFORMED: &str = "invalid patch format of setElementOrder list";
    let directives = patch.keys().filter(|key| key.starts_with(SET_ORDER));
    for key in directives.cloned().collect::<Vec<_>>() {
        let Some(order) = patch.remove(&key) else {
            continue;
        };
        let order = lists::expect_list(order)?;
        let name = directed_list(&key, SET_ORDER, MALFORMED)?;
        let old = object
            .get(name)
            .cloned()
            .map(lists::expect_list)
            .transpose()?;
        let new = patch
            .get(name)
            .cloned()
            .map(lists::expect_list)
            .transpose()?;
        let lists = Lists::new(place.field(name));
        if let Some(list) = lists.ordered(old, new, &order)? {
            object.insert(name.to_owned(), Value::Array(list));
            patch.remove(name);
        }
    }
    Ok(())
}

fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(discard_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

/// A new value. Objects with a directive are about something that is not there.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(PATCH) => None,
        Value::Object(fields) => {
            let fields = fields
                .into_iter()
                .filter_map(|(name, value)| Some((name, without_directives(value)?)));
            Some(Value::Object(fields.collect()))
        }
        Value::Array(items) => {
            let items = items.into_iter().filter_map(without_directives);
            Some(Value::Array(items.collect()))
        }
        scalar => Some(scalar),
    }
}

/// The error of patches that make kube-apiserver fail with 500.
fn failed(message: impl Into<String>) -> ApiError {
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
}

fn unknown_directive(directive: &Value) -> ApiError {
    failed(format!("unknown patch type: {directive}"))
}
