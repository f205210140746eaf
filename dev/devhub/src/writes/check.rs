//! Everything that an object must be before validating webhooks are asked.

use crate::object::Object;
use crate::resources::builtin::fields;
use crate::resources::{Resource, WriteTo, metadata};
use crate::status::ApiError;

/// Checks metadata, content, and what the writer may write.
pub(super) fn check(
    to: &WriteTo<'_>,
    object: &Object,
    old: Option<&Object>,
) -> Result<(), ApiError> {
    let resource = to.resource;
    let behaviour = resource.behaviour;
    let mut errors = metadata::errors(object, old, resource.namespaced, &|name| {
        behaviour.name_errors(name)
    });
    if resource.custom {
        let old = old.map(Object::to_value);
        errors.extend(resource.schema.check(&object.to_value(), old.as_ref()));
    } else if resource.group.is_empty() {
        errors.extend(fields::core_finalizers(object));
    }
    errors.extend(behaviour.validate(to, object, old));
    if !errors.is_empty() {
        return Err(ApiError::invalid(
            group(resource),
            &resource.kind,
            object.name(),
            &errors,
        ));
    }
    behaviour.authorize(to, object, old)
}

/// Words of warning about an object that is fine otherwise.
pub(super) fn warnings(resource: &Resource, object: &Object, old: Option<&Object>) -> Vec<String> {
    let mut warnings = resource.behaviour.warnings(object, old);
    if resource.custom {
        warnings.extend(metadata::finalizer_warnings(object, old));
    }
    warnings
}

/// The group that errors name: that of the version objects are kept in.
fn group(resource: &Resource) -> &str {
    let version = resource.storage_version.split_once('/');
    version.map_or("", |(group, _)| group)
}
