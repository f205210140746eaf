//! Several hubs: the agent belongs to one of them, and goes to another when that one is lost.

use std::path::Path;

use serde_json::json;

use super::world::World;
use crate::lifecycle::hub::{AVAILABLE, HubWithReconcilers, config};
use berth_testkit::cluster::Private;
use berth_testkit::line::{Line, State};
use berth_testkit::{Agent, eventually};

/// A managed cluster with two hubs, of which it prefers the first.
struct Two {
    first: World,
    second: World<Private>,
}

impl Two {
    async fn new() -> Self {
        let first = World::new().await;
        let hub = HubWithReconcilers::private(config()).await;
        let second = first.at(hub).await;
        Self { first, second }
    }

    fn agent(&self, flags: &[&str]) -> Agent {
        let [first, second] =
            [&self.first.bootstrap, &self.second.bootstrap].map(|it| it.to_str().unwrap());
        let several = [
            "--feature-gates=MultipleHubs=true",
            "--bootstrap-kubeconfigs",
            first,
            "--bootstrap-kubeconfigs",
            second,
        ];
        self.first.agent(&[&several, flags].concat())
    }

    /// The second hub accepts the cluster, and the agent is managed by it.
    async fn joins_the_second(&self) {
        let csr = self.second.pending().await;
        self.second.decide(&csr, "Approved").await;
        self.second.accept(true).await;
        let hub = &self.second.hub;
        hub.condition(
            &self.second.name,
            AVAILABLE,
            "True",
            "ManagedClusterAvailable",
        )
        .await;
    }

    /// Waits until the hub Secret is for this hub.
    async fn belongs_to<C>(&self, hub: &World<C>) {
        let server = server(&hub.bootstrap);
        eventually("the hub Secret of the other hub", async || {
            let secret = self.first.hub_secret().await;
            let kubeconfig = super::world::text(&secret, "kubeconfig");
            if kubeconfig.contains(&server) {
                return Ok(());
            }
            Err(kubeconfig)
        })
        .await;
    }
}

/// The URL of the hub.
fn server(kubeconfig: &Path) -> String {
    berth_hub::endpoint(kubeconfig, "").unwrap().server
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_cluster_goes_to_the_next_hub_and_returns_without_a_person() {
    let two = Two::new().await;
    let mut agent = two.agent(&[]);
    let csr = two.first.pending().await;
    two.first.decide(&csr, "Approved").await;
    two.first.accept(true).await;
    agent.is_managed().await;
    assert!(two.second.csrs().await.is_empty());
    two.first.accept(false).await;
    let told = two.first.event("HubChanged").await;
    assert!(
        told.ends_with("it does not accept the cluster any more"),
        "{told}"
    );
    two.joins_the_second().await;
    two.belongs_to(&two.second).await;
    // Accepted again: after a restart the agent does not know when it left.
    two.first.accept(true).await;
    drop(agent);
    let agent = two.agent(&[]);
    two.belongs_to(&two.first).await;
    two.first
        .reported("that it is available", |it| {
            it["status"]["conditions"].as_array().is_some_and(|all| {
                all.iter()
                    .any(|it| it["type"] == AVAILABLE && it["status"] == "True")
            })
        })
        .await;
    assert_eq!(two.first.csrs().await.len(), 1);
    assert_eq!(two.second.csrs().await.len(), 1);
    drop(agent);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_is_away_for_too_long_is_left_and_taken_up_again() {
    let two = Two::new().await;
    let line = Line::to(two.first.hub.cluster).await;
    two.first
        .change_bootstrap(|it| it["clusters"][0]["cluster"]["server"] = json!(line.url));
    let flags = ["--hub-connection-timeout-seconds=1"];
    let mut agent = two.agent(&flags);
    let csr = two.first.pending().await;
    two.first.decide(&csr, "Approved").await;
    two.first.accept(true).await;
    agent.is_managed().await;
    line.is(State::Down);
    // It asks the second, and nobody answers there.
    let pending = two.second.pending().await;
    let secret = two.first.hub_secret().await;
    drop(agent);
    line.is(State::Up);
    let mut agent = two.agent(&flags);
    agent.is_managed().await;
    assert_eq!(two.first.hub_secret().await["data"], secret["data"]);
    assert_eq!(two.first.csrs().await.len(), 1);
    let csrs = two.second.csrs().await;
    assert_eq!(csrs.len(), 1, "{csrs:?}");
    assert_eq!(csrs[0]["metadata"]["uid"], pending["metadata"]["uid"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_hub_that_can_be_used_the_agent_says_why_and_waits() {
    let two = Two::new().await;
    let user = two.first.bootstrap_user(false).await;
    two.first.write_bootstrap(&user, |text| text);
    let text = std::fs::read_to_string(&two.second.bootstrap).unwrap();
    std::fs::write(&two.second.bootstrap, "clusters: [").unwrap();
    let mut agent = two.agent(&[]);
    let words = agent.waits("NoUsableHub").await;
    for part in [
        "the bootstrap user may not create managedclusters: grant it the rights of manifests/bootstrap",
        "--bootstrap-kubeconfigs",
    ] {
        assert!(words.contains(part), "{words}");
    }
    std::fs::write(&two.second.bootstrap, text).unwrap();
    two.joins_the_second().await;
    assert!(!two.first.exists().await);
}
