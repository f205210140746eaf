//! The objects of `fleet addons`: a placement of all clusters, and add-ons from templates on it.

use std::ops::Range;

use anyhow::Result;
use berth_hub::object_path;
use serde_json::{Value, json};

use super::seen::Seen;
use crate::hub::{FleetHub, each, name};

pub(super) const PLACEMENTS: &str = "/apis/cluster.open-cluster-management.io/v1beta1/placements";
pub(super) const WORKS: &str = "/apis/work.open-cluster-management.io/v1/manifestworks";
const ADD_ONS: &str = "/apis/addon.open-cluster-management.io/v1beta1/clustermanagementaddons";
pub(super) const ON_CLUSTERS: &str =
    "/apis/addon.open-cluster-management.io/v1beta1/managedclusteraddons";
const TEMPLATES: &str = "/apis/addon.open-cluster-management.io/v1alpha1/addontemplates";

const ADDON: &str = "addon.open-cluster-management.io";
const CLUSTER: &str = "cluster.open-cluster-management.io";

/// The namespace of the placement and the config, and the names of both.
const FLEET: &str = "fleet-addons";

/// The most clusters of a PlacementDecision.
const DECIDED: usize = 100;

/// The variable in the templates, whose value the config has.
const VARIABLE: &str = "VALUE";

