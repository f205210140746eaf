//! The built binary: its Lease, its health, its names.

use std::process::Command;

use berth_testkit::cluster::janitor::Watched;
use berth_testkit::process::{once, ready, scrape};
use berth_testkit::{Logged, berth, port};
use serde_json::json;

use crate::placement::hub::Hub;

const LEASE: &str =
    "/apis/coordination.k8s.io/v1/namespaces/open-cluster-management-hub/leases/placement-lock";

/// A running `berth placement controller`.
struct Process {
    process: Logged,
    port: u16,
    _watched: Watched,
}

impl Process {
    async fn start(hub: &Hub) -> Self {
        Self::with_flags(hub, &[]).await
    }

    async fn with_flags(hub: &Hub, flags: &[&str]) -> Self {
        let kubeconfig = hub.account().await;
        let mut command = berth(&["placement", "controller", "--log-format", "json"]);
        command
            .args(flags)
            .args(["--listen", "127.0.0.1:auto", "--kubeconfig"])
            .arg(kubeconfig);
        let mut process = Logged::start(command);
        let watched = Watched::new(&process.child);
        let serving = process.logged(|line| line["message"] == "serving");
        Self {
            port: port(&serving["controller"]),
            process,
            _watched: watched,
        }
    }

    fn leads(&mut self) {
        self.process.logged(|line| line["message"] == "reconciling");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_processes_one_leads_and_the_other_takes_over() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(1).await;
    let mut first = Process::start(&hub).await;
    first.leads();
    let mut second = Process::start(&hub).await;
    ready(second.port).await;
    hub.place(json!({})).await;
    hub.selects(&[&clusters[0]]).await;
    hub.condition("PlacementSatisfied", "AllDecisionsScheduled")
        .await;
    let lease = once(&hub.admin, LEASE, "held", |it| {
        it["spec"]["holderIdentity"].is_string()
    })
    .await;
    assert_eq!(lease["spec"]["leaseDurationSeconds"], 15);
    let metrics = scrape(&hub.cluster, first.port).await;
    for line in [
        "berth_placements{state=\"misconfigured\"} ",
        "berth_placement_clusters{outcome=\"selected\"} ",
        "scheduling_bind_duration_seconds_count{name=\"placement_scheduling\"} ",
        "scheduling_scheduling_duration_seconds_count{name=\"placement_scheduling\"} ",
        "controller_runtime_reconcile_total{controller=\"placements\",result=\"success\"} ",
        "leader_election_master_status{name=\"placement-lock\"} 1",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    first.process.signal("TERM");
    assert_eq!(first.process.ended().await.code(), Some(0));
    second.leads();
    let added = hub.clusters(1).await;
    hub.selects(&[&clusters[0], &added[0]]).await;
    second.process.signal("TERM");
    assert_eq!(second.process.ended().await.code(), Some(0));
    let log = second.process.log();
    let refused = log
        .iter()
        .filter(|line| line.to_string().contains("forbidden"));
    assert_eq!(refused.count(), 0, "{log:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_gate_publishes_decisions_of_the_sig() {
    let hub = Hub::with_slices().await;
    let clusters = hub.clusters(1).await;
    let gate = ["--feature-gates=SIGPlacementDecision=true"];
    let mut process = Process::with_flags(&hub, &gate).await;
    process.leads();
    hub.place(json!({})).await;
    hub.publishes(&[&clusters[0]]).await;
    process.process.signal("TERM");
    assert_eq!(process.process.ended().await.code(), Some(0));
}

/// The image has the executable under this name, too, and OCM's operator starts it so.
#[test]
fn under_ocms_name_it_is_ocms_command() {
    let folder = tempfile::TempDir::new().unwrap();
    let placement = folder.path().join("placement");
    std::os::unix::fs::symlink(berth_testkit::program(), &placement).unwrap();
    let mut command = Command::new(&placement);
    let output = command
        .args(["controller", "--kubeconfig=/nowhere"])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let last = said.lines().last().unwrap_or_default();
    assert!(last.starts_with("Error: --kubeconfig /nowhere: "), "{said}");
}
