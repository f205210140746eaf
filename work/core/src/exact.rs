//! Kinds that are compared exactly: what the object should look like, as a whole.
//!
//! The object on the cluster keeps its metadata; labels and annotations of the manifest are merged in. The content is the manifest's:
//! what others added is removed, except defaults and what the API server or other controllers are known to fill in.

mod defaults;
mod service;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use crate::compare::{Comparison, Node, is_void};
use crate::differs::Findings;
use crate::kinds::{Rule, is_built_in};
use crate::path::Path;
use crate::{Mapped, Unusable};

/// Annotation with the hash of a spec, which OCM's agent writes on some kinds.
pub(crate) const SPEC_HASH: &str = "operator.openshift.io/spec-hash";

/// Changes a manifest to the form in which it is compared and created. As everywhere in this file, a field of a type that the API server
/// does not take stays as it is: the API server refuses it, and says why.
pub(crate) fn prepare(rule: Rule, body: &mut Value) {
    match rule {
        Rule::Secret if is_empty_text(&body["type"]) => {
            body["type"] = "Opaque".into();
        }
        Rule::Binding => fill_groups(body),
        Rule::Service | Rule::CsiDriver => service::annotate(rule, body),
        _ => {}
    }
}

/// Takes line breaks out of base64. The API server ignores them, and does not store them.
pub(crate) fn join_lines(object: &Mapped, body: &mut Value) {
    let object = &object.prescribed;
    let data = match (object.group(), object.kind.as_str()) {
        ("", "Secret") => body.get_mut("data"),
        ("", "ConfigMap") => body.get_mut("binaryData"),
        _ => None,
    };
    let data = data.and_then(Value::as_object_mut);
    for value in data.into_iter().flat_map(Map::values_mut) {
        if let Value::String(text) = value {
            text.retain(|c| c != '\r' && c != '\n');
        }
    }
}

/// Takes out CA bundles that have no certificate, such as `Cg==`, a line break: manifests for a controller that injects the bundle have
/// them, and a bundle that it wrote stays if the manifest has none.
pub(crate) fn drop_placeholders(object: &Mapped, body: &mut Value) {
    let object = &object.prescribed;
    match (object.group(), object.kind.as_str()) {
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => {
            let webhooks = body.get_mut("webhooks").and_then(Value::as_array_mut);
            for webhook in webhooks.into_iter().flatten() {
                drop_placeholder(webhook.get_mut("clientConfig"));
            }
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            drop_placeholder(body.pointer_mut("/spec/conversion/webhook/clientConfig"));
        }
        ("apiregistration.k8s.io", "APIService") => drop_placeholder(body.get_mut("spec")),
        _ => {}
    }
}

fn drop_placeholder(config: Option<&mut Value>) {
    if let Some(Value::Object(config)) = config
        && config.get("caBundle").is_some_and(is_placeholder)
    {
        config.remove("caBundle");
    }
}

/// Is this base64 without a certificate in it? What is no base64 is for the API server to refuse.
fn is_placeholder(bundle: &Value) -> bool {
    let Some(text) = bundle.as_str() else {
        return false;
    };
    let text: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    let decoded = k8s_openapi::serde_json::from_value::<k8s_openapi::ByteString>(text.into());
    const END: &[u8] = b"CERTIFICATE-----";
    decoded.is_ok_and(|it| !it.0.windows(END.len()).any(|part| part == END))
}

/// Moves stringData of a Secret into data, as the API server does. Returns whether it had any that could be moved.
///
/// # Errors
/// A key has another value in data.
pub(crate) fn fold_string_data(object: &Mapped, body: &mut Value) -> Result<bool, Unusable> {
    let object = &object.prescribed;
    if !object.group().is_empty() || object.kind != "Secret" || !is_map(&body["data"]) {
        return Ok(false);
    }
    let is_text = |value: &Value| value.is_string() || value.is_null();
    let strings = match &body["stringData"] {
        Value::Object(strings) if strings.values().all(is_text) => strings.clone(),
        _ => return Ok(false),
    };
    for (key, value) in strings {
        let encoded = Value::String(base64(value.as_str().unwrap_or_default().as_bytes()));
        if body["data"].is_null() {
            body["data"] = json!({});
        }
        match body["data"].get(&key) {
            Some(data) if *data != encoded => return Err(Unusable::SecretKey(key)),
            _ => body["data"][&key] = encoded,
        }
    }
    if let Value::Object(body) = body {
        body.remove("stringData");
    }
    Ok(true)
}

/// Can entries be added to the value?
fn is_map(value: &Value) -> bool {
    value.is_null() || value.is_object()
}

