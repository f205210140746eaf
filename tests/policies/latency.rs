//! How long writes take with nothing in their way, with policies, and with webhooks: a measurement, no test of times.

use std::time::{Duration, Instant};

use berth_policies::Options;
use berth_testkit::cluster::{Cluster, Person, collection_of, path_of, rule, say_skipped};
use berth_testkit::guarded::{RunningGate, install, may_bind, may_join_all, register};
use berth_testkit::objects::{CLUSTER_GROUP, REGISTER_GROUP, binding, cluster, member, set};
use futures::future::join_all;
use serde_json::{Value, json};

use crate::hub::printed;
use crate::in_force::{wait_until_clusters_can_be_mutated, wait_until_policies_are_in_force};
use crate::users::grant_writing;

/// The numbers of connections.
const CONNECTIONS: [usize; 2] = [1, 8];

/// The rounds in which the hubs take turns.
const ROUNDS: usize = 30;

/// The writes of each connection in a round.
const WRITES: usize = 10;

/// A hub, and what decides its writes.
struct Hub {
    name: &'static str,
    _cluster: Cluster,
    /// One connection each.
    people: Vec<Person>,
    _gate: Option<RunningGate>,
}

/// A dry run: a POST of an object, or a merge patch.
struct Write {
    name: &'static str,
    path: String,
    body: Value,
    is_patch: bool,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement: cargo test --release --test policies latency -- --ignored --nocapture"]
async fn latency_of_nothing_policies_and_webhooks() {
    let Some(nothing) = Cluster::start_kubernetes(&[]).await else {
        say_skipped("devhub evaluates no policies");
        return;
    };
    let policies = Cluster::start_kubernetes(&[]).await.unwrap();
    let webhooks = Cluster::start_kubernetes(&[]).await.unwrap();
    for hub in [&nothing, &policies, &webhooks] {
        install(hub).await;
        hub.apply(&[set("a"), set("b"), member("c1", "a")]).await;
    }
    policies.apply(&printed(&Options::default())).await;
    let admin = policies.admin().await;
    wait_until_policies_are_in_force(&admin).await;
    grant_writing(&admin).await;
    wait_until_clusters_can_be_mutated(&admin).await;
    let gate = RunningGate::start(&webhooks, &[]).await;
    register(&webhooks, &gate.url(), &gate.ca_pem()).await;

    let hubs = [
        Hub::new("nothing", nothing, None).await,
        Hub::new("policies", policies, None).await,
        Hub::new("webhooks", webhooks, Some(gate)).await,
    ];
    println!("p50 (p10) in ms; writes per second");
    for connections in CONNECTIONS {
        for write in writes() {
            let mut times = [const { Vec::new() }; 3];
            let mut spent = [Duration::ZERO; 3];
            // The first round opens connections.
            for round in 0..=ROUNDS {
                for (at, hub) in hubs.iter().enumerate() {
                    let started = Instant::now();
                    let taken = hub.send(&write, connections).await;
                    if round > 0 {
                        spent[at] += started.elapsed();
                        times[at].extend(taken);
                    }
                }
            }
            print!("{connections} connections, {:<16}", write.name);
            for ((hub, times), spent) in hubs.iter().zip(&mut times).zip(spent) {
                times.sort_unstable();
                let rate = times.len() as f64 / spent.as_secs_f64();
                print!(
                    "  {} {:.1} ({:.1}); {rate:.0}/s",
                    hub.name,
                    part(times, 50),
                    part(times, 10)
                );
            }
            println!();
        }
    }
}

/// A percentile in milliseconds.
fn part(times: &[Duration], percent: usize) -> f64 {
    times[times.len() * percent / 100].as_secs_f64() * 1000.0
}

fn writes() -> Vec<Write> {
    let mut with_taints = cluster("c2");
    with_taints["spec"]["taints"] = json!([
        { "key": "a", "effect": "NoSelect" },
        { "key": "b", "effect": "NoSelect" },
    ]);
    with_taints["spec"]["managedClusterClientConfigs"] =
        json!([{ "url": "https://c2.example.com" }]);
    let create = |name, object: Value| Write {
        name,
        path: format!("{}?dryRun=All", collection_of(&object)),
        body: object,
        is_patch: false,
    };
    let patch = |name, body| Write {
        name,
        path: format!("{}?dryRun=All", path_of(&cluster("c1"))),
        body,
        is_patch: true,
    };
    vec![
        create("create", cluster("c2")),
        create("create, taints", with_taints),
        patch("accept", json!({ "spec": { "hubAcceptsClient": true } })),
        create("bind", binding("a", "default")),
        patch(
            "move",
            json!({ "metadata": { "labels": { "cluster.open-cluster-management.io/clusterset": "b" } } }),
        ),
        patch(
            "unguarded",
            json!({ "metadata": { "annotations": { "note": "x" } } }),
        ),
    ]
}

// === impl Hub ===

impl Hub {
    async fn new(name: &'static str, cluster: Cluster, gate: Option<RunningGate>) -> Self {
        let rules = [
            rule(
                &["*"],
                CLUSTER_GROUP,
                &["managedclusters", "managedclustersetbindings"],
                &[],
            ),
            rule(
                &["update"],
                REGISTER_GROUP,
                &["managedclusters/accept"],
                &[],
            ),
            may_join_all(),
            may_bind("a"),
        ];
        let mut people = Vec::new();
        for at in 0..CONNECTIONS[1] {
            let person = cluster.user(&format!("writer-{at}"), &[]).await;
            cluster.grant(&person, &rules).await;
            people.push(person);
        }
        Self {
            name,
            _cluster: cluster,
            people,
            _gate: gate,
        }
    }

    /// Sends a write several times on each of some connections, and returns how long each took.
    async fn send(&self, write: &Write, connections: usize) -> Vec<Duration> {
        let sent = self.people[..connections].iter().map(async |person| {
            let mut times = Vec::with_capacity(WRITES);
            for _ in 0..WRITES {
                let started = Instant::now();
                let answer = match write.is_patch {
                    true => person.merge(&write.path, &write.body).await,
                    false => person.post(&write.path, &write.body).await,
                };
                answer.unwrap().ok();
                times.push(started.elapsed());
            }
            times
        });
        let times = join_all(sent).await;
        times.concat()
    }
}