/// Creates the clusters' namespaces, and a placement that selects all of them.
pub(super) async fn place(hub: &FleetHub, clusters: usize) -> Result<()> {
    each(clusters, async |cluster| namespace(hub, &cluster).await).await?;
    hub.turn(clusters, "True").await?;
    namespace(hub, FLEET).await?;
    let [placements, decisions] = ["placements", "placementdecisions"]
        .map(|it| object_path((CLUSTER, "v1beta1", it), FLEET, ""));
    let placement = object(CLUSTER, "v1beta1", "Placement", FLEET);
    hub.send("POST", &placements, &placement).await?;
    for (index, first) in (0..clusters).step_by(DECIDED).enumerate() {
        let decided = first..clusters.min(first + DECIDED);
        decide(hub, &decisions, index, decided).await?;
    }
    let satisfied = json!({
        "type": "PlacementSatisfied", "status": "True", "reason": "AllDecisionsScheduled", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let status =
        json!({"status": {"numberOfSelectedClusters": clusters, "conditions": [satisfied]}});
    let path = format!("{placements}/{FLEET}/status");
    hub.send("PATCH", &path, &status).await.map(drop)
}

async fn decide(hub: &FleetHub, path: &str, index: usize, clusters: Range<usize>) -> Result<()> {
    let decision = format!("{FLEET}-decision-{}", index + 1);
    let mut made = object(CLUSTER, "v1beta1", "PlacementDecision", &decision);
    made["metadata"]["labels"] = json!({
        "cluster.open-cluster-management.io/placement": FLEET,
        "cluster.open-cluster-management.io/decision-group-index": "0",
        "cluster.open-cluster-management.io/decision-group-name": "",
    });
    hub.send("POST", path, &made).await?;
    let clusters = clusters.map(|it| json!({"clusterName": name(it), "reason": ""}));
    let status = json!({"status": {"decisions": clusters.collect::<Vec<_>>()}});
    let path = format!("{path}/{decision}/status");
    hub.send("PATCH", &path, &status).await.map(drop)
}

/// Creates the add-ons, with their templates and the config.
pub(super) async fn enable(hub: &FleetHub, seen: &Seen, addons: usize) -> Result<()> {
    let configs = object_path((ADDON, "v1beta1", "addondeploymentconfigs"), FLEET, "");
    let mut config = object(ADDON, "v1beta1", "AddOnDeploymentConfig", FLEET);
    config["spec"] = value("1");
    hub.send("POST", &configs, &config).await?;
    let templates = (0..addons).map(template).collect();
    hub.send_all("POST", templates, |_| TEMPLATES.to_owned())
        .await?;
    let all = (0..addons).map(add_on).collect();
    hub.send_all("POST", all, |_| ADD_ONS.to_owned()).await?;
    seen.wrote(1 + 2 * addons);
    Ok(())
}

/// Changes the config.
pub(super) async fn configure(hub: &FleetHub, seen: &Seen, text: &str) -> Result<()> {
    let path = object_path((ADDON, "v1beta1", "addondeploymentconfigs"), FLEET, FLEET);
    let change = json!({"spec": value(text)});
    hub.send("PATCH", &path, &change).await?;
    seen.wrote(1);
    Ok(())
}

/// Has changes go out in steps of a quarter of the clusters.
pub(super) async fn step(hub: &FleetHub, seen: &Seen, addons: usize) -> Result<()> {
    let progressive = json!({"type": "Progressive", "progressive": {"maxConcurrency": "25%"}});
    let changes = (0..addons).map(|_| json!({"spec": strategy(&progressive)}));
    hub.send_all("PATCH", changes.collect(), add_on_path)
        .await?;
    seen.wrote(addons);
    Ok(())
}

/// Deletes the add-ons.
pub(super) async fn disable(hub: &FleetHub, seen: &Seen, addons: usize) -> Result<()> {
    let bodies = vec![Value::Null; addons];
    hub.send_all("DELETE", bodies, add_on_path).await?;
    seen.wrote(addons);
    Ok(())
}

/// Deletes all objects of the tool; those that are not there do not matter.
pub(super) async fn clean_up(hub: &FleetHub, addons: usize, clusters: usize) -> Result<()> {
    for number in 0..addons {
        let template = format!("{TEMPLATES}/{}", name(number));
        for path in [add_on_path(number), template] {
            let _ = hub.send("DELETE", &path, &Value::Null).await;
        }
    }
    let namespace = object_path(("", "v1", "namespaces"), "", FLEET);
    let _ = hub.send("DELETE", &namespace, &Value::Null).await;
    hub.clean_up(clusters).await
}

async fn namespace(hub: &FleetHub, name: &str) -> Result<()> {
    let path = object_path(("", "v1", "namespaces"), "", "");
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    hub.send("POST", &path, &namespace).await.map(drop)
}

fn object(group: &str, version: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": format!("{group}/{version}"), "kind": kind, "metadata": {"name": name}, "spec": {}})
}

fn add_on_path(number: usize) -> String {
    format!("{ADD_ONS}/{}", name(number))
}

fn value(text: &str) -> Value {
    json!({"customizedVariables": [{"name": VARIABLE, "value": text}]})
}

fn strategy(rollout: &Value) -> Value {
    let placement = json!({"namespace": FLEET, "name": FLEET, "rolloutStrategy": rollout});
    json!({"installStrategy": {"type": "Placements", "placements": [placement]}})
}

fn template(number: usize) -> Value {
    let name = name(number);
    let metadata = json!({"name": name, "namespace": "open-cluster-management-agent-addon"});
    let manifests = json!([
        {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata,
            "data": {"cluster": "{{CLUSTER_NAME}}", "value": format!("{{{{{VARIABLE}}}}}")},
        },
        {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
            "spec": {
                "selector": {"matchLabels": {"app": name}},
                "template": {
                    "metadata": {"labels": {"app": name}},
                    "spec": {"containers": [{"name": "agent", "image": "registry.example/agent:1"}]},
                },
            },
        },
    ]);
    let mut template = object(ADDON, "v1alpha1", "AddOnTemplate", &name);
    template["spec"] = json!({
        "addonName": name,
        "agentSpec": {"workload": {"manifests": manifests}},
        "registration": [{"type": "KubeClient"}],
    });
    template
}

fn add_on(number: usize) -> Value {
    let name = name(number);
    let mut add_on = object(ADDON, "v1beta1", "ClusterManagementAddOn", &name);
    add_on["spec"] = strategy(&json!({"type": "All"}));
    add_on["spec"]["defaultConfigs"] = json!([
        {"group": ADDON, "resource": "addontemplates", "name": name},
        {"group": ADDON, "resource": "addondeploymentconfigs", "namespace": FLEET, "name": FLEET},
    ]);
    add_on
}
