//! Update strategies, and clients that change what a ManifestWork prescribes.

use serde_json::{Value, json};

use super::deployments::{config, deployment, path};
use super::world::{World, condition, of_manifest};

#[tokio::test(flavor = "multi_thread")]
async fn what_others_add_to_a_deployment_stays_and_what_is_prescribed_is_put_back() {
    let world = World::new().await;
    let _agent = world.agent();
    world.create("app", &[deployment(&world, "a", 1)]).await;
    world.reports("app", "T", "T").await;
    let path = path(&world, "a");
    let changed = json!({
        "metadata": {"annotations": {"theirs": "1"}},
        "spec": {"replicas": 3, "minReadySeconds": 5},
    });
    world.managed.merge(&path, &changed).await.unwrap().ok();
    let object = world
        .has(&path, "put back", |it| it["spec"]["replicas"] == 1)
        .await;
    assert_eq!(object["spec"]["minReadySeconds"], 5);
    assert_eq!(object["metadata"]["annotations"]["theirs"], "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn create_only_leaves_an_object_as_it_is() {
    let world = World::new().await;
    let _agent = world.agent();
    let spec = config(&world, "a", json!({"type": "CreateOnly"}));
    world
        .create_with("once", &[deployment(&world, "a", 1)], spec)
        .await;
    world.reports("once", "T", "T").await;
    world.update("once", &[deployment(&world, "a", 2)]).await;
    world.reports("once", "T", "T").await;
    let object = world.has(&path(&world, "a"), "there", |_| true).await;
    assert_eq!(object["spec"]["replicas"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn read_only_reports_and_writes_nothing() {
    let world = World::new().await;
    let map = world.map("a", "theirs");
    let maps = format!("/api/v1/namespaces/{}/configmaps", world.namespace);
    let created = world.managed.post(&maps, &map).await.unwrap();
    assert_eq!(created.code, 201, "{created:?}");
    let version = created.body["metadata"]["resourceVersion"].clone();
    let _agent = world.agent();
    let spec = json!({"manifestConfigs": [{
        "resourceIdentifier": {"resource": "configmaps", "namespace": world.namespace, "name": "a"},
        "updateStrategy": {"type": "ReadOnly"},
        "feedbackRules": [{"type": "JSONPaths", "jsonPaths": [{"name": "key", "path": ".data.key"}]}],
    }]});
    world
        .create_with("watch", &[world.map("a", "ours")], spec)
        .await;
    let work = world.reports("watch", "T", "T").await;
    let value = |work: &Value| {
        work["status"]["resourceStatus"]["manifests"][0]["statusFeedback"]["values"][0]["fieldValue"]["string"].clone()
    };
    assert_eq!(value(&work), "theirs");
    let drifted = condition(&work["status"]["resourceStatus"]["manifests"][0], "Drifted");
    assert_eq!(drifted["status"], "True", "{drifted}");
    let message = drifted["message"].as_str().unwrap();
    assert!(
        message.contains("data") && message.contains("theirs"),
        "{message}"
    );
    let map = world.has(&world.map_path("a"), "there", |_| true).await;
    assert_eq!(map["metadata"]["resourceVersion"], version);
    let changed = json!({"data": {"key": "other"}});
    world
        .managed
        .merge(&world.map_path("a"), &changed)
        .await
        .unwrap()
        .ok();
    let path = world.work("watch");
    berth_testkit::process::once(&world.hub, &path, "the other value", |it| {
        value(it) == "other"
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_api_server_fills_in_is_no_drift_of_a_read_only_object() {
    let world = World::new().await;
    let service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": world.namespace},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
    });
    let services = format!("/api/v1/namespaces/{}/services", world.namespace);
    let created = world.managed.post(&services, &service).await.unwrap();
    assert_eq!(created.code, 201, "{created:?}");
    let _agent = world.agent();
    let spec = json!({"manifestConfigs": [{
        "resourceIdentifier": {"resource": "services", "namespace": world.namespace, "name": "web"},
        "updateStrategy": {"type": "ReadOnly"},
    }]});
    world.create_with("filled", &[service], spec).await;
    let work = world.reports("filled", "T", "T").await;
    let drifted = of_manifest(&work, 0, "Drifted");
    assert!(drifted.is_null(), "{drifted}");

    // Another value of the manifest is drift.
    let theirs = json!({"spec": {"selector": {"app": "other"}}});
    world.change(&format!("{services}/web"), theirs).await;
    let is_drifted = |it: &Value| of_manifest(it, 0, "Drifted")["status"] == "True";
    let work = world.work_has("filled", "drifted", is_drifted).await;
    let drifted = of_manifest(&work, 0, "Drifted");
    let message = drifted["message"].as_str().unwrap();
    assert!(message.contains("spec.selector.app"), "{message}");
    let service = world
        .has(&format!("{services}/web"), "there", |_| true)
        .await;
    assert!(
        service["metadata"]["annotations"].is_null(),
        "nothing is written: {service}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_of_another_manager_is_named() {
    let world = World::new().await;
    let object = deployment(&world, "a", 3);
    let path = path(&world, "a");
    let applied = world.managed.apply_as("another", &path, &object).await;
    assert_eq!(applied.unwrap().code, 201);
    let _agent = world.agent();
    let spec = config(&world, "a", json!({"type": "ServerSideApply"}));
    world
        .create_with("apply", &[deployment(&world, "a", 1)], spec)
        .await;
    let work = world.reports("apply", "F", "T").await;
    let applied = condition(&work["status"]["resourceStatus"]["manifests"][0], "Applied");
    let message = applied["message"].as_str().unwrap();
    assert!(
        message.contains(".spec.replicas") && message.contains("another"),
        "{message}"
    );
    let mut without = deployment(&world, "a", 1);
    without["spec"].as_object_mut().unwrap().remove("replicas");
    world.update("apply", &[without]).await;
    world.reports("apply", "T", "T").await;
    world
        .has(&path, "unchanged", |it| it["spec"]["replicas"] == 3)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_fights_is_reported_and_not_joined() {
    let world = World::new().await;
    let _agent = world.agent();
    world.create("war", &[world.map("a", "1")]).await;
    world.reports("war", "T", "T").await;
    let path = world.map_path("a");
    for round in 0..3 {
        let theirs = json!({"data": {"key": "theirs"}});
        world.managed.merge(&path, &theirs).await.unwrap().ok();
        world
            .has(&path, &format!("put back {round}"), |it| {
                it["data"]["key"] == "1"
            })
            .await;
    }
    let drifted = |it: &Value| condition(&it["status"], "Drifted")["status"] == "True";
    berth_testkit::process::once(&world.hub, &world.work("war"), "drifted", drifted).await;
}
