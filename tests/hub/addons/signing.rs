//! Certificates of signers that templates name.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_certs::issue::Authority;
use berth_testkit::cluster::AsAdmin;
use berth_testkit::process::once;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::hub::Hub;
use super::requesting::Request;

const SIGNER: &str = "example.com/signer";

/// Applies the manifest that a note names.
async fn obey(hub: &Hub, note: &str) {
    let (_, manifest) = note.split_once("apply ").unwrap();
    let list: Value = serde_json::from_str(manifest).unwrap();
    hub.cluster.apply(list["items"].as_array().unwrap()).await;
}

/// An admin grants, one after the other, what the Events name; the request waits meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signer_of_the_template_issues_once_the_hub_may_use_it() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(1).await;
    let cluster = &clusters[0];
    let _managing = hub.start().await;
    let signer = format!("{SIGNER}-{}", hub.namespace);
    let ca = json!({"namespace": hub.namespace, "name": "ca"});
    let custom = json!({"signerName": signer, "signingCA": ca});
    hub.register(
        &clusters,
        json!([{"type": "CustomSigner", "customSigner": custom}]),
    )
    .await;
    let agent = hub.agent(cluster).await;
    let request = || Request {
        signer: &signer,
        ..Request::new(&hub, cluster)
    };
    // Another subject than the template's is neither approved nor signed.
    let mut foreign = request();
    foreign.user.push('x');
    let foreign = foreign.sent_by(&hub, &agent).await;
    let csr = request().sent_by(&hub, &agent).await;
    let note = hub.left(&csr).await;
    assert!(
        note.contains(&format!("may not approve for signer {signer}")),
        "{note}"
    );
    obey(&hub, &note).await;
    hub.approved(&csr).await;
    let note = hub.left_for(&csr, "may not read Secret").await;
    obey(&hub, &note).await;
    hub.left_for(&csr, "does not exist").await;
    let day = Duration::from_secs(24 * 3600);
    let authority = Authority::new("test", 10 * day, Timestamp::now()).unwrap();
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ca"}, "type": "kubernetes.io/tls",
        "data": {"tls.crt": STANDARD.encode(authority.certificate_pem()), "tls.key": STANDARD.encode(authority.key_pem())},
    });
    hub.create(
        &format!("/api/v1/namespaces/{}/secrets", hub.namespace),
        &secret,
    )
    .await;
    let issued = once(&hub.admin, &csr.path(), "issued", |it| {
        it["status"]["certificate"].is_string()
    })
    .await;
    assert_eq!(issued["status"]["conditions"][0]["type"], "Approved");
    let pem = STANDARD
        .decode(issued["status"]["certificate"].as_str().unwrap())
        .unwrap();
    assert!(pem.starts_with(b"-----BEGIN CERTIFICATE-----"));
    let note = hub.left(&foreign).await;
    assert!(note.contains("common name"), "{note}");
    hub.is_pending(&foreign).await;
}
