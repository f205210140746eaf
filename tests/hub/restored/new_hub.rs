//! The objects of a hub are saved and restored into a new hub under the same address, as docs/backup.md says.

use berth_testkit::cluster::{AsAdmin, Cluster, Person, kubectl_is_there};
use serde_json::{Value, json};

use super::{HELD, LOST_CHANGES};
use crate::lifecycle::hub::{
    ACCEPTED, HubWithReconcilers, cluster_path, config, lease_path, reconcile,
};
use crate::lifecycle::proxy::{Line, Proxy};
use crate::work::world::World;

/// What docs/backup.md removes from the metadata of saved objects.
const OF_THE_OLD_HUB: [&str; 5] = [
    "resourceVersion",
    "uid",
    "creationTimestamp",
    "managedFields",
    "ownerReferences",
];

/// Saves objects with kubectl, without what only the old hub knows.
async fn save(admin: &Person, what: &[&str]) -> String {
    let output = admin
        .kubectl(&[&["get", "-o", "json"], what].concat())
        .await;
    let mut list: Value = serde_json::from_str(output.ok()).unwrap();
    let mut objects = match list["items"].as_array_mut() {
        Some(items) => items.iter_mut().collect(),
        None => vec![&mut list],
    };
    assert!(!objects.is_empty(), "{what:?}");
    for object in &mut objects {
        let metadata = object["metadata"].as_object_mut().unwrap();
        for field in OF_THE_OLD_HUB {
            metadata.remove(field);
        }
    }
    list.to_string()
}

/// An object on the managed cluster, as it is stored.
async fn stored(world: &World, path: &str) -> Value {
    world.managed.get(path).await.unwrap().ok().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_hub_gets_the_saved_objects_and_agents_evict_and_change_nothing() {
    if !kubectl_is_there() {
        return;
    }
    let old = HubWithReconcilers::own().await;
    // The address of the hub stays the same.
    let proxy = Proxy::of(old.admin.client.clone()).await;
    let mut worlds = Vec::new();
    let mut agents = Vec::new();
    for turn in 0..2 {
        let mut world = World::of(&old.cluster, Cluster::shared().await).await;
        world.hub = old.cluster.person_at(&proxy.url).await;
        old.accepted(&world.cluster).await;
        agents.push(world.agent_with(&["--appliedmanifestwork-eviction-grace-period=1s"]));
        let name = format!("kept-{turn}");
        world.create(&name, &[world.map("kept", "1")]).await;
        world.reports(&name, "T", "T").await;
        worlds.push(world);
    }
    let admin = &old.admin;
    let [one, two] = [&worlds[0], &worlds[1]];
    let mut saved = Vec::new();
    for what in [
        &["namespaces", &*one.cluster, &two.cluster][..],
        &["managedclusters"],
        &["manifestworks", "-A"],
    ] {
        saved.push(save(admin, what).await);
    }

    // After the backup. The old hub has come further than the new one will.
    one.create("lost", &[one.map("lost", "1")]).await;
    one.reports("lost", "T", "T").await;
    for turn in 0..LOST_CHANGES {
        let label = json!({"metadata": {"labels": {"turn": turn.to_string()}}});
        old.patch(&cluster_path(&one.cluster), label).await;
    }
    one.update("kept-0", &[one.map("kept", "1"), one.map("later", "1")])
        .await;
    one.reports("kept-0", "TT", "TT").await;
    let maps = [one, two].map(|it| (it, it.map_path("kept")));
    let mut before = Vec::new();
    for (world, path) in &maps {
        before.push(stored(world, path).await["metadata"].clone());
    }
    let applied = two.applied("kept-1", "there", |_| true).await;
    // One agent waits for the hub. The other one is started again.
    agents.pop().unwrap().kill().await;
    proxy.line(Line::Cut);

    let mut new = HubWithReconcilers::own_without_reconcilers().await;
    for objects in &saved {
        let create = ["create", "-f", "-"];
        new.admin.kubectl_reading(objects, &create).await.ok();
    }
    new.reconcilers = reconcile(&new.cluster, config()).await;
    proxy.moves_to(new.admin.client.clone()).await;
    agents.push(two.agent_with(&["--appliedmanifestwork-eviction-grace-period=1s"]));

    for world in [one, two] {
        let name = &world.cluster;
        new.condition(name, ACCEPTED, "True", "HubClusterAdminAccepted")
            .await;
        new.once(&lease_path(name), "there", |_| true).await;
    }
    one.reports("kept-0", "T", "T").await;
    two.reports("kept-1", "T", "T").await;
    // The ManifestWork is older now, so the agent removes what it does not have.
    one.lacks(&one.map_path("later")).await;
    // What was created after the backup stays on the cluster, until an admin of it decides.
    let says_why = |it: &Value| {
        let why = it["metadata"]["annotations"][HELD].as_str();
        why.is_some_and(|it| {
            it.contains("the hub looks restored from a backup: its resourceVersion")
        })
    };
    let lost = one.applied("lost", "held", says_why).await;
    assert!(lost["metadata"]["deletionTimestamp"].is_null());
    stored(one, &one.map_path("lost")).await;
    // The objects were neither replaced nor changed.
    for ((world, path), before) in maps.iter().zip(&before) {
        let after = stored(world, path).await;
        assert_eq!(&after["metadata"]["uid"], &before["uid"], "{path}");
        let version = &after["metadata"]["resourceVersion"];
        assert_eq!(version, &before["resourceVersion"], "{path}: {after}");
    }
    let is_free = |it: &Value| it["metadata"]["annotations"][HELD].is_null();
    let again = two.applied("kept-1", "not held", is_free).await;
    assert_eq!(again["metadata"]["uid"], applied["metadata"]["uid"]);

    // The admin of the cluster confirms that the objects of the lost work may go.
    let name = lost["metadata"]["name"].as_str().unwrap();
    let path = format!("{}/{name}", crate::work::world::APPLIED);
    let confirmed = "berth.open-cluster-management.io/eviction-confirmed";
    let confirmed = json!({"metadata": {"annotations": {confirmed: "yes"}}});
    one.change(&path, confirmed).await;
    one.lacks(&one.map_path("lost")).await;
}
