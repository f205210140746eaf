//! Certificates of signers that templates name.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_certs::issue::Authority;
use berth_testkit::csr::Csr;
use berth_testkit::process::once;
use berth_testkit::repository;
use jiff::Timestamp;
use rustls::RootCertStore;
use rustls::client::verify_server_name;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use serde_json::{Value, json};

use super::hub::Hub;
use super::requesting::Request;

const SIGNER: &str = "example.com/signer";

/// Applies the manifest that a note names.
pub async fn obey(hub: &Hub, note: &str) {
    let (_, manifest) = note.split_once("apply ").unwrap();
    let list: Value = serde_json::from_str(manifest).unwrap();
    hub.cluster.apply(list["items"].as_array().unwrap()).await;
}

impl Hub {
    /// Stores an authority as the Secret that the template names, or another one in its place.
    pub async fn trusts(&self, certificate: &str, key: &str) {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ca"}, "type": "kubernetes.io/tls",
            "data": {"tls.crt": STANDARD.encode(certificate), "tls.key": STANDARD.encode(key)},
        });
        let path = format!("/api/v1/namespaces/{}/secrets/ca", self.namespace);
        let stored = self.admin.apply_as("user", &path, &secret).await;
        stored.unwrap().ok();
    }

    /// Waits until a request has a certificate, which this authority issued to a client with the DNS name of the add-on and no other
    /// one. Returns the request.
    pub async fn issued(&self, csr: &Csr, authority: &str) -> Value {
        let issued = once(&self.admin, &csr.path(), "issued", |it| {
            it["status"]["certificate"].is_string()
        })
        .await;
        let pem = issued["status"]["certificate"].as_str().unwrap();
        let certificate = der(&STANDARD.decode(pem).unwrap());
        let mut roots = RootCertStore::empty();
        roots.add(der(authority.as_bytes())).unwrap();
        let verifier = WebPkiClientVerifier::builder(Arc::new(roots))
            .build()
            .unwrap();
        verifier
            .verify_client_cert(&certificate, &[], UnixTime::now())
            .unwrap();
        let parsed = ParsedCertificate::try_from(&certificate).unwrap();
        let is_for = |name: String| {
            let name = ServerName::try_from(name).unwrap();
            verify_server_name(&parsed, &name).is_ok()
        };
        let name = format!("{}.addon.open-cluster-management.io", self.named("a"));
        assert!(is_for(name), "the name that was asked for");
        assert!(!is_for("addon.open-cluster-management.io".to_owned()));
        issued
    }
}

fn der(pem: &[u8]) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem).unwrap()
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
    let key = authority.key_pem();
    hub.trusts(authority.certificate_pem(), &key).await;
    let issued = hub.issued(&csr, authority.certificate_pem()).await;
    assert_eq!(issued["status"]["conditions"][0]["type"], "Approved");
    // The authority is rotated, to one with another kind of key.
    let [rsa, key] = ["rsa.crt", "rsa.pkcs1.key"].map(|name| {
        let path = repository("certs/src/issue/stored/fixtures").join(name);
        fs::read_to_string(path).unwrap()
    });
    hub.trusts(&rsa, &key).await;
    let csr = request().sent_by(&hub, &agent).await;
    hub.issued(&csr, &rsa).await;
    let note = hub.left(&foreign).await;
    assert!(note.contains("common name"), "{note}");
    hub.is_pending(&foreign).await;
}
