//! Deletions.

use std::time::Instant;

use serde_json::{Value, json};

use crate::admission::Operation;
use crate::object::Object;
use crate::status::ApiError;
use crate::storage::{CommitError, Page};
use crate::writes::{Writer, metadata};

/// The finalizer of an object whose dependents go first.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an object whose dependents stay.
pub(crate) const ORPHAN: &str = "orphan";

/// `DeleteOptions`, from body and query.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    /// The treatment of dependents; `None` for the default of the resource (background).
    pub(crate) propagation: Option<Propagation>,
    /// Only this object.
    pub(crate) uid: Option<String>,
    /// Only in this version.
    pub(crate) resource_version: Option<String>,
}

/// `propagationPolicy`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// The result of a deletion.
#[derive(Debug)]
pub(crate) enum Deleted {
    /// It is gone; this was its last state.
    Gone(Object),
    /// It waits for its finalizers; this is its state.
    Waits(Object),
}

/// Deletes an object. `warnings` as in [`create`](super::create).
///
/// # Errors
/// As kube-apiserver.
pub(crate) async fn delete(
    writer: &Writer<'_>,
    name: &str,
    options: &DeleteOptions,
    warnings: &mut Vec<String>,
) -> Result<Deleted, ApiError> {
    let started = Instant::now();
    loop {
        match attempt(writer, name, options, warnings).await? {
            Some(deleted) => return Ok(deleted),
            None if started.elapsed() < writer.options.timeout => tokio::task::yield_now().await,
            None => return Err(writer.modified(name)),
        }
    }
}

/// None if another write came first.
async fn attempt(
    writer: &Writer<'_>,
    name: &str,
    options: &DeleteOptions,
    warnings: &mut Vec<String>,
) -> Result<Option<Deleted>, ApiError> {
    let (world, resource) = (writer.world, writer.resource);
    let key = writer.key(name);
    let stored = world
        .store
        .get(&key)
        .ok_or_else(|| writer.not_found(name))?;
    let old = resource.present(&stored.object);
    options.check(writer, &old)?;

    let told = options.for_webhooks(writer);
    let write = writer.admitted(Operation::Delete, name, Some(&old), &told);
    writer.mutate(&write, None, warnings).await?;
    let to = writer.to(&key, Some(&old));
    resource.behaviour.authorize_delete(&old)?;
    writer.validate(&write, None, warnings).await?;

    let mut object = old.clone();
    options.finalize(&mut object);
    let ends = object.finalizers().is_empty() && !resource.behaviour.holds(&object);
    if !ends {
        if !old.is_deleting() {
            metadata::begin_deletion(&mut object, writer.now);
            resource.behaviour.prepare(&to, &mut object);
        }
        if object == old || writer.options.dry_run {
            return Ok(Some(Deleted::Waits(object)));
        }
    } else if writer.options.dry_run {
        return Ok(Some(Deleted::Gone(old)));
    }

    let new = writer.stored(&object);
    let committed = if ends {
        world.store.delete(&key, stored.revision, new)
    } else {
        world.store.update(&key, stored.revision, new)
    };
    match committed {
        Ok(stored) if ends => {
            resource.behaviour.committed(&to, None);
            Ok(Some(Deleted::Gone(resource.present(&stored.object))))
        }
        Ok(stored) => {
            resource.behaviour.committed(&to, Some(&stored.object));
            Ok(Some(Deleted::Waits(resource.present(&stored.object))))
        }
        Err(CommitError::NotFound) => Err(writer.not_found(name)),
        Err(error @ CommitError::TooLarge) => Err(ApiError::of_storage(&error)),
        Err(_) => Ok(None),
    }
}

/// Deletes those objects of a namespace (or of all) that `matches` says yes to, and answers with them.
///
/// # Errors
/// As kube-apiserver.
pub(crate) async fn delete_collection(
    writer: &Writer<'_>,
    options: &DeleteOptions,
    matches: &(dyn Fn(&Object) -> bool + Sync),
    warnings: &mut Vec<String>,
) -> Result<Vec<Object>, ApiError> {
    let namespace = (!writer.namespace.is_empty()).then_some(writer.namespace);
    let (world, resource) = (writer.world, writer.resource);
    let listed = world
        .store
        .list(&resource.storage, namespace, &Page::default(), &|object| {
            matches(object)
        })
        .map_err(|error| ApiError::expired(error.to_string()))?;
    let mut deleted = Vec::new();
    for stored in listed.items {
        let object = &stored.object;
        let writer = Writer {
            namespace: object.namespace(),
            options: writer.options.clone(),
            ..*writer
        };
        match delete(&writer, object.name(), options, warnings).await {
            Ok(Deleted::Gone(object) | Deleted::Waits(object)) => deleted.push(object),
            Err(error) if error.reason == "NotFound" => {}
            Err(error) => return Err(error),
        }
    }
    Ok(deleted)
}

impl DeleteOptions {
    fn check(&self, writer: &Writer<'_>, old: &Object) -> Result<(), ApiError> {
        let preconditions = [
            ("UID", &self.uid, old.uid(), "deleted and then recreated"),
            (
                "ResourceVersion",
                &self.resource_version,
                old.resource_version(),
                "modified",
            ),
        ];
        for (what, wanted, is, happened) in preconditions {
            if let Some(wanted) = wanted
                && wanted != is
            {
                let why = format!(
                    "the {what} in the precondition ({wanted}) does not match the {what} in record ({is}). The object might have been {happened}"
                );
                let resource = writer.resource;
                // This conflict alone names the kind.
                return Err(ApiError::conflict(
                    &resource.group,
                    &resource.kind,
                    old.name(),
                    &why,
                ));
            }
        }
        Ok(())
    }

    /// Sets the finalizers that the garbage collector works off.
    fn finalize(&self, object: &mut Object) {
        let wanted = match self.propagation {
            // What an earlier deletion asked for stays.
            None => return,
            Some(Propagation::Background) => None,
            Some(Propagation::Foreground) => Some(FOREGROUND),
            Some(Propagation::Orphan) => Some(ORPHAN),
        };
        object.retain_finalizers(|name| ![FOREGROUND, ORPHAN].contains(&name));
        if let Some(wanted) = wanted {
            let mut finalizers = object.items(&["metadata", "finalizers"]).to_vec();
            finalizers.push(wanted.into());
            object.set(&["metadata", "finalizers"], finalizers);
        }
    }

    fn for_webhooks(&self, writer: &Writer<'_>) -> Value {
        let mut options = json!({"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"});
        if writer.options.dry_run {
            options["dryRun"] = json!(["All"]);
        }
        if let Some(propagation) = self.propagation {
            options["propagationPolicy"] = propagation.as_str().into();
        }
        for (name, value) in [
            ("uid", &self.uid),
            ("resourceVersion", &self.resource_version),
        ] {
            if let Some(value) = value {
                options["preconditions"][name] = value.as_str().into();
            }
        }
        options
    }
}

impl Propagation {
    /// As in the parameter.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Background => "Background",
            Self::Foreground => "Foreground",
            Self::Orphan => "Orphan",
        }
    }
}
