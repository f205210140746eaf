//! The bootstrap kubeconfig: one of no use is waited for, and another one is taken up without a restart.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::{Value, json};

use berth_testkit::cluster::{Cluster, Credentials, rule};
use berth_testkit::{eventually_within, when};

use super::world::{World, text};
use crate::lifecycle::hub::{HubWithReconcilers, config};
use berth_testkit::line::{Line, State};

/// They run at the same time, because the agent reads the file every ten seconds.
#[tokio::test(flavor = "multi_thread")]
async fn another_bootstrap_kubeconfig_is_taken_up() {
    tokio::join!(
        its_content_cannot_be_used(),
        the_file_cannot_be_read(),
        the_hub_refuses_the_credentials(),
        the_hub_refuses_the_cluster(),
        it_names_another_address_while_a_request_is_pending(),
        it_names_another_address_of_the_hub(),
        it_names_the_hub_otherwise(),
    );
}

async fn the_hub_refuses_the_credentials() {
    let world = World::new().await;
    let expired = Credentials::Token("expired".to_owned());
    let expired = world.hub.cluster.person("nobody", &expired).await;
    world.write_bootstrap(&expired, |text| text);
    let mut agent = world.agent(&[]);
    let refused = agent.waits("BootstrapCredentialsRefused").await;
    let words = "the API server does not accept these credentials";
    assert!(refused.contains(words), "{refused}");

    // It may see ManagedClusters and create them, and must not ask for certificates.
    let group = "cluster.open-cluster-management.io";
    let clusters = rule(&["get", "create"], group, &["managedclusters"], &[]);
    let user = world.hub.cluster.user("without-csrs", &[]).await;
    world.hub.cluster.grant(&user, &[clusters]).await;
    world.write_bootstrap(&user, |text| text);
    world.reported("created", |_| true).await;
    let refused = agent.waits("RequestRefused").await;
    let words = "cannot list resource \"certificatesigningrequests\"";
    assert!(refused.contains(words), "{refused}");

    let user = world.bootstrap_user(true).await;
    world.write_bootstrap(&user, |text| text);
    world.pending().await;
    assert_eq!(world.csrs().await.len(), 1);
}

async fn the_file_cannot_be_read() {
    let world = World::new().await;
    let set = |mode| std::fs::set_permissions(&world.bootstrap, Permissions::from_mode(mode));
    set(0).unwrap();
    let good = std::fs::read(&world.bootstrap);
    let words = match &good {
        // The tests run as root, who may read everything, but not a folder as a file.
        Ok(_) => {
            std::fs::remove_file(&world.bootstrap).unwrap();
            std::fs::create_dir(&world.bootstrap).unwrap();
            "Is a directory"
        }
        Err(_) => "Permission denied",
    };
    let mut agent = world.agent(&[]);
    let waiting = agent.waits("BootstrapKubeconfigUnusable").await;
    assert!(waiting.contains(words), "{waiting}");
    match good {
        Ok(good) => {
            std::fs::remove_dir(&world.bootstrap).unwrap();
            std::fs::write(&world.bootstrap, good).unwrap();
        }
        Err(_) => set(0o600).unwrap(),
    }
    world.pending().await;
}

async fn it_names_another_address_while_a_request_is_pending() {
    let world = World::new().await;
    let direct = std::fs::read(&world.bootstrap).unwrap();
    let line = Line::to(Cluster::shared().await).await;
    world.change_bootstrap(|it| it["clusters"][0]["cluster"]["server"] = line.url.as_str().into());
    let mut agent = world.agent(&[]);
    let csr = world.pending().await;
    agent.waits("CSRPending").await;
    line.is(State::Down);
    agent.waits("HubAway").await;
    std::fs::write(&world.bootstrap, direct).unwrap();
    world.decide(&csr, "Approved").await;
    world.accept(true).await;
    agent.is_managed().await;
    assert_eq!(world.csrs().await.len(), 1);
}

async fn the_hub_refuses_the_cluster() {
    let world = World::new().await;
    let user = world.bootstrap_user(false).await;
    world.write_bootstrap(&user, |text| text);
    let mut agent = world.agent(&[]);
    let refused = agent.waits("ManagedClusterRefused").await;
    assert!(
        refused.contains("cannot create resource \"managedclusters\""),
        "{refused}"
    );
    // The CSR does not wait for it.
    world.pending().await;
    assert!(!world.exists().await);

    // With other credentials the agent tries again at once.
    let user = world.bootstrap_user(true).await;
    world.write_bootstrap(&user, |text| text);
    world.reported("created", |_| true).await;
    drop(agent);
}

