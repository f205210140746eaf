//! Nodes: stored as somebody wrote them. devhub has no kubelet.

use std::collections::BTreeSet;

use berth_api::names;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use serde_json::{Value, json};

use super::fields;
use super::kind::{
    age, age_cell, columns, default_at, items_at, kind, name, part, text, text_of, wide,
};
use crate::object::Object;
use crate::resources::{Behaviour, Cell, Resource, WriteTo};
use crate::status::FieldError;

/// Nodes.
#[derive(Debug)]
pub(super) struct Nodes;

pub(super) fn resource() -> Resource {
    Resource {
        short_names: super::kind::names(&["no"]),
        subresources: vec![part::<Node>("status")],
        selectable_fields: super::kind::names(&["spec.unschedulable"]),
        columns: columns(
            cells,
            [
                name(),
                text("Status", "Whether it is ready, and takes pods."),
                text("Roles", "The roles that its labels name."),
                age(),
                text("Version", "The version of its kubelet."),
                wide("Internal-IP", "Its address within the cluster."),
                wide("External-IP", "Its address outside of the cluster."),
                wide("OS-Image", "Its operating system."),
                wide("Kernel-Version", "Its kernel."),
                wide("Container-Runtime", "What runs its containers."),
            ],
        ),
        behaviour: &Nodes,
        ..kind::<Node>()
    }
}

fn cells(object: &Object, now: Timestamp) -> Vec<Cell> {
    let info = |field: &str| object.str_at(&["status", "nodeInfo", field]).to_owned();
    let known = |text: String| match text.as_str() {
        "" => "<unknown>".to_owned(),
        _ => text,
    };
    let mut kernel = known(info("kernelVersion"));
    let architecture = info("architecture");
    if !architecture.is_empty() {
        kernel.push_str(&format!(" ({architecture})"));
    }
    vec![
        object.name().into(),
        status(object).into(),
        roles(object).into(),
        age_cell(object, now),
        info("kubeletVersion").into(),
        address(object, "InternalIP").into(),
        address(object, "ExternalIP").into(),
        known(info("osImage")).into(),
        kernel.into(),
        known(info("containerRuntimeVersion")).into(),
    ]
}

fn status(object: &Object) -> String {
    let conditions = items_at(object, &["status", "conditions"]);
    let ready = conditions
        .iter()
        .rfind(|condition| text_of(condition, "type") == "Ready");
    let mut status = match ready.map(|ready| text_of(ready, "status")) {
        None => "Unknown",
        Some("True") => "Ready",
        Some(_) => "NotReady",
    }
    .to_owned();
    if object.at(&["spec", "unschedulable"]) == Some(&Value::Bool(true)) {
        status.push_str(",SchedulingDisabled");
    }
    status
}

fn roles(object: &Object) -> String {
    let labels = object.labels();
    let roles: BTreeSet<&str> = labels
        .iter()
        .filter_map(|(key, value)| match key.as_str() {
            "kubernetes.io/role" => Some(value.as_str()),
            key => key.strip_prefix("node-role.kubernetes.io/"),
        })
        .filter(|role| !role.is_empty())
        .collect();
    if roles.is_empty() {
        return "<none>".to_owned();
    }
    roles.into_iter().collect::<Vec<_>>().join(",")
}

fn address<'a>(object: &'a Object, sort: &str) -> &'a str {
    let addresses = items_at(object, &["status", "addresses"]);
    let found = addresses
        .iter()
        .find(|address| text_of(address, "type") == sort);
    found.map_or("<none>", |address| text_of(address, "address"))
}

impl Behaviour for Nodes {
    fn prepare(&self, _write: &WriteTo<'_>, object: &mut Object, old: Option<&Object>) {
        fill_in(object);
        if old.is_none() {
            taint(object);
        }
    }

    fn validate(
        &self,
        _write: &WriteTo<'_>,
        object: &Object,
        old: Option<&Object>,
    ) -> Vec<FieldError> {
        errors(object, old)
    }

    fn takes_status_on_create(&self) -> bool {
        true
    }

    fn field(&self, object: &Object, path: &str) -> Option<String> {
        let unset = path == "spec.unschedulable" && object.at(&["spec", "unschedulable"]).is_none();
        unset.then(|| "false".to_owned())
    }
}

/// What every node shows, known or not.
fn fill_in(object: &mut Object) {
    default_at(object, &["spec"], json!({}));
    default_at(
        object,
        &["status", "daemonEndpoints"],
        json!({"kubeletEndpoint": {"Port": 0}}),
    );
    for field in [
        "architecture",
        "bootID",
        "containerRuntimeVersion",
        "kernelVersion",
        "kubeProxyVersion",
        "kubeletVersion",
        "machineID",
        "operatingSystem",
        "osImage",
        "systemUUID",
    ] {
        default_at(object, &["status", "nodeInfo", field], "");
    }
}

/// A new node is not ready until somebody says so.
fn taint(object: &mut Object) {
    let mut taints = items_at(object, &["spec", "taints"]).to_vec();
    let key = "node.kubernetes.io/not-ready";
    let is_there =
        |taint: &Value| text_of(taint, "key") == key && text_of(taint, "effect") == "NoSchedule";
    if !taints.iter().any(is_there) {
        taints.push(json!({"key": key, "effect": "NoSchedule"}));
        object.set(&["spec", "taints"], taints);
    }
}

