//! ManifestWorks with an executor: what its service account may not do is not done.

use berth_testkit::cluster::{Cluster, rule};
use serde_json::{Value, json};

use super::world::{World, condition};

const VERBS: [&str; 5] = ["create", "update", "patch", "get", "delete"];

fn executor(world: &World, name: &str) -> Value {
    json!({"executor": {"subject": {
        "type": "ServiceAccount",
        "serviceAccount": {"namespace": world.namespace, "name": name},
    }}})
}

#[tokio::test(flavor = "multi_thread")]
async fn an_executor_needs_the_rights_itself() {
    let world = World::new().await;
    let cluster = Cluster::shared().await;
    let account = cluster.service_account(&world.namespace, "writer").await;
    let rules = [rule(&VERBS, "", &["configmaps"], &["a"])];
    cluster.grant_in(&world.namespace, &account, &rules).await;
    let _agent = world.agent();
    let maps = [world.map("a", "1"), world.map("b", "1")];
    world
        .create_with("some", &maps, executor(&world, "writer"))
        .await;
    let work = world.reports("some", "TF", "TF").await;
    let message =
        condition(&work["status"]["resourceStatus"]["manifests"][1], "Applied")["message"].clone();
    let message = message.as_str().unwrap();
    assert!(
        message.contains("not allowed to apply the resource  configmaps"),
        "{message}"
    );
    assert!(message.contains("try again in 1m0s"), "{message}");
    world
        .create_with("none", &[world.map("c", "1")], executor(&world, "nobody"))
        .await;
    world.reports("none", "F", "F").await;
    world.lacks(&world.map_path("c")).await;
}