async fn its_content_cannot_be_used() {
    let world = World::new().await;
    let good = std::fs::read_to_string(&world.bootstrap).unwrap();
    let token = "a-secret-token";
    let with_token = |token: &str| {
        let mut kubeconfig: Value = serde_json::from_str(&good).unwrap();
        kubeconfig["users"][0]["user"] = json!({"token": token});
        kubeconfig.to_string()
    };
    for (content, words) in [
        (String::new(), "has no current context"),
        (good[..good.len() / 2].to_owned(), "it is no kubeconfig"),
        (
            format!("{{\"users\": [{{\"name\": \"me\", \"user\": {{\"token\": \"{token}\""),
            "it is no kubeconfig",
        ),
        (good.replace("\"server\"", "\"other\""), "has no server"),
        (
            good.replace("https://", ""),
            "has no scheme: write https://",
        ),
        (
            with_token("a-secret-token\n"),
            "token: its value has a line end",
        ),
    ] {
        std::fs::write(&world.bootstrap, &content).unwrap();
        let mut agent = world.agent(&[]);
        let waiting = agent.waits("BootstrapKubeconfigUnusable").await;
        assert!(waiting.contains(words), "{waiting}");
        assert!(
            waiting.contains(world.bootstrap.to_str().unwrap()),
            "{waiting}"
        );
        assert!(!format!("{:?}", agent.log()).contains(token));
    }
    std::fs::remove_file(&world.bootstrap).unwrap();
    let mut agent = world.agent(&[]);
    let waiting = agent.waits("BootstrapKubeconfigUnusable").await;
    assert!(waiting.contains("No such file"), "{waiting}");
    std::fs::write(&world.bootstrap, good).unwrap();
    world.pending().await;
}

async fn it_names_another_address_of_the_hub() {
    let world = World::new().await;
    let mut agent = world.joined(&[]).await;
    let before = world.hub_secret().await;
    let old = std::fs::read_to_string(&world.bootstrap).unwrap();
    assert!(old.contains("https://127.0.0.1:"), "{old}");
    std::fs::write(
        &world.bootstrap,
        old.replace("https://127.0.0.1:", "https://localhost:"),
    )
    .unwrap();
    let path = world.secret("hub-kubeconfig-secret");
    let after = world
        .on_managed(&path, "the new URL", |it| {
            text(it, "kubeconfig").contains("https://localhost:")
        })
        .await;
    for key in ["tls.crt", "tls.key", "agent-name", "cluster-name"] {
        assert_eq!(after["data"][key], before["data"][key], "{key}");
    }
    let words = "has changed: the certificate is tried there";
    let is_said = |line: &Value| {
        line["message"]
            .as_str()
            .is_some_and(|it| it.contains(words))
    };
    agent.logs(is_said).await;
    world.lease_lasts(1).await;
    assert_eq!(world.csrs().await.len(), 1);
}

/// The cluster moves to another hub, which does not know the certificate.
#[tokio::test(flavor = "multi_thread")]
async fn another_hub_that_refuses_the_certificate_is_asked_for_one_at_once() {
    let world = World::new().await;
    let mut agent = world.joined(&["--agent-id=a1"]).await;
    let hub = HubWithReconcilers::private(config()).await;
    let other = world.at(hub).await;
    std::fs::copy(&other.bootstrap, &world.bootstrap).unwrap();
    let words = "has changed: the certificate is tried there";
    agent
        .logs(|line| {
            let message = line["message"].as_str();
            message.is_some_and(|it| it.contains(words))
        })
        .await;
    // A hub that was always there may refuse everyone for a minute.
    eventually_within(
        Duration::from_secs(30),
        "a CSR on the other hub",
        async || when(other.csrs().await.len(), |it| *it == 1),
    )
    .await;
    let csr = other.pending().await;
    other.decide(&csr, "Approved").await;
    other.accept(true).await;
    other.renews().await;
    assert_eq!(text(&other.hub_secret().await, "agent-name"), "a1");
    assert_eq!(world.csrs().await.len(), 1);
}

async fn it_names_the_hub_otherwise() {
    let world = World::new().await;
    let agent = world.joined(&[]).await;
    let before = world.hub_secret().await;
    world.change_bootstrap(|it| {
        it["clusters"][0]["name"] = json!("renamed");
        it["contexts"][0]["context"]["cluster"] = json!("renamed");
    });
    let path = world.secret("hub-kubeconfig-secret");
    let after = world
        .on_managed(&path, "the other name", |it| {
            text(it, "kubeconfig").contains("    cluster: renamed\n")
        })
        .await;
    assert_eq!(after["data"]["tls.crt"], before["data"]["tls.crt"]);
    world.lease_lasts(1).await;
    world.renews().await;
    assert_eq!(world.csrs().await.len(), 1);
    drop(agent);
}
