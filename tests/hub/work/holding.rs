//! An admin of the managed cluster holds a work back.

use serde_json::{Value, json};

use super::world::{APPLIED, World, condition};

const HOLD: &str = "berth.open-cluster-management.io/hold";

impl World {
    /// Sets the annotation of an AppliedManifestWork; null removes it.
    async fn hold(&self, work: &str, value: Value) {
        let applied = self.applied(work, "there", |_| true).await;
        let name = applied["metadata"]["name"].as_str().unwrap();
        let patch = json!({"metadata": {"annotations": {HOLD: value}}});
        self.change(&format!("{APPLIED}/{name}"), patch).await;
    }

    /// Waits until a condition of a work says this.
    async fn says(&self, work: &str, type_: &str, words: &str) {
        let is = |it: &Value| {
            let found = condition(&it["status"], type_);
            let message = found["message"].as_str().unwrap_or_default();
            found["status"] == "True" && message.contains(words)
        };
        berth_testkit::process::once(&self.hub, &self.work(work), words, is).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_hub_changes_waits_and_objects_are_put_back() {
    let world = World::new().await;
    let _agent = world.agent();
    let path = world.map_path("a");
    let has = async |value: &str| {
        world
            .has(&path, value, |it| it["data"]["key"] == *value)
            .await
    };
    world.create("kept", &[world.map("a", "1")]).await;
    world.reports("kept", "T", "T").await;
    world.hold("kept", json!("changes")).await;
    world
        .says("kept", "Held", "objects are put back to these manifests")
        .await;
    world.says("kept", "Held", "set by field manager").await;
    world.change(&path, json!({"data": {"key": "other"}})).await;
    has("1").await;
    world.update("kept", &[world.map("a", "2")]).await;
    world.says("kept", "Held", "has changed since").await;
    has("1").await;
    world.hold("kept", Value::Null).await;
    has("2").await;
    let work = world.reports("kept", "T", "T").await;
    let held = |it: &Value| condition(&it["status"], "Held");
    let is_free = |it: &Value| held(it).is_null();
    berth_testkit::process::once(&world.hub, &world.work("kept"), "free", is_free).await;
    assert_eq!(work["metadata"]["generation"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_work_stays_until_the_hold_ends_also_for_the_next_agent() {
    let world = World::new().await;
    let agent = world.agent();
    world.create("stays", &[world.map("a", "1")]).await;
    world.reports("stays", "T", "T").await;
    world.hold("stays", json!("all")).await;
    world.says("stays", "Held", "nothing is written").await;
    world.delete("stays").await;
    world.says("stays", "Deleting", "until the hold ends").await;
    agent.kill().await;
    let _agent = world.agent();
    // The next agent is at work.
    world.create("beside", &[world.map("b", "1")]).await;
    world.reports("beside", "T", "T").await;
    world.has(&world.map_path("a"), "there", |_| true).await;
    let applied = world.applied("stays", "there", |_| true).await;
    assert!(applied["metadata"]["deletionTimestamp"].is_null());
    world.hold("stays", json!("false")).await;
    world.is_gone("stays").await;
    world.lacks(&world.map_path("a")).await;
}
