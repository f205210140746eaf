//! Field ownership (`metadata.managedFields`) and server-side apply: pure functions on objects and schemas.
//! <https://kubernetes.io/docs/reference/using-api/server-side-apply/>
//!
//! - `element`, `set`: paths, and sets of paths (`FieldsV1`);
//! - `shape`: the schema from the view of ownership; `validate`, `walk`, `merge`: functions on values with a shape;
//! - `managers`: `managedFields`;
//! - `ownership`: how a write changes the ownership; `nothing`: the object before its first write;
//! - `client_side`: the annotation of client-side `kubectl apply`.

mod client_side;
mod element;
mod managers;
mod merge;
mod nothing;
mod ownership;
mod set;
mod shape;
mod validate;
mod walk;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use self::shape::metadata as metadata_schema;

use http::StatusCode;
use jiff::Timestamp;
use serde_json::Value;

use self::managers::{Managers, is_reset};
use self::nothing::nothing;
use self::ownership::{BEFORE_FIRST_APPLY, Ownership};
use self::shape::Shape;
use crate::object::Object;
use crate::resources::schema::Schema;
use crate::status::ApiError;

/// The field manager of this write.
#[derive(Clone, Debug)]
pub(crate) struct Manager<'a> {
    /// `fieldManager`
    pub(crate) name: &'a str,
    /// The `apiVersion` the write is made in.
    pub(crate) api_version: &'a str,
    /// The kind of the object.
    pub(crate) kind: &'a str,
    /// True if the kind comes from a CustomResourceDefinition. Built-in kinds have some fields, empty, before anybody wrote
    /// them.
    pub(crate) custom: bool,
    /// The subresource; empty for the object.
    pub(crate) subresource: &'a str,
    /// Paths that this sort of write cannot change, with all below, so that its manager does not become their owner: `status`
    /// for the object itself, where status is a subresource, and `spec` and `metadata` for the status.
    pub(crate) ignored: &'a [&'a [&'a str]],
    /// When.
    pub(crate) now: Timestamp,
}

/// Applies a configuration: merges it into `live` (none: creates), gives its fields to the manager as `Apply`, and removes
/// what the manager applied before and no longer does, unless others own it. Applied a second time it changes nothing: not
/// even a time.
///
/// The result may hold nulls that the configuration has. It is to be decoded, defaulted and pruned as what any writer sends.
///
/// # Errors
/// 409 with a cause for each conflicting field, unless `force`; 400 for a configuration of another type or with
/// managedFields; 500, as kube-apiserver has it, for one with unknown fields, values of wrong types, or duplicate items in
/// sets and maps.
pub(crate) fn apply(
    live: Option<&Object>,
    configuration: &Object,
    schema: &Schema,
    manager: &Manager<'_>,
    force: bool,
) -> Result<Object, ApiError> {
    if configuration.api_version() != manager.api_version || configuration.kind() != manager.kind {
        let sort = sort_in_words(configuration.api_version(), configuration.kind());
        return Err(ApiError::bad_request(format!(
            "invalid object type: {sort}"
        )));
    }
    if let Some(Value::Array(_)) = configuration.at(&["metadata", "managedFields"]) {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    let shape = Shape::root(schema);
    if let Some(errors) = validate::errors(&configuration.to_value(), shape) {
        return Err(failed(format!(
            "failed to create typed patch object ({}): {errors}",
            in_words(configuration)
        )));
    }
    let mut old = live.cloned().unwrap_or_default();
    if live.is_none() {
        old.set_type(manager.api_version, manager.kind);
    }
    let managers = Managers::of(&old)
        .map_err(|error| failed(format!("failed to decode managed fields: {error}")))?;
    old.remove(&["metadata", "managedFields"]);
    if !validate::is_indexable(&old.to_value(), shape) {
        return Err(failed(format!(
            "failed to create typed live object ({})",
            in_words(&old)
        )));
    }

    let ownership = Ownership::new(shape, manager);
    let managers = if managers.0.is_empty() {
        let nothing = nothing(schema, manager);
        ownership.update(&nothing, &old, managers, BEFORE_FIRST_APPLY)
    } else {
        managers
    };
    let applied = match ownership.apply(&old, configuration, managers.clone(), force) {
        Err(conflicts) if manager.name == client_side::APPLIER => {
            let allowed = client_side::fields(&old, manager.api_version, shape);
            match conflicts.without(&allowed) {
                Some(conflicts) => Err(conflicts),
                None => ownership.apply(&old, configuration, managers, true),
            }
        }
        applied => applied,
    };
    let (mut object, managers) = applied.map_err(|conflicts| conflicts.error())?;
    if manager.name == client_side::APPLIER {
        client_side::refresh(&mut object, configuration);
    }
    managers.write_to(&mut object);
    Ok(object)
}

/// Records who owns what after a write that was no apply: fields that `new` has otherwise than `old` go to the manager as
/// `Update`; fields that are gone belong to nobody. `new` holds the managedFields that the writer sent; sent as an empty list,
/// they are reset, otherwise (or when they cannot be read) those of `old` count. Nothing changed: the managedFields stay as
/// they are. An object without any gets none until it is applied.
pub(crate) fn track(
    old: Option<&Object>,
    new: &mut Object,
    schema: &Schema,
    manager: &Manager<'_>,
) {
    let stored = || old.and_then(|old| Managers::of(old).ok());
    let managers = if !manager.subresource.is_empty() {
        stored()
    } else if is_reset(new) {
        None
    } else {
        match Managers::of(new) {
            Ok(sent) if !sent.0.is_empty() => Some(sent),
            _ => stored(),
        }
    };
    let managers = managers.unwrap_or_default();
    new.remove(&["metadata", "managedFields"]);
    if managers.0.is_empty() && old.is_some() {
        return;
    }

    let mut before = old.cloned().unwrap_or_else(|| nothing(schema, manager));
    before.remove(&["metadata", "managedFields"]);
    let shape = Shape::root(schema);
    // A list that cannot be indexed has no owners; without ownership the write is good all the same.
    if validate::is_indexable(&before.to_value(), shape)
        && validate::is_indexable(&new.to_value(), shape)
    {
        let ownership = Ownership::new(shape, manager);
        ownership
            .update(&before, new, managers, manager.name)
            .write_to(new);
    }
}

/// Puts back the times in managedFields where a write has changed nothing else, so that it changes nothing at all. For the
/// object as it would be stored.
pub(crate) fn keep_times(old: &Object, new: &mut Object) {
    let path = ["metadata", "managedFields"];
    let timeless = |object: &Object| {
        let mut object = object.clone();
        let entries = object.remove(&path);
        let mut entries = match entries {
            Some(Value::Array(entries)) => entries,
            _ => Vec::new(),
        };
        for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
            entry.remove("time");
        }
        (object, entries)
    };
    if timeless(old) == timeless(new)
        && let Some(entries) = old.at(&path)
    {
        new.set(&path, entries.clone());
    }
}

/// An error that kube-apiserver gives no reason for.
fn failed(message: String) -> ApiError {
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
}

/// `/v1, Kind=ConfigMap`
fn sort_in_words(api_version: &str, kind: &str) -> String {
    let slash = if api_version.contains('/') { "" } else { "/" };
    format!("{slash}{api_version}, Kind={kind}")
}

fn in_words(object: &Object) -> String {
    let sort = sort_in_words(object.api_version(), object.kind());
    format!("{}/{}; {sort}", object.namespace(), object.name())
}
