//! One of the two API servers goes away, or refuses the agent, for a minute.

use std::time::{Duration, Instant};

use serde_json::json;

use berth_testkit::cluster::Cluster;
use berth_testkit::{PATIENCE, eventually_within, when};

use super::world::{World, signed_by_another_hub, text};
use crate::lifecycle::hub::{AVAILABLE, condition};
use berth_testkit::line::{Line, State};

/// They run at the same time, because each of them waits for long.
#[tokio::test(flavor = "multi_thread")]
async fn absences_of_a_minute_end_without_help() {
    tokio::join!(
        the_managed_cluster_goes_away(),
        the_hub_goes_away(),
        the_hub_refuses_the_certificate(),
        another_agent_writes_its_hub_into_the_secret(),
    );
}

/// The agent goes on with the Lease, and reports nothing but that the API server does not work.
async fn the_managed_cluster_goes_away() {
    let world = World::new().await;
    let line = Line::to(Cluster::shared().await).await;
    let managed = line.kubeconfig(&world.managed.kubeconfig);
    let agent = world
        .joined(&[
            "--kubeconfig",
            managed.to_str().unwrap(),
            "--cluster-healthcheck-period=2s",
        ])
        .await;
    let before = world.reports_all().await;
    world.lease_lasts(2).await;
    line.is(State::Down);
    let unavailable = "ManagedClusterKubeAPIServerUnavailable";
    let down = world
        .hub
        .condition(&world.name, AVAILABLE, "False", unavailable)
        .await;
    let message = condition(&down, AVAILABLE).unwrap()["message"].clone();
    let ocms = "The kube-apiserver is not ok, status code: 0, ";
    assert!(message.as_str().unwrap().starts_with(ocms), "{message}");
    for field in ["version", "capacity", "allocatable", "clusterClaims"] {
        assert_eq!(down["status"][field], before["status"][field], "{field}");
    }
    world.renews().await;
    line.is(State::Up);
    world
        .hub
        .condition(&world.name, AVAILABLE, "True", "ManagedClusterAvailable")
        .await;
    drop(agent);
}

/// The agent waits, also one that was restarted meanwhile, and goes on with the certificate that it has.
async fn the_hub_goes_away() {
    let world = World::new().await;
    let line = Line::to(world.hub.cluster).await;
    world.change_bootstrap(|it| it["clusters"][0]["cluster"]["server"] = json!(line.url));
    let mut agent = world.joined(&[]).await;
    world.lease_lasts(2).await;
    let secret = world.hub_secret().await;
    line.is(State::Down);
    agent.waits("HubAway").await;
    drop(agent);
    let mut agent = world.agent(&[]);
    let waiting = agent.waits("HubAway").await;
    assert!(waiting.contains("the hub does not answer"), "{waiting}");
    // Its five periods pass.
    let lapsed = "ManagedClusterLeaseUpdateStopped";
    world
        .hub
        .condition(&world.name, AVAILABLE, "Unknown", lapsed)
        .await;
    line.is(State::Up);
    agent.is_managed().await;
    world
        .hub
        .condition(&world.name, AVAILABLE, "True", "ManagedClusterAvailable")
        .await;
    assert_eq!(world.hub_secret().await, secret);
    assert_eq!(world.csrs().await.len(), 1);
}

/// Its client CA has changed, or a CA of the chain is missing: a certificate of the right subject is of no use. After a minute of
/// refusals the agent registers anew.
async fn the_hub_refuses_the_certificate() {
    let world = World::new().await;
    drop(world.joined(&["--agent-id=a1"]).await);
    let foreign = signed_by_another_hub(&world.name, "a1");
    world.put_into_secret(&foreign).await;
    let mut agent = world.agent(&[]);
    let waiting = agent.waits("CertificateRefused").await;
    assert!(
        waiting.contains("with the bootstrap kubeconfig"),
        "{waiting}"
    );
    let patience = 2 * PATIENCE;
    eventually_within(patience, "another CSR", async || {
        when(world.csrs().await.len(), |it| *it == 2)
    })
    .await;
    let csr = world.pending().await;
    world.decide(&csr, "Approved").await;
    world.renews().await;
    let secret = world.hub_secret().await;
    assert_ne!(text(&secret, "tls.crt"), foreign[0].1);
    assert_eq!(text(&secret, "agent-name"), "a1");
    world.forgets().await;
}

/// Two agents that share the Secret, and have bootstrap kubeconfigs of two hubs: a URL that only the Secret had is no new hub. Else each would have
/// the other one register anew at once, again and again.
async fn another_agent_writes_its_hub_into_the_secret() {
    let world = World::new().await;
    let _agent = world.joined(&["--agent-id=a1"]).await;
    let kubeconfig = text(&world.hub_secret().await, "kubeconfig");
    assert!(kubeconfig.contains("https://127.0.0.1:"), "{kubeconfig}");
    let other = kubeconfig.replace("https://127.0.0.1:", "https://localhost:");
    let [certificate, key] = signed_by_another_hub(&world.name, "a1");
    let begun = Instant::now();
    world
        .put_into_secret(&[certificate, key, ("kubeconfig", other)])
        .await;
    eventually_within(2 * PATIENCE, "another CSR", async || {
        when(world.csrs().await.len(), |it| *it == 2)
    })
    .await;
    let elapsed = begun.elapsed();
    assert!(elapsed >= Duration::from_secs(60), "{elapsed:?}");
    let csr = world.pending().await;
    world.decide(&csr, "Approved").await;
    world.renews().await;
    let after = text(&world.hub_secret().await, "kubeconfig");
    assert_eq!(after, kubeconfig);
}
