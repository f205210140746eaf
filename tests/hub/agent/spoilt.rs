//! The hub Secret is spoilt.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::world::{World, signed_by_another_hub, signed_by_another_hub_at, text};

/// The CSRs that agents have made with their own certificates, and need nobody to approve them.
async fn renewals(world: &World) -> usize {
    let csrs = world.csrs().await;
    let is_own = |it: &&Value| {
        let user = it["spec"]["username"].as_str().unwrap();
        user.starts_with("system:open-cluster-management:")
    };
    csrs.iter().filter(is_own).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spoilt_secret_is_renewed_while_the_folder_has_a_good_certificate() {
    let world = World::new().await;
    drop(world.joined(&[]).await);
    world.forgets().await;
    let before = world.hub_secret().await;
    let certificate = text(&before, "tls.crt");
    let [other_certificate, other_key] = signed_by_another_hub("other", "a1");
    for (times, spoilt) in [
        vec![("tls.crt", String::new())],
        vec![("tls.crt", certificate[..certificate.len() / 2].to_owned())],
        vec![other_key.clone()],
        vec![other_certificate, other_key],
    ]
    .into_iter()
    .enumerate()
    {
        world.put_into_secret(&spoilt).await;
        let mut agent = world.agent(&[]);
        agent
            .logs(|line| line["message"] == "the certificate for the hub is saved")
            .await;
        agent.is_managed().await;
        assert_eq!(renewals(&world).await, times + 1, "{spoilt:?}");
        world.forgets().await;
    }
    // The same while it runs.
    let mut agent = world.agent(&[]);
    agent.is_managed().await;
    let key = ("tls.key", String::new());
    world.put_into_secret(&[key]).await;
    agent
        .logs(|line| line["message"] == "the certificate for the hub is saved")
        .await;
    world.forgets().await;
    let after = world.hub_secret().await;
    for key in ["agent-name", "cluster-name", "kubeconfig"] {
        assert_eq!(after["data"][key], before["data"][key], "{key}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_certificate_leads_back_to_the_bootstrap_kubeconfig() {
    let world = World::new().await;
    drop(world.joined(&["--agent-id=a1"]).await);
    world.forgets().await;
    let yesterday = Timestamp::now() - SignedDuration::from_hours(24);
    let expired = signed_by_another_hub_at(yesterday, &world.name, "a1");
    world.put_into_secret(&expired).await;
    let mut agent = world.agent(&[]);
    let csr = world.pending().await;
    world.decide(&csr, "Approved").await;
    agent.is_managed().await;
    world.forgets().await;
    assert_eq!(world.csrs().await.len(), 2);
    assert_eq!(text(&world.hub_secret().await, "agent-name"), "a1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spoilt_secret_without_the_folder_leads_back_to_the_bootstrap_kubeconfig() {
    let world = World::new().await;
    drop(world.joined(&[]).await);
    world.forgets().await;
    let before = world.hub_secret().await;
    // The names were written, and the rest was not.
    let spoilt = ["tls.crt", "tls.key", "kubeconfig"].map(|key| (key, String::new()));
    world.put_into_secret(&spoilt).await;
    world.lose_folder();
    let mut agent = world.agent(&[]);
    let csr = world.pending().await;
    world.decide(&csr, "Approved").await;
    agent.is_managed().await;
    world.forgets().await;
    let after = world.hub_secret().await;
    assert_eq!(after["data"]["agent-name"], before["data"]["agent-name"]);
    assert_eq!(after["data"]["kubeconfig"], before["data"]["kubeconfig"]);
    assert_eq!(world.csrs().await.len(), 2);
    assert_eq!(renewals(&world).await, 0);
}
