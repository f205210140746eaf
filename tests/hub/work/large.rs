//! ManifestWorks that an API server can hardly store with what is reported of them.

use serde_json::{Value, json};

use super::world::{World, condition};

/// A state takes some 650 bytes, so that the states take all the room that the manifests and the annotation leave, and more.
const STATES: usize = 1_500;

#[tokio::test(flavor = "multi_thread")]
async fn a_status_that_the_hub_refuses_as_too_large_is_shortened() {
    let world = World::new().await;
    let data = "x".repeat(180);
    let manifests: Vec<_> = (0..STATES)
        .map(|at| world.map(&format!("{at:050}"), &data))
        .collect();
    world.create("shortened", &manifests).await;
    // More than is kept free for metadata.
    let annotations = json!({"example.com/note": "n".repeat(250_000)});
    let patch = json!({"metadata": {"annotations": annotations}});
    let patched = world.hub.merge(&world.work("shortened"), &patch).await;
    assert_eq!(patched.unwrap().code, 200);
    let _agent = world.agent();
    let has_shorter_status = |it: &Value| {
        let available = condition(&it["status"], "Available");
        available["message"]
            .as_str()
            .is_some_and(|it| it.contains("the status leaves out the states of"))
    };
    let work = world
        .work_has("shortened", "a shorter status", has_shorter_status)
        .await;
    let states = work["status"]["resourceStatus"]["manifests"].as_array();
    let states = states.unwrap().len();
    assert!((STATES / 4..STATES).contains(&states), "{states}");
    assert_eq!(condition(&work["status"], "Applied")["status"], "True");
    assert_eq!(condition(&work["status"], "Available")["status"], "True");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_work_with_more_objects_than_can_be_listed_is_refused() {
    let world = World::new().await;
    let _agent = world.agent_with(&["--works-memory=1Gi"]);
    let manifests: Vec<_> = (0..13_000)
        .map(|at| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("m{at}"), "namespace": "default"}}))
        .collect();
    world.create("unlisted", &manifests).await;
    let is_refused = |it: &Value| condition(&it["status"], "Applied")["status"] == "False";
    let work = world.work_has("unlisted", "refused", is_refused).await;
    let applied = condition(&work["status"], "Applied");
    assert_eq!(applied["reason"], "AppliedManifestWorkTooLarge");
    let message = applied["message"].as_str().unwrap();
    assert!(
        message.contains("Split the manifests over several ManifestWorks"),
        "{message}"
    );
    let first = world
        .managed
        .get("/api/v1/namespaces/default/configmaps/m0")
        .await
        .unwrap();
    assert_eq!(first.code, 404, "nothing of it is applied");
}
