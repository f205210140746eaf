//! What goes with a ManifestWork, and what stays.

use serde_json::{Value, json};

use super::world::{World, condition};

/// The owners of an object.
fn owners(object: &Value) -> usize {
    object["metadata"]["ownerReferences"]
        .as_array()
        .map_or(0, Vec::len)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_work_stays_until_its_objects_are_gone() {
    let world = World::new().await;
    let _agent = world.agent();
    let mut held = world.map("held", "1");
    held["metadata"]["finalizers"] = json!(["example.com/keep"]);
    world.create("end", &[held, world.map("a", "1")]).await;
    world.reports("end", "TT", "TT").await;
    world.delete("end").await;
    world.lacks(&world.map_path("a")).await;
    let path = world.work("end");
    let message = format!(
        "ManifestWork is being deleted; it waits for configmaps {}/held: finalizer example.com/keep has not been removed",
        world.namespace
    );
    let says_why = |it: &Value| condition(&it["status"], "Deleting")["message"] == message.as_str();
    let work = berth_testkit::process::once(&world.hub, &path, "deleting", says_why).await;
    let deleting = condition(&work["status"], "Deleting");
    assert_eq!(
        (&deleting["status"], &deleting["reason"]),
        (&json!("True"), &json!("WorkDeleting"))
    );
    world
        .has(&world.map_path("held"), "held", |it| {
            !it["metadata"]["deletionTimestamp"].is_null()
        })
        .await;
    let free = json!({"metadata": {"finalizers": null}});
    world
        .managed
        .merge(&world.map_path("held"), &free)
        .await
        .unwrap()
        .ok();
    world.is_gone("end").await;
    world.lacks(&world.map_path("held")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_of_two_works_goes_with_the_last() {
    let world = World::new().await;
    let _agent = world.agent();
    world.create("owner-a", &[world.map("a", "1")]).await;
    world
        .create("owner-b", &[world.map("a", "1"), world.map("b", "1")])
        .await;
    world.reports("owner-a", "T", "T").await;
    world.reports("owner-b", "TT", "TT").await;
    let path = world.map_path("a");
    let both = world.has(&path, "two owners", |it| owners(it) == 2).await;
    world.delete("owner-a").await;
    world.is_gone("owner-a").await;
    let one = world.has(&path, "one owner", |it| owners(it) == 1).await;
    assert_eq!(one["metadata"]["uid"], both["metadata"]["uid"]);
    world.update("owner-b", &[world.map("b", "1")]).await;
    world.lacks(&path).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn orphans_stay() {
    let world = World::new().await;
    let _agent = world.agent();
    let orphan = json!({"deleteOption": {"propagationPolicy": "Orphan"}});
    world
        .create_with("orphans", &[world.map("a", "1")], orphan)
        .await;
    let rules =
        json!([{"group": "", "resource": "configmaps", "namespace": world.namespace, "name": "b"}]);
    let selectively = json!({"deleteOption": {
        "propagationPolicy": "SelectivelyOrphan", "selectivelyOrphans": {"orphaningRules": rules},
    }});
    world
        .create_with(
            "some",
            &[world.map("b", "1"), world.map("c", "1")],
            selectively,
        )
        .await;
    world.reports("orphans", "T", "T").await;
    world.reports("some", "TT", "TT").await;
    for name in ["a", "b"] {
        let map = world.has(&world.map_path(name), "there", |_| true).await;
        assert_eq!(owners(&map), 0);
    }
    for name in ["orphans", "some"] {
        world.delete(name).await;
        world.is_gone(name).await;
    }
    world.lacks(&world.map_path("c")).await;
    for name in ["a", "b"] {
        world
            .has(&world.map_path(name), "there", |it| {
                it["metadata"]["deletionTimestamp"].is_null()
            })
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_no_orphan_any_more_goes() {
    let world = World::new().await;
    let _agent = world.agent();
    let orphan = json!({"deleteOption": {"propagationPolicy": "Orphan"}});
    world
        .create_with("back", &[world.map("a", "1")], orphan)
        .await;
    world.reports("back", "T", "T").await;
    world.patch("back", json!({"deleteOption": null})).await;
    world
        .has(&world.map_path("a"), "owned", |it| owners(it) == 1)
        .await;
    world.delete("back").await;
    world.is_gone("back").await;
    world.lacks(&world.map_path("a")).await;
}
