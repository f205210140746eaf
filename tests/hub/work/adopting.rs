//! Objects that existed before a ManifestWork named them.

use serde_json::{Value, json};

use super::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn an_object_of_a_kind_that_is_watched_already_keeps_its_ignored_fields() {
    let world = World::new().await;
    let deployment = |name: &str, replicas: u32| {
        let labels = json!({"app": name});
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": world.namespace},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "a", "image": "example.com/a:1"}]},
                },
            },
        })
    };
    let deployments = format!("/apis/apps/v1/namespaces/{}/deployments", world.namespace);
    let created = world
        .managed
        .post(&deployments, &deployment("theirs", 5))
        .await;
    assert_eq!(created.unwrap().code, 201);
    let _agent = world.agent();
    // The agent lists the Deployments of the namespace for this one, before a manifest names the other one.
    world
        .create("watched-first", &[deployment("ours", 1)])
        .await;
    world.reports("watched-first", "T", "T").await;
    let config = json!({"manifestConfigs": [{
        "resourceIdentifier": {
            "group": "apps", "resource": "deployments", "namespace": world.namespace, "name": "theirs",
        },
        "updateStrategy": {"type": "ServerSideApply", "serverSideApply": {
            "force": true,
            "ignoreFields": [{"condition": "OnSpokePresent", "jsonPointers": ["/spec/replicas"]}],
        }},
    }]});
    world
        .create_with("adopts", &[deployment("theirs", 2)], config)
        .await;
    world.reports("adopts", "T", "T").await;
    let path = format!("{deployments}/theirs");
    let has_owner = |it: &Value| it["metadata"]["ownerReferences"].is_array();
    let adopted = world.has(&path, "adopted", has_owner).await;
    assert_eq!(adopted["spec"]["replicas"], 5);
}
