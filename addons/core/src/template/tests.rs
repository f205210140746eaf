//! What is rendered. The numbers of scenarios are those of OCM's behaviour that the tests follow.

mod checks;
mod decorated;
mod laws;
mod replaced;

use berth_api::addon::{AddOnDeploymentConfigSpec, AddOnTemplateSpec};
use serde_json::{Value, json};

use super::{Rendering, Request, Unrenderable, render};

/// A template with these manifests, and further fields of its spec.
fn template(manifests: &[Value], rest: Value) -> AddOnTemplateSpec {
    let mut spec = rest;
    spec["addonName"] = "x".into();
    spec["agentSpec"]["workload"]["manifests"] = json!(manifests);
    serde_json::from_value(spec).unwrap()
}

fn config(spec: Value) -> AddOnDeploymentConfigSpec {
    serde_json::from_value(spec).unwrap()
}

/// A config that keeps the namespaces of the template.
fn config_in_place(mut spec: Value) -> AddOnDeploymentConfigSpec {
    spec["agentInstallNamespace"] = "".into();
    config(spec)
}

/// Renders a template of the add-on `x` for the cluster `c1`.
fn rendering(
    template: &AddOnTemplateSpec,
    config: Option<&AddOnDeploymentConfigSpec>,
) -> Result<Rendering, Unrenderable> {
    render(&Request {
        addon: "x",
        cluster: "c1",
        template,
        config,
        image_registries: None,
    })
}

/// The objects of a rendering without warnings.
#[track_caller]
fn objects(template: &AddOnTemplateSpec, config: Option<&AddOnDeploymentConfigSpec>) -> Vec<Value> {
    let rendering = rendering(template, config).unwrap();
    assert_eq!(rendering.warnings, Vec::<String>::new());
    rendering.objects.into_iter().map(|it| it.object).collect()
}

/// The only object of the rendering of a manifest.
#[track_caller]
fn object(manifest: Value, rest: Value, config: Option<&AddOnDeploymentConfigSpec>) -> Value {
    let mut all = objects(&template(&[manifest], rest), config);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

fn config_map(data: Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "n"},
        "data": data,
    })
}

/// A Deployment with the container `main`, with further fields of the spec of its pod.
fn deployment(pod: Value) -> Value {
    workload("apps/v1", "Deployment", pod)
}

fn workload(api_version: &str, kind: &str, mut pod: Value) -> Value {
    if pod.get("containers").is_none() {
        pod["containers"] = json!([{"name": "main", "image": "quay.io/o/a:1"}]);
    }
    json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "agent", "namespace": "n"},
        "spec": {"template": {"spec": pod}},
    })
}
