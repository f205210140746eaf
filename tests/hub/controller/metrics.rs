//! What dashboards for controllers of controller-runtime and client-go show of this one.

use berth_testkit::cluster::{Cluster, fresh};
use berth_testkit::in_process::metric;
use berth_testkit::process::{Controller, install, scrape};
use berth_testkit::{eventually, when};
use serde_json::json;

const CLUSTERS: &str = "/apis/cluster.open-cluster-management.io/v1/managedclusters";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queues_and_requests_are_counted_under_the_names_of_client_go() {
    let cluster = Cluster::private().await;
    install(&cluster).await;
    let admin = cluster.admin().await;
    let mut controller = Controller::start(&cluster, &[]).await;
    controller.leads();
    controller.is_ready().await;

    let url = cluster.url();
    let (_, host) = url.split_once("://").unwrap();
    let requests = |code: &str, method: &str| {
        format!("rest_client_requests_total{{code=\"{code}\",host=\"{host}\",method=\"{method}\"}}")
    };
    let queue = |name: &str| format!("{name}{{name=\"clusters\"}}");
    let before = scrape(&cluster, controller.port).await;
    assert!(metric(&before, &requests("200", "GET")) >= 1.0, "{before}");
    for name in [
        "workqueue_retries_total",
        "workqueue_unfinished_work_seconds",
        "workqueue_longest_running_processor_seconds",
    ] {
        assert!(before.contains(&queue(name)), "{name}: {before}");
    }

    let object = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": { "name": fresh("counted") },
        "spec": { "hubAcceptsClient": true },
    });
    admin.post(CLUSTERS, &object).await.unwrap().ok();
    // The namespace of the cluster is created.
    let moved = [
        queue("workqueue_adds_total"),
        queue("workqueue_work_duration_seconds_count"),
        queue("workqueue_queue_duration_seconds_count"),
        requests("201", "POST"),
    ];
    eventually("the work on the new cluster in all metrics", async || {
        let after = scrape(&cluster, controller.port).await;
        let has_moved = |line: &String| metric(&after, line) > metric(&before, line);
        when((), |()| moved.iter().all(has_moved))
    })
    .await;
}
