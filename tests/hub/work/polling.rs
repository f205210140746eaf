//! Objects of a kind that the agent may not list or watch: they are read at the interval of `--status-sync-interval`.

use berth_testkit::cluster::{Cluster, fresh, rule};
use serde_json::{Value, json};

use super::world::World;

const GROUP: &str = "work.open-cluster-management.io";

#[tokio::test(flavor = "multi_thread")]
async fn what_may_not_be_watched_is_read_again_and_again() {
    let mut world = World::new().await;
    let cluster = Cluster::shared().await;
    let user = cluster.user(&fresh("poller"), &[]).await;
    let all = ["get", "list", "watch", "create", "patch", "delete"];
    let without_watches = ["get", "create", "update", "patch", "delete"];
    let rules = [
        rule(&all, GROUP, &["appliedmanifestworks"], &[]),
        rule(&["patch"], GROUP, &["appliedmanifestworks/status"], &[]),
        rule(&without_watches, "", &["configmaps"], &[]),
    ];
    cluster.grant(&user, &rules).await;
    world.managed.kubeconfig = user.kubeconfig;
    let _agent = world.agent_with(&["--status-sync-interval=100ms"]);
    let spec = json!({"manifestConfigs": [{
        "resourceIdentifier": {"resource": "configmaps", "namespace": world.namespace, "name": "a"},
        "feedbackRules": [{"type": "JSONPaths", "jsonPaths": [{"name": "zone", "path": ".metadata.labels.zone"}]}],
    }]});
    world
        .create_with("polled", &[world.map("a", "1")], spec)
        .await;
    world.reports("polled", "T", "T").await;

    let path = world.map_path("a");
    let changed = json!({"data": {"key": "2"}, "metadata": {"labels": {"zone": "z"}}});
    world.change(&path, changed).await;
    let map = world
        .has(&path, "put back", |it| it["data"]["key"] == "1")
        .await;
    let zone = |work: &Value| {
        let manifest = &work["status"]["resourceStatus"]["manifests"][0];
        manifest["statusFeedback"]["values"][0]["fieldValue"]["string"] == "z"
    };
    world.work_has("polled", "the value", zone).await;
    let deleted = world.managed.delete(&path).await.unwrap();
    assert_eq!(deleted.code, 200);
    world
        .has(&path, "created anew", |it| {
            it["metadata"]["uid"] != map["metadata"]["uid"]
        })
        .await;
    world.delete("polled").await;
    world.is_gone("polled").await;
    world.lacks(&path).await;
}
