//! A settled agent sends nothing but watches, and a restart writes nothing.

use berth_testkit::cluster::Cluster;
use berth_testkit::{eventually, when};
use serde_json::json;

use super::deployments::deployment;
use super::world::World;
use crate::lifecycle::proxy::{Asked, Proxy};

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_writes_nothing() {
    let world = World::new().await;
    let agent = world.agent();
    let maps: Vec<_> = (0..10)
        .map(|at| world.map(&format!("m{at}"), "1"))
        .collect();
    world.create("rest", &maps).await;
    world.reports("rest", "TTTTTTTTTT", "TTTTTTTTTT").await;
    world
        .applied("rest", "recorded", |it| {
            it["status"]["appliedResources"]
                .as_array()
                .is_some_and(|it| it.len() == 10)
        })
        .await;
    let versions = async || {
        let mut versions = vec![
            world.hub.get(&world.work("rest")).await.unwrap().ok()["metadata"]["resourceVersion"]
                .clone(),
        ];
        for at in 0..10 {
            let map = world
                .managed
                .get(&world.map_path(&format!("m{at}")))
                .await
                .unwrap();
            versions.push(map.ok()["metadata"]["resourceVersion"].clone());
        }
        versions
    };
    let before = versions().await;
    agent.kill().await;
    let _agent = world.agent();
    // Proves that the new one works.
    world
        .create("proof-restart", &[world.map("proof-restart", "1")])
        .await;
    world.reports("proof-restart", "T", "T").await;
    assert_eq!(versions().await, before);
}

/// OCM's agent reads each object several times a minute, and the more often the shorter the interval is.
#[tokio::test(flavor = "multi_thread")]
async fn at_rest_it_renews_its_lease_and_sends_nothing_else() {
    // On a shared hub, the definitions of other tests come and go, and the agent looks at the kinds that they define.
    let cluster = Cluster::private().await;
    let mut world = World::of(&cluster, &cluster).await;
    let to_hub = Proxy::of(world.hub.client.clone()).await;
    let to_managed = Proxy::of(world.managed.client.clone()).await;
    world.hub.kubeconfig = cluster.person_at(&to_hub.url).await.kubeconfig;
    world.managed.kubeconfig = cluster.person_at(&to_managed.url).await.kubeconfig;
    let _agent = world.elected_agent("100ms", &["--status-sync-interval=10ms"]);
    let manifests = [
        world.map("a", "1"),
        deployment(&world, "app", 1),
        world.map("b", "1"),
    ];
    let spec = json!({"manifestConfigs": [{
        "resourceIdentifier": {"resource": "configmaps", "namespace": world.namespace, "name": "*"},
        "feedbackScrapeType": "Poll",
        "feedbackRules": [{"type": "JSONPaths", "jsonPaths": [{"name": "key", "path": ".data.key"}]}],
        "conditionRules": [{"condition": "There", "type": "CEL", "celExpressions": ["true"]}],
    }]});
    for name in ["first", "second"] {
        world.create_with(name, &manifests, spec.clone()).await;
    }
    for name in ["first", "second"] {
        world.reports(name, "TTT", "TTT").await;
        world
            .applied(name, "recorded", |it| {
                it["status"]["appliedResources"]
                    .as_array()
                    .is_some_and(|it| it.len() == 3)
            })
            .await;
    }
    let others = || {
        let is_other = |it: &Asked| !it.watches() && !it.path.contains("/leases");
        [&to_hub, &to_managed].map(|it| it.asked(is_other))
    };
    let before = others().map(|it| it.len());
    assert!(before.iter().all(|it| *it > 0), "{before:?}");
    for _ in 0..30 {
        renewed(&world).await;
    }
    for (requests, before) in others().iter().zip(before) {
        let keys: Vec<_> = requests[before..].iter().map(Asked::key).collect();
        assert!(keys.is_empty(), "{keys:?}");
    }
    // It has not stopped.
    world
        .create("not-stopped", &[world.map("proof", "1")])
        .await;
    world.reports("not-stopped", "T", "T").await;
}

/// Waits until the agent has renewed its Lease.
async fn renewed(world: &World) {
    let path = format!(
        "/apis/coordination.k8s.io/v1/namespaces/{}/leases/work-agent-lock",
        world.namespace
    );
    let time = async || {
        let lease = world.managed.get(&path).await.unwrap();
        lease.ok()["spec"]["renewTime"].clone()
    };
    let before = time().await;
    eventually("a renewal of the Lease", async || {
        when(time().await, |it| *it != before)
    })
    .await;
}
