//! A server that has what clients without credentials may read of a hub, and that remembers the tokens it was sent.
//!
//! The API servers of these tests refuse clients without credentials, so this stands for those that do not.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use berth_certs::issue::Authority;
use berth_certs::managed::Root;
use jiff::Timestamp;
use ring::hmac;
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// The server.
pub struct Front {
    pub url: String,
    /// The `Authorization` headers that it was sent.
    pub sent: Arc<Mutex<Vec<String>>>,
}

/// Returns the response to a request.
type Respond = Box<dyn Fn(&str) -> String + Send + Sync>;

/// A CA.
pub fn authority() -> Authority {
    Authority::new("hub", Duration::from_secs(3600), Timestamp::now()).unwrap()
}

/// The key of a CA, as `--ca-hash` takes it.
pub fn key_of(authority: &Authority) -> String {
    let key = Root::of(authority).unwrap().key_fingerprint();
    let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("SHA256:{digits}")
}

impl Front {
    /// Serves with a certificate of `own`, and says that the CA is `claimed`.
    pub async fn start(own: &Authority, claimed: &Authority) -> Self {
        Self::signed_with(own, claimed, "").await
    }

    /// Serves with a certificate of `own`, and redirects each request to another server.
    pub async fn redirecting(own: &Authority, to: &str) -> Self {
        let to = to.to_owned();
        Self::serving(own, |_| {
            Box::new(move |request| {
                let path = path_of(request);
                format!("HTTP/1.1 307 -\r\nlocation: {to}{path}\r\ncontent-length: 0\r\n\r\n")
            })
        })
        .await
    }

    /// Like [`Self::start`], and signs what it says with this bootstrap token, as kube-controller-manager does.
    pub async fn signed_with(own: &Authority, claimed: &Authority, token: &str) -> Self {
        Self::serving(own, |url| {
            let info = cluster_info(url, claimed, token);
            Box::new(move |request| answer(request, &info))
        })
        .await
    }

    /// Serves with a certificate of `own`. `responding` gets the URL, and returns what answers a request.
    async fn serving(own: &Authority, responding: impl FnOnce(&str) -> Respond) -> Self {
        let loopback = [Ipv4Addr::LOCALHOST.into()];
        let leaf = own
            .leaf(&[], &loopback, Duration::from_secs(3600), Timestamp::now())
            .unwrap();
        let certificates = CertificateDer::pem_slice_iter(leaf.certificate_pem.as_bytes());
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                certificates.map(Result::unwrap).collect(),
                PrivateKeyDer::from_pem_slice(leaf.key_pem.as_bytes()).unwrap(),
            )
            .unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let sent = Arc::new(Mutex::new(Vec::new()));
        let respond: Arc<Respond> = Arc::new(responding(&url));
        let log = Arc::clone(&sent);
        tokio::spawn(async move {
            let acceptor = TlsAcceptor::from(Arc::new(config));
            while let Ok((tcp, _)) = listener.accept().await {
                let (acceptor, respond) = (acceptor.clone(), Arc::clone(&respond));
                let log = Arc::clone(&log);
                tokio::spawn(async move {
                    let Ok(mut tls) = acceptor.accept(tcp).await else {
                        return;
                    };
                    let mut buffer = vec![0; 16 << 10];
                    while let Ok(read @ 1..) = tls.read(&mut buffer).await {
                        let request = String::from_utf8_lossy(&buffer[..read]).into_owned();
                        log.lock().unwrap().extend(authorization(&request));
                        let response = respond(&request);
                        if tls.write_all(response.as_bytes()).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self { url, sent }
    }
}

fn cluster_info(url: &str, claimed: &Authority, token: &str) -> Value {
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config",
        "clusters": [{"name": "", "cluster": {
            "server": url, "certificate-authority-data": STANDARD.encode(claimed.certificate_pem()),
        }}],
    });
    let kubeconfig = kubeconfig.to_string();
    let mut data = json!({"kubeconfig": kubeconfig});
    if let Some((id, secret)) = token.split_once('.') {
        let header = URL_SAFE_NO_PAD.encode(format!(r#"{{"alg":"HS256","kid":"{id}"}}"#));
        let signed = format!("{header}.{}", URL_SAFE_NO_PAD.encode(&kubeconfig));
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let signature = URL_SAFE_NO_PAD.encode(hmac::sign(&key, signed.as_bytes()));
        data[format!("jws-kubeconfig-{id}")] = json!(format!("{header}..{signature}"));
    }
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "cluster-info", "namespace": "kube-public"},
        "data": data,
    })
}

fn authorization(request: &str) -> Option<String> {
    request.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("authorization")
            .then(|| value.trim().to_owned())
    })
}

fn path_of(request: &str) -> &str {
    request.split(' ').nth(1).unwrap_or_default()
}

fn answer(request: &str, info: &Value) -> String {
    let (code, body) = match path_of(request) {
        "/version" => (200, json!({"major": "1", "minor": "33"})),
        path if path.ends_with("/configmaps/cluster-info") => (200, info.clone()),
        path if path.contains("/selfsubjectaccessreviews") => (
            201,
            json!({
                "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
                "spec": {}, "status": {"allowed": true},
            }),
        ),
        path => {
            let name = path.rsplit('/').next().unwrap();
            let status = json!({
                "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound",
                "message": format!("{name} not found"), "details": {"name": name},
            });
            (404, status)
        }
    };
    let body = body.to_string();
    format!(
        "HTTP/1.1 {code} -\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}
