//! What is wrong with a registration of admission webhooks.
//!
//! An update is held only to what the stored registration kept already, where Kubernetes became stricter over time.

use std::collections::BTreeSet;

use berth_api::names;
use serde_json::Value;

use super::fields::{self, duplicate, each_invalid, not_supported};
use super::kind::{items_at, text_of};
use super::webhook_clients;
use crate::admission::check_condition;
use crate::object::Object;
use crate::status::FieldError;

/// Versions of AdmissionReview that are spoken.
const REVIEWS: [&str; 2] = ["v1", "v1beta1"];

/// Side effects that need no care in a dry run.
const HARMLESS: [&str; 2] = ["None", "NoneOnDryRun"];

const SIDE_EFFECTS: [&str; 4] = ["None", "NoneOnDryRun", "Some", "Unknown"];
const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const CONDITIONS_MAX: usize = 64;

/// Which of the newer rules hold.
struct Strictness {
    conditions: bool,
    harmless: bool,
    known_review: bool,
    unique_names: bool,
}

/// Everything that is wrong.
pub(super) fn errors(object: &Object, old: Option<&Object>, mutating: bool) -> Vec<FieldError> {
    let webhooks = items_at(object, &["webhooks"]);
    let strictness = Strictness::of(webhooks, old);
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, webhook) in webhooks.iter().enumerate() {
        let at = format!("webhooks[{index}]");
        errors.extend(webhook_errors(&at, webhook, &strictness, mutating));
        errors.extend(review_errors(
            &format!("{at}.admissionReviewVersions"),
            webhook.get("admissionReviewVersions"),
            strictness.known_review,
        ));
        let name = text_of(webhook, "name");
        if strictness.unique_names && !name.is_empty() && !seen.insert(name) {
            errors.push(duplicate(format!("{at}.name"), name));
        }
    }
    errors
}

impl Strictness {
    fn of(new: &[Value], old: Option<&Object>) -> Self {
        let Some(old) = old else {
            return Self {
                conditions: true,
                harmless: true,
                known_review: true,
                unique_names: true,
            };
        };
        let old = items_at(old, &["webhooks"]);
        let conditions = |webhooks: &[Value]| -> Vec<Option<Value>> {
            let webhooks = webhooks.iter();
            webhooks
                .map(|webhook| webhook.get("matchConditions").cloned())
                .collect()
        };
        let knows_a_review = |webhook: &Value| {
            let versions = texts(webhook, "admissionReviewVersions");
            versions.is_empty() || versions.iter().any(|version| REVIEWS.contains(version))
        };
        let names: BTreeSet<&str> = old.iter().map(|webhook| text_of(webhook, "name")).collect();
        Self {
            conditions: conditions(new) != conditions(old),
            harmless: old
                .iter()
                .all(|webhook| HARMLESS.contains(&text_of(webhook, "sideEffects"))),
            known_review: old.iter().all(knows_a_review),
            unique_names: names.len() == old.len(),
        }
    }
}

fn webhook_errors(
    at: &str,
    webhook: &Value,
    strictness: &Strictness,
    mutating: bool,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    errors.extend(qualified_name_error(
        &format!("{at}.name"),
        text_of(webhook, "name"),
    ));
    for (index, rule) in items(webhook, "rules").iter().enumerate() {
        errors.extend(rule_errors(&format!("{at}.rules[{index}]"), rule));
    }
    let one_of = |field: &str, supported: &[&str]| {
        let value = webhook.get(field).and_then(Value::as_str)?;
        (!supported.contains(&value))
            .then(|| not_supported(format!("{at}.{field}"), value, supported))
    };
    errors.extend(one_of("failurePolicy", &["Fail", "Ignore"]));
    errors.extend(one_of("matchPolicy", &["Equivalent", "Exact"]));
    let side_effects: &[&str] = if strictness.harmless {
        &HARMLESS
    } else {
        &SIDE_EFFECTS
    };
    if webhook.get("sideEffects").is_none_or(Value::is_null) {
        let detail = format!("must specify one of {}", side_effects.join(", "));
        errors.push(FieldError::required(format!("{at}.sideEffects"), detail));
    }
    errors.extend(one_of("sideEffects", side_effects));
    let timeout = webhook.get("timeoutSeconds").and_then(Value::as_i64);
    if let Some(seconds) = timeout
        && !(1..=30).contains(&seconds)
    {
        errors.push(FieldError::invalid(
            format!("{at}.timeoutSeconds"),
            seconds,
            "the timeout value must be between 1 and 30 seconds",
        ));
    }
    for field in ["namespaceSelector", "objectSelector"] {
        if let Some(selector) = webhook.get(field) {
            errors.extend(fields::selector(&format!("{at}.{field}"), selector));
        }
    }
    if mutating {
        errors.extend(one_of("reinvocationPolicy", &["IfNeeded", "Never"]));
    }
    errors.extend(webhook_clients::errors(
        &format!("{at}.clientConfig"),
        webhook.get("clientConfig"),
    ));
    if strictness.conditions {
        errors.extend(condition_errors(
            &format!("{at}.matchConditions"),
            items(webhook, "matchConditions"),
        ));
    }
    errors
}

