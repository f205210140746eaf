//! Fields that an update leaves alone: `ignoreFields` of the strategy ServerSideApply.

use serde_json::{Value, json};

use super::deployments::{config, deployment, path};
use super::world::{World, of_manifest, said};

/// The strategy, with fields to ignore on this condition.
fn ignoring(condition: &str, fields: Value, force: bool) -> Value {
    let mut entry = fields;
    entry["condition"] = json!(condition);
    let settings = json!({"force": force, "ignoreFields": [entry]});
    json!({"type": "ServerSideApply", "serverSideApply": settings})
}

/// Another client changes the spec of the Deployment, and a field that is not ignored. The agent puts that one back.
async fn changed_by_another(world: &World, path: &str, mut spec: Value) -> Value {
    spec["template"]["metadata"]["labels"]["mine"] = json!("no");
    world.change(path, json!({ "spec": spec })).await;
    world
        .has(path, "the label put back", |it| {
            it["spec"]["template"]["metadata"]["labels"]["mine"] == "yes"
        })
        .await
}

/// Another client scales the Deployment, and changes a field that is not ignored. The agent puts that one back.
async fn scaled_by_another(world: &World, path: &str) {
    let object = changed_by_another(world, path, json!({"replicas": 2})).await;
    assert_eq!(object["spec"]["replicas"], 2);
}

