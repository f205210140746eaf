//! Leases.

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use serde_json::json;

use super::fields;
use super::kind::{age, age_cell, columns, default_at, kind, name, text};
use crate::object::Object;
use crate::resources::{Behaviour, Cell, Resource, WriteTo};
use crate::status::FieldError;

/// Leases.
#[derive(Debug)]
pub(super) struct Leases;

pub(super) fn resource() -> Resource {
    Resource {
        columns: columns(cells, [name(), text("Holder", "Who holds it."), age()]),
        behaviour: &Leases,
        ..kind::<Lease>()
    }
}

fn cells(object: &Object, now: Timestamp) -> Vec<Cell> {
    let holder = object.str_at(&["spec", "holderIdentity"]);
    vec![object.name().into(), holder.into(), age_cell(object, now)]
}

impl Behaviour for Leases {
    fn prepare(&self, _write: &WriteTo<'_>, object: &mut Object, old: Option<&Object>) {
        default_at(object, &["spec"], json!({}));
        // Coordinated leader election is behind a gate that is closed.
        for field in ["strategy", "preferredHolder"] {
            if old.is_none_or(|old| old.at(&["spec", field]).is_none()) {
                object.remove(&["spec", field]);
            }
        }
    }

    fn validate(
        &self,
        _write: &WriteTo<'_>,
        object: &Object,
        _old: Option<&Object>,
    ) -> Vec<FieldError> {
        errors(object)
    }

    fn allows_unconditional_update(&self) -> bool {
        false
    }

    fn creates_on_update(&self) -> bool {
        true
    }
}

fn errors(object: &Object) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let duration = object.at(&["spec", "leaseDurationSeconds"]);
    if let Some(seconds) = duration.and_then(serde_json::Value::as_i64)
        && seconds <= 0
    {
        errors.push(FieldError::invalid(
            "spec.leaseDurationSeconds",
            seconds,
            "must be greater than 0",
        ));
    }
    errors.extend(fields::not_negative(object, &["spec", "leaseTransitions"]));
    errors
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_lease_lasts_some_time() {
        for (spec, expected) in [
            (json!({}), vec![]),
            (
                json!({"leaseDurationSeconds": 1, "leaseTransitions": 0}),
                vec![],
            ),
            (
                json!({"leaseDurationSeconds": 0, "leaseTransitions": -1}),
                vec![
                    "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
                    "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
                ],
            ),
        ] {
            let lease = Object::try_from(json!({"spec": spec})).unwrap();
            let told: Vec<String> = errors(&lease)
                .iter()
                .map(|error| format!("{}: {}", error.field, error.body()))
                .collect();
            assert_eq!(told, expected);
        }
    }
}
