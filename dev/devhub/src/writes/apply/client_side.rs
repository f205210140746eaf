//! The annotation of client-side `kubectl apply`, which holds the configuration that was applied last.
//!
//! `kubectl apply --server-side` takes over the fields in it that are unchanged since, and keeps the annotation up to date, so
//! that the user can go back to client-side apply.

use serde_json::Value;

use super::set::FieldSet;
use super::shape::Shape;
use super::validate;
use super::walk::{Difference, fields_of};
use crate::object::Object;
use crate::writes::go;

/// The manager for whom this is done.
pub(crate) const APPLIER: &str = "kubectl";

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

const PATH: &[&str] = &["metadata", "annotations", LAST_APPLIED];

/// How long all annotations may be.
const MAX_ANNOTATIONS: usize = 256 * 1024;

/// The fields in the configuration that was applied last whose values are still there. None if there is no such
/// configuration, or it cannot be read.
pub(crate) fn fields(live: &Object, api_version: &str, shape: Shape<'_>) -> FieldSet {
    let Ok(last) = serde_json::from_str::<Value>(live.str_at(PATH)) else {
        return FieldSet::default();
    };
    let same_version = last.get("apiVersion").and_then(Value::as_str) == Some(api_version);
    if !same_version || validate::errors(&last, shape).is_some() {
        return FieldSet::default();
    }
    let changed = Difference::between(&last, &live.to_value(), shape);
    fields_of(&last, shape)
        .difference(&changed.written())
        .difference(&changed.removed)
}

/// Writes the configuration into the annotation of an object that has one.
pub(crate) fn refresh(object: &mut Object, configuration: &Object) {
    if object.str_at(PATH).is_empty() {
        return;
    }
    let mut configuration = configuration.clone();
    configuration.remove(PATH);
    let text = format!("{}\n", go::json(&configuration.into_value()));
    object.set(PATH, text);
    let annotations = object.at(&["metadata", "annotations"]);
    let lengths = annotations
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, value)| key.len() + value.as_str().map_or(0, str::len));
    if lengths.sum::<usize>() > MAX_ANNOTATIONS {
        object.remove(PATH);
    }
}
