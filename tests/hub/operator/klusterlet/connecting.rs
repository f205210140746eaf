//! Whether the agent can reach its hub.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_with_the_bootstrap_kubeconfig_is_said() {
    let world = World::new().await;
    let _operator = world.operator().await;
    world
        .create("klusterlet", json!({"clusterName": world.name}))
        .await;
    let degraded = async |bootstrap: &str| {
        let reason = format!("{bootstrap},HubKubeConfigSecretMissing");
        world.said(("HubConnectionDegraded", "True", &reason)).await
    };
    let message = degraded("BootstrapSecretMissing").await;
    assert!(
        message.contains("create it with a kubeconfig of the hub"),
        "{message}"
    );

    world.bootstraps(b"{}").await;
    degraded("BootstrapSecretError").await;

    let user = world.user(&["get", "list", "watch"]).await;
    world.bootstraps(&std::fs::read(user).unwrap()).await;
    let message = degraded("BootstrapSecretUnauthorized").await;
    let what = "Operation for resource create managedclusters.cluster.open-cluster-management.io is not allowed";
    assert!(message.contains(what), "{message}");

    let user = world.user(&["get", "list", "watch", "create"]).await;
    let text = std::fs::read(user).unwrap();
    world.bootstraps(&text).await;
    degraded("BootstrapSecretFunctional").await;

    // No program of others is run.
    let mark = world.files.path().join("mark");
    let mut config: Value = serde_json::from_slice(&text).unwrap();
    config["users"][0]["user"] = json!({"exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": "touch", "args": [mark], "interactiveMode": "Never",
    }});
    world.bootstraps(config.to_string().as_bytes()).await;
    let message = degraded("BootstrapSecretError").await;
    assert!(
        message.contains("exec, which the operator does not run"),
        "{message}"
    );
    assert!(!mark.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_that_is_away_is_said_and_changes_nothing() {
    let world = World::new().await;
    let (_operator, agent) = world.joined().await;
    // It would put its Secret right.
    drop(agent);
    let secret = format!("{SPACE}/secrets/hub-kubeconfig-secret");
    let before = world.admin.get(&secret).await.unwrap().ok().clone();
    let kubeconfig = "{current-context: c, contexts: [{name: c, context: {cluster: h, user: u}}], \
                      clusters: [{name: h, cluster: {server: 'https://127.0.0.1:1'}}], users: [{name: u, user: {}}]}";
    let away = json!({"data": {"kubeconfig": BASE64_STANDARD.encode(kubeconfig)}});
    world.admin.merge(&secret, &away).await.unwrap().ok();
    let reason = "BootstrapSecretFunctional,HubKubeConfigError";
    let message = world.said(("HubConnectionDegraded", "True", reason)).await;
    assert!(
        message.contains("https://127.0.0.1:1 cannot be asked"),
        "{message}"
    );
    world.said(("Applied", "True", "KlusterletApplied")).await;
    let back = json!({"data": {"kubeconfig": before["data"]["kubeconfig"]}});
    world.admin.merge(&secret, &back).await.unwrap().ok();
    world
        .said(("HubConnectionDegraded", "False", "HubConnectionFunctional"))
        .await;
}
