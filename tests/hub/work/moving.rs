//! A cluster that moves to another hub, with its agent.

use berth_testkit::cluster::Cluster;
use serde_json::Value;

use super::world::{APPLIED, World};

/// The UIDs of the owners of an object.
fn owners(object: &Value) -> Vec<Value> {
    let owners = object["metadata"]["ownerReferences"].as_array();
    let owners = owners.into_iter().flatten();
    owners.map(|it| it["uid"].clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_works_of_the_old_hub_go_and_what_the_new_one_has_too_stays() {
    let old = World::new().await;
    let hub = Cluster::private().await;
    let new = World {
        namespace: old.namespace.clone(),
        agent_id: old.agent_id.clone(),
        ..World::of(&hub, Cluster::shared().await).await
    };
    let agent = old.agent();
    let maps = [old.map("a", "1"), old.map("only-old", "1")];
    old.create("web", &maps).await;
    old.reports("web", "TT", "TT").await;
    let before = old.applied("web", "there", |_| true).await;
    let path = old.map_path("a");
    let map = old.has(&path, "there", |_| true).await;
    agent.kill().await;

    new.create("web", &[new.map("a", "1")]).await;
    let agent = new.agent();
    new.reports("web", "T", "T").await;
    let both = new
        .has(&path, "two owners", |it| owners(it).len() == 2)
        .await;
    agent.kill().await;

    let _agent = new.agent_with(&["--appliedmanifestwork-eviction-grace-period=1s"]);
    let name = before["metadata"]["name"].as_str().unwrap();
    new.managed.gone(&format!("{APPLIED}/{name}")).await;
    new.lacks(&new.map_path("only-old")).await;
    let after = new
        .has(&path, "one owner", |it| owners(it).len() == 1)
        .await;
    assert_eq!(after["metadata"]["uid"], map["metadata"]["uid"]);
    assert!(owners(&both).contains(&before["metadata"]["uid"]));
    assert_ne!(owners(&after)[0], before["metadata"]["uid"]);
    // The old hub has not changed.
    let work = old.hub.get(&old.work("web")).await.unwrap();
    assert!(work.ok()["metadata"]["deletionTimestamp"].is_null());
}
