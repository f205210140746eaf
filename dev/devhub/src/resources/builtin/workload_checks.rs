//! What is wrong with a Deployment, a Service or a PodDisruptionBudget, as far as it matters where nothing runs.

use std::collections::BTreeSet;

use berth_api::names;
use serde_json::Value;

use super::fields::{self, duplicate, not_supported};
use super::kind::{items_at, map_at, text_of};
use crate::object::Object;
use crate::status::FieldError;

/// Where a template's labels are.
const LABELS: [&str; 4] = ["spec", "template", "metadata", "labels"];

/// A Deployment's errors.
pub(super) fn deployment(object: &Object, old: Option<&Object>) -> Vec<FieldError> {
    let mut errors = fields::core_finalizers(object);
    errors.extend(fields::not_negative(object, &["spec", "replicas"]));
    match object
        .at(&["spec", "selector"])
        .filter(|value| !value.is_null())
    {
        None => {
            errors.push(FieldError::required("spec.selector", ""));
            errors.push(no_match(object));
        }
        Some(selector) => {
            errors.extend(fields::selector("spec.selector", selector));
            errors.extend(selection_error(object, selector));
        }
    }
    errors.extend(container_errors(object));
    errors.extend(strategy_errors(object));
    for field in [
        "minReadySeconds",
        "revisionHistoryLimit",
        "progressDeadlineSeconds",
    ] {
        errors.extend(fields::not_negative(object, &["spec", field]));
    }
    let seconds = |field| object.at(&["spec", field]).and_then(Value::as_i64);
    if let Some(deadline) = seconds("progressDeadlineSeconds")
        && deadline <= seconds("minReadySeconds").unwrap_or(0)
    {
        let detail = "must be greater than minReadySeconds";
        errors.push(FieldError::invalid(
            "spec.progressDeadlineSeconds",
            deadline,
            detail,
        ));
    }
    if let Some(old) = old {
        errors.extend(fields::unchanged(object, old, &["spec", "selector"]));
    }
    errors
}

/// The selector must select something, and the template's pods.
fn selection_error(object: &Object, selector: &Value) -> Option<FieldError> {
    let size = |field: &str| match selector.get(field) {
        Some(Value::Object(map)) => map.len(),
        Some(Value::Array(list)) => list.len(),
        _ => 0,
    };
    if size("matchLabels") + size("matchExpressions") == 0 {
        let detail = "empty selector is invalid for deployment";
        return Some(FieldError::invalid(
            "spec.selector",
            selector.clone(),
            detail,
        ));
    }
    let selector = serde_json::from_value(selector.clone()).ok()?;
    let selector = berth_api::selector::Selector::parse(&selector).ok()?;
    let labels = map_at(object, &LABELS).cloned().unwrap_or_default();
    let as_text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let map = labels
        .iter()
        .map(|(key, value)| (key.clone(), as_text(value)))
        .collect();
    (!selector.matches(&map)).then(|| no_match(object))
}

/// What selects nothing selects no pod of the template either.
fn no_match(object: &Object) -> FieldError {
    let labels = map_at(object, &LABELS).cloned().unwrap_or_default();
    let detail = "`selector` does not match template `labels`";
    FieldError::invalid(LABELS.join("."), labels, detail)
}

fn container_errors(object: &Object) -> Vec<FieldError> {
    let path = ["spec", "template", "spec", "containers"];
    let at = path.join(".");
    let containers = items_at(object, &path);
    if containers.is_empty() {
        return vec![FieldError::required(at, "")];
    }
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, container) in containers.iter().enumerate() {
        let name = text_of(container, "name");
        let field = format!("{at}[{index}].name");
        if name.is_empty() {
            errors.push(FieldError::required(field, ""));
        } else {
            let reasons = names::dns1123_label(name);
            errors.extend(fields::each_invalid(&field, name, reasons));
            if !seen.insert(name) {
                errors.push(duplicate(field, name));
            }
        }
        if text_of(container, "image").is_empty() {
            errors.push(FieldError::required(format!("{at}[{index}].image"), ""));
        }
    }
    errors
}