fn errors(object: &Object, old: Option<&Object>) -> Vec<FieldError> {
    let mut errors = fields::core_finalizers(object);
    errors.extend(taint_errors(items_at(object, &["spec", "taints"])));
    let Some(old) = old else {
        return errors;
    };
    for (field, name) in [("podCIDRs", "podCIDR"), ("providerID", "providerID")] {
        let path = ["spec", field];
        let is_empty = |value: &Value| {
            value.is_null() || *value == "" || value.as_array().is_some_and(Vec::is_empty)
        };
        let before = old.at(&path).filter(|value| !is_empty(value));
        if before.is_some() && object.at(&path) != before {
            let detail = format!("node updates may not change {name} except from \"\" to valid");
            errors.push(FieldError::forbidden(path.join("."), detail));
        }
    }
    errors
}

fn taint_errors(taints: &[Value]) -> Vec<FieldError> {
    const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, taint) in taints.iter().enumerate() {
        // Not `spec.taints`; Kubernetes says it so.
        let field = format!("metadata.taints[{index}]");
        let (key, value, effect) = (
            text_of(taint, "key"),
            text_of(taint, "value"),
            text_of(taint, "effect"),
        );
        let at = format!("{field}.key");
        errors.extend(fields::each_invalid(&at, key, names::qualified_name(key)));
        let reasons = names::label_value(value);
        if !reasons.is_empty() {
            let at = format!("{field}.value");
            errors.push(FieldError::invalid(at, value, reasons.join(";")));
        }
        let at = format!("{field}.effect");
        if effect.is_empty() {
            errors.push(FieldError::required(at, ""));
        } else if !EFFECTS.contains(&effect) {
            errors.push(fields::not_supported(at, effect, &EFFECTS));
        }
        if !seen.insert((key, effect)) {
            let detail = "taints must be unique by key and effect pair".to_owned();
            errors.push(FieldError {
                detail,
                ..fields::duplicate(field, taint.clone())
            });
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn object(value: Value) -> Object {
        Object::try_from(value).unwrap()
    }

    #[test]
    fn a_node_shows_what_it_runs() {
        let now = "2026-01-01T01:00:00Z".parse().unwrap();
        let bare = object(json!({"metadata": {"name": "n"}}));
        let expected = json!([
            "n",
            "Unknown",
            "<none>",
            "<unknown>",
            "",
            "<none>",
            "<none>",
            "<unknown>",
            "<unknown>",
            "<unknown>"
        ]);
        assert_eq!(Value::Array(cells(&bare, now)), expected);
        let full = object(json!({
            "metadata": {
                "name": "n",
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "labels": {
                    "node-role.kubernetes.io/worker": "",
                    "node-role.kubernetes.io/": "",
                    "kubernetes.io/role": "control",
                },
            },
            "spec": {"unschedulable": true},
            "status": {
                "conditions": [{"type": "Ready", "status": "False"}],
                "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                "nodeInfo": {
                    "kubeletVersion": "v1.36.0",
                    "osImage": "Linux",
                    "kernelVersion": "6.1",
                    "architecture": "amd64",
                    "containerRuntimeVersion": "x://1",
                },
            },
        }));
        let expected = json!([
            "n",
            "NotReady,SchedulingDisabled",
            "control,worker",
            "60m",
            "v1.36.0",
            "10.0.0.1",
            "<none>",
            "Linux",
            "6.1 (amd64)",
            "x://1"
        ]);
        assert_eq!(Value::Array(cells(&full, now)), expected);
        assert_eq!(Nodes.field(&bare, "spec.unschedulable").unwrap(), "false");
        assert_eq!(Nodes.field(&full, "spec.unschedulable"), None);
    }

    #[test]
    fn a_new_node_is_not_ready() {
        let mut node = object(json!({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}));
        fill_in(&mut node);
        taint(&mut node);
        taint(&mut node);
        let taints = items_at(&node, &["spec", "taints"]);
        assert_eq!(
            taints[1..],
            [json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"})]
        );
        assert_eq!(
            node.at(&["status", "nodeInfo", "osImage"]),
            Some(&json!(""))
        );
    }

    #[test]
    fn a_node_is_refused_in_kubernetes_words() {
        let old = object(json!({"spec": {"providerID": "x", "podCIDRs": ["10.0.0.0/24"]}}));
        let new = object(json!({"spec": {"providerID": "y", "taints": [
            {"key": "a", "effect": "NoSchedule"},
            {"key": "a", "effect": "NoSchedule"},
            {"key": "b"},
            {"key": "b", "effect": "Never"},
        ]}}));
        let told: Vec<String> = errors(&new, Some(&old))
            .iter()
            .map(|error| format!("{}: {}", error.field, error.body()))
            .collect();
        assert_eq!(
            told,
            [
                "metadata.taints[1]: Duplicate value: {\"effect\":\"NoSchedule\",\"key\":\"a\"}: taints must be unique by key and effect pair",
                "metadata.taints[2].effect: Required value",
                "metadata.taints[3].effect: Unsupported value: \"Never\": supported values: \"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"",
                "spec.podCIDRs: Forbidden: node updates may not change podCIDR except from \"\" to valid",
                "spec.providerID: Forbidden: node updates may not change providerID except from \"\" to valid",
            ]
        );
    }
}
