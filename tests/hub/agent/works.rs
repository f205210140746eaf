//! Both parts of the agent in one process: it registers the cluster, and then carries out its ManifestWorks, with the credentials that
//! the hub has given it.

use serde_json::{Value, json};

use berth_testkit::cluster::{AsAdmin, Cluster, fresh};
use berth_testkit::process::get;
use berth_testkit::{eventually, when};

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

/// The heartbeat is on one thread, works are on another one, and liveness has both.
#[tokio::test(flavor = "multi_thread")]
async fn works_have_a_thread_of_their_own_that_liveness_checks() {
    let world = World::new().await;
    crate::work::world::install(Cluster::shared().await).await;
    let agent = world.joined(&["--work=true"]).await;
    for path in ["/livez", "/healthz"] {
        let verbose = format!("{path}?verbose");
        eventually("both threads", async || {
            let (code, text) = get(agent.port, &verbose).await;
            let has = |line: &str| text.lines().any(|it| it == line);
            when((code, text.clone()), |(code, _)| {
                *code == 200 && has("[+]main ok") && has("[+]works ok")
            })
        })
        .await;
    }
    let threads = std::fs::read_dir(format!("/proc/{}/task", agent.child.id())).unwrap();
    let names = threads.map(|it| std::fs::read_to_string(it.unwrap().path().join("comm")).unwrap());
    let names: Vec<_> = names.map(|it| it.trim().to_owned()).collect();
    let count = |name: &str| names.iter().filter(|it| *it == name).count();
    assert_eq!((count("works"), count("health")), (1, 1), "{names:?}");
}

/// A work beyond the memory of the agent stops neither the heartbeat nor the other works.
#[tokio::test(flavor = "multi_thread")]
async fn the_heartbeat_and_other_works_go_on_beside_a_work_over_the_budget() {
    let world = World::new().await;
    crate::work::world::install(Cluster::shared().await).await;
    let mut agent = world.joined(&["--work=true", "--works-memory=500Ki"]).await;
    world.lease_lasts(1).await;
    let namespace = fresh("apps");
    let spec = |manifests: &[Value]| json!({"spec": {"workload": {"manifests": manifests}}});
    let map = |name: &str, value: &str| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": namespace}, "data": {"key": value},
        })
    };
    let large = world.hub.work(&world.name, "large", json!({})).await;
    let most = map("large", &"x".repeat(300_000));
    world.hub.patch(&large, spec(&[most])).await;
    let is_refused = |work: &Value| {
        condition(work, "Applied").is_some_and(|it| it["reason"] == "AppliedManifestWorkTooLarge")
    };
    world.hub.once(&large, "refused", is_refused).await;

    let good = world.hub.work(&world.name, "good", json!({})).await;
    let apps = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    for value in ["1", "2"] {
        let manifests = [apps.clone(), map("good", value)];
        world.hub.patch(&good, spec(&manifests)).await;
        let path = format!("/api/v1/namespaces/{namespace}/configmaps/good");
        let is = |it: &Value| it["data"]["key"] == value;
        world.on_managed(&path, value, is).await;
        world.renews().await;
    }
    assert!(agent.child.try_wait().unwrap().is_none(), "it runs");
}
