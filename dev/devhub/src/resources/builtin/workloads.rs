//! Deployments, Services and PodDisruptionBudgets: stored so that manifests can be applied, and never run. Each write says so
//! in a warning.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use serde_json::{Value, json};

use super::kind::{
    age, age_cell, columns, default_at, integer, items_at, kind, map_at, name, names, part, text,
    text_of, wide,
};
use super::{pod_templates, workload_checks};
use crate::object::Object;
use crate::resources::{Behaviour, Cell, Resource, WriteTo};
use crate::status::FieldError;

/// Deployments.
#[derive(Debug)]
struct Deployments;

/// Services.
#[derive(Debug)]
struct Services;

/// PodDisruptionBudgets.
#[derive(Debug)]
struct Budgets;

pub(super) fn deployments() -> Resource {
    Resource {
        short_names: names(&["deploy"]),
        categories: names(&["all"]),
        subresources: vec![part::<Deployment>("status")],
        columns: columns(
            deployment_cells,
            [
                name(),
                text("Ready", "How many pods are ready, of how many."),
                text("Up-to-date", "How many pods are of the latest template."),
                text("Available", "How many pods are available."),
                age(),
                wide("Containers", "Names of the containers in the template."),
                wide("Images", "Images of the containers in the template."),
                wide("Selector", "Which pods belong to it."),
            ],
        ),
        behaviour: &Deployments,
        ..kind::<Deployment>()
    }
}

pub(super) fn services() -> Resource {
    Resource {
        short_names: names(&["svc"]),
        categories: names(&["all"]),
        subresources: vec![part::<Service>("status")],
        selectable_fields: names(&["spec.clusterIP", "spec.type"]),
        columns: columns(
            service_cells,
            [
                name(),
                text("Type", "How it is reached."),
                text("Cluster-IP", "Its address within the cluster."),
                text("External-IP", "Its addresses outside of the cluster."),
                text("Port(s)", "Its ports."),
                age(),
                wide("Selector", "Which pods serve it."),
            ],
        ),
        behaviour: &Services,
        ..kind::<Service>()
    }
}

pub(super) fn pod_disruption_budgets() -> Resource {
    Resource {
        short_names: names(&["pdb"]),
        subresources: vec![part::<PodDisruptionBudget>("status")],
        columns: columns(
            budget_cells,
            [
                name(),
                text("Min Available", "How many pods must be available."),
                text("Max Unavailable", "How many pods may be unavailable."),
                integer("Allowed Disruptions", "How many pods may go now."),
                age(),
            ],
        ),
        behaviour: &Budgets,
        ..kind::<PodDisruptionBudget>()
    }
}

fn deployment_cells(object: &Object, now: Timestamp) -> Vec<Cell> {
    let number = |path: &[&str]| object.at(path).and_then(Value::as_i64).unwrap_or(0);
    let containers = items_at(object, &["spec", "template", "spec", "containers"]);
    let listed = |field| {
        let texts: Vec<&str> = containers
            .iter()
            .map(|container| text_of(container, field))
            .collect();
        texts.join(",")
    };
    let ready = number(&["status", "readyReplicas"]);
    vec![
        object.name().into(),
        format!("{ready}/{}", number(&["spec", "replicas"])).into(),
        number(&["status", "updatedReplicas"]).into(),
        number(&["status", "availableReplicas"]).into(),
        age_cell(object, now),
        listed("name").into(),
        listed("image").into(),
        selector(object.at(&["spec", "selector"])).into(),
    ]
}

/// A label selector as in `kubectl -l`.
fn selector(selector: Option<&Value>) -> String {
    let part = |name| selector.and_then(|selector| selector.get(name));
    let mut told = Vec::new();
    for (key, value) in part("matchLabels")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let value = value.as_str().unwrap_or_default();
        told.push((key.as_str(), format!("{key}={value}")));
    }
    for expression in part("matchExpressions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let key = text_of(expression, "key");
        let list = expression.get("values").and_then(Value::as_array);
        let mut values: Vec<&str> = list
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        values.sort_unstable();
        let values = values.join(",");
        told.push((
            key,
            match text_of(expression, "operator") {
                "In" => format!("{key} in ({values})"),
                "NotIn" => format!("{key} notin ({values})"),
                "Exists" => key.to_owned(),
                "DoesNotExist" => format!("!{key}"),
                _ => return "<invalid>".to_owned(),
            },
        ));
    }
    told.sort_by_key(|(key, _)| *key);
    let told: Vec<String> = told.into_iter().map(|(_, told)| told).collect();
    told.join(",")
}

fn service_cells(object: &Object, now: Timestamp) -> Vec<Cell> {
    let or_none = |text: String| match text.as_str() {
        "" => "<none>".to_owned(),
        _ => text,
    };
    let addresses = items_at(object, &["spec", "clusterIPs"]);
    let address = addresses
        .first()
        .and_then(Value::as_str)
        .unwrap_or("<none>");
    let ports: Vec<String> = items_at(object, &["spec", "ports"])
        .iter()
        .map(port)
        .collect();
    let labels: Vec<String> = map_at(object, &["spec", "selector"])
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    vec![
        object.name().into(),
        object.str_at(&["spec", "type"]).into(),
        address.into(),
        external_address(object).into(),
        or_none(ports.join(",")).into(),
        age_cell(object, now),
        or_none(labels.join(",")).into(),
    ]
}

