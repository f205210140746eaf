//! Patches of all four types.

use http::StatusCode;
use serde_json::Value;

use crate::object::Object;
use crate::status::{ApiError, FieldError};
use crate::writes::change::{Change, Made, change};
use crate::writes::create::insert;
use crate::writes::{
    FieldValidation, WriteOutcome, Writer, apply, body, merge, operations, strategic,
};

/// A patch, by its content type.
#[derive(Clone, Debug)]
pub(crate) enum Patch {
    /// `application/json-patch+json`
    Json(json_patch::Patch),
    /// `application/merge-patch+json`
    Merge(Value),
    /// `application/strategic-merge-patch+json`
    Strategic(Value),
    /// `application/apply-patch+yaml`
    Apply(Value),
}

/// Patches an object or a subresource. `noticed` is what a strict decoder noticed in the patch; `warnings` as in [`create`](super::create).
///
/// # Errors
/// As kube-apiserver.
pub(crate) async fn patch(
    writer: &Writer<'_>,
    name: &str,
    patch: Patch,
    noticed: &[String],
    warnings: &mut Vec<String>,
) -> Result<WriteOutcome, ApiError> {
    let how = Change {
        name,
        options: "PatchOptions",
        replaces: false,
    };
    let validation = writer.options.field_validation;
    if let Patch::Apply(configuration) = patch {
        if validation == FieldValidation::Warn {
            warnings.extend_from_slice(noticed);
        }
        return apply_configuration(writer, &how, configuration, warnings).await;
    }
    if matches!(patch, Patch::Strategic(_)) && writer.resource.custom {
        let message = "the body of the request was in an unknown format - accepted media types include: \
                       application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml, \
                       application/apply-patch+cbor";
        return Err(ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UnsupportedMediaType",
            message,
        ));
    }
    let make = |old: &Object| {
        let patched = patched(old, &patch, writer)?;
        let invalid = |shown: &Value, why: &str| {
            let error = FieldError::invalid("patch", shown.to_string(), why);
            ApiError::invalid("", "", "", &[error])
        };
        if let Some(why) = writer.resource.schema.decode_error(&patched) {
            return Err(invalid(&patched, &why));
        }
        let mut object = Object::try_from(patched.clone())
            .map_err(|error| ApiError::bad_request(error.to_string()))?;
        let resource = writer.resource;
        if !resource.custom && !object.kind().is_empty() && object.kind() != resource.kind {
            let why = "a patch may not change the kind";
            return Err(invalid(&patched, why));
        }
        body::check_type(writer, &mut object)?;
        let mut warnings = noticed.to_vec();
        let unknown = body::settle(writer.resource, &mut object);
        warnings.extend(unknown.iter().map(|path| format!("unknown field {path:?}")));
        if validation == FieldValidation::Strict && !warnings.is_empty() {
            let why = format!("strict decoding error: {}", warnings.join(", "));
            return Err(invalid(&patched, &why));
        }
        if validation != FieldValidation::Warn {
            warnings.clear();
        }
        body::check_place(writer, name, &mut object)?;
        Ok(Made {
            object,
            track: true,
            warnings,
        })
    };
    change(writer, &how, &make, warnings).await
}

fn patched(old: &Object, patch: &Patch, writer: &Writer<'_>) -> Result<Value, ApiError> {
    let mut value = old.to_value();
    match patch {
        // The response does not name the operation that did not apply.
        Patch::Json(patch) => operations::apply(value, patch).map_err(|_| ApiError::rejected()),
        Patch::Merge(patch) => {
            check_is_object(patch)
                .map_err(|why| ApiError::bad_request(format!("error decoding patch: {why}")))?;
            if patch.is_null() {
                return Err(ApiError::bad_request("Invalid JSON Patch"));
            }
            merge::merge(&mut value, patch);
            Ok(value)
        }
        Patch::Strategic(patch) | Patch::Apply(patch) => {
            check_is_object(patch).map_err(ApiError::bad_request)?;
            if patch.is_null() {
                return Ok(value);
            }
            strategic::merge(&value, patch, &writer.resource.schema)
        }
    }
}

fn check_is_object(patch: &Value) -> Result<(), String> {
    match patch {
        Value::Object(_) | Value::Null => Ok(()),
        _ => Err("the patch is not an object".to_owned()),
    }
}

async fn apply_configuration(
    writer: &Writer<'_>,
    how: &Change<'_>,
    configuration: Value,
    warnings: &mut Vec<String>,
) -> Result<WriteOutcome, ApiError> {
    let resource = writer.resource;
    let configuration = Object::try_from(configuration)
        .map_err(|error| ApiError::bad_request(format!("error decoding YAML: {error}")))?;
    let api_version = resource.api_version();
    let (manager, force) = (writer.manager(&api_version), writer.options.force);
    let applied = |live: Option<&Object>| {
        let mut object = apply::apply(live, &configuration, &resource.schema, &manager, force)?;
        // Where there is an object, the configuration need not name it.
        body::check_place(writer, how.name, &mut object)?;
        body::settle(resource, &mut object);
        Ok(object)
    };
    let make = |old: &Object| {
        let version = configuration.resource_version();
        if !version.is_empty() && version != old.resource_version() {
            return Err(writer.modified(how.name));
        }
        Ok(Made {
            object: applied(Some(old))?,
            track: false,
            warnings: Vec::new(),
        })
    };
    match change(writer, how, &make, warnings).await {
        Err(error) if error.code == StatusCode::NOT_FOUND && writer.subresource.is_empty() => {}
        outcome => return outcome,
    }
    let mut object = applied(None)?;
    check_uid(writer, how.name, &configuration)?;
    object.remove(&["metadata", "resourceVersion"]);
    insert(writer, object, "PatchOptions", warnings).await
}

/// A configuration with a uid is for an object that is there.
fn check_uid(writer: &Writer<'_>, name: &str, configuration: &Object) -> Result<(), ApiError> {
    let (resource, uid) = (writer.resource, configuration.uid());
    if uid.is_empty() {
        return Ok(());
    }
    if resource.custom {
        let error = FieldError::invalid("metadata.uid", uid, "field is immutable");
        return Err(resource.invalid(name, &[error]));
    }
    let why = format!(
        "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
    );
    Err(resource.conflict(name, &why))
}
