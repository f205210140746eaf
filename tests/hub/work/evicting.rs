//! AppliedManifestWorks without a ManifestWork: evicted after the grace period, or held if the hub looks restored.

use serde_json::{Value, json};

use super::world::{APPLIED, World};

/// The annotation of a held AppliedManifestWork, and that by which a user confirms its eviction.
const HELD: &str = "berth.open-cluster-management.io/eviction-held";
const CONFIRMED: &str = "berth.open-cluster-management.io/eviction-confirmed";

const SHORT: [&str; 1] = ["--appliedmanifestwork-eviction-grace-period=1s"];

impl World {
    /// A work that vanishes without its finalizer, as from a hub that was restored.
    async fn loses(&self, name: &str) {
        let free = json!({"metadata": {"finalizers": null}});
        let deleted = self.hub.delete(&self.work(name)).await.unwrap();
        assert_eq!(deleted.code, 200);
        let freed = self.hub.merge(&self.work(name), &free).await.unwrap();
        assert!([200, 404].contains(&freed.code), "{freed:?}");
        self.is_gone(name).await;
    }
}

fn path(applied: &Value) -> String {
    format!(
        "{APPLIED}/{}",
        applied["metadata"]["name"].as_str().unwrap()
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_hub_lost_goes_after_the_grace_period() {
    let world = World::new().await;
    let agent = world.agent();
    world.create("lost", &[world.map("a", "1")]).await;
    world.reports("lost", "T", "T").await;
    let applied = world.applied("lost", "there", |_| true).await;
    agent.kill().await;
    world.loses("lost").await;
    // A very long period is none at all.
    let agent = world.agent_with(&["--appliedmanifestwork-eviction-grace-period=876000h"]);
    world.create("proof", &[world.map("proof", "1")]).await;
    world.reports("proof", "T", "T").await;
    let kept = world.applied("lost", "there", |_| true).await;
    assert!(kept["status"]["evictionStartTime"].is_null(), "{kept}");
    agent.kill().await;
    let agent = world.agent();
    world
        .applied("lost", "to be evicted", |it| {
            !it["status"]["evictionStartTime"].is_null()
        })
        .await;
    // The work is back.
    world.create("lost", &[world.map("a", "1")]).await;
    world
        .applied("lost", "kept", |it| {
            it["status"]["evictionStartTime"].is_null()
        })
        .await;
    world.reports("lost", "T", "T").await;
    agent.kill().await;
    world.loses("lost").await;
    let _agent = world.agent_with(&SHORT);
    world.managed.gone(&path(&applied)).await;
    world.lacks(&world.map_path("a")).await;
    world.has(&world.map_path("proof"), "there", |_| true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_without_a_work_goes_if_it_names_this_hub_and_this_agent() {
    let world = World::new().await;
    let _agent = world.agent_with(&SHORT);
    world.create("real", &[world.map("a", "1")]).await;
    world.reports("real", "T", "T").await;
    let real = world.applied("real", "there", |_| true).await;
    let record = async |work: &str, agent: &str| {
        let mut spec = real["spec"].clone();
        spec["manifestWorkName"] = json!(work);
        spec["agentID"] = json!(agent);
        let hash = spec["hubHash"].as_str().unwrap();
        let record = json!({
            "apiVersion": "work.open-cluster-management.io/v1",
            "kind": "AppliedManifestWork",
            "metadata": {"name": format!("{hash}-{work}")},
            "spec": spec,
        });
        let created = world.managed.post(APPLIED, &record).await.unwrap();
        assert_eq!(created.code, 201, "{created:?}");
        path(&created.body)
    };
    // Names of records are those of works, which other tests have, too.
    let [ours, theirs] = ["ours", "theirs"].map(|it| format!("{}-{it}", world.cluster));
    let theirs = record(&theirs, "another").await;
    let ours = record(&ours, &world.agent_id).await;
    world.managed.gone(&ours).await;
    let kept = world.has(&theirs, "there", |_| true).await;
    assert!(kept["status"]["evictionStartTime"].is_null(), "{kept}");
    world.reports("real", "T", "T").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_agent_applied_is_left_alone() {
    let world = World::new().await;
    let agent = world.agent();
    world.create("mine", &[world.map("a", "1")]).await;
    world.reports("mine", "T", "T").await;
    agent.kill().await;
    world.loses("mine").await;
    let other = World {
        agent_id: format!("{}-other", world.agent_id),
        ..World::new().await
    };
    let _agent = other.agent_with(&SHORT);
    other
        .create("proof-of-another", &[other.map("proof-of-another", "1")])
        .await;
    other.reports("proof-of-another", "T", "T").await;
    let kept = world.applied("mine", "there", |_| true).await;
    assert!(kept["status"]["evictionStartTime"].is_null(), "{kept}");
}

#[tokio::test(flavor = "multi_thread")]
async fn when_most_works_are_lost_at_once_nothing_goes_until_it_is_confirmed() {
    let world = World::new().await;
    let agent = world.agent();
    let names: Vec<_> = (0..6).map(|at| format!("w{at}")).collect();
    for name in &names {
        world.create(name, &[world.map(name, "1")]).await;
    }
    for name in &names {
        world.reports(name, "T", "T").await;
    }
    agent.kill().await;
    for name in &names[..5] {
        world.loses(name).await;
    }
    let _agent = world.agent_with(&SHORT);
    let held = |it: &Value| it["metadata"]["annotations"][HELD].is_string();
    for name in &names[..5] {
        let applied = world.applied(name, "held", held).await;
        let reason = applied["metadata"]["annotations"][HELD].as_str().unwrap();
        assert!(reason.contains("5 of 6"), "{reason}");
        world.has(&world.map_path(name), "there", |_| true).await;
    }
    // One comes back, one is confirmed.
    world.create(&names[0], &[world.map(&names[0], "1")]).await;
    world.applied(&names[0], "not held", |it| !held(it)).await;
    let applied = world.applied(&names[1], "held", held).await;
    let confirmed = json!({"metadata": {"annotations": {CONFIRMED: "true"}}});
    world
        .managed
        .merge(&path(&applied), &confirmed)
        .await
        .unwrap()
        .ok();
    world.managed.gone(&path(&applied)).await;
    world.lacks(&world.map_path(&names[1])).await;
    for name in &names[2..5] {
        world.has(&world.map_path(name), "there", |_| true).await;
    }
}