fn strategy_errors(object: &Object) -> Vec<FieldError> {
    let rolling = object
        .at(&["spec", "strategy", "rollingUpdate"])
        .filter(|value| !value.is_null());
    match object.str_at(&["spec", "strategy", "type"]) {
        "Recreate" if rolling.is_some() => vec![FieldError::forbidden(
            "spec.strategy.rollingUpdate",
            "may not be specified when strategy `type` is 'Recreate'",
        )],
        "Recreate" => Vec::new(),
        "RollingUpdate" => {
            let mut errors = Vec::new();
            let at = |field| format!("spec.strategy.rollingUpdate.{field}");
            let of = |field| rolling.and_then(|rolling| rolling.get(field));
            for field in ["maxUnavailable", "maxSurge"] {
                errors.extend(of(field).and_then(|value| amount_error(&at(field), value)));
            }
            let is_zero = |field| of(field).is_some_and(|value| *value == 0 || *value == "0%");
            if is_zero("maxUnavailable") && is_zero("maxSurge") {
                errors.push(FieldError::invalid(
                    at("maxUnavailable"),
                    of("maxUnavailable").cloned().unwrap_or_default(),
                    "may not be 0 when `maxSurge` is 0",
                ));
            }
            errors.extend(
                of("maxUnavailable").and_then(|value| share_error(&at("maxUnavailable"), value)),
            );
            errors
        }
        _ => {
            let strategy = object.at(&["spec", "strategy"]).cloned();
            let supported = ["Recreate", "RollingUpdate"];
            vec![not_supported(
                "spec.strategy",
                strategy.unwrap_or_default(),
                &supported,
            )]
        }
    }
}

/// A number that is not negative, or a percentage.
fn amount_error(field: &str, value: &Value) -> Option<FieldError> {
    let detail = match value {
        Value::String(text) if percent(text).is_none() => {
            "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
        }
        Value::Number(number) if number.as_i64().is_some_and(|number| number < 0) => {
            "must be greater than or equal to 0"
        }
        _ => return None,
    };
    Some(FieldError::invalid(field, value.clone(), detail))
}

fn share_error(field: &str, value: &Value) -> Option<FieldError> {
    let share = value.as_str().and_then(percent)?;
    (share > 100)
        .then(|| FieldError::invalid(field, value.clone(), "must not be greater than 100%"))
}

fn percent(text: &str) -> Option<u64> {
    let digits = text.strip_suffix('%')?;
    let are_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    are_digits.then(|| digits.parse().unwrap_or(u64::MAX))
}

/// A Service's errors.
pub(super) fn service(object: &Object) -> Vec<FieldError> {
    const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    let mut errors = fields::core_finalizers(object);
    let sort = object.str_at(&["spec", "type"]);
    let headless = object.str_at(&["spec", "clusterIP"]) == "None";
    let ports = items_at(object, &["spec", "ports"]);
    if ports.is_empty() && !headless && sort != "ExternalName" {
        errors.push(FieldError::required("spec.ports", ""));
    }
    let mut seen = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let at = format!("spec.ports[{index}]");
        errors.extend(port_errors(&at, port, ports.len() > 1, &mut seen));
    }
    let at = "spec.selector";
    for (key, value) in map_at(object, &["spec", "selector"]).into_iter().flatten() {
        errors.extend(fields::each_invalid(at, key, names::qualified_name(key)));
        let value = value.as_str().unwrap_or_default();
        errors.extend(fields::each_invalid(at, value, names::label_value(value)));
    }
    if !TYPES.contains(&sort) {
        errors.push(not_supported("spec.type", sort, &TYPES));
    }
    errors
}

fn port_errors<'a>(
    at: &str,
    port: &'a Value,
    must_have_name: bool,
    seen: &mut BTreeSet<&'a str>,
) -> Vec<FieldError> {
    const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
    let mut errors = Vec::new();
    let name = text_of(port, "name");
    let field = format!("{at}.name");
    if name.is_empty() {
        if must_have_name {
            errors.push(FieldError::required(field, ""));
        }
    } else {
        let reasons = names::dns1123_label(name);
        errors.extend(fields::each_invalid(&field, name, reasons));
        if !seen.insert(name) {
            errors.push(duplicate(field, name));
        }
    }
    for field in ["port", "targetPort"] {
        let number = port.get(field).and_then(Value::as_i64);
        if let Some(number) = number
            && let Some(reason) = fields::port(number)
        {
            errors.push(FieldError::invalid(format!("{at}.{field}"), number, reason));
        }
    }
    let protocol = text_of(port, "protocol");
    if !PROTOCOLS.contains(&protocol) {
        errors.push(not_supported(
            format!("{at}.protocol"),
            protocol,
            &PROTOCOLS,
        ));
    }
    errors
}