/// Standard base64 with padding.
fn base64(bytes: &[u8]) -> String {
    k8s_openapi::serde_json::to_value(k8s_openapi::ByteString(bytes.to_vec()))
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// Fills in the API groups of subjects and of the role, as the API server does.
fn fill_groups(body: &mut Value) {
    const GROUP: &str = "rbac.authorization.k8s.io";
    let subjects = body.get_mut("subjects").and_then(Value::as_array_mut);
    for subject in subjects.into_iter().flatten() {
        let is_account = subject["kind"] == "ServiceAccount";
        if let Value::Object(subject) = subject
            && !is_account
            && subject.get("apiGroup").is_none_or(is_empty_text)
        {
            subject.insert("apiGroup".to_owned(), GROUP.into());
        }
    }
    if let Some(Value::Object(role)) = body.get_mut("roleRef")
        && role.get("apiGroup").is_none_or(is_empty_text)
    {
        role.insert("apiGroup".to_owned(), GROUP.into());
    }
}

fn is_empty_text(value: &Value) -> bool {
    value.is_null() || value == ""
}

/// Returns the fields of an object that its kind is compared by, as they should be. `Null`: the field should be absent.
pub(crate) fn content(rule: Rule, kind: &str, body: &Value, live: &Value) -> Map<String, Value> {
    let field = |name: &str| (name.to_owned(), body[name].clone());
    match rule {
        Rule::Metadata | Rule::Other => Map::new(),
        Rule::Fields(names) => names.iter().map(|name| field(name)).collect(),
        Rule::ConfigMap => {
            let mut content = Map::from_iter([field("data"), field("binaryData")]);
            keep_injected(body, live, &mut content);
            keep_field(body, "immutable", &mut content);
            content
        }
        Rule::Secret => {
            let mut content = Map::from_iter([field("data"), field("type")]);
            if body["type"] == "kubernetes.io/service-account-token" && is_map(&body["data"]) {
                content["data"] = merged(&live["data"], &body["data"]);
            }
            keep_field(body, "immutable", &mut content);
            // What is left of it is for the API server to refuse.
            keep_field(body, "stringData", &mut content);
            content
        }
        Rule::Service => Map::from_iter([("spec".to_owned(), service::spec(body, live))]),
        Rule::ClusterRole if !is_void(&body["aggregationRule"]) => {
            Map::from_iter([field("aggregationRule")])
        }
        Rule::ClusterRole => Map::from_iter([field("rules"), field("aggregationRule")]),
        Rule::Binding => Map::from_iter([field("subjects"), field("roleRef")]),
        Rule::Webhooks => {
            let mut webhooks = body["webhooks"].clone();
            keep_ca_bundles(&mut webhooks, &live["webhooks"]);
            Map::from_iter([("webhooks".to_owned(), webhooks)])
        }
        Rule::StorageClass => [
            "provisioner",
            "parameters",
            "reclaimPolicy",
            "mountOptions",
            "allowVolumeExpansion",
            "volumeBindingMode",
            "allowedTopologies",
        ]
        .map(field)
        .into_iter()
        .collect(),
        Rule::CsiDriver => Map::from_iter([field("spec")]),
    }
    .into_iter()
    .map(|(name, value)| {
        let value = match kind {
            "CustomResourceDefinition" => defaults::filled_crd(value, &live[&name]),
            "NetworkPolicy" => defaults::filled_policy(value),
            _ => value,
        };
        (name, value)
    })
    .collect()
}

/// A field that is written only if the manifest has it.
fn keep_field(body: &Value, name: &str, content: &mut Map<String, Value>) {
    if let Some(value) = body.get(name) {
        content.insert(name.to_owned(), value.clone());
    }
}

/// Keeps the keys that OpenShift injects into a ConfigMap on request of its label or annotation.
fn keep_injected(body: &Value, live: &Value, content: &mut Map<String, Value>) {
    let metadata = &body["metadata"];
    for (asked, key) in [
        (
            &metadata["labels"]["config.openshift.io/inject-trusted-cabundle"],
            "ca-bundle.crt",
        ),
        (
            &metadata["annotations"]["service.beta.openshift.io/inject-cabundle"],
            "service-ca.crt",
        ),
    ] {
        if asked == "true"
            && is_map(&content["data"])
            && let Some(value) = live["data"].get(key)
        {
            if content["data"].is_null() {
                content["data"] = json!({});
            }
            content["data"][key] = value.clone();
        }
    }
}

/// Takes over the CA bundles of webhooks for which the manifest has none: a controller injects them.
fn keep_ca_bundles(webhooks: &mut Value, live: &Value) {
    for webhook in webhooks.as_array_mut().into_iter().flatten() {
        let mut found = live.as_array().into_iter().flatten();
        let Some(bundle) = found
            .find(|live| live["name"] == webhook["name"])
            .and_then(|live| live["clientConfig"].get("caBundle"))
        else {
            continue;
        };
        if let Some(Value::Object(config)) = webhook.get_mut("clientConfig")
            && config.get("caBundle").is_none_or(is_empty_text)
        {
            config.insert("caBundle".to_owned(), bundle.clone());
        }
    }
}

/// The entries of both maps; those of the second one win.
fn merged(first: &Value, second: &Value) -> Value {
    let entries = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let mut all = entries(first);
    all.extend(entries(second));
    Value::Object(all)
}

/// Finds where the content of an object differs.
pub(crate) fn compare(
    (group, kind): (&str, &str),
    content: &Map<String, Value>,
    live: &Value,
    roots: &[Node<'_>],
    findings: &mut Findings<'_>,
) {
    let mut comparison = Comparison {
        findings,
        path: Path::default(),
        defaults: defaults::of(kind),
        whole: None,
        is_built_in: is_built_in(group),
    };
    for (name, value) in content {
        comparison.equals_field(name, value, live.get(name), roots);
    }
}

/// May an object of the kind be deleted and created anew, if the API server does not let a field change?
pub(crate) fn may_recreate(rule: Rule) -> bool {
    matches!(rule, Rule::Secret | Rule::StorageClass | Rule::CsiDriver)
}
