//! Reads one object, or a list, as a whole or in pages.

use bytes::Bytes;
use http::{Response, StatusCode};
use jiff::Timestamp;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};

use crate::object::Object;
use crate::protocol::answer::{self, Body, Pieces};
use crate::protocol::call::Call;
use crate::protocol::negotiate::{Accepted, Format, Transform};
use crate::protocol::pages::{self, Scope, Start};
use crate::protocol::query::ListOptions;
use crate::protocol::{show, table};
use crate::resources::Resource;
use crate::status::ApiError;
use crate::storage::{Listed, Page};

/// An expired list that was read as a whole.
const TOO_OLD: &str = "The resourceVersion for the provided list is too old.";
/// An expired continue token.
const TOKEN_TOO_OLD: &str = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

/// One object.
pub(crate) async fn get(call: &Call<'_>, resource: &Resource) -> Result<Response<Body>, ApiError> {
    let accepted = call.accepted(resource)?;
    if call.query.flag("export").unwrap_or(false) {
        let why = "the export parameter, deprecated since v1.14, is no longer supported";
        return Err(ApiError::bad_request(why));
    }
    let version = call.query.first("resourceVersion").unwrap_or_default();
    pages::wait_for(&call.world.store, pages::revision(version)?).await?;
    let key = resource.key(call.namespace(resource), &call.info.name);
    let stored = call
        .world
        .store
        .get(&key)
        .ok_or_else(|| ApiError::not_found(&resource.group, &resource.name, &call.info.name))?;
    call.show_stored(accepted, resource, &stored)
}

/// A list.
pub(crate) async fn list(call: &Call<'_>, resource: &Resource) -> Result<Response<Body>, ApiError> {
    let accepted = call.accepted(resource)?;
    let options = call.query.list_options(resource, &call.info.name, false)?;
    let scope = scope(call, resource);
    let start = Start::read(&options, scope)?;
    pages::wait_for(&call.world.store, start.not_before).await?;
    match find(call, resource, &options, &start) {
        Ok(listed) => show_list(call, accepted, resource, &options, scope, &listed),
        Err(status) => Ok(answer::value(StatusCode::GONE, accepted.format, &status)),
    }
}

fn scope<'a>(call: &'a Call<'_>, resource: &Resource) -> Scope<'a> {
    match (resource.namespaced, call.info.namespace.as_str()) {
        (false, _) => Scope::Cluster,
        (true, "") => Scope::Everywhere,
        (true, namespace) => Scope::Namespace(namespace),
    }
}

/// The error is a Status that is expired.
fn find(
    call: &Call<'_>,
    resource: &Resource,
    options: &ListOptions,
    start: &Start,
) -> Result<Listed, Value> {
    let scope = scope(call, resource);
    let namespace = match scope {
        Scope::Namespace(namespace) => Some(namespace),
        Scope::Cluster | Scope::Everywhere => None,
    };
    let page = Page {
        at: start.at,
        after: start.after.clone(),
        limit: options.limit,
    };
    let matches = |object: &Object| options.selection.matches(resource, object);
    let listed = call
        .world
        .store
        .list(&resource.storage, namespace, &page, &matches);
    listed.map_err(|_| match &start.after {
        None => ApiError::expired(TOO_OLD).status(),
        Some((namespace, name)) => {
            let mut status = ApiError::expired(TOKEN_TOO_OLD).status();
            let token = pages::encode(None, scope, (namespace, name));
            status["metadata"]["continue"] = token.into();
            status
        }
    })
}

/// The metadata of a list. A custom resource's always have `continue`.
fn metadata(
    resource: &Resource,
    options: &ListOptions,
    scope: Scope<'_>,
    listed: &Listed,
) -> Map<String, Value> {
    let mut metadata = Map::new();
    let last = listed.items.last().filter(|_| listed.more);
    match last {
        Some(last) => {
            let last = (last.object.namespace(), last.object.name());
            let token = pages::encode(Some(listed.revision), scope, last);
            metadata.insert("continue".into(), token.into());
            if options.selection.is_everything() {
                metadata.insert("remainingItemCount".into(), listed.remaining.into());
            }
        }
        None if resource.custom => {
            metadata.insert("continue".into(), "".into());
        }
        None => {}
    }
    metadata.insert("resourceVersion".into(), listed.revision.to_string().into());
    metadata
}

