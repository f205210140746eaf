//! A Klusterlet is deleted.

use super::*;

const WORKS: &str = "/apis/work.open-cluster-management.io/v1/appliedmanifestworks";
const FINALIZER: &str = "cluster.open-cluster-management.io/applied-manifest-work-cleanup";

/// The record of a work that this agent has carried out.
async fn applied_work(world: &World, name: &str, agent: &str) -> String {
    let work = json!({
        "apiVersion": "work.open-cluster-management.io/v1", "kind": "AppliedManifestWork",
        "metadata": {"name": name, "finalizers": [FINALIZER]},
        "spec": {"agentID": agent, "hubHash": "h", "manifestWorkName": name},
    });
    let path = format!("{WORKS}/{name}");
    world.admin.post(WORKS, &work).await.unwrap().ok();
    path
}

async fn deleted(annotations: Value) -> (World, [bool; 2]) {
    let world = World::new().await;
    let _operator = world.operator().await;
    let admin = &world.admin;
    world
        .create("klusterlet", json!({"clusterName": "c1"}))
        .await;
    world.said(("Applied", "True", "KlusterletApplied")).await;
    let klusterlet = admin.get(KLUSTERLET).await.unwrap();
    let uid = klusterlet.ok()["metadata"]["uid"].as_str().unwrap();
    let mine = applied_work(&world, "mine", uid).await;
    let theirs = applied_work(&world, "theirs", "another").await;
    let before = related_to(admin, KLUSTERLET).await;
    let metadata = json!({"metadata": {"annotations": annotations}});
    admin.merge(KLUSTERLET, &metadata).await.unwrap().ok();
    admin.delete(KLUSTERLET).await.unwrap().ok();
    gone(admin, KLUSTERLET).await;
    for path in before {
        let stays = path.contains("customresourcedefinitions");
        // A namespace ends when what is in it has.
        let is_namespace =
            path.starts_with("/api/v1/namespaces/") && path.matches('/').count() == 4;
        if is_namespace {
            let answer = admin.get(&path).await.unwrap();
            let ends =
                answer.code == 404 || !answer.body["metadata"]["deletionTimestamp"].is_null();
            assert!(ends, "{path}");
        } else {
            let answer = admin.get(&path).await.unwrap();
            assert_eq!(answer.code == 200, stays, "{path}");
        }
    }
    let other = admin.get(&theirs).await.unwrap();
    assert_eq!(other.ok()["metadata"]["finalizers"], json!([FINALIZER]));
    let mine = admin.get(&mine).await.unwrap();
    let is_there = mine.code == 200;
    let is_held = is_there && !mine.body["metadata"]["finalizers"].is_null();
    (world, [is_there, is_held])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_agent_goes_and_what_works_made_stays() {
    let (_world, work) = deleted(json!({})).await;
    assert_eq!(work, [true, false], "the record stays, and nobody holds it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_works_made_goes_along_if_that_is_asked_for() {
    let annotations = json!({"operator.berth.open-cluster-management.io/delete-works": "true"});
    let (_world, work) = deleted(annotations).await;
    assert_eq!(work, [false, false]);
}
