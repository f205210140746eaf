//! What lists and watches of many clusters cost, over HTTP and TLS, the client included. `cargo bench -p berth-devhub`.

#![allow(missing_docs, reason = "made by divan's macros")]
#![allow(clippy::unwrap_used, reason = "a benchmark")]

#[path = "../tests/http/client.rs"]
#[allow(dead_code, reason = "the tests use all of it")]
mod client;

use std::sync::LazyLock;

use berth_devhub::DevHub;
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use futures::{StreamExt, stream};
use http_body_util::BodyExt;
use serde_json::json;
use tokio::runtime::Runtime;

use client::Client;

const CLUSTERS: usize = 10_000;
const PATH: &str = "/apis/cluster.open-cluster-management.io/v1/managedclusters";

static WORLD: LazyLock<World> = LazyLock::new(World::new);

struct World {
    runtime: Runtime,
    /// Serves for as long as it is here.
    _hub: DevHub,
    client: Client,
}

fn main() {
    divan::main();
}

impl World {
    fn new() -> Self {
        let runtime = Runtime::new().unwrap();
        let (hub, client) = runtime.block_on(async {
            let hub = client::hub(100).await;
            let client = Client::admin(&hub);
            let definition = serde_json::to_value(berth_api::crds::managed_cluster()).unwrap();
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            let answer = client.ask("POST", path, Some(definition)).await;
            assert_eq!(answer.status, 201, "{answer:?}");
            stream::iter(0..CLUSTERS)
                .for_each_concurrent(16, |i| create(&client, i))
                .await;
            (hub, client)
        });
        Self {
            runtime,
            _hub: hub,
            client,
        }
    }
}

async fn create(client: &Client, i: usize) {
    let cluster = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {
            "name": format!("cluster-{i:05}"),
            "labels": {
                "cluster.open-cluster-management.io/clusterset": "default",
                "region": format!("region-{}", i % 10),
                "vendor": "Kubernetes",
            },
        },
        "spec": {
            "hubAcceptsClient": true,
            "leaseDurationSeconds": 60,
            "managedClusterClientConfigs": [{"url": format!("https://api.cluster-{i:05}.example.com:6443")}],
        },
    });
    let answer = client.ask("POST", PATH, Some(cluster)).await;
    assert_eq!(answer.status, 201, "{answer:?}");
}

async fn bytes(path: &str) -> Vec<u8> {
    let client = &WORLD.client;
    let response = client.send(client.request("GET", path), "").await;
    assert_eq!(response.status(), 200);
    let body = response.into_body().collect().await.unwrap();
    body.to_bytes().to_vec()
}

/// All pages, and how many bytes they have.
async fn pages(limit: usize, parameters: &str) -> usize {
    let mut total = 0;
    let mut token = String::new();
    loop {
        let page = bytes(&format!(
            "{PATH}?limit={limit}&continue={token}{parameters}"
        ))
        .await;
        total += page.len();
        // The token is at the beginning: no need to read the rest.
        let head = String::from_utf8_lossy(&page[..page.len().min(1000)]);
        let (_, rest) = head.split_once("\"continue\":\"").unwrap();
        token = rest.split('"').next().unwrap().to_owned();
        if token.is_empty() {
            return total;
        }
    }
}

/// A watch from the beginning to the bookmark after all that there is.
async fn watch() -> usize {
    let client = &WORLD.client;
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let path = format!("{PATH}?watch=1&{query}");
    let response = client.send(client.request("GET", &path), "").await;
    let mut body = response.into_body();
    let mut total = 0;
    let mut end = Vec::new();
    while !String::from_utf8_lossy(&end).contains("k8s.io/initial-events-end") {
        let data = body.frame().await.unwrap().unwrap().into_data().unwrap();
        total += data.len();
        end = data[data.len().saturating_sub(1000)..].to_vec();
    }
    total
}

fn bench<F: Future<Output = usize>>(bencher: Bencher<'_, '_>, run: impl Fn() -> F + Sync) {
    let world = &*WORLD;
    let total = world.runtime.block_on(run());
    bencher
        .counter(BytesCount::new(total))
        .counter(ItemsCount::new(CLUSTERS))
        .bench(|| world.runtime.block_on(run()));
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn by_pages_of_500(bencher: Bencher<'_, '_>) {
    bench(bencher, || pages(500, ""));
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn by_pages_of_500_with_a_selector(bencher: Bencher<'_, '_>) {
    bench(bencher, || pages(500, "&labelSelector=vendor%3DKubernetes"));
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn at_once(bencher: Bencher<'_, '_>) {
    bench(bencher, || async { bytes(PATH).await.len() });
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn by_a_watch(bencher: Bencher<'_, '_>) {
    bench(bencher, watch);
}
