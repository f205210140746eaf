//! The built binary: its Lease, its metrics, its names.

use std::process::Command;

use berth_testkit::cluster::janitor::Watched;
use berth_testkit::process::{once, ready, scrape};
use berth_testkit::{Logged, berth, eventually, port, when};

use super::hub::Hub;

const LEASE: &str =
    "/apis/coordination.k8s.io/v1/namespaces/open-cluster-management-hub/leases/manager-lock";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_add_on_manager_leads_by_ocms_lease() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(1).await;
    hub.place("p", &clusters).await;
    let mut command = berth(&["addon", "manager", "--log-format", "json"]);
    command
        .args(["--listen", "127.0.0.1:auto", "--kubeconfig"])
        .arg(hub.account().await);
    let mut process = Logged::start(command);
    let _watched = Watched::new(&process.child);
    let serving = process.logged(|line| line["message"] == "serving");
    let port = port(&serving["controller"]);
    ready(port).await;
    hub.install("a").await;
    hub.has("a", &clusters).await;
    once(&hub.admin, LEASE, "held", |it| {
        it["spec"]["holderIdentity"].is_string()
    })
    .await;
    let expected = [
        "controller_runtime_reconcile_total{controller=\"addon-management\",result=\"success\"} ",
        "controller_runtime_reconcile_total{controller=\"addon-configuration\",result=\"success\"} ",
        "leader_election_master_status{name=\"manager-lock\"} 1",
        "berth_addons{state=\"unknown\"} 1",
        "berth_addons{state=\"available\"} 0",
    ];
    // A reconcile is counted when its last write is done.
    eventually("all metrics", async || {
        let metrics = scrape(&hub.cluster, port).await;
        when(metrics, |it| expected.iter().all(|line| it.contains(line)))
    })
    .await;
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
    let addon = folder.path().join("addon");
    std::os::unix::fs::symlink(berth_testkit::program(), &addon).unwrap();
    let output = Command::new(&addon)
        .args(["manager", "--kubeconfig=/nowhere"])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let last = said.lines().last().unwrap_or_default();
    assert!(last.starts_with("Error: --kubeconfig /nowhere: "), "{said}");
}
