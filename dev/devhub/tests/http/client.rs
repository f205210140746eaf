//! A client that speaks HTTP to a hub and sees everything of the answer.

use std::sync::Arc;
use std::time::Duration;

use berth_devhub::{DevHub, Options};
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client as Http;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};

/// Longer than anything here takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) async fn hub(history: usize) -> DevHub {
    let options = Options {
        history,
        ..Options::default()
    };
    DevHub::start(options).await.unwrap()
}

/// Somebody who asks.
pub(crate) struct Client {
    http: Http<hyper_rustls::HttpsConnector<HttpConnector>, Full<Bytes>>,
    url: String,
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Client {
    /// A superuser.
    pub(crate) fn admin(hub: &DevHub) -> Self {
        Self::new(hub, Some(("root", &["system:masters"])), false)
    }

    /// A user in groups, or nobody.
    pub(crate) fn new(hub: &DevHub, user: Option<(&str, &[&str])>, http2: bool) -> Self {
        let mut roots = RootCertStore::empty();
        let ca = CertificateDer::from_pem_slice(hub.ca_pem().as_bytes()).unwrap();
        roots.add(ca).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let config = match user {
            Some((user, groups)) => {
                let issued = hub.client_certificate(user, groups).unwrap();
                let pem = issued.certificate_pem.as_bytes();
                let certificate = CertificateDer::from_pem_slice(pem).unwrap();
                let key = PrivateKeyDer::from_pem_slice(issued.key_pem.as_bytes()).unwrap();
                config
                    .with_client_auth_cert(vec![certificate], key)
                    .unwrap()
            }
            None => config.with_no_client_auth(),
        };
        let https = hyper_rustls::HttpsConnectorBuilder::new()
            .with_tls_config(config)
            .https_only();
        let https = if http2 {
            https.enable_http2().build()
        } else {
            https.enable_http1().build()
        };
        let mut http = Http::builder(TokioExecutor::new());
        http.http2_only(http2);
        Self {
            http: http.build(https),
            url: hub.url(),
        }
    }

    pub(crate) async fn send(
        &self,
        request: http::request::Builder,
        body: impl Into<Bytes>,
    ) -> http::Response<Incoming> {
        let request = request.body(Full::new(body.into())).unwrap();
        self.http.request(request).await.unwrap()
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> http::request::Builder {
        Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
    }

    pub(crate) async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        let content_type = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let request = self
            .request(method, path)
            .header("content-type", content_type);
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        Answer::read(self.send(request, body).await).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, None).await
    }

    /// Creates a Secret with a label.
    pub(crate) async fn create(&self, name: &str, label: &str) -> Value {
        let object = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": name, "labels": {"l": label}},
        });
        let answer = self.ask("POST", SECRETS, Some(object)).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
        answer.body
    }

    /// Gives a Secret another label.
    pub(crate) async fn label(&self, name: &str, label: &str) {
        let patch = json!({"metadata": {"labels": {"l": label}}});
        let path = format!("{SECRETS}/{name}");
        let answer = self.ask("PATCH", &path, Some(patch)).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    }

    pub(crate) async fn watch(&self, query: &str) -> Watch {
        let path = format!("{SECRETS}?watch=1&{query}");
        let response = self.send(self.request("GET", &path), "").await;
        assert_eq!(response.status(), StatusCode::OK);
        Watch {
            body: response.into_body(),
            unread: Vec::new(),
        }
    }
}

/// Nobody but the tests makes Secrets.
pub(crate) const SECRETS: &str = "/api/v1/namespaces/default/secrets";

impl Answer {
    pub(crate) async fn read(response: http::Response<Incoming>) -> Self {
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = || String::from_utf8_lossy(&bytes).into_owned().into();
        Self {
            status: parts.status,
            headers: parts.headers,
            body: serde_json::from_slice(&bytes).unwrap_or_else(|_| text()),
        }
    }

    pub(crate) fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        let items = self.body["items"].as_array().unwrap();
        let names = items.iter().map(|item| item["metadata"]["name"].as_str());
        names.map(Option::unwrap).collect()
    }
}

/// A watch under way.
pub(crate) struct Watch {
    body: Incoming,
    unread: Vec<u8>,
}

impl Watch {
    /// The next event: its type and its object; none at the end.
    pub(crate) async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                let mut event: Value = serde_json::from_slice(&line).unwrap();
                let sort = event["type"].as_str().unwrap().to_owned();
                return Some((sort, event["object"].take()));
            }
            let frame = tokio::time::timeout(PATIENCE, self.body.frame());
            let frame = frame.await.expect("an event, or the end");
            let data = frame?.ok()?.into_data().ok()?;
            self.unread.extend_from_slice(&data);
        }
    }

    /// The next event: its type and its object's name.
    pub(crate) async fn next_name(&mut self) -> (String, String) {
        let (sort, object) = self.next().await.unwrap();
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        (sort, name.to_owned())
    }
}

/// A pair of strings, to compare with.
pub(crate) fn event(sort: &str, name: &str) -> (String, String) {
    (sort.to_owned(), name.to_owned())
}
