//! ManifestWorks that exceed the agent's memory together.

use serde_json::Value;

use super::world::{World, condition};

/// Room for one manifest of 150,000 bytes, which counts twice, and for small ones.
const LIMIT: [&str; 1] = ["--works-memory=500Ki"];

const MEDIUM: usize = 150_000;

/// A ConfigMap of this size.
fn map(world: &World, name: &str, bytes: usize) -> Value {
    world.map(name, &"x".repeat(bytes))
}

/// Waits until the work is refused in this generation, and returns it. The figures are the estimate and the limit.
async fn is_refused(world: &World, name: &str, estimate: &str) -> Value {
    let work = world
        .work_has(name, "refused", |it| {
            let applied = condition(&it["status"], "Applied");
            applied["reason"] == "AppliedManifestWorkTooLarge"
                && applied["observedGeneration"] == it["metadata"]["generation"]
        })
        .await;
    let applied = condition(&work["status"], "Applied");
    assert_eq!(applied["status"], "False");
    let message = applied["message"].as_str().unwrap();
    for figure in [estimate, "0.5 MiB", "--works-memory"] {
        assert!(message.contains(figure), "{message}");
    }
    work
}

#[tokio::test(flavor = "multi_thread")]
async fn a_work_that_exceeds_the_memory_is_refused_beside_small_ones() {
    let world = World::new().await;
    let agent = world.agent_with(&LIMIT);
    world.create("medium", &[map(&world, "m", MEDIUM)]).await;
    world.reports("medium", "T", "T").await;
    world.create("large", &[map(&world, "l", 300_000)]).await;
    let large = is_refused(&world, "large", "0.6 MiB").await;
    assert_eq!(large["metadata"]["finalizers"], Value::Null);
    world.create("small", &[world.map("s", "1")]).await;
    world.reports("small", "T", "T").await;
    let absent = world.managed.get(&world.map_path("l")).await.unwrap();
    assert_eq!(absent.code, 404, "nothing of it is applied");

    // What is applied stays as it is, also if its ManifestWork grows too large or has it no more.
    let path = world.map_path("m");
    let before = world.has(&path, "there", |_| true).await;
    world
        .update("medium", &[map(&world, "other", 300_000)])
        .await;
    let medium = is_refused(&world, "medium", "0.6 MiB").await;
    world.update("small", &[world.map("s", "2")]).await;
    world.reports("small", "T", "T").await;
    let listed = |it: &Value| it["status"]["appliedResources"][0]["name"] == "m";
    world.applied("medium", "lists its object", listed).await;

    // A restarted agent decides the same, and writes nothing.
    agent.kill().await;
    let _agent = world.agent_with(&LIMIT);
    world.update("small", &[world.map("s", "3")]).await;
    world.reports("small", "T", "T").await;
    for (name, refused) in [("large", &large), ("medium", &medium)] {
        let work = world.hub.get(&world.work(name)).await.unwrap();
        assert_eq!(work.ok()["status"], refused["status"], "{name}");
    }
    let after = world.has(&path, "there", |_| true).await;
    assert_eq!(after, before);

    // Once it fits again, what it does not have any more is removed.
    world.update("medium", &[map(&world, "other", 10)]).await;
    world.reports("medium", "T", "T").await;
    world.lacks(&path).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_work_frees_its_share() {
    let world = World::new().await;
    let _agent = world.agent_with(&LIMIT);
    world.create("first", &[map(&world, "a", MEDIUM)]).await;
    world.reports("first", "T", "T").await;
    world.create("second", &[map(&world, "b", MEDIUM)]).await;
    is_refused(&world, "second", "0.3 MiB").await;
    world.delete("first").await;
    world.is_gone("first").await;
    world.reports("second", "T", "T").await;

    // One that is refused goes without its objects ever having been there.
    world.create("third", &[map(&world, "c", MEDIUM)]).await;
    is_refused(&world, "third", "0.3 MiB").await;
    world.delete("third").await;
    world.is_gone("third").await;
    world.reports("second", "T", "T").await;
}
