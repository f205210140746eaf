//! Writes: turns a request into a call of [`crate::writes`], and the outcome into a response.

use std::sync::Arc;

use http::{Response, StatusCode};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::object::Object;
use crate::protocol::answer::{self, Body};
use crate::protocol::body::{self, PatchType, RequestBody};
use crate::protocol::call::Call;
use crate::protocol::decode::Expected;
use crate::protocol::query::WriteParameters;
use crate::protocol::read;
use crate::resources::Resource;
use crate::status::ApiError;
use crate::writes::{self, Deleted, WriteOptions, Writer};

/// The methods that write an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Create,
    Update,
    Patch,
}

/// Warnings that came up, for the answer, be it an error or not.
pub(crate) type Warnings = Vec<String>;

/// Creates, replaces or patches.
pub(crate) async fn write(
    call: &Call<'_>,
    resource: &Arc<Resource>,
    method: Method,
    body: impl RequestBody,
    warnings: &mut Warnings,
) -> Result<Response<Body>, ApiError> {
    let sort = match method {
        Method::Patch => Some(body::patch_type(resource, call.headers)?),
        Method::Create | Method::Update => None,
    };
    let accepted = call.accepted(resource)?;
    if sort.is_none() {
        body::check_type(call.headers)?;
    }
    let bytes = body::receive(body).await?;
    let parameters = match (method, sort) {
        (Method::Create, _) => WriteParameters::Create,
        (Method::Update, _) => WriteParameters::Update,
        (Method::Patch, Some(PatchType::Apply)) => WriteParameters::ApplyPatch,
        (Method::Patch, _) => WriteParameters::Patch,
    };
    let options = call
        .query
        .write_options(parameters, call.user_agent(), remaining(call))?;
    let validation = options.field_validation;
    let writer = writer(call, resource, options);
    let name = match method {
        Method::Create if call.info.subresource.is_empty() => "",
        _ => call.info.name.as_str(),
    };
    let outcome = match (method, sort) {
        (Method::Patch, Some(sort)) => {
            let read = body::patch(sort, &bytes, validation)?;
            writes::patch(&writer, name, read.patch, &read.noticed, warnings).await?
        }
        (method, _) => {
            let registry = &call.world.registry;
            let exists =
                |api_version: &str, kind: &str| registry.find_kind(api_version, kind).is_some();
            let expected = Expected::of(resource, &call.info.subresource, &exists);
            let object = expected.read(call.headers, &bytes, validation)?;
            warnings.extend(object.warnings);
            if method == Method::Create {
                writes::create(&writer, name, object.content, warnings).await?
            } else {
                writes::update(&writer, name, object.content, warnings).await?
            }
        }
    };
    let code = if method == Method::Create || outcome.created {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    call.show(accepted, code, resource, &outcome.object)
}

/// Deletes one object.
pub(crate) async fn delete(
    call: &Call<'_>,
    resource: &Arc<Resource>,
    body: impl RequestBody,
    warnings: &mut Warnings,
) -> Result<Response<Body>, ApiError> {
    let accepted = call.accepted(resource)?;
    let bytes = body::receive(body).await?;
    let options = body::options(call.headers, &bytes)?;
    let deletion = call.query.delete_options(options.as_ref())?;
    let writer = writer(call, resource, delete_options(call, deletion.dry_run));
    let deleted = writes::delete(&writer, &call.info.name, &deletion.options, warnings).await?;
    match deleted {
        Deleted::Gone(object) => {
            if returns_deleted(resource) {
                return call.show(accepted, StatusCode::OK, resource, &object);
            }
            let status = success(resource, &object);
            Ok(answer::value(StatusCode::OK, accepted.format, &status))
        }
        Deleted::Waits(object) => {
            let code = if deletion.accepted_when_waiting {
                StatusCode::ACCEPTED
            } else {
                StatusCode::OK
            };
            call.show(accepted, code, resource, &object)
        }
    }
}

/// Deletes the objects of a collection.
pub(crate) async fn delete_collection(
    call: &Call<'_>,
    resource: &Arc<Resource>,
    body: impl RequestBody,
    warnings: &mut Warnings,
) -> Result<Response<Body>, ApiError> {
    let accepted = call.accepted(resource)?;
    let list = call.query.list_options(resource, "", false)?;
    let bytes = body::receive(body).await?;
    let options = body::options(call.headers, &bytes)?;
    let deletion = call.query.delete_options(options.as_ref())?;
    let writer = writer(call, resource, delete_options(call, deletion.dry_run));
    let matches = |object: &Object| list.selection.matches(resource, object);
    let deleted = writes::delete_collection(&writer, &deletion.options, &matches, warnings).await?;
    let mut metadata = Map::new();
    if resource.custom {
        metadata.insert("continue".into(), "".into());
    }
    let revision = call.world.store.revision().to_string();
    metadata.insert("resourceVersion".into(), revision.into());
    let list = read::list_of(resource, metadata, &deleted);
    Ok(answer::value(StatusCode::OK, accepted.format, &list))
}

fn writer<'a>(
    call: &'a Call<'_>,
    resource: &'a Arc<Resource>,
    options: WriteOptions,
) -> Writer<'a> {
    Writer {
        world: call.world,
        user: call.user,
        resource,
        subresource: &call.info.subresource,
        namespace: call.namespace(resource),
        options,
        now: Timestamp::now(),
    }
}

fn delete_options(call: &Call<'_>, dry_run: bool) -> WriteOptions {
    WriteOptions {
        dry_run,
        timeout: remaining(call),
        ..WriteOptions::default()
    }
}

fn remaining(call: &Call<'_>) -> std::time::Duration {
    call.deadline.saturating_duration_since(Instant::now())
}

/// Returns true if the answer to a deletion is the object that was there, and no Status.
fn returns_deleted(resource: &Resource) -> bool {
    resource.group.is_empty() && matches!(resource.name.as_str(), "namespaces" | "serviceaccounts")
}

fn success(resource: &Resource, object: &Object) -> Value {
    let mut details = json!({
        "name": object.name(),
        "kind": resource.name,
        "uid": object.uid(),
    });
    if !resource.group.is_empty() {
        details["group"] = resource.group.as_str().into();
    }
    json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    })
}
