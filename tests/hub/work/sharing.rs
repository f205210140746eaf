//! One object of several ManifestWorks that apply it on the server, each with its field manager.

use serde_json::{Value, json};

use super::deployments::{config, deployment, path};
use super::world::{World, of_manifest, said};

fn strategy(manager: &str, force: bool) -> Value {
    let settings = json!({"fieldManager": manager, "force": force});
    json!({"type": "ServerSideApply", "serverSideApply": settings})
}

/// The managers that have applied fields of an object.
fn managers(object: &Value) -> Vec<&str> {
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    let mut managers: Vec<_> = entries
        .iter()
        .filter(|it| it["operation"] == "Apply")
        .map(|it| it["manager"].as_str().unwrap())
        .collect();
    managers.sort_unstable();
    managers
}

#[tokio::test(flavor = "multi_thread")]
async fn each_work_changes_only_the_fields_that_no_other_one_owns() {
    let world = World::new().await;
    let _agent = world.agent();
    let account = |mut object: Value, name: &str| {
        object["spec"]["template"]["spec"]["serviceAccountName"] = json!(name);
        object
    };
    let first = |replicas, name| account(deployment(&world, "app", replicas), name);
    let spec = config(&world, "app", strategy("work-agent", false));
    world
        .create_with("first-fields", &[first(1, "default")], spec)
        .await;
    world.reports("first-fields", "T", "T").await;
    let mut second = first(1, "default");
    second["spec"].as_object_mut().unwrap().remove("replicas");
    let spec = config(&world, "app", strategy("work-agent-another", true));
    world.create_with("second-fields", &[second], spec).await;
    world.reports("second-fields", "T", "T").await;
    let path = path(&world, "app");
    let object = world.has(&path, "there", |_| true).await;
    assert_eq!(managers(&object), ["work-agent", "work-agent-another"]);

    world.update("first-fields", &[first(3, "default")]).await;
    world.reports("first-fields", "T", "T").await;
    world
        .has(&path, "scaled", |it| it["spec"]["replicas"] == 3)
        .await;

    world.update("first-fields", &[first(3, "other")]).await;
    let work = world.reports("first-fields", "F", "T").await;
    let applied = of_manifest(&work, 0, "Applied");
    let [_, reason, message] = said(&applied);
    assert_eq!(reason, "AppliedManifestFailed");
    let owned = ".spec.template.spec.serviceAccountName is owned by \"work-agent-another\": remove the field";
    assert!(message.contains(owned), "{message}");
    world.reports("second-fields", "T", "T").await;
    let object = world.has(&path, "there", |_| true).await;
    let name = &object["spec"]["template"]["spec"]["serviceAccountName"];
    assert_eq!(name, "default");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_work_that_leaves_an_object_as_an_orphan_is_no_owner_of_it() {
    let world = World::new().await;
    let _agent = world.agent();
    let works = [
        ("orphaning", "work-agent"),
        ("owning", "work-agent-another"),
    ];
    for (name, manager) in works {
        let spec = config(&world, "app", strategy(manager, true));
        let manifests = [deployment(&world, "app", 1)];
        world.create_with(name, &manifests, spec).await;
        world.reports(name, "T", "T").await;
    }
    let owners = |object: &Value| -> Vec<Value> {
        let owners = object["metadata"]["ownerReferences"].as_array();
        owners.into_iter().flatten().cloned().collect()
    };
    let path = path(&world, "app");
    world
        .has(&path, "two owners", |it| owners(it).len() == 2)
        .await;
    let orphan = json!({"deleteOption": {"propagationPolicy": "Orphan"}});
    world.patch("orphaning", orphan).await;
    let second = world.applied("owning", "there", |_| true).await;
    let object = world
        .has(&path, "one owner", |it| owners(it).len() == 1)
        .await;
    assert_eq!(owners(&object)[0]["uid"], second["metadata"]["uid"]);
    world.delete("orphaning").await;
    world.is_gone("orphaning").await;
    world.delete("owning").await;
    world.is_gone("owning").await;
    world.lacks(&path).await;
}
