//! Values of objects that feedback rules report.

use berth_testkit::cluster::fresh;
use serde_json::{Value, json};

use super::world::{World, namespace_object, of_manifest, said};

/// The resource of ConfigMaps of this name, which may have wildcards.
fn maps(world: &World, name: &str) -> Value {
    json!({"resource": "configmaps", "namespace": world.namespace, "name": name})
}

/// A config that reports the field at a path, under this name.
fn reporting(of: Value, name: &str, path: &str) -> Value {
    json!({
        "resourceIdentifier": of,
        "updateStrategy": {"type": "ReadOnly"},
        "feedbackRules": [{"type": "JSONPaths", "jsonPaths": [{"name": name, "path": path}]}],
    })
}

/// The values of the manifest at this position.
fn values(work: &Value, at: usize) -> Value {
    work["status"]["resourceStatus"]["manifests"][at]["statusFeedback"]["values"].clone()
}

/// The value that is a string.
fn text(name: &str, text: &str) -> Value {
    json!([{"name": name, "fieldValue": {"type": "String", "string": text}}])
}

/// Creates a ConfigMap, as another client.
async fn create(world: &World, map: &Value) {
    let maps = format!("/api/v1/namespaces/{}/configmaps", world.namespace);
    let created = world.managed.post(&maps, map).await.unwrap();
    assert_eq!(created.code, 201, "{created:?}");
}

/// The interval is for objects that may not be watched. Nothing waits for it here.
#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_changes_is_reported_at_once_with_its_time() {
    let world = World::new().await;
    create(&world, &world.map("a", "1")).await;
    let _agent = world.agent_with(&["--status-sync-interval=1h"]);
    let scope = namespace_object(&fresh("scope"));
    let scope_name = scope["metadata"]["name"].as_str().unwrap().to_owned();
    let namespaces = json!({"resource": "namespaces", "name": scope_name});
    let mut configs = [
        reporting(maps(&world, "a"), "key", ".data.key"),
        reporting(namespaces, "zone", ".metadata.labels.zone"),
    ];
    configs[0]["feedbackScrapeType"] = json!("Watch");
    configs[1]["feedbackScrapeType"] = json!("Watch");
    configs[1]["updateStrategy"] = json!({"type": "Update"});
    let spec = json!({ "manifestConfigs": configs });
    world
        .create_with("values", &[world.map("a", "1"), scope], spec)
        .await;
    let before = world.reports("values", "TT", "TT").await;
    assert_eq!(values(&before, 0), text("key", "1"));
    assert_eq!(values(&before, 1), Value::Null);

    berth_testkit::next_second().await;
    world
        .change(&world.map_path("a"), json!({"data": {"key": "2"}}))
        .await;
    let labels = json!({"metadata": {"labels": {"zone": "z"}}});
    world
        .change(&format!("/api/v1/namespaces/{scope_name}"), labels)
        .await;
    let after = world
        .work_has("values", "both new values", |it| {
            values(it, 0) == text("key", "2") && values(it, 1) == text("zone", "z")
        })
        .await;
    for at in 0..2 {
        let time = |work: &Value, type_| {
            let condition = of_manifest(work, at, type_);
            assert_eq!(condition["status"], "True", "{condition}");
            let time = condition["lastTransitionTime"].as_str().unwrap();
            time.parse::<jiff::Timestamp>().unwrap()
        };
        let synced = "StatusFeedbackSynced";
        assert!(time(&after, synced) > time(&before, synced), "{at}");
        let available = "Available";
        assert_eq!(time(&after, available), time(&before, available), "{at}");
    }
    // A field that is gone has no value.
    world
        .change(&world.map_path("a"), json!({"data": {"key": null}}))
        .await;
    world
        .work_has("values", "no value", |it| values(it, 0) == Value::Null)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_configs_for_an_object_the_first_one_with_rules_counts() {
    let world = World::new().await;
    let _agent = world.agent();
    let without_rules = json!({
        "resourceIdentifier": maps(&world, "*"), "updateStrategy": {"type": "Update"},
    });
    let configs = json!({"manifestConfigs": [
        without_rules,
        reporting(maps(&world, "map-*"), "first", ".data.key"),
        reporting(maps(&world, "*"), "second", ".data.key"),
    ]});
    let manifests = [world.map("map-a", "1"), world.map("other", "1")];
    world.create_with("configs", &manifests, configs).await;
    let work = world.reports("configs", "TT", "TT").await;
    assert_eq!(values(&work, 0), text("first", "1"));
    assert_eq!(values(&work, 1), text("second", "1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_is_an_object_is_reported_with_the_gate_only() {
    let world = World::new().await;
    let agent = world.agent();
    let configs = json!({"manifestConfigs": [reporting(maps(&world, "a"), "all", ".data")]});
    create(&world, &world.map("a", "1")).await;
    world
        .create_with("raw", &[world.map("a", "1")], configs)
        .await;
    let work = world.reports("raw", "T", "T").await;
    assert_eq!(values(&work, 0), Value::Null);
    let message = "Sync status feedback failed with error the type map[string]interface {} of the value for all is not found";
    assert_eq!(
        said(&of_manifest(&work, 0, "StatusFeedbackSynced")),
        ["False", "StatusFeedbackSyncFailed", message]
    );
    agent.kill().await;

    let agent = world.agent_with(&["--feature-gates=RawFeedbackJsonString=true"]);
    let work = world
        .work_has("raw", "the value", |it| values(it, 0) != Value::Null)
        .await;
    let raw = json!({"type": "JsonRaw", "jsonRaw": r#"{"key":"1"}"#});
    assert_eq!(
        values(&work, 0),
        json!([{"name": "all", "fieldValue": raw}])
    );
    assert_eq!(
        said(&of_manifest(&work, 0, "StatusFeedbackSynced")),
        ["True", "StatusFeedbackSynced", ""]
    );
    agent.kill().await;

    let gate = "--feature-gates=RawFeedbackJsonString=true";
    let _agent = world.agent_with(&[gate, "--max-json-raw-length=8"]);
    let work = world
        .work_has("raw", "no value", |it| values(it, 0) == Value::Null)
        .await;
    let message = "Sync status feedback failed with error the length of returned json raw string for name all is larger than the maximum length 8";
    assert_eq!(
        said(&of_manifest(&work, 0, "StatusFeedbackSynced")),
        ["False", "StatusFeedbackSyncFailed", message]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_without_well_known_values_is_named() {
    let world = World::new().await;
    let _agent = world.agent();
    let rules = json!([
        {"type": "WellKnownStatus"},
        {"type": "JSONPaths", "jsonPaths": [{"name": "key", "path": ".data.key"}]},
    ]);
    let config = json!({"resourceIdentifier": maps(&world, "a"), "feedbackRules": rules});
    let configs = json!({"manifestConfigs": [config]});
    world
        .create_with("unknown-values", &[world.map("a", "1")], configs)
        .await;
    let work = world.reports("unknown-values", "T", "T").await;
    let message = "Sync status feedback failed with error cannot find the wellknown statuses for resource with gvk /v1, Kind=ConfigMap";
    assert_eq!(
        said(&of_manifest(&work, 0, "StatusFeedbackSynced")),
        ["False", "StatusFeedbackSyncFailed", message]
    );
    // The other rules count all the same.
    assert_eq!(values(&work, 0), text("key", "1"));
}