fn qualified_name_error(at: &str, name: &str) -> Option<FieldError> {
    if name.is_empty() {
        return Some(FieldError::required(at, ""));
    }
    let reasons = names::dns1123_subdomain(name);
    if !reasons.is_empty() {
        return Some(FieldError::invalid(at, name, reasons.join(",")));
    }
    (name.split('.').count() < 3).then(|| {
        FieldError::invalid(
            at,
            name,
            "should be a domain with at least three segments separated by dots",
        )
    })
}

fn rule_errors(at: &str, rule: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let operations = texts(rule, "operations");
    errors.extend(list_errors(at, rule, "operations", "operations"));
    for (index, operation) in operations.iter().enumerate() {
        if !OPERATIONS.contains(operation) {
            let at = format!("{at}.operations[{index}]");
            errors.push(not_supported(at, *operation, &OPERATIONS));
        }
    }
    errors.extend(list_errors(at, rule, "apiGroups", "API groups"));
    errors.extend(list_errors(at, rule, "apiVersions", "API versions"));
    for (index, version) in texts(rule, "apiVersions").iter().enumerate() {
        if version.is_empty() {
            errors.push(FieldError::required(
                format!("{at}.apiVersions[{index}]"),
                "",
            ));
        }
    }
    errors.extend(resource_errors(&format!("{at}.resources"), rule));
    if let Some(scope) = rule.get("scope").and_then(Value::as_str)
        && !["*", "Cluster", "Namespaced"].contains(&scope)
    {
        let supported = ["*", "Cluster", "Namespaced"];
        errors.push(not_supported(format!("{at}.scope"), scope, &supported));
    }
    errors
}

/// A list that has something, and `*` only alone.
fn list_errors(at: &str, rule: &Value, field: &str, what: &str) -> Option<FieldError> {
    let values = texts(rule, field);
    let at = format!("{at}.{field}");
    if values.is_empty() {
        return Some(FieldError::required(at, ""));
    }
    (values.len() > 1 && values.contains(&"*")).then(|| {
        let detail = format!("if '*' is present, must not specify other {what}");
        FieldError::invalid(at, values, detail)
    })
}

fn resource_errors(at: &str, rule: &Value) -> Vec<FieldError> {
    let resources = texts(rule, "resources");
    if resources.is_empty() {
        return vec![FieldError::required(at, "")];
    }
    let mut errors = Vec::new();
    let (mut all_parts_of, mut part_of_all) = (BTreeSet::new(), BTreeSet::new());
    let mut last_is_plain = false;
    for (index, &name) in resources.iter().enumerate() {
        let at = format!("{at}[{index}]");
        if name.is_empty() {
            errors.push(FieldError::required(at, ""));
            continue;
        }
        let Some((resource, part)) = name.split_once('/') else {
            last_is_plain = name != "*";
            continue;
        };
        if all_parts_of.contains(resource) {
            let detail = format!("if '{resource}/*' is present, must not specify {name}");
            errors.push(FieldError::invalid(at.as_str(), name, detail));
        }
        if part_of_all.contains(part) {
            let detail = format!("if '*/{part}' is present, must not specify {name}");
            errors.push(FieldError::invalid(at, name, detail));
        }
        if part == "*" {
            all_parts_of.insert(resource);
        }
        if resource == "*" {
            part_of_all.insert(part);
        }
    }
    if resources.len() > 1 && resources.contains(&"*/*") {
        let detail = "if '*/*' is present, must not specify other resources";
        errors.push(FieldError::invalid(at, resources.clone(), detail));
    }
    if resources.contains(&"*") && last_is_plain {
        let detail = "if '*' is present, must not specify other resources without subresources";
        errors.push(FieldError::invalid(at, resources, detail));
    }
    errors
}

