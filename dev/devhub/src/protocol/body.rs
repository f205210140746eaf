//! Receives and reads the bodies of requests.

use axum::BoxError;
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body;
use serde_json::Value;

use crate::protocol::{json, protobuf, strict};
use crate::resources::Resource;
use crate::status::{ApiError, Details};
use crate::writes::{FieldValidation, Patch};

/// What kube-apiserver takes.
pub(crate) const LIMIT: usize = 3 * 1024 * 1024;

/// The most operations of a JSON patch.
const OPERATIONS_MAX: usize = 10_000;

/// What an operation of a JSON patch has.
const OPERATION: [&str; 4] = ["op", "path", "from", "value"];

/// The most bytes that an error quotes of a body.
const SUMMARY: usize = 30;

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// The body of a request.
pub(crate) trait RequestBody: Body<Data = Bytes, Error: Into<BoxError>> {}

impl<B: Body<Data = Bytes, Error: Into<BoxError>>> RequestBody for B {}

/// A patch that was read, and what a strict decoder noticed in it.
#[derive(Debug)]
pub(crate) struct ReadPatch {
    pub(crate) patch: Patch,
    pub(crate) noticed: Vec<String>,
}

/// The types of patches, which decide about the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Json,
    Yaml,
    Protobuf,
}

/// Receives all of a body.
///
/// # Errors
/// 413 for one that is too large, 400 for one that breaks off.
pub(crate) async fn receive(body: impl RequestBody) -> Result<Bytes, ApiError> {
    match Limited::new(body, LIMIT).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "RequestEntityTooLarge",
            format!("Request entity too large: limit is {LIMIT}"),
        )),
        Err(error) => Err(ApiError::bad_request(format!(
            "the body of the request broke off: {error}"
        ))),
    }
}

/// Checks the type of an object's body.
///
/// # Errors
/// 415 if the body is neither JSON nor YAML nor protobuf.
pub(crate) fn check_type(headers: &HeaderMap) -> Result<(), ApiError> {
    format(headers).map(drop)
}

fn format(headers: &HeaderMap) -> Result<Format, ApiError> {
    match media_type(headers).as_str() {
        "" | JSON => Ok(Format::Json),
        YAML => Ok(Format::Yaml),
        PROTOBUF => Ok(Format::Protobuf),
        _ => Err(unsupported(&[JSON, YAML, PROTOBUF])),
    }
}

fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE);
    let value = value.map_or("", |value| value.to_str().unwrap_or("?"));
    let media = value.split(';').next().unwrap_or_default();
    media.trim().to_ascii_lowercase()
}

fn unsupported(accepted: &[&str]) -> ApiError {
    let message = format!(
        "the body of the request was in an unknown format - accepted media types include: {}",
        accepted.join(", ")
    );
    ApiError::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "UnsupportedMediaType",
        message,
    )
}

/// Reads a body of any type.
///
/// # Errors
/// 415 for another type; a text if the body is not a document of its type.
pub(crate) fn document(
    headers: &HeaderMap,
    bytes: &Bytes,
) -> Result<Result<json::Document, String>, ApiError> {
    Ok(match format(headers)? {
        Format::Json => json::read(bytes)
            .map_err(|why| format!("couldn't get version/kind; json parse error: {why}")),
        Format::Yaml => yaml(bytes),
        Format::Protobuf => protobuf(bytes),
    })
}

/// Reads the options that come with a deletion; none in an empty body.
///
/// # Errors
/// 400 if the body is not DeleteOptions; 415 if it is neither JSON nor YAML.
pub(crate) fn options(headers: &HeaderMap, bytes: &Bytes) -> Result<Option<Value>, ApiError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let read = document(headers, bytes)?;
    let value = read.map_err(ApiError::bad_request)?.value;
    if !value.is_object() {
        return Err(ApiError::bad_request("the options are not an object"));
    }
    let kind = value.get("kind").and_then(Value::as_str);
    let kind = kind.unwrap_or_default();
    if !matches!(kind, "" | "DeleteOptions") {
        let version = value.get("apiVersion").and_then(Value::as_str);
        let version = version.unwrap_or_default();
        return Err(ApiError::bad_request(format!(
            "no kind {kind:?} is registered for version {version:?} in scheme \"options\""
        )));
    }
    Ok(Some(value))
}

/// Which sort of patch a request is.
///
/// # Errors
/// 415 for one that the resource does not take.
pub(crate) fn patch_type(resource: &Resource, headers: &HeaderMap) -> Result<PatchType, ApiError> {
    match media_type(headers).as_str() {
        JSON_PATCH => Ok(PatchType::Json),
        MERGE_PATCH => Ok(PatchType::Merge),
        STRATEGIC_PATCH if !resource.custom => Ok(PatchType::Strategic),
        APPLY_PATCH => Ok(PatchType::Apply),
        _ if resource.custom => Err(unsupported(&[JSON_PATCH, MERGE_PATCH, APPLY_PATCH])),
        // The router says so, before there is a handler.
        _ => Err(ApiError {
            details: Some(Details::default()),
            ..ApiError::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "UnsupportedMediaType",
                "415: Unsupported Media Type",
            )
        }),
    }
}