fn show_list(
    call: &Call<'_>,
    accepted: Accepted,
    resource: &Resource,
    options: &ListOptions,
    scope: Scope<'_>,
    listed: &Listed,
) -> Result<Response<Body>, ApiError> {
    let metadata = metadata(resource, options, scope, listed);
    let objects = || -> Vec<Object> {
        let items = listed.items.iter();
        items
            .map(|stored| resource.present(&stored.object))
            .collect()
    };
    let value = match accepted.transform {
        Transform::Nothing | Transform::Discovery(_) => {
            if accepted.format == (Format::Json { pretty: false }) {
                let body = stream(resource, metadata, listed);
                return Ok(answer::bytes(StatusCode::OK, accepted.format, body));
            }
            list_of(resource, metadata, &objects())
        }
        Transform::MetadataList(version) => {
            let mut metadata = metadata;
            metadata.retain(|_, value| *value != "");
            json!({
            "kind": "PartialObjectMetadataList",
            "apiVersion": version.api_version(),
            "metadata": metadata,
            "items": listed.items.iter().map(|stored| answer::metadata(version, &stored.object)).collect::<Value>(),
            })
        }
        Transform::Metadata(_) => {
            let message = format!(
                "you requested PartialObjectMetadata, but the requested object is a list ({})",
                show::go_type(resource, &resource.list_kind)
            );
            return Err(ApiError::new(
                StatusCode::NOT_ACCEPTABLE,
                "NotAcceptable",
                message,
            ));
        }
        Transform::Table(version) => {
            let form = table::Form {
                version,
                include: call.query.include_object()?,
                headers: true,
            };
            let objects = objects();
            let objects: Vec<&Object> = objects.iter().collect();
            table::table(resource, &objects, Timestamp::now(), form, metadata)
        }
    };
    Ok(answer::value(StatusCode::OK, accepted.format, &value))
}

/// A list of objects that are not stored any more.
pub(crate) fn list_of(
    resource: &Resource,
    metadata: Map<String, Value>,
    objects: &[Object],
) -> Value {
    let items = objects.iter().map(|object| {
        let mut object = object.clone();
        if !resource.custom {
            object.fields_mut().remove("kind");
            object.fields_mut().remove("apiVersion");
        }
        object.into_value()
    });
    json!({
        "kind": resource.list_kind,
        "apiVersion": resource.api_version(),
        "metadata": metadata,
        "items": items.collect::<Value>(),
    })
}

/// A list as JSON. What is stored as it is shown is not serialised again.
fn stream(resource: &Resource, metadata: Map<String, Value>, listed: &Listed) -> Body {
    let mut pieces = Pieces::default();
    let head = json!({
        "kind": resource.list_kind,
        "apiVersion": resource.api_version(),
        "metadata": metadata,
    });
    // Ends with a brace, in whose place the items go.
    let mut head = head.to_string();
    head.pop();
    head.push_str(",\"items\":[");
    pieces.push(head);
    for (index, stored) in listed.items.iter().enumerate() {
        if index > 0 {
            pieces.push(Bytes::from_static(b","));
        }
        let as_stored = resource.presents_as_stored(&stored.object);
        pieces.push(match (as_stored, resource.custom) {
            (true, true) => stored.json(),
            (true, false) => untyped(&stored.object),
            (false, true) => json_bytes(&resource.present(&stored.object)),
            (false, false) => untyped(&resource.present(&stored.object)),
        });
    }
    pieces.push(Bytes::from_static(b"]}\n"));
    pieces.into_body()
}

fn json_bytes(value: &impl Serialize) -> Bytes {
    // JSON values can always be written into memory.
    Bytes::from(serde_json::to_vec(value).unwrap_or_default())
}

/// Items of built-in kinds do not say their type again.
fn untyped(object: &Object) -> Bytes {
    struct Untyped<'a>(&'a Object);

    impl Serialize for Untyped<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let fields = self.0.fields();
            let mut map = serializer.serialize_map(None)?;
            for (name, value) in fields {
                if !matches!(name.as_str(), "kind" | "apiVersion") {
                    map.serialize_entry(name, value)?;
                }
            }
            map.end()
        }
    }

    json_bytes(&Untyped(object))
}