fn condition_errors(at: &str, conditions: &[Value]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if conditions.len() > CONDITIONS_MAX {
        errors.push(fields::too_many(at, conditions.len(), CONDITIONS_MAX));
    }
    let mut seen = BTreeSet::new();
    for (index, condition) in conditions.iter().enumerate() {
        let at = format!("{at}[{index}]");
        let expression = text_of(condition, "expression").trim();
        if expression.is_empty() {
            errors.push(FieldError::required(format!("{at}.expression"), ""));
        } else if let Err(problem) = check_condition(expression) {
            errors.push(FieldError::invalid(
                format!("{at}.expression"),
                expression,
                problem,
            ));
        }
        let name = text_of(condition, "name");
        let at = format!("{at}.name");
        if name.is_empty() {
            errors.push(FieldError::required(at, ""));
            continue;
        }
        errors.extend(each_invalid(&at, name, names::qualified_name(name)));
        if !seen.insert(name) {
            errors.push(duplicate(at, name));
        }
    }
    errors
}

fn review_errors(at: &str, versions: Option<&Value>, known_review: bool) -> Vec<FieldError> {
    let list = versions.and_then(Value::as_array);
    let versions: Vec<&str> = list
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let known = REVIEWS.join(", ");
    if versions.is_empty() {
        let detail = format!("must specify one of {known}");
        return vec![FieldError::required(at, detail)];
    }
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, &version) in versions.iter().enumerate() {
        let at = format!("{at}[{index}]");
        if !seen.insert(version) {
            errors.push(FieldError::invalid(at, version, "duplicate version"));
            continue;
        }
        errors.extend(each_invalid(&at, version, fields::dns1035_label(version)));
    }
    if known_review && !versions.iter().any(|version| REVIEWS.contains(version)) {
        let detail = format!("must include at least one of {known}");
        errors.push(FieldError::invalid(at, versions, detail));
    }
    errors
}

fn items<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    let list = value.get(field).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