fn port(port: &Value) -> String {
    let number = |field| port.get(field).and_then(Value::as_i64).unwrap_or(0);
    let protocol = text_of(port, "protocol");
    match number("nodePort") {
        0 => format!("{}/{protocol}", number("port")),
        node => format!("{}:{node}/{protocol}", number("port")),
    }
}

fn external_address(object: &Object) -> String {
    let given: Vec<&str> = items_at(object, &["spec", "externalIPs"])
        .iter()
        .filter_map(Value::as_str)
        .collect();
    match object.str_at(&["spec", "type"]) {
        "ExternalName" => object.str_at(&["spec", "externalName"]).to_owned(),
        "LoadBalancer" if given.is_empty() => "<pending>".to_owned(),
        "ClusterIP" | "NodePort" if given.is_empty() => "<none>".to_owned(),
        "ClusterIP" | "NodePort" | "LoadBalancer" => given.join(","),
        _ => "<unknown>".to_owned(),
    }
}

fn budget_cells(object: &Object, now: Timestamp) -> Vec<Cell> {
    let limit = |field| match object.at(&["spec", field]) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => "N/A".to_owned(),
    };
    let allowed = object.at(&["status", "disruptionsAllowed"]);
    vec![
        object.name().into(),
        limit("minAvailable").into(),
        limit("maxUnavailable").into(),
        allowed.and_then(Value::as_i64).unwrap_or(0).into(),
        age_cell(object, now),
    ]
}

impl Behaviour for Deployments {
    fn default(&self, object: &mut Object) {
        default_at(object, &["spec", "replicas"], 1);
        default_at(object, &["spec", "strategy", "type"], "RollingUpdate");
        if object.str_at(&["spec", "strategy", "type"]) == "RollingUpdate" {
            for field in ["maxSurge", "maxUnavailable"] {
                default_at(object, &["spec", "strategy", "rollingUpdate", field], "25%");
            }
        }
        default_at(object, &["spec", "revisionHistoryLimit"], 10);
        default_at(object, &["spec", "progressDeadlineSeconds"], 600);
        let spec = object.fields_mut().get_mut("spec");
        if let Some(template) = spec.and_then(|spec| spec.get_mut("template")) {
            pod_templates::fill_in(template);
        }
    }

    fn prepare(&self, _write: &WriteTo<'_>, object: &mut Object, _old: Option<&Object>) {
        default_at(object, &["status"], json!({}));
    }

    fn validate(
        &self,
        _write: &WriteTo<'_>,
        object: &Object,
        old: Option<&Object>,
    ) -> Vec<FieldError> {
        workload_checks::deployment(object, old)
    }

    fn has_generation(&self) -> bool {
        true
    }

    /// Annotations count: on a hub with controllers they reach the ReplicaSets.
    fn is_new_generation(&self, object: &Object, old: &Object) -> bool {
        let counted = [["spec"].as_slice(), &["metadata", "annotations"]];
        counted.iter().any(|path| object.at(path) != old.at(path))
    }

    fn warnings(&self, _object: &Object, _old: Option<&Object>) -> Vec<String> {
        vec!["devhub runs no pods: the Deployment is stored and nothing will be started".to_owned()]
    }
}

impl Behaviour for Services {
    fn default(&self, object: &mut Object) {
        default_at(object, &["spec", "type"], "ClusterIP");
        default_at(object, &["spec", "sessionAffinity"], "None");
        let sort = object.str_at(&["spec", "type"]).to_owned();
        if sort != "ExternalName" {
            default_at(object, &["spec", "internalTrafficPolicy"], "Cluster");
        }
        if matches!(sort.as_str(), "NodePort" | "LoadBalancer") {
            default_at(object, &["spec", "externalTrafficPolicy"], "Cluster");
        }
        // No address is handed out: what has one, or says it wants none, keeps it.
        let address = object.str_at(&["spec", "clusterIP"]).to_owned();
        if !address.is_empty() {
            default_at(object, &["spec", "clusterIPs"], json!([address]));
        }
        let spec = object.fields_mut().get_mut("spec");
        for port in spec
            .into_iter()
            .flat_map(|spec| super::kind::items_of(spec, "ports"))
        {
            super::kind::default_in(port, "protocol", "TCP");
            let number = port.get("port").cloned().unwrap_or_default();
            if let Value::Object(port) = port
                && port
                    .get("targetPort")
                    .is_some_and(|target| *target == 0 || *target == "")
            {
                port.remove("targetPort");
            }
            super::kind::default_in(port, "targetPort", number);
        }
    }

