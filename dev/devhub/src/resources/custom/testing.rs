//! Definitions in tests.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

use super::{Definitions, checks, served};
use crate::object::Object;
use crate::resources::{Behaviour, Resource};
use crate::status::FieldError;

/// The resources that a definition serves, one for each served version.
///
/// # Errors
/// What kube-apiserver would refuse it for, and what devhub has not (conversion by webhook, ...).
pub(crate) fn resources(
    definition: &CustomResourceDefinition,
) -> Result<Vec<Resource>, Vec<FieldError>> {
    let wrong = |why: String| vec![FieldError::invalid("<nil>", Value::Null, why)];
    let json = serde_json::to_value(definition).map_err(|error| wrong(error.to_string()))?;
    let mut object = Object::try_from(json).map_err(|error| wrong(error.to_string()))?;
    Definitions.default(&mut object);
    let json = object.into_value();
    let errors = checks::errors(&json, None);
    if errors.is_empty() {
        Ok(served(&json))
    } else {
        Err(errors)
    }
}