fn texts<'a>(value: &'a Value, field: &str) -> Vec<&'a str> {
    items(value, field)
        .iter()
        .filter_map(Value::as_str)
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;

    fn object(webhooks: Value) -> Object {
        Object::try_from(json!({"webhooks": webhooks})).unwrap()
    }

    fn told(errors: &[FieldError]) -> Vec<String> {
        let told = errors.iter();
        told.map(|error| format!("{}: {}", error.field, error.body()))
            .collect()
    }

    fn fine() -> Value {
        json!({
            "name": "a.example.com",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": {"name": "s", "namespace": "n", "port": 443, "path": "/a/b/"}},
            "rules": [{
                "operations": ["CREATE"],
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "resources": ["pods", "pods/status"],
                "scope": "*",
            }],
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "timeoutSeconds": 30,
            "reinvocationPolicy": "Never",
        })
    }

    /// The fine webhook with one field changed (or, with null, removed).
    fn with(pointer: &str, value: Value) -> Value {
        let mut webhook = fine();
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        let parent = webhook
            .pointer_mut(parent)
            .unwrap()
            .as_object_mut()
            .unwrap();
        if value.is_null() {
            parent.remove(field);
        } else {
            parent.insert(field.to_owned(), value);
        }
        webhook
    }

    #[test]
    fn a_registration_is_refused_in_kubernetes_words() {
        let url = |url: &str| with("/clientConfig", json!({"url": url}));
        let form = "; desired format: https://host[/path]";
        let rows: Vec<(&str, Value, Vec<String>)> = vec![
            ("fine", fine(), vec![]),
            ("no name", with("/name", json!(null)), vec!["name: Required value".into()]),
            ("a short name", with("/name", json!("a.b")), vec!["name: Invalid value: \"a.b\": should be a domain with at least three segments separated by dots".into()]),
            ("an odd policy", with("/failurePolicy", json!("Warn")), vec!["failurePolicy: Unsupported value: \"Warn\": supported values: \"Fail\", \"Ignore\"".into()]),
            ("an odd match", with("/matchPolicy", json!("All")), vec!["matchPolicy: Unsupported value: \"All\": supported values: \"Equivalent\", \"Exact\"".into()]),
            ("an odd second call", with("/reinvocationPolicy", json!("Always")), vec!["reinvocationPolicy: Unsupported value: \"Always\": supported values: \"IfNeeded\", \"Never\"".into()]),
            ("no side effects told", with("/sideEffects", json!(null)), vec!["sideEffects: Required value: must specify one of None, NoneOnDryRun".into()]),
            ("side effects", with("/sideEffects", json!("Some")), vec!["sideEffects: Unsupported value: \"Some\": supported values: \"None\", \"NoneOnDryRun\"".into()]),
            ("a long time", with("/timeoutSeconds", json!(31)), vec!["timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds".into()]),
            ("nobody to call", with("/clientConfig", json!({})), vec!["clientConfig: Required value: exactly one of url or service is required".into()]),
            ("two to call", with("/clientConfig/url", json!("https://a")), vec!["clientConfig: Required value: exactly one of url or service is required".into()]),
            ("no service's name", with("/clientConfig/service/name", json!(null)), vec!["clientConfig.service.name: Required value".into()]),
            ("no such port", with("/clientConfig/service/port", json!(0)), vec!["clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive".into()]),
            ("a path without a root", with("/clientConfig/service/path", json!("xa")), vec!["clientConfig.service.path: Invalid value: \"xa\": must start with a '/'".into()]),
            ("an empty step", with("/clientConfig/service/path", json!("/a//b")), vec!["clientConfig.service.path: Invalid value: \"/a//b\": segment[1] may not be empty".into()]),
            ("no review", with("/admissionReviewVersions", json!([])), vec!["admissionReviewVersions: Required value: must specify one of v1, v1beta1".into()]),
            ("an unknown review", with("/admissionReviewVersions", json!(["v3"])), vec!["admissionReviewVersions: Invalid value: [\"v3\"]: must include at least one of v1, v1beta1".into()]),
            ("a review twice", with("/admissionReviewVersions", json!(["v1", "v1"])), vec!["admissionReviewVersions[1]: Invalid value: \"v1\": duplicate version".into()]),
            ("a URL", url("https://a/b"), vec![]),
            ("a URL with a port", url("https://[::1]:8443/b"), vec![]),
            ("a plain URL", url("http://a"), vec![format!("clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme{form}")]),
            ("no host", url("https:a"), vec![format!("clientConfig.url: Invalid value: \"\": host must be specified{form}")]),
            ("a user", url("https://u@a"), vec!["clientConfig.url: Invalid value: \"u\": user information is not permitted in the URL".into()]),
            ("a fragment", url("https://a#f"), vec!["clientConfig.url: Invalid value: \"f\": fragments are not permitted in the URL".into()]),
            ("a query", url("https://a?q=1"), vec!["clientConfig.url: Invalid value: \"q=1\": query parameters are not permitted in the URL".into()]),
            ("a broken escape", url("https://a/%zz"), vec![format!("clientConfig.url: Required value: url must be a valid URL: parse \"https://a/%zz\": invalid URL escape \"%zz\"{form}")]),
            ("an escape that ends", url("https://a/%é?%"), vec![format!("clientConfig.url: Required value: url must be a valid URL: parse \"https://a/%é?%\": invalid URL escape \"%é\"{form}")]),
            ("a control character", url("https://a\u{1}b"), vec![format!("clientConfig.url: Required value: url must be a valid URL: parse \"https://a\\x01b\": net/url: invalid control character in URL{form}")]),
            ("no URL", url("https://a:b"), vec![format!("clientConfig.url: Required value: url must be a valid URL: parse \"https://a:b\": invalid port \":b\" after host{form}")]),
        ];
        for (sentence, webhook, expected) in rows {
            let expected: Vec<String> = expected
                .into_iter()
                .map(|error| format!("webhooks[0].{error}"))
                .collect();
            let errors = errors(&object(json!([webhook])), None, true);
            assert_eq!(told(&errors), expected, "{sentence}");
        }
    }

    #[test]
    fn a_rule_is_refused_in_kubernetes_words() {
        for (field, value, expected) in [
            ("operations", json!([]), vec!["operations: Required value"]),
            (
                "operations",
                json!(["*", "CREATE"]),
                vec![
                    "operations: Invalid value: [\"*\",\"CREATE\"]: if '*' is present, must not specify other operations",
                ],
            ),
            (
                "operations",
                json!(["READ"]),
                vec![
                    "operations[0]: Unsupported value: \"READ\": supported values: \"*\", \"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\"",
                ],
            ),
            (
                "apiGroups",
                json!(["*", "a"]),
                vec![
                    "apiGroups: Invalid value: [\"*\",\"a\"]: if '*' is present, must not specify other API groups",
                ],
            ),
            (
                "apiVersions",
                json!([""]),
                vec!["apiVersions[0]: Required value"],
            ),
            ("resources", json!([]), vec!["resources: Required value"]),
            ("resources", json!(["a", "*/status"]), vec![]),
            (
                "resources",
                json!(["a/*", "a/b"]),
                vec![
                    "resources[1]: Invalid value: \"a/b\": if 'a/*' is present, must not specify a/b",
                ],
            ),
            (
                "resources",
                json!(["*/b", "a/b"]),
                vec![
                    "resources[1]: Invalid value: \"a/b\": if '*/b' is present, must not specify a/b",
                ],
            ),
            (
                "resources",
                json!(["*", "a"]),
                vec![
                    "resources: Invalid value: [\"*\",\"a\"]: if '*' is present, must not specify other resources without subresources",
                ],
            ),
            (
                "resources",
                json!(["a", "*/*"]),
                vec![
                    "resources: Invalid value: [\"a\",\"*/*\"]: if '*/*' is present, must not specify other resources",
                ],
            ),
            (
                "scope",
                json!("All"),
                vec![
                    "scope: Unsupported value: \"All\": supported values: \"*\", \"Cluster\", \"Namespaced\"",
                ],
            ),
        ] {
            let mut webhook = fine();
            webhook["rules"][0][field] = value;
            let errors = errors(&object(json!([webhook])), None, false);
            let expected: Vec<String> = expected
                .into_iter()
                .map(|error| format!("webhooks[0].rules[0].{error}"))
                .collect();
            assert_eq!(told(&errors), expected);
        }
    }

    #[test]
    fn names_and_conditions_are_unique() {
        let twice = object(json!([fine(), fine()]));
        assert_eq!(
            told(&errors(&twice, None, true)),
            ["webhooks[1].name: Duplicate value: \"a.example.com\""]
        );
        let conditions = json!([
            {"name": "a", "expression": "true"},
            {"name": "a", "expression": " "},
            {"expression": "true"},
        ]);
        let webhook = with("/matchConditions", conditions);
        assert_eq!(
            told(&errors(&object(json!([webhook])), None, true)),
            [
                "webhooks[0].matchConditions[1].expression: Required value",
                "webhooks[0].matchConditions[1].name: Duplicate value: \"a\"",
                "webhooks[0].matchConditions[2].name: Required value",
            ]
        );
        let many: Vec<Value> = (0..65)
            .map(|index| json!({"name": format!("c{index}"), "expression": "true"}))
            .collect();
        let webhook = with("/matchConditions", json!(many));
        assert_eq!(
            told(&errors(&object(json!([webhook])), None, true)),
            ["webhooks[0].matchConditions: Too many: 65: must have at most 64 items"]
        );
    }

    #[test]
    fn an_update_is_held_to_what_was_kept_before() {
        let old = with("/sideEffects", json!("Some"));
        let still = object(json!([old.clone(), old]));
        assert_eq!(told(&errors(&still, Some(&still), true)), [""; 0]);
        let good = object(json!([fine()]));
        assert_eq!(errors(&still, Some(&good), true).len(), 3);
    }

    #[test]
    fn any_shape_is_taken() {
        for webhooks in [
            json!(null),
            json!([1]),
            json!([{"rules": [null, 3], "clientConfig": []}]),
        ] {
            let _ = errors(&object(webhooks), None, true);
        }
    }
}