fn labelled(world: &World, replicas: u32) -> Value {
    let mut object = deployment(world, "app", replicas);
    object["spec"]["template"]["metadata"]["labels"]["mine"] = json!("yes");
    object
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_is_ignored_on_change_is_set_again_with_the_manifest() {
    let world = World::new().await;
    let _agent = world.agent();
    let strategy = |force| {
        ignoring(
            "OnSpokeChange",
            json!({"jsonPaths": [".spec.replicas"]}),
            force,
        )
    };
    let spec = |force| config(&world, "app", strategy(force));
    world
        .create_with("scaled", &[labelled(&world, 1)], spec(true))
        .await;
    world.reports("scaled", "T", "T").await;
    let path = path(&world, "app");
    scaled_by_another(&world, &path).await;
    for force in [false, true] {
        world.patch("scaled", spec(force)).await;
        world.reports("scaled", "T", "T").await;
        let object = world.has(&path, "there", |_| true).await;
        assert_eq!(object["spec"]["replicas"], 2, "force {force}");
    }
    world.update("scaled", &[labelled(&world, 3)]).await;
    world.reports("scaled", "T", "T").await;
    world
        .has(&path, "scaled", |it| it["spec"]["replicas"] == 3)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_is_ignored_once_present_is_never_set_again() {
    let world = World::new().await;
    let _agent = world.agent();
    let fields = [
        ("by-path", json!({"jsonPaths": [".spec.replicas"]})),
        ("by-pointer", json!({"jsonPointers": ["/spec/replicas"]})),
    ];
    for (name, fields) in fields {
        let named = |replicas| {
            let mut object = labelled(&world, replicas);
            object["metadata"]["name"] = json!(name);
            object
        };
        let spec = config(&world, name, ignoring("OnSpokePresent", fields, true));
        world.create_with(name, &[named(1)], spec).await;
        world.reports(name, "T", "T").await;
        let path = path(&world, name);
        world
            .has(&path, "created with it", |it| it["spec"]["replicas"] == 1)
            .await;
        scaled_by_another(&world, &path).await;
        let mut manifest = named(3);
        manifest["metadata"]["labels"] = json!({"new": "1"});
        world.update(name, &[manifest]).await;
        world.reports(name, "T", "T").await;
        let object = world
            .has(&path, "the label", |it| {
                it["metadata"]["labels"]["new"] == "1"
            })
            .await;
        assert_eq!(object["spec"]["replicas"], 2, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_jq_expression_selects_an_item_of_a_list() {
    let world = World::new().await;
    let _agent = world.agent();
    let expression = r#".spec.template.spec.containers[] | select(.name == "a") | .env[] | select(.name == "THEIRS")"#;
    let manifest = |ours: &str| {
        let mut object = deployment(&world, "app", 1);
        object["spec"]["template"]["spec"]["containers"][0]["env"] =
            json!([{"name": "OURS", "value": ours}, {"name": "THEIRS", "value": "1"}]);
        object
    };
    let fields = json!({"jqPathExpressions": [expression]});
    let spec = config(&world, "app", ignoring("OnSpokePresent", fields, true));
    world.create_with("env", &[manifest("1")], spec).await;
    world.reports("env", "T", "T").await;
    let path = path(&world, "app");
    let values = |object: &Value| {
        let env = object["spec"]["template"]["spec"]["containers"][0]["env"].as_array();
        let values = env.into_iter().flatten().map(|it| it["value"].clone());
        values.collect::<Vec<_>>()
    };
    let object = world.has(&path, "created", |_| true).await;
    assert_eq!(values(&object), ["1", "1"]);
    // As `kubectl set env` does.
    let mut theirs = object;
    theirs["spec"]["template"]["spec"]["containers"][0]["env"][1]["value"] = json!("2");
    let written = world.managed.put(&path, &theirs).await.unwrap();
    assert_eq!(written.code, 200, "{written:?}");
    world.update("env", &[manifest("2")]).await;
    world.reports("env", "T", "T").await;
    let object = world
        .has(&path, "our new value", |it| values(it)[0] == "2")
        .await;
    assert_eq!(values(&object), ["2", "2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_stays_as_it_is_if_one_of_its_items_is_ignored() {
    let world = World::new().await;
    let agent = world.agent();
    let level = json!({"jsonPointers": ["/spec/template/spec/containers/0/args/1"]});
    let conditions = [
        ("on-present", "OnSpokePresent"),
        ("on-change", "OnSpokeChange"),
    ];
    for (name, condition) in conditions {
        let mut manifest = labelled(&world, 1);
        manifest["metadata"]["name"] = json!(name);
        manifest["spec"]["template"]["spec"]["containers"][0]["args"] = json!(["run", "--level=1"]);
        let spec = config(&world, name, ignoring(condition, level.clone(), true));
        world.create_with(name, &[manifest], spec).await;
        world.reports(name, "T", "T").await;
        let path = path(&world, name);
        let created = world.has(&path, "created", |_| true).await;
        let mut containers = created["spec"]["template"]["spec"]["containers"].clone();
        assert_eq!(containers[0]["args"], json!(["run", "--level=1"]));
        containers[0]["args"][1] = json!("--level=9");
        let theirs = json!({"template": {"spec": {"containers": containers}}});
        changed_by_another(&world, &path, theirs).await;
    }
    agent.kill().await;
    let _agent = world.agent();
    for (name, _) in conditions {
        let path = path(&world, name);
        let object = changed_by_another(&world, &path, json!({})).await;
        let args = &object["spec"]["template"]["spec"]["containers"][0]["args"];
        assert_eq!(*args, json!(["run", "--level=9"]), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expression_that_is_no_jq_is_named() {
    let world = World::new().await;
    let _agent = world.agent();
    let fields = json!({"jqPathExpressions": [".spec.["]});
    let spec = config(&world, "app", ignoring("OnSpokePresent", fields, true));
    let manifests = [deployment(&world, "app", 1), world.map("a", "1")];
    world.create_with("broken", &manifests, spec).await;
    let work = world.reports("broken", "FT", "FT").await;
    let applied = of_manifest(&work, 0, "Applied");
    let [_, reason, message] = said(&applied);
    assert_eq!(reason, "AppliedManifestSSAIgnoreFieldError");
    assert!(
        message.contains("jq path expression \".spec.[\": "),
        "{message}"
    );
    world.lacks(&path(&world, "app")).await;
}

/// The manifests of a ManifestWork hold `creationTimestamp: null`, as Go writes it. Each write of it would be a new generation.
#[tokio::test(flavor = "multi_thread")]
async fn a_work_within_a_work_is_written_once() {
    let world = World::new().await;
    let agent = world.agent();
    let mut inner = world.map("inner", "1");
    inner["metadata"]["creationTimestamp"] = Value::Null;
    let nested = json!({
        "apiVersion": "work.open-cluster-management.io/v1",
        "kind": "ManifestWork",
        "metadata": {"name": "nested", "namespace": world.namespace, "creationTimestamp": null},
        "spec": {"workload": {"manifests": [inner]}},
    });
    let spec = json!({"manifestConfigs": [{
        "resourceIdentifier": {
            "group": "work.open-cluster-management.io", "resource": "manifestworks",
            "namespace": world.namespace, "name": "nested",
        },
        "updateStrategy": {"type": "ServerSideApply"},
    }]});
    world.create_with("outer", &[nested], spec).await;
    world.reports("outer", "T", "T").await;
    let path = format!(
        "/apis/work.open-cluster-management.io/v1/namespaces/{}/manifestworks/nested",
        world.namespace
    );
    // A change by another client makes the agent compare it; a restart, too.
    let theirs = json!({"metadata": {"annotations": {"theirs": "1"}}});
    world.change(&path, theirs).await;
    agent.kill().await;
    let _agent = world.agent();
    world
        .create("proof-within", &[world.map("proof-within", "1")])
        .await;
    world.reports("proof-within", "T", "T").await;
    world.reports("outer", "T", "T").await;
    let object = world.has(&path, "there", |_| true).await;
    assert_eq!(object["metadata"]["generation"], 1);
}
