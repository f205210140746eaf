//! The built binary: its Lease, its metrics, its names.

use std::process::Command;

use berth_testkit::cluster::janitor::Watched;
use berth_testkit::process::{once, ready, scrape};
use berth_testkit::{Logged, berth, port};
use serde_json::json;

use super::hub::Hub;

const LEASE: &str =
    "/apis/coordination.k8s.io/v1/namespaces/open-cluster-management-hub/leases/work-manager-lock";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_work_manager_leads_by_ocms_lease() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(2).await;
    hub.place("p", &clusters).await;
    let mut command = berth(&["work", "manager", "--log-format", "json"]);
    command
        .args(["--listen", "127.0.0.1:auto", "--kubeconfig"])
        .arg(hub.account().await);
    let mut process = Logged::start(command);
    let _watched = Watched::new(&process.child);
    let serving = process.logged(|line| line["message"] == "serving");
    let port = port(&serving["controller"]);
    ready(port).await;
    hub.replicate("a", json!({"type": "All"})).await;
    hub.makes("a", 1, &clusters).await;
    hub.condition("a", "PlacementVerified", "True AsExpected")
        .await;
    once(&hub.admin, LEASE, "held", |it| {
        it["spec"]["holderIdentity"].is_string()
    })
    .await;
    let metrics = scrape(&hub.cluster, port).await;
    for line in [
        "controller_runtime_reconcile_total{controller=\"manifestworkreplicaset\",result=\"success\"} ",
        "leader_election_master_status{name=\"work-manager-lock\"} 1",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    process.signal("TERM");
    assert_eq!(process.ended().await.code(), Some(0));
    let log = process.log();
    let refused = log
        .iter()
        .filter(|line| line.to_string().contains("forbidden"));
    assert_eq!(refused.count(), 0, "{log:?}");
}

/// The image has the executable under this name, too, and OCM's operator starts it so.
#[test]
fn under_ocms_name_it_is_ocms_command() {
    let folder = tempfile::TempDir::new().unwrap();
    let work = folder.path().join("work");
    std::os::unix::fs::symlink(berth_testkit::program(), &work).unwrap();
    let output = Command::new(&work)
        .args([
            "manager",
            "--kubeconfig=/nowhere",
            "--feature-gates=ManifestWorkReplicaSet=true",
        ])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let last = said.lines().last().unwrap_or_default();
    assert!(last.starts_with("Error: --kubeconfig /nowhere: "), "{said}");
}
