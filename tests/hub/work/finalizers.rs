//! Objects that a finalizer keeps: they stay recorded until they are gone.

use serde_json::{Value, json};

use super::world::{World, condition};

/// The names of the objects that an AppliedManifestWork lists.
fn recorded(applied: &Value) -> Vec<&str> {
    let resources = applied["status"]["appliedResources"].as_array();
    let resources = resources.into_iter().flatten();
    resources.map(|it| it["name"].as_str().unwrap()).collect()
}

/// A work whose ConfigMap `held` has left the manifests, and is kept by a finalizer. Its ConfigMap `a` stays.
async fn held(world: &World, work: &str) -> String {
    let mut held = world.map("held", "1");
    held["metadata"]["finalizers"] = json!(["example.com/keep"]);
    world.create(work, &[held, world.map("a", "1")]).await;
    world.reports(work, "TT", "TT").await;
    world.update(work, &[world.map("a", "1")]).await;
    let path = world.map_path("held");
    world
        .has(&path, "being deleted", |it| {
            !it["metadata"]["deletionTimestamp"].is_null()
        })
        .await;
    world.reports(work, "T", "T").await;
    let applied = world
        .applied(work, "both", |it| recorded(it).len() == 2)
        .await;
    assert_eq!(recorded(&applied), ["a", "held"]);
    path
}

async fn release(world: &World, path: &str) {
    world
        .change(path, json!({"metadata": {"finalizers": null}}))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_left_the_manifests_is_recorded_until_it_is_gone() {
    let world = World::new().await;
    let _agent = world.agent();
    let path = held(&world, "stale").await;
    release(&world, &path).await;
    world.lacks(&path).await;
    world
        .applied("stale", "only a", |it| recorded(it) == ["a"])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_work_that_is_deleted_meanwhile_waits_for_it() {
    let world = World::new().await;
    let _agent = world.agent();
    let path = held(&world, "deleted-meanwhile").await;
    world.delete("deleted-meanwhile").await;
    world.lacks(&world.map_path("a")).await;
    world
        .applied("deleted-meanwhile", "only the held one", |it| {
            recorded(it) == ["held"] && !it["metadata"]["deletionTimestamp"].is_null()
        })
        .await;
    world
        .work_has("deleted-meanwhile", "deleting", |it| {
            condition(&it["status"], "Deleting")["status"] == "True"
        })
        .await;
    release(&world, &path).await;
    world.is_gone("deleted-meanwhile").await;
    world.lacks(&path).await;
}
