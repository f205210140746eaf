//! ManifestWorks that exceed the agent's memory together.

use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;

use berth_testkit::cluster::Cluster;
use berth_testkit::{eventually_within, when};
use serde_json::Value;

use super::world::{World, condition, namespace_object};

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
    world.create("leaving", &[map(&world, "a", MEDIUM)]).await;
    world.reports("leaving", "T", "T").await;
    world.create("waiting", &[map(&world, "b", MEDIUM)]).await;
    is_refused(&world, "waiting", "0.3 MiB").await;
    world.delete("leaving").await;
    world.is_gone("leaving").await;
    world.reports("waiting", "T", "T").await;

    // One that is refused goes without its objects ever having been there.
    world.create("never", &[map(&world, "c", MEDIUM)]).await;
    is_refused(&world, "never", "0.3 MiB").await;
    world.delete("never").await;
    world.is_gone("never").await;
    world.reports("waiting", "T", "T").await;
}

/// Small objects of one work. `BERTH_SMALL_OBJECTS` sets another number, for a measurement.
const SMALL: usize = 10_000;

/// Upper bounds on the memory of an agent with one work of that many small objects, more than without, in KiB: in the end, and while the status is
/// written, which is a tree of values then.
const MOST: [usize; 2] = [40 * 1024, 56 * 1024];

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_small_objects_cost_less_than_40_mib() {
    let count = std::env::var("BERTH_SMALL_OBJECTS").ok();
    let count = count.map_or(SMALL, |it| it.parse().unwrap());
    let cluster = Cluster::private().await;
    let world = World::of(&cluster, &cluster).await;
    let agent = world.agent_of_image(&["--works-memory=1Gi"]);
    world.create("one", &[world.map("one", "1")]).await;
    world.reports("one", "T", "T").await;
    let peak = Peak::begin(&agent.process.child);
    // Short manifests: the API server stores at most 1.5 MiB of a work and its status.
    let manifests: Vec<_> = (0..count)
        .map(|at| namespace_object(&format!("{at:x}")))
        .collect();
    world.create("many", &manifests).await;
    let last = format!("/api/v1/namespaces/{:x}", count - 1);
    eventually_within(Duration::from_secs(600), "the last object", async || {
        when(world.managed.get(&last).await.unwrap(), |it| it.code == 200)
    })
    .await;
    let path = world.work("many");
    eventually_within(Duration::from_secs(600), "the status", async || {
        // A look costs the hub a megabyte.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let work = world.hub.get(&path).await.unwrap().ok().clone();
        let available = condition(&work["status"], "Available");
        when(available, |it| it["status"] == "True")
    })
    .await;
    let (kept, grown) = (peak.kept(), peak.grown());
    println!("{count} small objects: {kept} KiB, at most {grown} KiB");
    assert!(
        kept < MOST[0] && grown < MOST[1],
        "{grown} KiB at most, {kept} KiB now"
    );
}

/// Measures how much memory a process takes at most, from now on.
struct Peak {
    process: PathBuf,
    before: usize,
}

// === impl Peak ===

impl Peak {
    fn begin(process: &Child) -> Self {
        let process = PathBuf::from(format!("/proc/{}", process.id()));
        // The most that was resident begins anew.
        std::fs::write(process.join("clear_refs"), "5").unwrap();
        let mut peak = Self { process, before: 0 };
        peak.before = peak.status("VmRSS");
        peak
    }

    /// In KiB, more than at the beginning.
    fn grown(&self) -> usize {
        self.status("VmHWM").saturating_sub(self.before)
    }

    /// What is resident now, more than at the beginning.
    fn kept(&self) -> usize {
        self.status("VmRSS").saturating_sub(self.before)
    }

    fn status(&self, name: &str) -> usize {
        let status = std::fs::read_to_string(self.process.join("status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let value = line.unwrap().trim_start_matches(':').trim();
        value.split(' ').next().unwrap().parse().unwrap()
    }
}
