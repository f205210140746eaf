//! Which controller leads, and how the leadership changes.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use berth_testkit::cluster::{Cluster, fresh};
use berth_testkit::managed;
use berth_testkit::process::{
    CLUSTERS, Controller, LEASE, SETS, holder, install, leads, once, scrape,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_controller_leads_works_and_releases_the_lease_when_told_to_stop() {
    let cluster = Cluster::private().await;
    install(&cluster).await;
    let admin = cluster.admin().await;
    let mut controller = Controller::start(&cluster, &[]).await;
    controller.leads();
    controller.is_ready().await;

    for set in ["default", "global"] {
        once(&admin, &format!("{SETS}/{set}"), "there", |_| true).await;
    }
    let name = fresh("accepted");
    let object = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": { "name": name },
        "spec": { "hubAcceptsClient": true },
    });
    admin.post(CLUSTERS, &object).await.unwrap().ok();
    let path = format!("{CLUSTERS}/{name}");
    once(&admin, &path, "accepted", |cluster| {
        let conditions = cluster["status"]["conditions"].as_array();
        conditions.is_some_and(|conditions| {
            conditions
                .iter()
                .any(|it| it["type"] == "HubAcceptedManagedCluster" && it["status"] == "True")
        })
    })
    .await;

    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let held_by = holder(&admin).await;
    assert!(
        held_by.starts_with(&format!("{}_", host.trim())),
        "{held_by}"
    );
    let lease = once(&admin, LEASE, "there", |_| true).await;
    assert_eq!(lease["spec"]["leaseDurationSeconds"], 15);

    controller.signal("TERM");
    assert_eq!(controller.ended().await.code(), Some(0));
    assert_eq!(holder(&admin).await, "");
    let last = controller.log().pop().unwrap();
    assert_eq!(last["message"], "stopped");
    let refusals: Vec<_> = controller
        .log()
        .into_iter()
        .filter(|line| line.to_string().contains("forbidden"))
        .collect();
    assert!(refusals.is_empty(), "{refusals:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_one_waits_ready_and_takes_over_at_once() {
    let cluster = Cluster::private().await;
    install(&cluster).await;
    let admin = cluster.admin().await;
    let mut first = Controller::start(&cluster, &[]).await;
    first.leads();
    let mut second = Controller::start(&cluster, &[]).await;
    second.is_ready().await;
    let began = |controller: &Controller| {
        let log = controller.log();
        log.iter().any(leads)
    };
    assert!(!began(&second));
    let master = |value: u8| {
        format!("leader_election_master_status{{name=\"registration-controller-lock\"}} {value}\n")
    };
    assert!(scrape(&cluster, first.port).await.contains(&master(1)));
    assert!(scrape(&cluster, second.port).await.contains(&master(0)));

    let before = holder(&admin).await;
    first.signal("INT");
    assert_eq!(first.ended().await.code(), Some(0));
    let released = Instant::now();
    second.leads();
    // It looks every two seconds; without the release it would have to wait for fifteen.
    let took = released.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert_ne!(holder(&admin).await, before);
    second.is_ready().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_loses_the_lease_ends_without_a_failure_as_ocms_controller_does() {
    let cluster = Cluster::private().await;
    install(&cluster).await;
    let admin = cluster.admin().await;
    let mut controller = Controller::start(&cluster, &[]).await;
    controller.leads();
    let other = json!({ "spec": { "holderIdentity": "ocm", "leaseDurationSeconds": 1 } });
    admin.merge(LEASE, &other).await.unwrap().ok();
    assert_eq!(controller.ended().await.code(), Some(0));
    assert_eq!(holder(&admin).await, "ocm", "it is not ours to release");
    let log = controller.log();
    assert!(
        log.iter()
            .any(|line| line["message"] == "the leadership is lost: ending"),
        "{log:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_loses_the_lease_releases_that_of_the_certificates() {
    let world = managed::World::new().await;
    let admin = &world.admin;
    let mut controller = world.keeper(&[]).await;
    controller.leads();
    let is_held = |lease: &Value| lease["spec"]["holderIdentity"] != "";
    once(admin, managed::LEASE, "held", is_held).await;
    let other = json!({ "spec": { "holderIdentity": "ocm", "leaseDurationSeconds": 1 } });
    admin.merge(LEASE, &other).await.unwrap().ok();
    let code = controller.ended().await.code();
    assert_eq!(code, Some(0), "{:?}", controller.log());
    let lease = admin.get(managed::LEASE).await.unwrap();
    assert_eq!(lease.ok()["spec"]["holderIdentity"], "", "released");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_an_election_nobody_is_asked() {
    let cluster = Cluster::private().await;
    install(&cluster).await;
    let admin = cluster.admin().await;
    let namespace = ["--namespace", "nowhere", "--disable-leader-election"];
    let mut controller = Controller::start(&cluster, &namespace).await;
    controller.is_ready().await;
    let nowhere = LEASE.replace("open-cluster-management-hub", "nowhere");
    assert_eq!(admin.get(&nowhere).await.unwrap().code, 404);
    let metrics = scrape(&cluster, controller.port).await;
    assert!(!metrics.contains("leader_election_master_status{"));
    controller.signal("TERM");
    assert_eq!(controller.ended().await.code(), Some(0));
}
