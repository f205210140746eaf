//! Faults of the Service and of the certificate that the gate serves.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_certs::issue::{Authority, Issued};
use jiff::Timestamp;
use serde_json::json;

use super::{Expected, NAMESPACE, OF_CLUSTERS, OF_SETS, Ward, issued};
use berth_testkit::cluster::{documents_of, say_skipped};

#[tokio::test]
async fn a_service_and_its_certificate_are_looked_at() {
    let ward = Ward::new().await;
    // The sets' registration calls the Service, as the manifests have it: nobody runs it here, the rest is as it should be.
    let service = documents_of("manifests/server/service.yaml").remove(0);
    let shipped =
        documents_of("manifests/registrations/managedclustersets/managedclustersetvalidators.yaml");
    let name = "cluster-manager-registration-webhook";
    let (ca, leaf) = issued(&format!("{name}.{NAMESPACE}.svc"));
    ward.change_registration(OF_SETS, |it| {
        it["clientConfig"] = shipped[0]["webhooks"][0]["clientConfig"].clone();
        it["clientConfig"]["caBundle"] = json!(STANDARD.encode(&ca));
    })
    .await;
    let besides = ["dry-run", "webhook-certificate"];
    let expected = Expected {
        check: "webhook-service",
        severity: "fault",
        object: name,
        says: "it does not exist",
        remedy: "kubectl apply -k manifests/server",
    };
    ward.finds(expected, &besides).await;

    let services = format!("/api/v1/namespaces/{NAMESPACE}/services");
    ward.make(&services, service).await;
    if ward.cluster.is_real() {
        let nobody = || Expected {
            check: "webhook-service",
            severity: "fault",
            object: name,
            says: "it has no ready endpoint",
            remedy: "kubectl -n open-cluster-management-hub rollout status",
        };
        ward.finds(nobody(), &besides).await;
        let slices = format!("/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices");
        let slice = |ready: bool| {
            json!({
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {"name": "by-hand", "labels": {"kubernetes.io/service-name": name}},
                "addressType": "IPv4",
                "endpoints": [{"addresses": ["10.1.2.3"], "conditions": {"ready": ready}}],
                "ports": [{"name": "webhook", "port": 9443, "protocol": "TCP"}],
            })
        };
        ward.make(&slices, slice(false)).await;
        ward.finds(nobody(), &besides).await;
        let path = format!("{slices}/by-hand");
        let ready = slice(true);
        ward.change(&path, |it| it["endpoints"] = ready["endpoints"].clone())
            .await;
        ward.finds(dry_run_fails(), &["webhook-certificate"]).await;
        ward.admin.delete(&path).await.unwrap().ok();
    } else {
        say_skipped("devhub has no EndpointSlices");
    }

    let secrets = format!("/api/v1/namespaces/{NAMESPACE}/secrets");
    let secret = |issued: &Issued| {
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "registration-webhook-serving-cert"},
            "type": "kubernetes.io/tls",
            "data": {
                "tls.crt": STANDARD.encode(&issued.certificate_pem),
                "tls.key": STANDARD.encode(&issued.key_pem),
            },
        })
    };
    let besides = ["dry-run", "webhook-service"];
    // In order: then the certificate is not spoken of.
    ward.make(&secrets, secret(&leaf)).await;
    ward.finds(dry_run_fails(), &["webhook-service"]).await;
    // Of another CA, and for another name.
    let (_, other) = issued("other.svc");
    let path = format!("{secrets}/registration-webhook-serving-cert");
    ward.change(&path, |it| it["data"] = secret(&other)["data"].clone())
        .await;
    let expected = Expected {
        check: "webhook-certificate",
        severity: "fault",
        object: OF_SETS,
        says: "its caBundle does not match the certificate that secret/registration-webhook-serving-cert in",
        remedy: "kubectl patch validatingwebhookconfiguration",
    };
    ward.finds(expected, &besides).await;
    let expected = Expected {
        check: "webhook-certificate",
        severity: "fault",
        object: "registration-webhook-serving-cert",
        says: "the certificate does not have the name \"cluster-manager-registration-webhook.open-cluster-management-hub.svc\"",
        remedy: "subjectAltName=DNS:cluster-manager-registration-webhook.open-cluster-management-hub.svc",
    };
    ward.finds(expected, &besides).await;

    ward.admin.delete(&path).await.unwrap().ok();
    let path = format!("{services}/{name}");
    ward.admin.delete(&path).await.unwrap().ok();
    ward.register().await;
    ward.is_sound().await;
}

fn dry_run_fails() -> Expected<'static> {
    Expected {
        check: "dry-run",
        severity: "fault",
        object: OF_SETS,
        says: "the API server cannot call the webhook",
        // It depends on the network: some answer for every name and every address.
        remedy: "",
    }
}

#[tokio::test]
async fn a_certificate_that_is_served_is_looked_at() {
    let ward = Ward::new().await;
    ward.is_sound().await;
    // Served by somebody else, with what they have: of the right CA, but for another name.
    let now = Timestamp::now();
    let minutes = |count: u64| Duration::from_secs(60 * count);
    let authority = Authority::new("served", minutes(600), now).unwrap();
    let leaf = authority
        .leaf(&["else.example"], &[], minutes(60), now)
        .unwrap();
    let port = serve(&leaf).await;
    ward.change_registration(OF_CLUSTERS, |it| {
        let url = it["clientConfig"]["url"].as_str().unwrap();
        let path = url.rsplit_once('/').unwrap().1;
        it["clientConfig"] = json!({
            "url": format!("https://127.0.0.1:{port}/{path}"),
            "caBundle": STANDARD.encode(authority.certificate_pem()),
        });
    })
    .await;
    let object = format!("https://127.0.0.1:{port}");
    let expected = Expected {
        check: "webhook-certificate",
        severity: "fault",
        object: &object,
        says: "the certificate does not have the name \"127.0.0.1\", which the API server expects; it has \"else.example\"",
        remedy: "manifests/README.md",
    };
    ward.finds(expected, &["dry-run"]).await;
    ward.register().await;
    ward.is_sound().await;
}

/// Serves TLS with this certificate, and nothing over it.
async fn serve(issued: &Issued) -> u16 {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let certificate = CertificateDer::from_pem_slice(issued.certificate_pem.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(issued.key_pem.as_bytes()).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(std::sync::Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // Who does not like the certificate goes.
            let _ = acceptor.accept(stream).await;
        }
    });
    port
}
