//! Costly CEL expressions of one namespace hold up neither the Lease nor the placements of others.

use std::thread::JoinHandle;
use std::time::Duration;

use berth_hub::HubApi;
use berth_lease::{LeaseParams, WhenLost, while_leading};
use berth_placement::{Config, Metrics, Settings, controller};
use berth_testkit::cluster::fresh;
use berth_testkit::process::once;
use berth_testkit::{PATIENCE, eventually, eventually_within, shipped, when};
use kube::config::{KubeConfigOptions, Kubeconfig};
use prometheus::Registry;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::placement::hub::Hub;

const LEASE: &str = "placement-lock";

/// Placements of the hostile namespace.
const MANY: usize = 20;

/// The steps that a namespace has in a minute: one of the costly placements spends most of them.
const RATE: u64 = 10_000_000;

/// A controller that leads by its Lease, on one thread: as in the binary.
struct Leader {
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl Leader {
    async fn start(hub: &Hub) -> Self {
        let account = hub.account().await;
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.enable_all().build().unwrap();
            runtime.block_on(async {
                let kubeconfig = Kubeconfig::read_from(account).unwrap();
                let options = KubeConfigOptions::default();
                let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options);
                let mut config = config.await.unwrap();
                config.default_retry = false;
                let api = HubApi::of(config).await.unwrap();
                let params = LeaseParams {
                    lease_duration: Duration::from_secs(9),
                    renew_deadline: Duration::from_secs(6),
                    retry_period: Duration::from_secs(1),
                    ..LeaseParams::new(shipped::NAMESPACE, LEASE, "tests")
                };
                let settings = Settings {
                    cel_rate: RATE,
                    ..Settings::default()
                };
                let metrics = Metrics::new(&Registry::new()).unwrap();
                let config = Config {
                    scheduler: settings,
                    ..Config::default()
                };
                let controller = controller(config, metrics);
                let work = |term| {
                    let running = controller.start(api.clone(), "tests", Some(term), None);
                    running.run(stopped.clone())
                };
                let led = while_leading(&api, params, WhenLost::End, &stopped, |_| {}, work);
                led.await.unwrap();
            });
            runtime.shutdown_background();
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }

    fn leads(&self) -> bool {
        self.thread.as_ref().is_some_and(|it| !it.is_finished())
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Twelve predicates of four expressions, all of which are evaluated: each takes about 200,000 steps, and the last one is false.
fn costly() -> Value {
    let items: Vec<_> = (0..46).map(|it| it.to_string()).collect();
    let list = format!("[{}]", items.join(","));
    let all = format!("{list}.all(a, {list}.all(b, {list}.all(c, true)))");
    let last = format!("!{all}");
    let expressions = [&all, &all, &all, &last];
    let predicate =
        json!({"requiredClusterSelector": {"celSelector": {"celExpressions": expressions}}});
    json!({"predicates": vec![predicate; 12]})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn costly_expressions_of_one_namespace_hold_up_no_lease_and_no_other_placement() {
    let mut hub = Hub::new().await;
    let (hostile, set) = (hub.namespace.clone(), hub.set.clone());
    hub.cluster(&set, json!({"region": "eu"})).await;
    let leader = Leader::start(&hub).await;
    // The first one is evaluated without the expensive ones, so that the controller leads.
    hub.place(json!({})).await;
    hub.settled("p").await;
    for number in 0..MANY {
        hub.place_as(&format!("costly{number}"), costly()).await;
    }
    let lease = format!(
        "/apis/coordination.k8s.io/v1/namespaces/{}/leases/{LEASE}",
        shipped::NAMESPACE
    );
    let acquired = once(&hub.admin, &lease, "held", |_| true).await["spec"].clone();

    hub.another_namespace(fresh("other")).await;
    hub.bind(&set).await;
    let eu = r#"managedCluster.metadata.labels["region"] == "eu""#;
    let ours = json!({"predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": [eu]}}}]});
    hub.place(ours).await;
    hub.counts(1).await;
    hub.place_as("plain", json!({})).await;
    hub.settled("plain").await;
    // Clusters that are accepted later count, too.
    let later = hub.cluster(&set, json!({"region": "eu"})).await;
    hub.counts(2).await;
    hub.remove(&later).await;
    hub.counts(1).await;

    hub.namespace = hostile;
    let waits = |placement: &Value| {
        let conditions = placement["status"]["conditions"].as_array();
        conditions.into_iter().flatten().any(|it| {
            let message = it["message"].as_str().unwrap_or_default();
            it["type"] == "PlacementSatisfied"
                && message.contains(
                    "exceed the limit of 10000000 steps in a minute, so this Placement waits",
                )
        })
    };
    eventually("most of the costly placements wait", async || {
        let path = hub.placement("p");
        let (collection, _) = path.rsplit_once('/').unwrap();
        let list = hub.admin.get(collection).await.unwrap();
        let items = list.ok()["items"].as_array().unwrap().clone();
        when(items.iter().filter(|it| waits(it)).count(), |it| {
            *it >= MANY / 2
        })
    })
    .await;
    // The Lease is renewed after this, by the same term.
    let renewed = |it: &Value| it["spec"]["renewTime"] != acquired["renewTime"];
    let lease = once(&hub.admin, &lease, "renewed", renewed).await;
    assert_eq!(lease["spec"]["acquireTime"], acquired["acquireTime"]);
    assert_eq!(lease["spec"]["holderIdentity"], acquired["holderIdentity"]);
    assert!(leader.leads());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_placement_that_waits_is_evaluated_when_its_turn_comes() {
    let hub = Hub::new().await;
    let cluster = hub.cluster(&hub.set, json!({"region": "eu"})).await;
    let settings = Settings {
        // An evaluation takes a little more.
        cel_rate: 580,
        ..Settings::default()
    };
    let _placing = hub.start_with(settings).await;
    let list: Vec<_> = (0..200).collect();
    let expression =
        format!(r#"{list:?}.all(x, true) && managedCluster.metadata.labels["region"] == "eu""#);
    let spec = json!({"predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": [expression]}}}]});
    hub.place(spec).await;
    hub.selects(&[&cluster]).await;
    hub.counts(1).await;
    let us = json!({"metadata": {"labels": {"region": "us"}}});
    hub.change(&cluster, us).await;
    let message = hub
        .condition("PlacementSatisfied", "NotAllDecisionsScheduled")
        .await;
    assert_eq!(
        message,
        "the Placements in this namespace cost too much: their evaluations exceed the limit of 580 steps in a minute, so this Placement \
         waits; the decisions are kept as they were; make CEL expressions simpler, or put label selectors before them; use fewer \
         predicates, tolerations and prioritizers"
    );
    // Each evaluation before, of which there may be several, is a minute of the budget.
    let path = hub.placement("p");
    eventually_within(5 * PATIENCE, "its turn", async || {
        let placement = hub.admin.get(&path).await.unwrap().body;
        let conditions = placement["status"]["conditions"].as_array().cloned();
        let is_over = |it: &Value| it["reason"] == "NoManagedClusterMatched";
        when(conditions.unwrap_or_default(), |all| {
            all.iter().any(is_over)
        })
    })
    .await;
    hub.selects(&[]).await;
}
