//! Validates registrations of admission webhooks.
//!
//! An update is checked only for webhooks that it changes.

use std::collections::BTreeSet;

use berth_api::names;
use http::Uri;
use serde_json::Value;

use super::fields::{self, duplicate, each_invalid, not_supported};
use crate::admission::check_condition;
use crate::object::{Object, items_at, text_at, texts_at};
use crate::status::FieldError;

const CONDITIONS_MAX: usize = 64;

/// Everything that is wrong.
pub(super) fn errors(object: &Object, old: Option<&Object>, mutating: bool) -> Vec<FieldError> {
    let known = old.map(|old| old.items(&["webhooks"])).unwrap_or_default();
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, webhook) in object.items(&["webhooks"]).iter().enumerate() {
        let at = format!("webhooks[{index}]");
        if !known.contains(webhook) {
            check(&at, webhook, mutating, &mut errors);
        }
        let name = text_at(webhook, "name");
        if !seen.insert(name) {
            errors.push(duplicate(format!("{at}.name"), name));
        }
    }
    errors
}

fn check(at: &str, webhook: &Value, mutating: bool, errors: &mut Vec<FieldError>) {
    let name = text_at(webhook, "name");
    let wrong = names::dns1123_subdomain(name);
    if wrong.is_empty() && name.split('.').count() < 3 {
        let words = "should be a domain with at least three segments separated by dots";
        errors.push(FieldError::invalid(format!("{at}.name"), name, words));
    }
    errors.extend(each_invalid(&format!("{at}.name"), name, wrong));
    for (index, rule) in items_at(webhook, "rules").iter().enumerate() {
        check_rule(&format!("{at}.rules[{index}]"), rule, errors);
    }
    one_of(at, webhook, "failurePolicy", &["Fail", "Ignore"], errors);
    one_of(at, webhook, "matchPolicy", &["Equivalent", "Exact"], errors);
    if mutating {
        let policies = ["IfNeeded", "Never"];
        one_of(at, webhook, "reinvocationPolicy", &policies, errors);
    }
    let side_effects = ["None", "NoneOnDryRun"];
    if text_at(webhook, "sideEffects").is_empty() {
        let detail = format!("must specify one of {}", side_effects.join(", "));
        errors.push(FieldError::required(format!("{at}.sideEffects"), detail));
    }
    one_of(at, webhook, "sideEffects", &side_effects, errors);
    let timeout = webhook.get("timeoutSeconds").and_then(Value::as_i64);
    if let Some(seconds) = timeout.filter(|seconds| !(1..=30).contains(seconds)) {
        let words = "the timeout value must be between 1 and 30 seconds";
        let at = format!("{at}.timeoutSeconds");
        errors.push(FieldError::invalid(at, seconds, words));
    }
    for field in ["namespaceSelector", "objectSelector"] {
        if let Some(selector) = webhook.get(field) {
            errors.extend(fields::selector(&format!("{at}.{field}"), selector));
        }
    }
    let versions = texts_at(webhook, "admissionReviewVersions");
    if !versions.contains(&"v1") {
        let words = "must include v1, the one version that devhub has";
        let at = format!("{at}.admissionReviewVersions");
        errors.push(match versions.is_empty() {
            true => FieldError::required(at, words),
            false => FieldError::invalid(at, versions, words),
        });
    }
    check_client(
        &format!("{at}.clientConfig"),
        &webhook["clientConfig"],
        errors,
    );
    check_conditions(&format!("{at}.matchConditions"), webhook, errors);
}

/// A field that, if it is there, has one of these values.
fn one_of(at: &str, value: &Value, field: &str, known: &[&str], errors: &mut Vec<FieldError>) {
    let text = text_at(value, field);
    if !text.is_empty() && !known.contains(&text) {
        errors.push(not_supported(format!("{at}.{field}"), text, known));
    }
}

fn check_rule(at: &str, rule: &Value, errors: &mut Vec<FieldError>) {
    for field in ["operations", "apiGroups", "apiVersions", "resources"] {
        let values = texts_at(rule, field);
        let at = format!("{at}.{field}");
        if values.is_empty() {
            errors.push(FieldError::required(at, ""));
        } else if values.len() > 1 && values.contains(&"*") && field != "resources" {
            let words = "if '*' is present, must not specify others";
            errors.push(FieldError::invalid(at, values, words));
        }
    }
    let operations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
    for operation in texts_at(rule, "operations") {
        if !operations.contains(&operation) {
            let at = format!("{at}.operations");
            errors.push(not_supported(at, operation, &operations));
        }
    }
    one_of(at, rule, "scope", &["*", "Cluster", "Namespaced"], errors);
}

/// Where the webhook is called: `https://host[/path]`, or a Service.
fn check_client(at: &str, client: &Value, errors: &mut Vec<FieldError>) {
    let part = |name: &str| client.get(name).filter(|value| !value.is_null());
    match (part("url"), part("service")) {
        (Some(url), None) => {
            let at = format!("{at}.url");
            let url = url.as_str().unwrap_or_default();
            let words = match url.parse::<Uri>() {
                Err(error) => format!("url must be a valid URL: {error}"),
                Ok(uri) if uri.scheme_str() != Some("https") => {
                    "'https' is the only allowed URL scheme".to_owned()
                }
                Ok(uri) if uri.query().is_some() || url.contains(['#', '@']) => {
                    "user information, queries and fragments are not permitted in the URL"
                        .to_owned()
                }
                Ok(_) => return,
            };
            errors.push(FieldError::invalid(at, url, words));
        }
        (None, Some(service)) => {
            for field in ["name", "namespace"] {
                if text_at(service, field).is_empty() {
                    errors.push(FieldError::required(format!("{at}.service.{field}"), ""));
                }
            }
            let port = service.get("port").and_then(Value::as_i64).unwrap_or(443);
            if !(1..=65535).contains(&port) {
                let words = "port is not valid: must be between 1 and 65535, inclusive";
                errors.push(FieldError::invalid(
                    format!("{at}.service.port"),
                    port,
                    words,
                ));
            }
            let path = text_at(service, "path");
            if !path.is_empty() && !path.starts_with('/') {
                let words = "must start with a '/'";
                errors.push(FieldError::invalid(
                    format!("{at}.service.path"),
                    path,
                    words,
                ));
            }
        }
        _ => {
            let words = "exactly one of url or service is required";
            errors.push(FieldError::required(at, words));
        }
    }
}

fn check_conditions(at: &str, webhook: &Value, errors: &mut Vec<FieldError>) {
    let conditions = items_at(webhook, "matchConditions");
    if conditions.len() > CONDITIONS_MAX {
        errors.push(fields::too_many(at, conditions.len(), CONDITIONS_MAX));
    }
    let mut seen = BTreeSet::new();
    for (index, condition) in conditions.iter().enumerate() {
        let expression = text_at(condition, "expression");
        if let Err(problem) = check_condition(expression) {
            let at = format!("{at}[{index}].expression");
            errors.push(FieldError::invalid(at, expression, problem));
        }
        let name = text_at(condition, "name");
        let at = format!("{at}[{index}].name");
        errors.extend(each_invalid(&at, name, names::qualified_name(name)));
        if !seen.insert(name) {
            errors.push(duplicate(at, name));
        }
    }
}