/// Reads a patch.
///
/// # Errors
/// 400 if the body is not a patch, or, with strict validation, if an applied object has a field twice.
pub(crate) fn patch(
    sort: PatchType,
    bytes: &Bytes,
    validation: FieldValidation,
) -> Result<ReadPatch, ApiError> {
    if sort == PatchType::Apply {
        return apply_patch(bytes, validation);
    }
    let document = json::read(bytes).map_err(|why| match sort {
        PatchType::Strategic => ApiError::bad_request(why),
        _ => ApiError::bad_request(format!("error decoding patch: {why}")),
    })?;
    let mut noticed = strict::told(&document.duplicates);
    let patch = match sort {
        PatchType::Json => {
            noticed = strict::noticed(&unknown(&document.value), &document.duplicates, false);
            for field in &mut noticed {
                field.insert_str(0, "json patch ");
            }
            json_patch(document.value)?
        }
        PatchType::Merge => Patch::Merge(document.value),
        PatchType::Strategic | PatchType::Apply => Patch::Strategic(document.value),
    };
    Ok(ReadPatch { patch, noticed })
}

/// Fields of operations that no operation has.
fn unknown(operations: &Value) -> Vec<String> {
    let operations = operations.as_array().into_iter().flatten().enumerate();
    let fields = operations.flat_map(|(index, operation)| {
        let names = operation.as_object().into_iter().flat_map(|map| map.keys());
        let unknown = names.filter(|name| !OPERATION.contains(&name.as_str()));
        unknown.map(move |name| format!("[{index}].{name}"))
    });
    fields.collect()
}

fn json_patch(value: Value) -> Result<Patch, ApiError> {
    let value = match value {
        Value::Null => Value::Array(Vec::new()),
        value => value,
    };
    let operations = value.as_array().map(Vec::as_slice).unwrap_or_default();
    if !value.is_array() || !operations.iter().all(Value::is_object) {
        let words = "error decoding patch: it is not a list of operations";
        return Err(ApiError::bad_request(words));
    }
    if operations.len() > OPERATIONS_MAX {
        return Err(ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "RequestEntityTooLarge",
            format!(
                "Request entity too large: The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {}",
                operations.len()
            ),
        ));
    }
    // An operation that there is not is found out only when it is applied.
    let patch = serde_json::from_value(value).map_err(|_| ApiError::rejected())?;
    Ok(Patch::Json(patch))
}

fn apply_patch(bytes: &Bytes, validation: FieldValidation) -> Result<ReadPatch, ApiError> {
    // Clients mostly send JSON, which is read faster, and with the duplicates told.
    let json = json::read(bytes).ok();
    let mut document = match json {
        Some(document) => document,
        None => yaml(bytes).map_err(|why| {
            ApiError::bad_request(format!(
                "error decoding YAML: error converting YAML to JSON: {why}"
            ))
        })?,
    };
    if document.value.is_null() {
        document.value = Value::Object(serde_json::Map::new());
    }
    if !document.value.is_object() {
        let words = "error decoding YAML: it is not an object";
        return Err(ApiError::bad_request(words));
    }
    let duplicates = strict::told(&document.duplicates);
    if validation == FieldValidation::Strict && !duplicates.is_empty() {
        return Err(ApiError::bad_request(format!(
            "error strict decoding YAML: {}",
            duplicates.join(", ")
        )));
    }
    Ok(ReadPatch {
        patch: Patch::Apply(document.value),
        noticed: duplicates,
    })
}

fn protobuf(bytes: &Bytes) -> Result<json::Document, String> {
    let value = protobuf::decode(bytes).map_err(|error| error.to_string())?;
    Ok(json::Document {
        value,
        duplicates: Vec::new(),
    })
}

fn yaml(bytes: &Bytes) -> Result<json::Document, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "yaml: invalid UTF-8".to_owned())?;
    let options = serde_saphyr::options! {
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
    };
    let value = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        // A picture of the surroundings follows the first line.
        let error = error.to_string();
        let first = error.lines().next().unwrap_or_default();
        format!("yaml: {}", first.trim_start_matches("error: "))
    })?;
    Ok(json::Document {
        value,
        duplicates: Vec::new(),
    })
}

/// The beginning of a body, for errors.
pub(crate) fn summary(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(SUMMARY)];
    let more = if bytes.len() > SUMMARY { " ..." } else { "" };
    format!("{}{more}", String::from_utf8_lossy(shown))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use http_body_util::Full;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_has_a_limit_of_operations() {
        let many = json!(vec![json!({"op": "test", "path": "", "value": 1}); 10_001]).to_string();
        let read = patch(PatchType::Json, &Bytes::from(many), FieldValidation::Warn);
        assert_eq!(read.unwrap_err().code, StatusCode::PAYLOAD_TOO_LARGE);
    }

    #[tokio::test]
    async fn a_body_has_a_limit() {
        let body = |length| Full::new(Bytes::from(vec![b' '; length]));
        assert_eq!(receive(body(LIMIT)).await.unwrap().len(), LIMIT);
        let error = receive(body(LIMIT + 1)).await.unwrap_err();
        assert_eq!(error.code, StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(error.message, "Request entity too large: limit is 3145728");
    }
}
