//! Add-ons whose certificate is lost, whose driver changes, or who have too many requests.

use berth_testkit::cluster::{AsAdmin, Cluster};
use berth_testkit::csr::{Asked, CSRS, Csr};
use berth_testkit::process::once;
use berth_testkit::{eventually, when};
use serde_json::{Value, json};

use super::{secret, text};
use crate::agent::world::World;

const KUBE: &str = "kubernetes.io/kube-apiserver-client";

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_certificate_of_an_add_on_is_asked_for_again() {
    let world = World::new().await;
    let _agent = world.joined(&[]).await;
    let namespace = world.namespace.clone();
    world
        .addon("x", &namespace, json!([{"type": "kubeClient"}]))
        .await;
    let path = secret(&namespace, "x-hub-kubeconfig");
    let has_certificate = |it: &Value| !it["data"]["tls.crt"].is_null();
    world
        .decide(&world.pending_of("x", KUBE).await, "Approved")
        .await;
    let first = world
        .on_managed(&path, "a certificate", has_certificate)
        .await;
    world.managed.delete(&path).await.unwrap().ok();
    world
        .decide(&world.pending_of("x", KUBE).await, "Approved")
        .await;
    let second = world
        .on_managed(&path, "a certificate", has_certificate)
        .await;
    assert_ne!(second["data"]["tls.crt"], first["data"]["tls.crt"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn certificate_and_token_of_an_add_on_follow_the_driver() {
    let world = World::new().await;
    let (name, namespace) = (world.name.as_str(), world.namespace.clone());
    let token = "--addon-kubeclient-registration-auth=token";
    let path = secret(&namespace, "x-hub-kubeconfig");
    let certificate = ["cluster-name", "kubeconfig", "tls.crt", "tls.key"];
    let agent = world.joined(&[]).await;
    let addon = world
        .addon("x", &namespace, json!([{"type": "kubeClient"}]))
        .await;
    world
        .decide(&world.pending_of("x", KUBE).await, "Approved")
        .await;
    world.secret_with(&path, &certificate).await;

    drop(agent);
    let agent = world.agent(&[token]);
    world.allow_tokens(&["x-agent"]).await;
    let subject = json!({"user": format!("system:serviceaccount:{name}:x-agent")});
    world
        .hub
        .once(&addon, "the account", |it| {
            it["status"]["registrations"][0]["kubeClient"]["subject"] == subject
        })
        .await;
    world
        .addon_is(&addon, "TokenRefreshed", "False", "TokenCreationFailed")
        .await;
    world.account_is_ready(&addon, "x-agent").await;
    let keys = ["cluster-name", "kubeconfig", "token"];
    let stored = world.secret_with(&path, &keys).await;
    assert!(text(&stored, "kubeconfig").contains("tokenFile: token"));

    // The account is no name for a certificate.
    drop(agent);
    let _agent = world.agent(&[]);
    let csr = world.pending_of("x", KUBE).await;
    world.decide(&csr, "Approved").await;
    let stored = world.secret_with(&path, &certificate).await;
    assert!(text(&stored, "kubeconfig").contains("client-certificate: tls.crt"));
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_pending_requests_of_an_add_on_stop_it() {
    let world = World::new().await;
    let _agent = world.joined(&[]).await;
    let name = world.name.as_str();
    let group = format!("system:open-cluster-management:cluster:{name}:addon:x");
    let label = "open-cluster-management.io/addon-name";
    for _ in 0..10 {
        let asked = Asked {
            common_name: &format!("{group}:agent:x"),
            organizations: &[&group],
            alternative_names: &[],
        };
        let mut csr = Csr::asking(name, &asked);
        csr.body["metadata"]["labels"][label] = json!("x");
        world.hub.create(CSRS, &csr.body).await;
    }
    let registrations = json!([{"type": "kubeClient"}]);
    let addon = world.addon("x", &world.namespace, registrations).await;
    let failed = "ClientCertificateUpdateFailed";
    let words = world
        .addon_is(&addon, "ClusterCertificateRotated", "False", failed)
        .await;
    let ocms = "Stop creating csr since there are too many csr created already on hub";
    assert_eq!(words, ocms);
    assert_eq!(world.csrs().await.len(), 11, "one is the cluster's own");
}

/// In Hosted mode the agent runs in one cluster and manages another. Its add-ons run in either.
#[tokio::test(flavor = "multi_thread")]
async fn the_certificate_of_an_add_on_is_where_its_agent_runs() {
    let managed = Cluster::private().await;
    let spoke = managed.admin().await;
    let world = World::new().await;
    let namespace = world.namespace.clone();
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    let created = spoke.post("/api/v1/namespaces", &object).await.unwrap();
    assert_eq!(created.code, 201, "{created:?}");
    let kubeconfig = spoke.kubeconfig.to_str().unwrap();
    let _agent = world.joined(&["--spoke-kubeconfig", kubeconfig]).await;
    let addon = world
        .addon("x", &namespace, json!([{"type": "kubeClient"}]))
        .await;
    let path = secret(&namespace, "x-hub-kubeconfig");
    let has_certificate = |it: &Value| !it["data"]["tls.crt"].is_null();
    world
        .decide(&world.pending_of("x", KUBE).await, "Approved")
        .await;
    once(&spoke, &path, "a certificate", has_certificate).await;
    assert_eq!(world.managed.get(&path).await.unwrap().code, 404);

    let host = "addon.open-cluster-management.io/hosting-cluster-name";
    let hosted = |by: Value| json!({"metadata": {"annotations": {host: by}}});
    world.hub.patch(&addon, hosted(json!("host"))).await;
    world
        .decide(&world.pending_of("x", KUBE).await, "Approved")
        .await;
    world
        .on_managed(&path, "a certificate", has_certificate)
        .await;
    eventually("the end of the other Secret", async || {
        when(spoke.get(&path).await.unwrap(), |it| it.code == 404)
    })
    .await;

    world.hub.patch(&addon, hosted(Value::Null)).await;
    world
        .decide(&world.pending_of("x", KUBE).await, "Approved")
        .await;
    once(&spoke, &path, "a certificate", has_certificate).await;
    world.managed.gone(&path).await;
}
