//! The controllers of one process.

use std::process::Command;

use berth_testkit::cluster::Cluster;
use berth_testkit::process::{Controller, LEASE, install, leads, once, ready, scrape};
use berth_testkit::{Logged, eventually, shipped, when};

const PLACEMENT_LEASE: &str =
    "/apis/coordination.k8s.io/v1/namespaces/open-cluster-management-hub/leases/placement-lock";

fn places(line: &serde_json::Value) -> bool {
    line["message"] == "reconciling" && line["controller"] == "placement"
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_controllers_run_each_with_a_lease_of_its_own() {
    let cluster = Cluster::private().await;
    install(&cluster).await;
    let admin = cluster.admin().await;
    let mut controller = Controller::start(&cluster, &[]).await;
    eventually("both lead", async || {
        when(controller.log(), |log| {
            log.iter().any(leads) && log.iter().any(places)
        })
    })
    .await;
    controller.is_ready().await;
    let metrics = scrape(&cluster, controller.port).await;
    for line in [
        "leader_election_master_status{name=\"placement-lock\"} 1\n",
        "leader_election_master_status{name=\"registration-controller-lock\"} 1\n",
        "berth_caches_primed 1\n",
        "berth_placements{state=\"satisfied\"} ",
        "berth_clusters{state=\"joined\"} ",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    controller.signal("TERM");
    assert_eq!(controller.ended().await.code(), Some(0));
    for lease in [LEASE, PLACEMENT_LEASE] {
        once(&admin, lease, "released", |it| {
            it["spec"]["holderIdentity"] == ""
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_controller_that_is_left_out_takes_no_lease() {
    let cluster = Cluster::private().await;
    install(&cluster).await;
    let mut controller = Controller::start(&cluster, &["--controllers=*,-placement"]).await;
    controller.leads();
    controller.is_ready().await;
    let metrics = scrape(&cluster, controller.port).await;
    assert!(!metrics.contains("placement-lock"), "{metrics}");
    assert!(!metrics.contains("berth_placements"), "{metrics}");
    assert!(!controller.log().iter().any(places));
}

/// The image has the executable under this name, too. OCM's operator starts a Deployment for each controller.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_ocms_name_it_is_the_registration_controller_alone() {
    let cluster = Cluster::private().await;
    install(&cluster).await;
    let folder = tempfile::TempDir::new().unwrap();
    let registration = folder.path().join("registration");
    std::os::unix::fs::symlink(berth_testkit::program(), &registration).unwrap();
    let account = shipped::controller(&cluster).await;
    let mut command = Command::new(&registration);
    command
        .args(["controller", "--log-format=json", "--listen=127.0.0.1:auto"])
        .arg("--kubeconfig")
        .arg(&account.kubeconfig);
    let mut process = Logged::start(command);
    let serving = process.logged(|line| line["message"] == "serving");
    process.logged(leads);
    let port = berth_testkit::port(&serving["controller"]);
    ready(port).await;
    assert!(!scrape(&cluster, port).await.contains("placement-lock"));
    process.signal("TERM");
    assert_eq!(process.ended().await.code(), Some(0));
    assert!(!process.log().iter().any(places));
}
