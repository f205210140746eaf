//! Templates and configs of add-ons that cannot work are refused, and stored ones stay writable.

use serde_json::{Value, json};

use crate::e2e::sentences::{
    DEPLOYMENT_CONFIG_VALIDATORS, MANAGEMENT_ADDON_VALIDATORS, TEMPLATE_VALIDATORS,
};
use berth_testkit::by_each_client;
use berth_testkit::cluster::{Person, fresh, path_of, rule};
use berth_testkit::guarded::Guarded;
use berth_testkit::objects::{ADDON_GROUP, addon, template};
use berth_testkit::writes::By;

by_each_client![
    a_template_that_cannot_be_rendered_is_refused,
    a_stored_template_stays_writable,
    a_config_that_cannot_be_used_is_refused_in_each_version,
    configs_are_of_kinds_that_the_add_on_supports,
];

const UNCLOSED: &str = r#"spec: manifest 0 (ConfigMap "a"): unclosed {{ in data.k: }} is missing"#;

/// A user who may write add-ons.
async fn dev() -> Person {
    let hub = Guarded::shared().await;
    let rights = rule(&["*"], ADDON_GROUP, &["*"], &[]);
    hub.developer(&fresh("dev"), &[rights]).await
}

async fn a_template_that_cannot_be_rendered_is_refused(by: By) {
    let dev = dev().await;
    let dev = dev.by(by);
    let name = fresh("t");
    let at = ("AddOnTemplate", &*name);
    let written = dev.create(&addon(at, template("{{CLUSTER_NAME"))).await;
    written.denied(TEMPLATE_VALIDATORS, 400, "BadRequest", &[UNCLOSED]);

    let spaces = template("{{ CLUSTER_NAME }}");
    let (_, warnings) = dev.create(&addon(at, spaces)).await.ok_with_warnings();
    assert_eq!(
        warnings,
        [
            r#"spec: manifest 0 (ConfigMap "a"): "{{ CLUSTER_NAME }}" is not a variable and is replaced by empty text; write {{CLUSTER_NAME}}, without spaces"#
        ]
    );
    let patch = json!({ "spec": template("{{A") });
    let written = dev.merge(&addon(at, json!({})), &patch).await;
    written.denied(TEMPLATE_VALIDATORS, 400, "BadRequest", &[UNCLOSED]);
}

async fn a_stored_template_stays_writable(by: By) {
    let dev = dev().await;
    let dev = dev.by(by);
    let name = format!("faulty.{}", by.name());
    let stored = addon(("AddOnTemplate", &name), json!({}));
    for patch in [
        json!({ "metadata": { "labels": { "a": "b" }, "finalizers": ["tests.berth/hold"] } }),
        json!({ "spec": { "addonName": "b" } }),
    ] {
        dev.merge(&stored, &patch).await.ok();
    }
    let mut open = template("{{A");
    let second = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "{{B" } });
    let manifests = open["agentSpec"]["workload"]["manifests"].as_array_mut();
    manifests.unwrap().push(second);
    let written = dev.merge(&stored, &json!({ "spec": open })).await;
    let fault = r#"spec: manifest 1 (Secret "{{B"): unclosed {{ in metadata.name: }} is missing"#;
    written.denied(TEMPLATE_VALIDATORS, 400, "BadRequest", &[fault]);

    // It is deleted, whatever is in it.
    let admin = Guarded::shared().await.cluster.admin().await;
    admin.delete(&path_of(&stored)).await.unwrap().ok();
    let patch = json!({ "metadata": { "finalizers": null } });
    dev.merge(&stored, &patch).await.ok();
    assert_eq!(admin.get(&path_of(&stored)).await.unwrap().code, 404);
}

async fn a_config_that_cannot_be_used_is_refused_in_each_version(by: By) {
    let dev = dev().await;
    let dev = dev.by(by);
    let name = fresh("c");
    for version in ["v1alpha1", "v1beta1"] {
        let of = |spec: Value| {
            let mut config = addon(("AddOnDeploymentConfig", &name), spec);
            config["apiVersion"] = format!("{ADDON_GROUP}/{version}").into();
            config
        };
        let id =
            json!({ "resourceRequirements": [{ "containerID": "pods:(:a", "resources": {} }] });
        let written = dev.create(&of(id)).await;
        let fault = r#"spec: containerID "pods:(:a" is not a valid pattern"#;
        written.denied(DEPLOYMENT_CONFIG_VALIDATORS, 400, "BadRequest", &[fault]);
    }
}

async fn configs_are_of_kinds_that_the_add_on_supports(by: By) {
    let dev = dev().await;
    let dev = dev.by(by);
    let name = fresh("a");
    let foreign = json!([{ "group": "example.com", "resource": "settings", "name": "a" }]);
    let kind = json!([{ "group": ADDON_GROUP, "resource": "addondeploymentconfigs" }]);
    let strategy = json!({
        "type": "Placements",
        "placements": [{ "namespace": "default", "name": "p", "configs": foreign }],
    });
    let spec = json!({ "supportedConfigs": kind, "installStrategy": strategy });
    let sentence = "Configuration with gvr example.com/settings is not supported for this addon";
    let written = dev
        .create(&addon(("ClusterManagementAddOn", &name), spec))
        .await;
    let fault = format!("spec: installStrategy.placements[0].configs: {sentence}");
    written.denied(MANAGEMENT_ADDON_VALIDATORS, 400, "BadRequest", &[&fault]);

    let on_cluster = addon(("ManagedClusterAddOn", &name), json!({}));
    dev.create(&on_cluster).await.ok();
    // Nobody waits for what the manager of the add-on reports.
    let configs = json!({ "spec": { "configs": foreign } });
    let (_, warnings) = dev.merge(&on_cluster, &configs).await.ok_with_warnings();
    assert_eq!(warnings, [""; 0]);
    let admin = Guarded::shared().await.cluster.admin().await;
    let path = path_of(&on_cluster);
    let status = json!({ "status": { "supportedConfigs": kind } });
    let status = admin.merge(&format!("{path}/status"), &status).await;
    status.unwrap().ok();
    let second = json!({ "spec": { "configs": [foreign[0], foreign[0]] } });
    let (_, warnings) = dev.merge(&on_cluster, &second).await.ok_with_warnings();
    assert_eq!(warnings, [format!("spec: configs: {sentence}")]);
}
