//! Registrations of admission webhooks, and their defaults. [`webhook_checks`](super::webhook_checks) validates them.

use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use serde_json::{Value, json};

use super::kind::{
    age, age_cell, columns, count, default_in, integer, items_of, kind, name, names,
};
use super::webhook_checks::errors;
use crate::object::Object;
use crate::resources::{Behaviour, Cell, Resource, WriteTo};
use crate::status::FieldError;

/// Both kinds of registrations.
#[derive(Debug)]
struct Configurations {
    mutating: bool,
}

pub(super) fn mutating() -> Resource {
    Resource {
        behaviour: &Configurations { mutating: true },
        ..configuration(kind::<MutatingWebhookConfiguration>())
    }
}

pub(super) fn validating() -> Resource {
    Resource {
        behaviour: &Configurations { mutating: false },
        ..configuration(kind::<ValidatingWebhookConfiguration>())
    }
}

fn configuration(kind: Resource) -> Resource {
    let webhooks = integer("Webhooks", "How many webhooks are registered.");
    Resource {
        categories: names(&["api-extensions"]),
        columns: columns(cells, [name(), webhooks, age()]),
        needs_version: true,
        has_generation: true,
        ..kind
    }
}

fn cells(object: &Object, now: Timestamp) -> Vec<Cell> {
    vec![
        object.name().into(),
        count(object, &["webhooks"]).into(),
        age_cell(object, now),
    ]
}

impl Behaviour for Configurations {
    fn default(&self, object: &mut Object) {
        let webhooks = object.fields_mut().get_mut("webhooks");
        for webhook in webhooks.and_then(Value::as_array_mut).into_iter().flatten() {
            fill_in(webhook, self.mutating);
        }
    }

    fn validate(&self, write: &WriteTo<'_>, object: &Object) -> Vec<FieldError> {
        errors(object, write.old, self.mutating)
    }
}

fn fill_in(webhook: &mut Value, mutating: bool) {
    default_in(webhook, "failurePolicy", "Fail");
    default_in(webhook, "matchPolicy", "Equivalent");
    default_in(webhook, "namespaceSelector", json!({}));
    default_in(webhook, "objectSelector", json!({}));
    default_in(webhook, "timeoutSeconds", 10);
    if mutating {
        default_in(webhook, "reinvocationPolicy", "Never");
    }
    for rule in items_of(webhook, "rules") {
        default_in(rule, "scope", "*");
    }
    if let Some(service) = webhook.pointer_mut("/clientConfig/service") {
        default_in(service, "port", 443);
    }
}
