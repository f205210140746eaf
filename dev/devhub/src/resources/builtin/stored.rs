//! Kinds that are stored as they are written, without controllers: what a ManifestWork usually holds, and what clients leave on
//! a hub. A row of columns, defaults and exceptions describes each of them.
//!
//! Only the required fields of their schema are checked.

use k8s_openapi::Resource as Known;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{LimitRange, Node, Pod, ResourceQuota, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use serde_json::Value;

use super::fields::path_segment;
use super::kind::{kind, names, part, text};
use crate::object::Object;
use crate::resources::{Behaviour, Column, Columns, Resource, Verb, WriteTo};
use crate::status::FieldError;

/// What is special about a kind.
#[derive(Debug)]
struct Stored {
    /// What is filled in where it is absent, as JSON.
    defaults: &'static str,
    /// A warning with each write.
    warning: &'static str,
}

static DEPLOYMENTS: Stored = Stored {
    defaults: r#"{"status": {}, "spec": {
        "replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600, "strategy": {"type": "RollingUpdate"}}}"#,
    warning: "devhub runs no pods: the Deployment is stored and nothing will be started",
};
static SERVICES: Stored = Stored {
    defaults: r#"{"status": {"loadBalancer": {}}, "spec": {"type": "ClusterIP", "sessionAffinity": "None"}}"#,
    warning: "devhub has no network: the Service is stored, gets no address and leads nowhere",
};
static BUDGETS: Stored = Stored {
    defaults: r#"{"status": {"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0}}"#,
    warning: "devhub runs no pods: the PodDisruptionBudget is stored and protects nothing",
};
static NODES: Stored = Stored {
    defaults: r#"{"spec": {}, "status": {}}"#,
    warning: "",
};
static LEASES: Stored = Stored {
    defaults: r#"{"spec": {}}"#,
    warning: "",
};

pub(super) fn deployments() -> Resource {
    Resource {
        short_names: names(&["deploy"]),
        categories: names(&["all"]),
        subresources: vec![part::<Deployment>("status")],
        columns: paths(&[
            ("Replicas", "integer", ".spec.replicas"),
            ("Available", "integer", ".status.availableReplicas"),
        ]),
        has_generation: true,
        behaviour: &DEPLOYMENTS,
        ..kind::<Deployment>()
    }
}

pub(super) fn services() -> Resource {
    Resource {
        short_names: names(&["svc"]),
        categories: names(&["all"]),
        subresources: vec![part::<Service>("status")],
        selectable_fields: names(&["spec.clusterIP", "spec.type"]),
        columns: paths(&[
            ("Type", "string", ".spec.type"),
            ("Cluster-IP", "string", ".spec.clusterIP"),
        ]),
        name_errors: berth_api::names::dns1123_label,
        behaviour: &SERVICES,
        ..kind::<Service>()
    }
}

pub(super) fn pod_disruption_budgets() -> Resource {
    Resource {
        short_names: names(&["pdb"]),
        subresources: vec![part::<PodDisruptionBudget>("status")],
        columns: paths(&[
            ("Min Available", "string", ".spec.minAvailable"),
            ("Max Unavailable", "string", ".spec.maxUnavailable"),
        ]),
        name_errors: path_segment,
        needs_version: true,
        has_generation: true,
        behaviour: &BUDGETS,
        ..kind::<PodDisruptionBudget>()
    }
}

pub(super) fn nodes() -> Resource {
    let ready = r#".status.conditions[?(@.type=="Ready")].status"#;
    Resource {
        short_names: names(&["no"]),
        subresources: vec![part::<Node>("status")],
        selectable_fields: names(&["spec.unschedulable"]),
        columns: paths(&[
            ("Ready", "string", ready),
            ("Version", "string", ".status.nodeInfo.kubeletVersion"),
        ]),
        takes_status_on_create: true,
        behaviour: &NODES,
        ..kind::<Node>()
    }
}

pub(super) fn leases() -> Resource {
    Resource {
        columns: paths(&[("Holder", "string", ".spec.holderIdentity")]),
        needs_version: true,
        creates_on_update: true,
        behaviour: &LEASES,
        ..kind::<Lease>()
    }
}

/// Kinds without objects: devhub neither runs pods nor enforces limits. They can be
/// read, as kubectl does when it describes a node or a namespace. All else is refused.
pub(super) fn absent() -> [Resource; 3] {
    let pods = Resource {
        categories: names(&["all"]),
        selectable_fields: names(&["spec.nodeName", "status.phase"]),
        ..never::<Pod>("po")
    };
    [
        never::<LimitRange>("limits"),
        pods,
        never::<ResourceQuota>("quota"),
    ]
}

fn never<T>(short_name: &str) -> Resource
where
    T: Known + schemars::JsonSchema,
    T::Scope: 'static,
{
    Resource {
        short_names: names(&[short_name]),
        verbs: vec![Verb::Get, Verb::List, Verb::Watch],
        ..kind::<T>()
    }
}

/// Columns between name and age: their names, types and paths.
pub(super) fn paths(columns: &[(&str, &str, &str)]) -> Columns {
    let age = ("Age", "date", ".metadata.creationTimestamp");
    let columns = columns.iter().chain([&age]).map(|&(name, r#type, path)| {
        let column = Column {
            r#type: r#type.to_owned(),
            ..text(name, path)
        };
        (column, path.to_owned())
    });
    Columns::Paths(columns.collect())
}

impl Behaviour for Stored {
    fn default(&self, object: &mut Object) {
        let defaults: Value = serde_json::from_str(self.defaults).unwrap_or_default();
        for (name, default) in defaults.as_object().into_iter().flatten() {
            let field = object
                .fields_mut()
                .entry(name.as_str())
                .or_insert(Value::Null);
            fill_in(field, default);
        }
    }

    fn prepare(&self, _write: &WriteTo<'_>, object: &mut Object) {
        self.default(object);
    }

    fn validate(&self, write: &WriteTo<'_>, object: &Object) -> Vec<FieldError> {
        // The status is what controllers make of it.
        let mut value = object.to_value();
        value["status"].take();
        write.resource.schema.missing(&value)
    }

    fn warnings(&self, _object: &Object) -> Vec<String> {
        let warning = Some(self.warning.to_owned());
        warning
            .filter(|text| !text.is_empty())
            .into_iter()
            .collect()
    }
}

fn fill_in(value: &mut Value, default: &Value) {
    match (value, default) {
        (value @ Value::Null, _) => *value = default.clone(),
        (Value::Object(fields), Value::Object(defaults)) => {
            for (name, default) in defaults {
                fill_in(fields.entry(name.as_str()).or_insert(Value::Null), default);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_left_out_is_filled_in_and_what_is_required_is_missed() {
        for resource in [
            deployments(),
            services(),
            pod_disruption_budgets(),
            nodes(),
            leases(),
        ] {
            let mut object = Object::try_from(json!({"metadata": {"name": "a"}})).unwrap();
            resource.behaviour.default(&mut object);
            assert!(object.fields().len() > 1, "{resource:?}");
        }
        let mut object = Object::try_from(json!({"spec": {"replicas": 3}})).unwrap();
        DEPLOYMENTS.default(&mut object);
        assert_eq!(object.at(&["spec", "replicas"]), Some(&json!(3)));
        assert_eq!(
            object.str_at(&["spec", "strategy", "type"]),
            "RollingUpdate"
        );
        let missing = deployments().schema.missing(&object.to_value());
        let fields: Vec<_> = missing.iter().map(|error| error.field.as_str()).collect();
        assert_eq!(fields, ["spec.selector", "spec.template"]);
    }
}
