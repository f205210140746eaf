//! The cluster, its name, its hub's name or its clock change.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::world::{World, text};
use crate::lifecycle::hub::{AVAILABLE, CLOCK_SYNCED, condition, lease_path};
use berth_testkit::cluster::AsAdmin;

#[tokio::test(flavor = "multi_thread")]
async fn another_name_of_the_cluster_registers_it_anew() {
    let mut world = World::new().await;
    drop(world.joined(&["--agent-id=a1"]).await);
    world.forgets().await;
    let before = world.hub_secret().await;
    world.name = berth_testkit::cluster::fresh("renamed");
    let agent = world.joined(&[]).await;
    let after = world.hub_secret().await;
    assert_eq!(text(&after, "cluster-name"), world.name);
    assert_eq!(text(&after, "agent-name"), "a1");
    assert_ne!(after["data"]["tls.crt"], before["data"]["tls.crt"]);
    assert_eq!(after["data"]["kubeconfig"], before["data"]["kubeconfig"]);
    assert_eq!(world.csrs().await.len(), 1);
    drop(agent);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_was_deleted_and_is_restored_is_taken_up() {
    let world = World::new().await;
    let mut agent = world.joined(&[]).await;
    world.hub.delete(&world.cluster()).await;
    world.hub.gone(&world.cluster()).await;
    agent
        .logs(|line| {
            ["ManagedClusterAbsent", "ManagedClusterNotAccepted"]
                .iter()
                .any(|reason| line["reason"] == *reason)
        })
        .await;
    let accepted = json!({"hubAcceptsClient": true, "leaseDurationSeconds": 1});
    world.hub.cluster(&world.name, accepted).await;
    world
        .hub
        .condition(&world.name, AVAILABLE, "True", "ManagedClusterAvailable")
        .await;
    world.renews().await;
    assert_eq!(world.csrs().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_whose_clock_was_off_is_reported_again() {
    let world = World::new().await;
    let mut agent = world.joined(&[]).await;
    world.lease_lasts(3600).await;
    let hours_ago = Timestamp::now() - SignedDuration::from_hours(6);
    // The renewal that was waited for may be one of the period before. Another one follows then, with the right time.
    let keeps_off = async {
        loop {
            world.hub.renew_at(&world.name, hours_ago).await;
            let is_renewed = |it: &Value| {
                let time = it["spec"]["renewTime"].as_str().unwrap();
                time.parse::<Timestamp>().unwrap() > hours_ago + SignedDuration::from_hours(1)
            };
            let path = lease_path(&world.name);
            world.hub.once(&path, "renewed", is_renewed).await;
        }
    };
    let waiting = tokio::select! {
        waiting = agent.waits("ClockOutOfSync") => waiting,
        () = keeps_off => unreachable!(),
    };
    assert!(waiting.contains("check the time service"), "{waiting}");
    // Nothing is reported until the clocks agree: by another renewal.
    let forgotten = json!({"status": {"version": null}});
    let status = format!("{}/status", world.cluster());
    world.hub.patch(&status, forgotten).await;
    world.lease_lasts(1).await;
    let after = world
        .reported("a version", |it| !it["status"]["version"].is_null())
        .await;
    let synced = condition(&after, CLOCK_SYNCED).unwrap();
    assert_eq!(synced["status"], "True");
}
