//! Gate and lifecycle in one process.

use serde_json::json;
use tempfile::TempDir;

use berth_testkit::cluster::janitor::{self, Watched};
use berth_testkit::cluster::{CRDS, Cluster};
use berth_testkit::process::{LEASE, SETS, holder, leads, once, ready, scrape};
use berth_testkit::shipped;
use berth_testkit::{Gate, berth, eventually, port, when, where_to_serve};

/// A running `berth hub`, and the port of what runs beside its gate.
async fn start(cluster: &Cluster, flags: &[&str]) -> (Gate, u16, Watched) {
    let kubeconfig = shipped::gate(cluster).await.kubeconfig;
    let certs = TempDir::new().unwrap();
    janitor::remove_at_the_end(certs.path());
    let mut command = berth(&["hub", "--self-signed", "--listen", "127.0.0.1:auto"]);
    command
        .args(["--kubeconfig", kubeconfig.to_str().unwrap()])
        .args(where_to_serve(certs.path()))
        .args(flags);
    let mut hub = Gate::run(command, certs);
    let watched = Watched::new(&hub.child);
    let serving = hub.logged(|line| line["message"] == "serving");
    (hub, port(&serving["controller"]), watched)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_replica_is_a_gate_and_one_of_them_leads() {
    let cluster = Cluster::private().await;
    cluster.apply_manifests(&CRDS).await;
    shipped::install_hub(&cluster).await;
    let admin = cluster.admin().await;
    let (mut first, first_port, _watched) = start(&cluster, &["--shutdown-delay", "1s"]).await;
    first.logged(leads);
    let (mut second, second_port, _watched) = start(&cluster, &[]).await;
    for (hub, port) in [(&mut first, first_port), (&mut second, second_port)] {
        hub.logged(|line| line["message"] == "ready: questions are answered");
        assert_eq!(hub.get(hub.health_port, "/readyz").await.status(), 200);
        ready(port).await;
        let review = berth_testkit::recorded("bind-set-a-alice.validate.json");
        let path = "/validate-cluster-open-cluster-management-io-v1beta2-managedclustersetbinding";
        assert!(hub.review(path, review).await["response"]["allowed"].is_boolean());
    }
    once(&admin, &format!("{SETS}/default"), "there", |_| true).await;

    // All metrics are in one place, and in the other one, too.
    let metrics = first.metrics().await;
    for name in [
        "controller_runtime_webhook_requests_total{",
        "controller_runtime_reconcile_total{",
        "leader_election_master_status{",
        "rest_client_requests_total{",
    ] {
        assert!(metrics.contains(name), "{name}: {metrics}");
        assert!(scrape(&cluster, first_port).await.contains(name), "{name}");
    }

    let before = holder(&admin).await;
    first.signal("TERM");
    second.logged(leads);
    assert_ne!(holder(&admin).await, before);
    assert_eq!(first.ended().await.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_loses_the_lease_goes_on_as_a_gate_and_stands_again() {
    let cluster = Cluster::private().await;
    cluster.apply_manifests(&CRDS).await;
    shipped::install_hub(&cluster).await;
    let admin = cluster.admin().await;
    // Metrics of another controller that leads would be there, too.
    let (mut hub, port, _watched) = start(&cluster, &["--controllers=registration"]).await;
    hub.logged(leads);
    let other = json!({ "spec": { "holderIdentity": "other", "leaseDurationSeconds": 1 } });
    admin.merge(LEASE, &other).await.unwrap().ok();
    hub.logged(|line| line["message"] == "the leadership is lost: standing for election again");
    ready(port).await;
    assert_eq!(hub.get(hub.health_port, "/readyz").await.status(), 200);
    let metrics = hub.metrics().await;
    assert!(metrics.contains("\nberth_caches_primed 0\n"), "{metrics}");
    assert!(!metrics.contains("berth_clusters{"), "another counts them");
    // The other one never renews.
    once(&admin, LEASE, "ours again", |lease| {
        lease["spec"]["holderIdentity"] != "other"
    })
    .await;
    eventually("a second term", async || {
        when(hub.log(), |log| {
            log.iter().filter(|line| leads(line)).count() >= 2
        })
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_ends_it_at_once() {
    let cluster = Cluster::private().await;
    cluster.apply_manifests(&CRDS).await;
    shipped::install_hub(&cluster).await;
    let (mut hub, _, _watched) = start(&cluster, &["--shutdown-delay", "1h"]).await;
    hub.signal("TERM");
    hub.logged(|line| line["message"] == "shutting down: not ready, still serving");
    hub.signal("TERM");
    assert_eq!(hub.ended().await.code(), Some(1));
}
