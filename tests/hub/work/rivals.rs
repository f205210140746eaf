//! Two agents with one agent ID on one cluster. Each of them takes the AppliedManifestWorks of the other for its own, and each undoes what the
//! other writes there.

use std::collections::BTreeMap;

use berth_testkit::cluster::Cluster;
use serde_json::Value;

use super::world::{APPLIED, WorkAgent, World};
use crate::lifecycle::proxy::Proxy;

/// The most writes of both agents to one AppliedManifestWork while the works of a test are applied: its creation, its list, and some tries
/// with pauses between them that double from a second.
const MOST_WRITES: usize = 20;

const WORKS: usize = 6;

/// The writes to each AppliedManifestWork.
fn writes(proxy: &Proxy) -> BTreeMap<String, usize> {
    let asked = proxy.asked(|it| it.method != "GET");
    let mut counted = BTreeMap::new();
    for write in asked.iter().filter_map(|it| it.path.strip_prefix(APPLIED)) {
        let name = write.trim_start_matches('/').trim_end_matches("/status");
        *counted.entry(name.to_owned()).or_default() += 1;
    }
    counted
}

/// Applies works of one of two agents, one after another. Then the other agent has said that there is another one.
async fn stay_apart(one: &World, proxy: &Proxy, mut other: WorkAgent) {
    let name = |at: usize| format!("{}-{at}", one.cluster);
    for at in 0..WORKS {
        one.create(&name(at), &[one.map(&name(at), "1")]).await;
        one.reports(&name(at), "T", "T").await;
        for change in ["2", "3"] {
            one.update(&name(at), &[one.map(&name(at), change)]).await;
            one.reports(&name(at), "T", "T").await;
        }
    }
    let counted = writes(proxy);
    assert!(counted.values().all(|it| *it <= MOST_WRITES), "{counted:?}");
    let line = other.process.logs(|line| {
        let message = line["message"].as_str().unwrap_or_default();
        message.starts_with("another agent with the same agent ID")
    });
    let line = line.await;
    assert_eq!(line["agent"], one.agent_id.as_str(), "{line}");
    let restored = |it: &Value| it.to_string().contains("restored");
    assert!(!other.process.log().iter().any(restored));
    for at in 0..WORKS {
        let name = name(at);
        one.has(&one.map_path(&name), "there", |_| true).await;
        one.applied(&name, "neither held nor evicted", |it| {
            let held = "berth.open-cluster-management.io/eviction-held";
            it["status"]["evictionStartTime"].is_null()
                && it["metadata"]["annotations"][held].is_null()
        })
        .await;
    }
    let counted = writes(proxy);
    assert!(counted.values().all(|it| *it <= MOST_WRITES), "{counted:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agents_of_two_clusters_of_one_hub_back_off() {
    let (one, proxy) = World::recorded().await;
    let (mut two, _) = World::recorded().await;
    two.agent_id.clone_from(&one.agent_id);
    two.managed.kubeconfig.clone_from(&one.managed.kubeconfig);
    let _agent = one.agent();
    let other = two.agent();
    let work = format!("{}-proof", two.cluster);
    two.create(&work, &[two.map(&work, "1")]).await;
    two.reports(&work, "T", "T").await;
    stay_apart(&one, &proxy, other).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agents_of_two_hubs_back_off() {
    let (one, proxy) = World::recorded().await;
    let hub = Cluster::private().await;
    let mut two = World {
        agent_id: one.agent_id.clone(),
        ..World::of(&hub, Cluster::shared().await).await
    };
    two.managed.kubeconfig.clone_from(&one.managed.kubeconfig);
    let _agent = one.agent();
    let other = two.agent();
    let work = format!("{}-proof", two.cluster);
    two.create(&work, &[two.map(&work, "1")]).await;
    two.reports(&work, "T", "T").await;
    stay_apart(&one, &proxy, other).await;
}

/// Both have a ManifestWork of one name, and so one AppliedManifestWork, with different objects.
#[tokio::test(flavor = "multi_thread")]
async fn works_of_one_name_do_not_delete_the_objects_of_each_other_again_and_again() {
    let (one, proxy) = World::recorded().await;
    let (mut two, _) = World::recorded().await;
    two.agent_id.clone_from(&one.agent_id);
    two.managed.kubeconfig.clone_from(&one.managed.kubeconfig);
    // Both have a work of this name.
    two.is_shared = false;
    let _agent = one.agent();
    let mut other = two.agent();
    let work = format!("{}-same", one.cluster);
    one.create(&work, &[one.map(&work, "1")]).await;
    two.create(&work, &[two.map(&work, "1")]).await;
    let line = other.process.logs(|line| {
        let message = line["message"].as_str().unwrap_or_default();
        message.starts_with("another agent with the same agent ID")
    });
    line.await;
    // Both objects are there, and listed, and stay so.
    let both = |it: &Value| {
        let listed = it["status"]["appliedResources"].as_array();
        listed.is_some_and(|it| it.len() == 2)
    };
    one.applied(&work, "both objects", both).await;
    one.reports(&work, "T", "T").await;
    two.reports(&work, "T", "T").await;
    let counted = writes(&proxy);
    assert!(counted.values().all(|it| *it <= MOST_WRITES), "{counted:?}");
}
