//! The labels of an AppliedManifestWork.

use serde_json::json;

use super::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_label_that_leaves_the_work_while_the_agent_is_away_is_removed() {
    let world = World::new().await;
    let agent = world.agent();
    world.create("labelled", &[world.map("a", "1")]).await;
    let label = async |labels| {
        let path = world.work("labelled");
        let patch = json!({"metadata": {"labels": labels}});
        world.hub.merge(&path, &patch).await.unwrap().ok();
    };
    label(json!({"stays": "1", "leaves": "1", "shared": "1"})).await;
    let all = json!({"stays": "1", "leaves": "1", "shared": "1"});
    let has = |it: &serde_json::Value| it["metadata"]["labels"] == all;
    let applied = world.applied("labelled", "all labels", has).await;
    agent.kill().await;
    let name = applied["metadata"]["name"].as_str().unwrap();
    let path = format!("/apis/work.open-cluster-management.io/v1/appliedmanifestworks/{name}");
    let theirs = json!({"metadata": {"labels": {"theirs": "1", "shared": "2"}}});
    world.managed.merge(&path, &theirs).await.unwrap().ok();
    label(json!({"leaves": null, "shared": null})).await;
    let _agent = world.agent();
    let left = json!({"stays": "1", "shared": "2", "theirs": "1"});
    let has = |it: &serde_json::Value| it["metadata"]["labels"] == left;
    world.applied("labelled", "the other labels", has).await;
}
