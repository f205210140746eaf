//! Turns the body of a request into an object of the resource: checks type and place, and removes unknown fields.

use std::sync::LazyLock;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use crate::object::Object;
use crate::resources::Resource;
use crate::resources::schema::Schema;
use crate::status::ApiError;
use crate::writes::Writer;

/// What metadata looks like, also in custom objects, whose schemas say nothing of it.
static METADATA: LazyLock<Schema> = LazyLock::new(Schema::of::<ObjectMeta>);

/// Reads what was sent for an object of this name (empty: of any name): checks that it is one, prunes and fills it in.
pub(super) fn read(writer: &Writer<'_>, name: &str, mut body: Object) -> Result<Object, ApiError> {
    check_type(writer, &mut body)?;
    check_place(writer, name, &mut body)?;
    settle(writer.resource, &mut body);
    Ok(body)
}

/// The type of what was sent. A built-in kind may leave it out.
pub(super) fn check_type(writer: &Writer<'_>, body: &mut Object) -> Result<(), ApiError> {
    let resource = writer.resource;
    let (api_version, kind) = match resource.subresource(writer.subresource) {
        Some(subresource) if subresource.kind != resource.kind => {
            (subresource.api_version(), subresource.kind.clone())
        }
        _ => (resource.api_version(), resource.kind.clone()),
    };
    if !resource.custom {
        if body.kind().is_empty() {
            body.fields_mut().insert("kind".into(), kind.clone().into());
        }
        if body.api_version().is_empty() {
            body.fields_mut()
                .insert("apiVersion".into(), api_version.clone().into());
        }
    }
    for (field, value) in [("Kind", body.kind()), ("apiVersion", body.api_version())] {
        if value.is_empty() {
            let sent = Value::Object(body.fields().clone());
            return Err(ApiError::bad_request(format!(
                "Object '{field}' is missing in '{sent}'"
            )));
        }
    }
    if body.api_version() != api_version {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({}) does not match the expected API version ({api_version})",
            body.api_version()
        )));
    }
    if body.kind() != kind {
        return Err(ApiError::bad_request(format!(
            "{} in version {:?} cannot be handled as a {kind}: the kind in the data does not match",
            body.kind(),
            resource.version
        )));
    }
    Ok(())
}

/// Name and namespace are those of the path.
pub(super) fn check_place(
    writer: &Writer<'_>,
    name: &str,
    body: &mut Object,
) -> Result<(), ApiError> {
    if body.namespace() != writer.namespace {
        if writer.namespace.is_empty() {
            body.remove(&["metadata", "namespace"]);
        } else if body.namespace().is_empty() {
            body.set(&["metadata", "namespace"], writer.namespace);
        } else {
            return Err(ApiError::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
    }
    if name.is_empty() || body.name() == name {
        return Ok(());
    }
    let problem = if body.name().is_empty() {
        format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )
    } else {
        format!(
            "the name of the object ({}) does not match the name on the URL ({name})",
            body.name()
        )
    };
    Err(ApiError::bad_request(problem))
}

/// Removes what there is not, and fills in defaults. Says which fields were removed.
pub(super) fn settle(resource: &Resource, object: &mut Object) -> Vec<String> {
    let mut unknown = object.edit(|value| {
        if !resource.custom {
            drop_nulls(value);
        }
        let unknown = resource.schema.prune(value);
        if resource.custom {
            resource.schema.fill_in(value);
        } else {
            resource.schema.drop_empty(value);
        }
        unknown
    });
    if let Some(metadata) = object.fields_mut().get_mut("metadata") {
        drop_nulls(metadata);
        let of_metadata = METADATA.prune(metadata);
        if resource.custom {
            unknown.extend(
                of_metadata
                    .into_iter()
                    .map(|path| format!("metadata.{path}")),
            );
        }
        drop_empty(metadata);
    }
    resource.behaviour.default(object);
    unknown
}

/// A typed decoder does not tell null from nothing.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// Metadata is written without what is empty.
fn drop_empty(metadata: &mut Value) {
    let Value::Object(fields) = metadata else {
        return;
    };
    fields.retain(|name, value| match value {
        Value::Object(fields) => !fields.is_empty(),
        // An empty list resets the ownership of fields, and is dropped where that is done.
        Value::Array(items) => !items.is_empty() || name == "managedFields",
        Value::String(text) => !text.is_empty(),
        _ => true,
    });
}