/// A PodDisruptionBudget's errors.
pub(super) fn budget(object: &Object) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let of = |field| object.at(&["spec", field]).filter(|value| !value.is_null());
    if of("minAvailable").is_some() && of("maxUnavailable").is_some() {
        let spec = object.at(&["spec"]).cloned().unwrap_or_default();
        let detail = "minAvailable and maxUnavailable cannot be both set";
        errors.push(FieldError::invalid("spec", spec, detail));
    }
    for field in ["minAvailable", "maxUnavailable"] {
        let at = format!("spec.{field}");
        if let Some(value) = of(field) {
            errors.extend(amount_error(&at, value));
            errors.extend(share_error(&at, value));
        }
    }
    if let Some(selector) = of("selector") {
        errors.extend(fields::selector("spec.selector", selector));
    }
    let policies = ["AlwaysAllow", "IfHealthyBudget"];
    if let Some(policy) = of("unhealthyPodEvictionPolicy").and_then(Value::as_str)
        && !policies.contains(&policy)
    {
        let at = "spec.unhealthyPodEvictionPolicy";
        errors.push(not_supported(at, policy, &policies));
    }
    errors
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Object {
        Object::try_from(value).unwrap()
    }

    fn told(errors: &[FieldError]) -> Vec<String> {
        let told = errors.iter();
        told.map(|error| format!("{}: {}", error.field, error.body()))
            .collect()
    }

    #[test]
    fn a_deployment_is_refused_in_kubernetes_words() {
        let fine = object(json!({"spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {
                "metadata": {"labels": {"a": "b", "c": "d"}},
                "spec": {"containers": [{"name": "x", "image": "y"}]},
            },
        }}));
        assert_eq!(told(&deployment(&fine, None)), [""; 0]);
        let set = |path: &[&str], value: Value| {
            let mut object = fine.clone();
            object.set(path, value);
            object
        };
        for (changed, expected) in [
            (
                set(&["spec", "selector"], json!({})),
                "spec.selector: Invalid value: {}: empty selector is invalid for deployment",
            ),
            (
                set(&["spec", "progressDeadlineSeconds"], json!(0)),
                "spec.progressDeadlineSeconds: Invalid value: 0: must be greater than minReadySeconds",
            ),
            (
                set(
                    &["spec", "template", "metadata", "labels"],
                    json!({"a": "c"}),
                ),
                "spec.template.metadata.labels: Invalid value: {\"a\":\"c\"}: `selector` does not match template `labels`",
            ),
            (
                set(&["spec", "template", "spec", "containers"], json!([])),
                "spec.template.spec.containers: Required value",
            ),
            (
                set(&["spec", "replicas"], json!(-1)),
                "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
            ),
            (
                set(&["spec", "strategy", "type"], json!("Recreate")),
                "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
            ),
            (
                set(&["spec", "strategy", "rollingUpdate", "maxSurge"], json!(0)),
                "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0",
            ),
            (
                set(
                    &["spec", "strategy", "rollingUpdate", "maxUnavailable"],
                    json!("101%"),
                ),
                "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"101%\": must not be greater than 100%",
            ),
        ] {
            assert_eq!(told(&deployment(&changed, None)), [expected]);
        }
        let other = set(&["spec", "selector"], json!({"matchLabels": {"c": "d"}}));
        assert_eq!(
            told(&deployment(&other, Some(&fine))),
            ["spec.selector: Invalid value: {\"matchLabels\":{\"c\":\"d\"}}: field is immutable"]
        );
    }

    #[test]
    fn a_service_is_refused_in_kubernetes_words() {
        for (spec, expected) in [
            (
                json!({"type": "ClusterIP", "ports": [{"port": 1, "protocol": "TCP"}]}),
                vec![],
            ),
            (json!({"type": "ClusterIP", "clusterIP": "None"}), vec![]),
            (
                json!({"type": "ClusterIP"}),
                vec!["spec.ports: Required value"],
            ),
            (
                json!({"type": "Odd", "ports": [{"port": 0, "protocol": "X"}]}),
                vec![
                    "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
                    "spec.ports[0].protocol: Unsupported value: \"X\": supported values: \"SCTP\", \"TCP\", \"UDP\"",
                    "spec.type: Unsupported value: \"Odd\": supported values: \"ClusterIP\", \"ExternalName\", \"LoadBalancer\", \"NodePort\"",
                ],
            ),
            (
                json!({"type": "ClusterIP", "ports": [
                    {"port": 1, "protocol": "TCP", "name": "a"},
                    {"port": 2, "protocol": "TCP", "name": "a"},
                    {"port": 3, "protocol": "TCP"},
                ]}),
                vec![
                    "spec.ports[1].name: Duplicate value: \"a\"",
                    "spec.ports[2].name: Required value",
                ],
            ),
        ] {
            assert_eq!(told(&service(&object(json!({"spec": spec})))), expected);
        }
    }

    #[test]
    fn a_budget_is_refused_in_kubernetes_words() {
        let percent = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
        for (spec, expected) in [
            (json!({"minAvailable": "50%"}), vec![]),
            (
                json!({"minAvailable": 1, "maxUnavailable": -1}),
                vec![
                    "spec: Invalid value: {\"maxUnavailable\":-1,\"minAvailable\":1}: minAvailable and maxUnavailable cannot be both set".to_owned(),
                    "spec.maxUnavailable: Invalid value: -1: must be greater than or equal to 0".to_owned(),
                ],
            ),
            (
                json!({"minAvailable": "half"}),
                vec![format!("spec.minAvailable: Invalid value: \"half\": {percent}")],
            ),
        ] {
            assert_eq!(told(&budget(&object(json!({"spec": spec})))), expected);
        }
    }
}
