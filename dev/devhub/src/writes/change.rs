//! Changes a stored object, for replacements and patches.

use std::time::Instant;

use http::StatusCode;

use crate::admission::Operation;
use crate::object::Object;
use crate::status::{ApiError, FieldError};
use crate::storage::CommitError;
use crate::writes::{WriteOutcome, Writer, apply, check, metadata};

/// The object after a request has changed it.
pub(super) struct Made {
    /// The object as it is to be, settled.
    pub(super) object: Object,
    /// True if its fields still have to be given to the writer; server-side apply has done so.
    pub(super) track: bool,
    /// For Warning headers.
    pub(super) warnings: Vec<String>,
}

/// How a change is made.
pub(super) struct Change<'a> {
    pub(super) name: &'a str,
    /// `UpdateOptions` or `PatchOptions`
    pub(super) options: &'a str,
    /// True if the object must name the version that it replaces, unless the resource does not need it.
    pub(super) replaces: bool,
}

/// Changes an object by `make`, which gets the stored one. When others are faster, again; unless the change names the version
/// that it is for.
///
/// # Errors
/// 404 if the object does not exist; the error of `make`; or an error of validation or admission.
pub(super) async fn change(
    writer: &Writer<'_>,
    change: &Change<'_>,
    make: &(dyn Fn(&Object) -> Result<Made, ApiError> + Sync),
    warnings: &mut Vec<String>,
) -> Result<WriteOutcome, ApiError> {
    let started = Instant::now();
    loop {
        match attempt(writer, change, make, warnings).await? {
            Some(outcome) => return Ok(outcome),
            None if started.elapsed() < writer.options.timeout => tokio::task::yield_now().await,
            None => return Err(writer.modified(change.name)),
        }
    }
}

/// None if another write came first.
async fn attempt(
    writer: &Writer<'_>,
    change: &Change<'_>,
    make: &(dyn Fn(&Object) -> Result<Made, ApiError> + Sync),
    warnings: &mut Vec<String>,
) -> Result<Option<WriteOutcome>, ApiError> {
    let (world, resource, name) = (writer.world, writer.resource, change.name);
    let key = writer.key(name);
    let stored = world
        .store
        .get(&key)
        .ok_or_else(|| writer.not_found(name))?;
    let old = resource.present(&stored.object);

    let Made {
        mut object,
        track,
        warnings: told,
    } = make(&old)?;
    warnings.extend(told);
    check_uid(writer, change, &object, &old)?;
    metadata::carry_over(resource, writer.subresource, &mut object, &old);
    if track {
        writer.track(Some(&old), &mut object);
    }

    let options = writer.options_for_webhooks(change.options);
    let write = writer.admitted(Operation::Update, name, Some(&old), &options);
    writer.mutate(&write, Some(&mut object), warnings).await?;
    // As an API server, which asks the mutating webhooks first: what they refuse of a stale change is no conflict.
    let names_version = check_version(writer, change, &mut object, &old)?;
    metadata::carry_over(resource, writer.subresource, &mut object, &old);
    let to = writer.to(&key, Some(&old));
    resource.behaviour.prepare(&to, &mut object);
    metadata::count_generation(resource, &mut object, &old);
    check::check(&to, &object)?;
    writer.validate(&write, Some(&object), warnings).await?;
    warnings.extend(check::warnings(&to, &object));

    let outcome = |object| {
        Some(WriteOutcome {
            object,
            created: false,
        })
    };
    apply::keep_times(&old, &mut object);
    // Nothing to write: steady state costs no revision.
    if object == old {
        return Ok(outcome(old));
    }
    let ends =
        old.is_deleting() && object.finalizers().is_empty() && !resource.behaviour.holds(&object);
    if writer.options.dry_run {
        return Ok(outcome(object));
    }
    let committed = if ends {
        let last = stored.object.clone();
        world.store.delete(&key, stored.revision, last)
    } else {
        let new = writer.stored(&object);
        world.store.update(&key, stored.revision, new)
    };
    match committed {
        // What would have been written is answered and never stored: watchers see the last state that was.
        Ok(_) if ends => {
            resource.behaviour.committed(&to, None);
            Ok(outcome(object))
        }
        Ok(stored) => {
            resource.behaviour.committed(&to, Some(&stored.object));
            Ok(outcome(resource.present(&stored.object)))
        }
        Err(CommitError::NotFound) => Err(writer.not_found(name)),
        Err(error @ CommitError::TooLarge) => Err(ApiError::of_storage(&error)),
        Err(_) if names_version => Err(writer.modified(name)),
        Err(_) => Ok(None),
    }
}

/// An object that is put in the place of another must be the same one, if it says which it is.
fn check_uid(
    writer: &Writer<'_>,
    change: &Change<'_>,
    object: &Object,
    old: &Object,
) -> Result<(), ApiError> {
    let resource = writer.resource;
    // A patch of it is a change that cannot be.
    if change.replaces && !object.uid().is_empty() && object.uid() != old.uid() {
        let (sent, is) = (object.uid(), old.uid());
        let why =
            format!("Precondition failed: UID in precondition: {sent}, UID in object meta: {is}");
        return Err(resource.conflict(change.name, &why));
    }
    Ok(())
}

/// Returns true if the change names the version that it is for, and fails if that is not the stored one. Afterwards the object
/// has the stored version.
fn check_version(
    writer: &Writer<'_>,
    change: &Change<'_>,
    object: &mut Object,
    old: &Object,
) -> Result<bool, ApiError> {
    let resource = writer.resource;
    let version = object.resource_version();
    if version == old.resource_version() {
        // A patch has the version of what it was applied to, whether it named one or not.
        return Ok(change.replaces);
    }
    if !version.is_empty() && version != "0" {
        if version.parse::<u64>().is_err() {
            let message = format!("strconv.ParseUint: parsing {version:?}: invalid syntax");
            return Err(ApiError::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "",
                message,
            ));
        }
        return Err(writer.modified(change.name));
    }
    if change.replaces && resource.needs_version {
        let mut error = FieldError::invalid(
            "metadata.resourceVersion",
            0,
            "0x0: must be specified for an update",
        );
        // Go prints this number in hexadecimal.
        error.value = None;
        return Err(resource.invalid(change.name, &[error]));
    }
    object.set(&["metadata", "resourceVersion"], old.resource_version());
    Ok(false)
}
