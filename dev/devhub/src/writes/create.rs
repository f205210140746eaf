//! Creations.

use http::StatusCode;

use crate::admission::Operation;
use crate::object::Object;
use crate::status::{ApiError, Cause, Details};
use crate::storage::{CommitError, Key};
use crate::writes::options::namespace_key;
use crate::writes::{WriteOutcome, Writer, body, check, metadata};

/// How often a name is generated anew when there is an object of that name already.
const GENERATED_NAMES: usize = 8;

/// Creates an object, or asks a review. `name` is what the path says (of a subresource's parent); empty for collections.
/// `warnings` become Warning headers, also of a refusal.
///
/// # Errors
/// As kube-apiserver.
pub(crate) async fn create(
    writer: &Writer<'_>,
    name: &str,
    body: Object,
    warnings: &mut Vec<String>,
) -> Result<WriteOutcome, ApiError> {
    if !writer.subresource.is_empty() || !writer.resource.has_objects() {
        return answer(writer, name, body);
    }
    let mut object = body::read(writer, name, body)?;
    if clears_status(writer) {
        object.remove(&["status"]);
    }
    writer.track(None, &mut object);
    insert(writer, object, "CreateOptions", warnings).await
}

/// Creates an object that has been read and whose fields have owners. `options` is the kind of options webhooks are told.
pub(super) async fn insert(
    writer: &Writer<'_>,
    mut object: Object,
    options: &str,
    warnings: &mut Vec<String>,
) -> Result<WriteOutcome, ApiError> {
    let resource = writer.resource;
    check_namespace(writer, object.name())?;
    if !object.resource_version().is_empty() {
        let message = "resourceVersion should not be set on objects to be created";
        return Err(ApiError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "",
            message,
        ));
    }
    let (world, options) = (writer.world, writer.options_for_webhooks(options));
    let given_name = object.name().to_owned();
    let write = writer.admitted(Operation::Create, &given_name, None, &options);
    writer.mutate(&write, Some(&mut object), warnings).await?;

    if clears_status(writer) {
        object.remove(&["status"]);
    }
    metadata::begin(resource, &mut object, writer.now);
    let prefix = object.str_at(&["metadata", "generateName"]).to_owned();
    let generates = object.name().is_empty() && !prefix.is_empty();
    for attempt in 1.. {
        if generates {
            object.set(&["metadata", "name"], metadata::generate_name(&prefix));
        }
        let name = object.name().to_owned();
        let key = writer.key(&name);
        let to = writer.to(&key, None);
        resource.behaviour.prepare(&to, &mut object);
        check::check(&to, &object)?;
        let write = writer.admitted(Operation::Create, &name, None, &options);
        writer.validate(&write, Some(&object), warnings).await?;
        warnings.extend(check::warnings(&to, &object));

        if writer.options.dry_run {
            if world.store.get(&key).is_some() {
                return Err(exists(writer, &key));
            }
            return Ok(WriteOutcome {
                object,
                created: true,
            });
        }
        // The namespace may have begun to go meanwhile.
        check_namespace(writer, &name)?;
        match world.store.create(&key, writer.stored(&object)) {
            Ok(stored) => {
                resource.behaviour.committed(&to, Some(&stored.object));
                return Ok(WriteOutcome {
                    object: resource.present(&stored.object),
                    created: true,
                });
            }
            Err(error @ CommitError::TooLarge) => return Err(ApiError::of_storage(&error)),
            Err(_) if generates && attempt < GENERATED_NAMES => {}
            Err(CommitError::Exists | CommitError::NotFound | CommitError::Modified(_)) => {
                return Err(exists(writer, &key));
            }
        }
    }
    Err(ApiError::internal("no name could be generated"))
}

/// There is an object of this name; maybe not for long.
fn exists(writer: &Writer<'_>, key: &Key) -> ApiError {
    let resource = writer.resource;
    let mut error = ApiError::already_exists(&resource.group, &resource.name, &key.name);
    let there = writer.world.store.get(key);
    if there.is_some_and(|there| there.object.is_deleting()) {
        error.message.insert_str(0, "object is being deleted: ");
    }
    error
}

/// True if the status is a subresource, so that objects are created without it.
fn clears_status(writer: &Writer<'_>) -> bool {
    writer.resource.has_status() && !writer.resource.takes_status_on_create
}

/// Objects are created in namespaces that exist and stay.
fn check_namespace(writer: &Writer<'_>, name: &str) -> Result<(), ApiError> {
    if writer.namespace.is_empty() {
        return Ok(());
    }
    let Some(namespace) = writer.world.store.get(&namespace_key(writer.namespace)) else {
        return Err(ApiError::not_found("", "namespaces", writer.namespace));
    };
    if !namespace.object.is_deleting() {
        return Ok(());
    }
    let (resource, namespace) = (writer.resource, writer.namespace);
    let why = format!(
        "unable to create new content in namespace {namespace} because it is being terminated"
    );
    let mut error = ApiError::forbidden(&resource.group, &resource.name, name, &why);
    let details = error.details.get_or_insert_with(Details::default);
    details.causes.push(Cause {
        reason: "NamespaceTerminating".into(),
        message: format!("namespace {namespace} is being terminated"),
        field: "metadata.namespace".into(),
    });
    Err(error)
}

/// Creations that store nothing: the created object is the answer to a review.
fn answer(writer: &Writer<'_>, name: &str, mut body: Object) -> Result<WriteOutcome, ApiError> {
    let resource = writer.resource;
    body::check_type(writer, &mut body)?;
    // A token is asked for under the name of its account, and may say so.
    let name_in_body = if body.name().is_empty() { "" } else { name };
    body::check_place(writer, name_in_body, &mut body)?;
    if writer.subresource.is_empty() {
        body::settle(resource, &mut body);
    }
    let key = writer.key(name);
    let parent = if name.is_empty() {
        None
    } else {
        let stored = writer
            .world
            .store
            .get(&key)
            .ok_or_else(|| writer.not_found(name))?;
        Some(resource.present(&stored.object))
    };
    let to = writer.to(&key, parent.as_ref());
    let answer = resource.behaviour.answer(&to, &body).unwrap_or_else(|| {
        Err(ApiError::method_not_supported(
            &resource.group,
            &resource.name,
            "create",
        ))
    });
    Ok(WriteOutcome {
        object: answer?,
        created: true,
    })
}
