//! The hub and the managed cluster go away in turns, and come back. The agent goes on without a restart.

use serde_json::{Value, json};

use berth_testkit::cluster::Cluster;
use berth_testkit::line::{Line, State};

use super::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn what_changed_while_an_api_server_was_away_is_done_when_it_is_back() {
    let mut world = World::new().await;
    let cluster = Cluster::shared().await;
    let [to_hub, to_managed] = [Line::to(cluster).await, Line::to(cluster).await];
    // The agent's ways. The test has its own.
    world.hub.kubeconfig = to_hub.kubeconfig(&world.hub.kubeconfig);
    world.managed.kubeconfig = to_managed.kubeconfig(&world.managed.kubeconfig);
    let mut agent = world.agent();
    world
        .create("away", &[world.map("a", "1"), world.map("kept", "1")])
        .await;
    world.reports("away", "TT", "TT").await;
    let kept = world.has(&world.map_path("kept"), "there", |_| true).await;

    // Without the hub, the agent keeps what it has.
    to_hub.is(State::Down);
    put_back(&world, "a", "1").await;
    let maps = |value: &str| [world.map("a", value), world.map("kept", "1")];
    world.update("away", &maps("2")).await;
    to_hub.is(State::Up);
    has(&world, "a", "2").await;
    world.reports("away", "TT", "TT").await;

    // Without the managed cluster, works wait.
    to_managed.is(State::Down);
    world.update("away", &maps("3")).await;
    world.create("new", &[world.map("new", "1")]).await;
    let deleted = world.managed.delete(&world.map_path("a")).await.unwrap();
    assert_eq!(deleted.code, 200);
    to_managed.is(State::Up);
    has(&world, "a", "3").await;
    has(&world, "new", "1").await;
    world.reports("away", "TT", "TT").await;
    world.reports("new", "T", "T").await;

    // Without both, and a work that is deleted meanwhile.
    to_hub.is(State::Down);
    to_managed.is(State::Down);
    world.delete("new").await;
    world.update("away", &maps("4")).await;
    to_managed.is(State::Up);
    to_hub.is(State::Up);
    world.is_gone("new").await;
    world.lacks(&world.map_path("new")).await;
    has(&world, "a", "4").await;
    put_back(&world, "a", "4").await;
    world.reports("away", "TT", "TT").await;

    let after = world.has(&world.map_path("kept"), "there", |_| true).await;
    assert_eq!(
        after["metadata"]["resourceVersion"],
        kept["metadata"]["resourceVersion"]
    );
    assert_eq!(
        agent.process.child.try_wait().unwrap(),
        None,
        "it has run all the time"
    );
}

async fn has(world: &World, map: &str, value: &str) {
    let is = |it: &Value| it["data"]["key"] == value;
    world.has(&world.map_path(map), value, is).await;
}

/// Another client changes a ConfigMap, and the agent puts it back.
async fn put_back(world: &World, map: &str, value: &str) {
    let theirs = json!({"data": {"key": "theirs"}});
    world.change(&world.map_path(map), theirs).await;
    has(world, map, value).await;
}