    fn prepare(&self, _write: &WriteTo<'_>, object: &mut Object, _old: Option<&Object>) {
        default_at(object, &["status"], json!({}));
        default_at(object, &["status", "loadBalancer"], json!({}));
    }

    fn validate(
        &self,
        _write: &WriteTo<'_>,
        object: &Object,
        _old: Option<&Object>,
    ) -> Vec<FieldError> {
        workload_checks::service(object)
    }

    fn name_errors(&self, name: &str) -> Vec<String> {
        berth_api::names::dns1123_label(name)
    }

    fn warnings(&self, _object: &Object, _old: Option<&Object>) -> Vec<String> {
        vec![
            "devhub has no network: the Service is stored, gets no address and leads nowhere"
                .to_owned(),
        ]
    }
}

impl Behaviour for Budgets {
    fn prepare(&self, _write: &WriteTo<'_>, object: &mut Object, _old: Option<&Object>) {
        for field in [
            "currentHealthy",
            "desiredHealthy",
            "disruptionsAllowed",
            "expectedPods",
        ] {
            default_at(object, &["status", field], 0);
        }
    }

    fn name_errors(&self, name: &str) -> Vec<String> {
        super::fields::path_segment(name)
    }

    fn validate(
        &self,
        _write: &WriteTo<'_>,
        object: &Object,
        _old: Option<&Object>,
    ) -> Vec<FieldError> {
        workload_checks::budget(object)
    }

    fn allows_unconditional_update(&self) -> bool {
        false
    }

    fn has_generation(&self) -> bool {
        true
    }

    fn warnings(&self, _object: &Object, _old: Option<&Object>) -> Vec<String> {
        vec![
            "devhub runs no pods: the PodDisruptionBudget is stored and protects nothing"
                .to_owned(),
        ]
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn object(value: Value) -> Object {
        Object::try_from(value).unwrap()
    }

    fn row(cells: fn(&Object, Timestamp) -> Vec<Cell>, value: Value) -> Value {
        Value::Array(cells(
            &object(value),
            "2026-01-01T00:00:00Z".parse().unwrap(),
        ))
    }

    #[test]
    fn a_deployment_shows_that_nothing_runs() {
        let mut deployment = object(json!({
            "metadata": {"name": "d"},
            "spec": {
                "selector": {
                    "matchLabels": {"b": "c"},
                    "matchExpressions": [
                        {"key": "a", "operator": "In", "values": ["y", "x"]},
                        {"key": "z", "operator": "DoesNotExist"},
                    ],
                },
                "template": {"spec": {"containers": [
                    {"name": "one", "image": "i:1"},
                    {"name": "two", "image": "j"},
                ]}},
            },
        }));
        Deployments.default(&mut deployment);
        assert_eq!(
            row(deployment_cells, deployment.to_value()),
            json!([
                "d",
                "0/1",
                0,
                0,
                "<unknown>",
                "one,two",
                "i:1,j",
                "a in (x,y),b=c,!z"
            ])
        );
        assert_eq!(
            deployment.at(&["spec", "strategy"]),
            Some(&json!({
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
            }))
        );
        assert_eq!(
            Deployments.warnings(&deployment, None),
            ["devhub runs no pods: the Deployment is stored and nothing will be started"]
        );
    }

    #[test]
    fn a_service_gets_no_address() {
        let mut service = object(json!({
            "metadata": {"name": "s"},
            "spec": {"ports": [{"port": 443}, {"port": 53, "protocol": "UDP", "targetPort": "dns"}]},
        }));
        Services.default(&mut service);
        assert_eq!(
            service.at(&["spec"]),
            Some(&json!({
                "type": "ClusterIP",
                "sessionAffinity": "None",
                "internalTrafficPolicy": "Cluster",
                "ports": [
                    {"port": 443, "protocol": "TCP", "targetPort": 443},
                    {"port": 53, "protocol": "UDP", "targetPort": "dns"},
                ],
            }))
        );
        assert_eq!(
            row(service_cells, service.to_value()),
            json!([
                "s",
                "ClusterIP",
                "<none>",
                "<none>",
                "443/TCP,53/UDP",
                "<unknown>",
                "<none>"
            ])
        );
        let mut headless = object(json!({"spec": {"clusterIP": "None", "selector": {"a": "b"}}}));
        Services.default(&mut headless);
        assert_eq!(
            row(service_cells, headless.to_value()),
            json!([
                "",
                "ClusterIP",
                "None",
                "<none>",
                "<none>",
                "<unknown>",
                "a=b"
            ])
        );
    }

    #[test]
    fn a_budget_shows_its_limits() {
        assert_eq!(
            row(
                budget_cells,
                json!({"metadata": {"name": "b"}, "spec": {"minAvailable": 1}})
            ),
            json!(["b", "1", "N/A", 0, "<unknown>"])
        );
        assert_eq!(
            row(budget_cells, json!({"spec": {"maxUnavailable": "10%"}})),
            json!(["", "N/A", "10%", 0, "<unknown>"])
        );
    }
}
