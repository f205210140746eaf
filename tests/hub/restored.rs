//! The hub's etcd is restored from a snapshot while controllers and agents run. None of them needs a restart: an API server accepts
//! their watches after a version of its future, and is silent until it has come so far.

mod new_hub;

use berth_testkit::cluster::{AsAdmin, Cluster, fresh};
use serde_json::{Value, json};

use crate::lifecycle::hub::{
    ACCEPTED, HubWithReconcilers, cluster_path, condition, lease_path, owned_paths,
};
use crate::work::world::World;

/// Changes after the snapshot. There are fewer afterwards, so that the hub does not come as far again.
const LOST_CHANGES: usize = 500;

const HELD: &str = "berth.open-cluster-management.io/eviction-held";

fn accepts(accepts: bool) -> Value {
    json!({"spec": {"hubAcceptsClient": accepts}})
}

#[tokio::test(flavor = "multi_thread")]
async fn controllers_and_agents_follow_a_hub_whose_etcd_was_restored() {
    let mut hub = HubWithReconcilers::own().await;
    let world = World::of(&hub.cluster, Cluster::shared().await).await;
    let mut agent = world.agent_with(&["--appliedmanifestwork-eviction-grace-period=1s"]);
    let [accepted_later, denied_later, lost] = ["late", "denied", "lost"].map(fresh);
    hub.cluster(&accepted_later, accepts(false)["spec"].clone())
        .await;
    hub.accepted(&denied_later).await;
    world.create("kept", &[world.map("kept", "1")]).await;
    world.reports("kept", "T", "T").await;

    let snapshot = hub.cluster.snapshot().await;
    let path = cluster_path(&accepted_later);
    for turn in 0..LOST_CHANGES {
        let label = json!({"metadata": {"labels": {"turn": turn.to_string()}}});
        hub.patch(&path, label).await;
    }
    // Controller and agent have come as far as the hub.
    hub.accepted(&lost).await;
    world.create("missing", &[world.map("missing", "1")]).await;
    world.reports("missing", "T", "T").await;
    hub.cluster.restore(snapshot).await;

    let answer = hub.get(&cluster_path(&lost)).await;
    assert_eq!(answer.code, 404, "{answer:?}");
    world.create("new", &[world.map("new", "1")]).await;
    world.update("kept", &[world.map("kept", "2")]).await;
    hub.patch(&path, accepts(true)).await;
    hub.patch(&cluster_path(&denied_later), accepts(false))
        .await;

    world.reports("new", "T", "T").await;
    world.reports("kept", "T", "T").await;
    let is_new = |it: &Value| it["data"]["key"] == "2";
    world.has(&world.map_path("kept"), "changed", is_new).await;

    let accepted = hub
        .condition(&accepted_later, ACCEPTED, "True", "HubClusterAdminAccepted")
        .await;
    assert_eq!(accepted["metadata"]["labels"]["turn"], Value::Null);
    hub.once(&lease_path(&accepted_later), "there", |_| true)
        .await;

    let denied = hub
        .condition(&denied_later, ACCEPTED, "False", "HubClusterAdminDenied")
        .await;
    assert_eq!(
        condition(&denied, ACCEPTED).unwrap()["message"],
        "Denied by hub cluster admin"
    );
    for binding in &owned_paths(&denied_later)[3..5] {
        hub.gone(binding).await;
    }

    // What the hub does not know any more stays on the cluster.
    let says_why = |it: &Value| {
        let why = it["metadata"]["annotations"][HELD].as_str();
        why.is_some_and(|it| {
            it.contains("the hub looks restored from a backup: its resourceVersion")
        })
    };
    world.applied("missing", "held", says_why).await;
    world
        .has(&world.map_path("missing"), "there", |_| true)
        .await;
    world.create("missing", &[world.map("missing", "1")]).await;
    world.reports("missing", "T", "T").await;
    let is_free = |it: &Value| it["metadata"]["annotations"][HELD].is_null();
    world.applied("missing", "not held", is_free).await;

    // It was said.
    assert_eq!(hub.reconcilers.rewinds().get("managedclusters"), Some(&1));
    agent
        .process
        .logs(|line| {
            let line = line.to_string();
            line.contains("the API server went back from resourceVersion")
                && line.contains("\"manifestworks\"")
        })
        .await;
}
