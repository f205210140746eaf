//! Validates an object before validating webhooks are called.

use crate::object::Object;
use crate::resources::builtin::fields;
use crate::resources::{Resource, WriteTo, metadata};
use crate::status::ApiError;

/// Checks metadata, content, and what the writer may write.
pub(super) fn check(to: &WriteTo<'_>, object: &Object) -> Result<(), ApiError> {
    let (resource, behaviour) = (to.resource, to.resource.behaviour);
    let name_errors = resource.name_errors;
    let mut errors = metadata::errors(object, to.old, resource.namespaced, &name_errors);
    if resource.custom {
        let old = to.old.map(Object::to_value);
        errors.extend(resource.schema.check(&object.to_value(), old.as_ref()));
    } else if resource.group.is_empty() {
        errors.extend(fields::core_finalizers(object));
    }
    errors.extend(behaviour.validate(to, object));
    if !errors.is_empty() {
        return Err(ApiError::invalid(
            group(resource),
            &resource.kind,
            object.name(),
            &errors,
        ));
    }
    behaviour.authorize(to, object)
}

/// Words of warning about an object that is fine otherwise.
pub(super) fn warnings(to: &WriteTo<'_>, object: &Object) -> Vec<String> {
    let mut warnings = to.resource.behaviour.warnings(object);
    if to.resource.custom {
        warnings.extend(metadata::finalizer_warnings(object, to.old));
    }
    warnings
}

/// The group that errors name: that of the version objects are kept in.
fn group(resource: &Resource) -> &str {
    let version = resource.storage_version.split_once('/');
    version.map_or("", |(group, _)| group)
}
