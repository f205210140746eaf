//! Both parts of the agent in one process: it registers the cluster, and then carries out its ManifestWorks, with the credentials that
//! the hub has given it.

use serde_json::{Value, json};

use berth_testkit::cluster::{Cluster, fresh};

use super::world::World;
use crate::lifecycle::hub::{condition, works_path};

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_joins_carries_out_its_works() {
    let world = World::new().await;
    crate::work::world::install(Cluster::shared().await).await;
    let mut agent = world.joined(&["--work=true"]).await;
    let namespace = fresh("apps");
    let map = |value: &str| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "namespace": namespace}, "data": {"key": value},
        })
    };
    let manifests = |value: &str| {
        let apps =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        json!({"spec": {"workload": {"manifests": [map(value), apps]}}})
    };
    let path = world.hub.work(&world.name, "web", json!({})).await;
    world.hub.patch(&path, manifests("1")).await;
    let map_path = format!("/api/v1/namespaces/{namespace}/configmaps/a");
    let has = async |value: &str| {
        let is = |it: &Value| it["data"]["key"] == value;
        world.on_managed(&map_path, value, is).await
    };
    has("1").await;
    let applied = |work: &Value| {
        ["Applied", "Available"].into_iter().all(|type_| {
            condition(work, type_).is_some_and(|it| {
                let is_current = it["observedGeneration"] == work["metadata"]["generation"];
                it["status"] == "True" && is_current
            })
        })
    };
    world.hub.once(&path, "applied", applied).await;

    // A container that restarts has its credentials.
    agent.signal("KILL");
    agent.ended().await;
    let mut agent = world.agent(&["--work=true"]);
    world.hub.patch(&path, manifests("2")).await;
    has("2").await;
    world.hub.once(&path, "applied", applied).await;
    world.hub.delete(&path).await;
    world.hub.gone(&path).await;
    let gone = world.managed.get(&map_path).await.unwrap();
    assert_eq!(gone.code, 404);
    agent.signal("TERM");
    assert_eq!(agent.ended().await.code(), Some(0));
    let works = world.hub.get(&works_path(&world.name)).await;
    assert_eq!(works.ok()["items"], json!([]));
}
