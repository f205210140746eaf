//! The memory of the controller, and its first steps, on a hub that the holder of a bootstrap token has filled.

use std::time::Duration;

use berth_testkit::cluster::{Cluster, Person};
use berth_testkit::csr::{CSRS, Csr};
use berth_testkit::process::{CLUSTERS, Controller, install, once};
use berth_testkit::{eventually_within, when};
use futures::{StreamExt, stream};
use serde_json::{Map, Value, json};

/// ManagedClusters, of 40 KB each. The gate lets 64 KiB pass until a cluster is accepted.
const HOSTILE: usize = 50;

/// CSRs, of 45 KB each: 27 MB in all.
const REQUESTS: usize = 600;

/// Longer than the controller takes for all of them.
const PATIENCE: Duration = Duration::from_secs(150);

/// Upper bound on the controller's anonymous memory, in KiB. What is kept of each object must not be all of it.
const MOST: usize = 32 * 1024;

const UNREACHABLE: &str = "cluster.open-cluster-management.io/unreachable";

/// A ManagedCluster whose lists are longer than what the controller keeps of them.
fn hostile(number: usize) -> Value {
    let taint = |i| json!({"key": format!("t{i}"), "value": "x".repeat(100), "effect": "NoSelect"});
    let taints: Vec<_> = (0..200).map(taint).collect();
    let labels: Map<_, _> = (0..300)
        .map(|i| (format!("label{i}.example.com/a"), json!("x")))
        .collect();
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": format!("hostile{number}"), "labels": labels},
        "spec": {"hubAcceptsClient": false, "taints": taints},
    })
}

async fn create_all(admin: &Person, path: &str, objects: impl Iterator<Item = Value>) {
    let created = stream::iter(objects).map(async |object| {
        let answer = admin.post(path, &object).await.unwrap();
        assert_eq!(answer.code, 201, "{answer:?}");
    });
    created.buffer_unordered(4).collect::<Vec<_>>().await;
}

/// The memory of a process that is not that of its files.
fn memory(controller: &Controller) -> usize {
    let path = format!("/proc/{}/status", controller.child.id());
    let status = std::fs::read_to_string(path).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let figure = line.and_then(|line| line.split_whitespace().next());
    figure.unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_is_accepted_beside_many_that_nobody_accepted_in_bounded_memory() {
    let cluster = Cluster::private().await;
    install(&cluster).await;
    let admin = cluster.admin().await;
    create_all(&admin, CLUSTERS, (0..HOSTILE).map(hostile)).await;
    let csr = Csr::new("hostile0", "agent1").body;
    let requests = (0..REQUESTS).map(|number| {
        let mut csr = csr.clone();
        csr["metadata"]["name"] = format!("hostile-csr{number}").into();
        csr["metadata"]["annotations"] = json!({"much": "x".repeat(45_000)});
        csr
    });
    create_all(&admin, CSRS, requests).await;
    let mut controller = Controller::start(&cluster, &[]).await;
    controller.leads();
    controller.is_ready().await;
    let good = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": "good"},
        "spec": {"hubAcceptsClient": true},
    });
    create_all(&admin, CLUSTERS, [good].into_iter()).await;
    let mut most = memory(&controller);
    once(&admin, &format!("{CLUSTERS}/good"), "accepted", |it| {
        let conditions = it["status"]["conditions"].as_array();
        conditions.into_iter().flatten().any(|condition| {
            condition["type"] == "HubAcceptedManagedCluster" && condition["status"] == "True"
        })
    })
    .await;
    // Those that wait have their turn, too.
    let is_tainted = |it: &Value| {
        let taints = it["spec"]["taints"].as_array();
        let mut taints = taints.into_iter().flatten();
        taints.any(|it| it["key"] == UNREACHABLE)
    };
    for number in 0..HOSTILE {
        let path = format!("{CLUSTERS}/hostile{number}");
        eventually_within(PATIENCE, "the hub's taint", async || {
            most = most.max(memory(&controller));
            let stored = admin.get(&path).await.unwrap().body;
            when(stored, is_tainted)
        })
        .await;
    }
    most = most.max(memory(&controller));
    eprintln!("{HOSTILE} clusters and {REQUESTS} CSRs: {most} KiB");
    assert!(most < MOST, "{most} KiB");
}
