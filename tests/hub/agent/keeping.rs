//! The certificate, once there is one.

use std::time::Duration;

use berth_devhub::Options;
use serde_json::json;

use super::world::{World, text};
use crate::lifecycle::hub::{ACCEPTED, CLOCK_SYNCED, HubWithReconcilers, condition, lease_path};
use berth_testkit::cluster::AsAdmin;

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_secret_is_renewed_by_the_agent_itself() {
    let world = World::new().await;
    let agent = world.joined(&[]).await;
    let before = world.hub_secret().await;
    let deleted = world
        .managed
        .delete(&world.secret("hub-kubeconfig-secret"))
        .await;
    assert_eq!(deleted.unwrap().code, 200);
    // The hub approves it by itself: the agent asked with its own certificate.
    let path = world.secret("hub-kubeconfig-secret");
    let after = world
        .on_managed(&path, "renewed", |it| !it["data"]["tls.crt"].is_null())
        .await;
    assert_ne!(after["data"]["tls.crt"], before["data"]["tls.crt"]);
    assert_eq!(after["data"]["agent-name"], before["data"]["agent-name"]);
    assert_eq!(after["data"]["kubeconfig"], before["data"]["kubeconfig"]);
    let csrs = world.csrs().await;
    let user = format!(
        "system:open-cluster-management:{}:{}",
        world.name,
        text(&before, "agent-name")
    );
    assert_eq!(
        csrs.iter()
            .filter(|it| it["spec"]["username"] == *user)
            .count(),
        1
    );
    assert_eq!(csrs.len(), 2);
    let cluster = world
        .reported("the renewal", |it| {
            condition(it, "ClusterCertificateRotated").is_some()
        })
        .await;
    let rotated = condition(&cluster, "ClusterCertificateRotated").unwrap();
    assert_eq!(
        [&rotated["status"], &rotated["reason"]],
        ["True", "ClientCertificateUpdated"]
    );
    let message = rotated["message"].as_str().unwrap();
    assert!(
        message.starts_with("client certificate rotated starting from 20"),
        "{message}"
    );
    world.forgets().await;
    drop(agent);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_is_renewed_before_it_expires() {
    let world = World::new().await;
    if !world
        .hub
        .cluster
        .only_devhub("the signers of Kubernetes issue certificates for ten minutes at least")
    {
        return;
    }
    // Certificates begin five minutes before they are signed, and an agent renews when a quarter to a fifth is left: at most four
    // seconds later.
    let options = Options {
        first_validities: vec![Duration::from_secs(80)],
        ..Options::default()
    };
    // The shared hub is the managed cluster.
    let hub = HubWithReconcilers::devhub(options).await;
    let world = world.at(hub).await;
    let agent = world.joined(&[]).await;
    let cluster = world
        .reported("the renewal", |it| {
            // The first request may come before the rights of the agent are in force.
            condition(it, "ClusterCertificateRotated").is_some_and(|it| it["status"] == "True")
        })
        .await;
    let rotated = condition(&cluster, "ClusterCertificateRotated").unwrap();
    assert_eq!(rotated["reason"], "ClientCertificateUpdated");
    let csrs = world.csrs().await;
    assert_eq!(csrs.len(), 2);
    let secret = world.hub_secret().await;
    let by_agent = csrs.iter().find(|csr| {
        csr["spec"]["username"]
            == format!(
                "system:open-cluster-management:{}:{}",
                world.name,
                text(&secret, "agent-name")
            )
    });
    let by_agent = by_agent.expect("the agent has asked by its own certificate");
    assert_eq!(
        secret["data"]["tls.crt"], by_agent["status"]["certificate"],
        "the new certificate is stored"
    );
    drop(agent);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_asks_for_nothing_and_writes_nothing() {
    let world = World::new().await;
    let agent = world.joined(&[]).await;
    world.forgets().await;
    // The hub's last word after the first renewal of the Lease.
    let synced = "ManagedClusterClockSynced";
    world
        .hub
        .condition(&world.name, CLOCK_SYNCED, "True", synced)
        .await;
    world.reports_all().await;
    drop(agent);
    let (secret, cluster) = (
        world.hub_secret().await,
        world.hub.get(&world.cluster()).await.body,
    );
    let lease = world.hub.get(&lease_path(&world.name)).await.body;
    let mut agent = world.agent(&[]);
    agent.is_managed().await;
    world
        .hub
        .once(&lease_path(&world.name), "renewed", |it| {
            it["spec"]["renewTime"] != lease["spec"]["renewTime"]
        })
        .await;
    assert_eq!(world.hub_secret().await, secret);
    assert_eq!(
        world.hub.get(&world.cluster()).await.body["status"],
        cluster["status"]
    );
    assert_eq!(world.csrs().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_cluster_is_waited_for_and_a_deleted_one_is_not_created_again() {
    let world = World::new().await;
    let mut agent = world.joined(&[]).await;
    world.accept(false).await;
    agent.waits("ManagedClusterDenied").await;
    let denied = "HubClusterAdminDenied";
    world
        .hub
        .condition(&world.name, ACCEPTED, "False", denied)
        .await;
    let lease = world.hub.get(&lease_path(&world.name)).await.body;
    world.accept(true).await;
    world
        .hub
        .once(&lease_path(&world.name), "renewed", |it| {
            it["spec"]["renewTime"] != lease["spec"]["renewTime"]
        })
        .await;
    world.hub.delete(&world.cluster()).await;
    world.hub.gone(&world.cluster()).await;
    agent
        .logs(|line| {
            ["ManagedClusterAbsent", "ManagedClusterNotAccepted"]
                .iter()
                .any(|reason| line["reason"] == *reason)
        })
        .await;
    assert!(!world.exists().await);
    assert_eq!(world.csrs().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_agents_of_one_name_are_noticed() {
    let world = World::new().await;
    let mut agent = world.joined(&[]).await;
    world
        .hub
        .patch(
            &world.cluster(),
            json!({"spec": {"leaseDurationSeconds": 1}}),
        )
        .await;
    // Another cluster that joined under this name has its own Secret; here it is a copy.
    let secret = world.hub_secret().await;
    let mut other = World::new().await;
    other.name.clone_from(&world.name);
    let copy = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {"name": "hub-kubeconfig-secret"}, "data": secret["data"],
    });
    let secrets = other.secret("");
    let created = other
        .managed
        .post(secrets.trim_end_matches('/'), &copy)
        .await
        .unwrap();
    assert_eq!(created.code, 201, "{created:?}");
    let second = other.agent(&[]);
    let words = agent.waits("TwoAgents").await;
    assert!(words.contains("another agent renews the Lease"), "{words}");
    drop(second);
}
