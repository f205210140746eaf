//! A user of a hub: with a certificate, or a service account with a token.

use std::path::{Path, PathBuf};

use ::http::{HeaderName, HeaderValue};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_api::path::object_path;
use berth_certs::issue::Issued;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

use super::{Cluster, fresh};

/// A user, with a `kube` client that belongs to the runtime of the test, and a kubeconfig for programs.
#[derive(Clone)]
pub struct Person {
    /// The user name.
    pub user: String,
    /// Belongs to the runtime of the test.
    pub client: kube::Client,
    /// The path of the kubeconfig.
    pub kubeconfig: PathBuf,
    /// The folder of kubectl's cache.
    pub(super) home: PathBuf,
}

/// The credentials of a user.
pub enum Credentials {
    /// A client certificate.
    Certificate(Issued),
    /// A bearer token.
    Token(String),
    /// No credentials.
    None,
}

/// The identity that a user impersonates.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity<'a> {
    /// The user name.
    pub user: &'a str,
    /// The uid; empty for none.
    pub uid: &'a str,
    /// The groups.
    pub groups: &'a [&'a str],
    /// The extra fields, each with its values.
    pub extra: &'a [(&'a str, &'a [&'a str])],
}

impl Person {
    /// A user of the hub with this URL and CA (empty for plain HTTP); the kubeconfig is written to `folder`.
    pub async fn new(
        user: &str,
        url: &str,
        ca_pem: &str,
        credentials: &Credentials,
        folder: &Path,
    ) -> Self {
        let mut cluster = json!({ "server": url });
        if !ca_pem.is_empty() {
            cluster["certificate-authority-data"] = STANDARD.encode(ca_pem).into();
        }
        let credentials = match credentials {
            Credentials::Certificate(issued) => json!({
                "client-certificate-data": STANDARD.encode(&issued.certificate_pem),
                "client-key-data": STANDARD.encode(&issued.key_pem),
            }),
            Credentials::Token(token) => json!({ "token": token }),
            Credentials::None => json!({}),
        };
        let context = json!({ "cluster": "hub", "user": "me", "namespace": "default" });
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": "hub", "cluster": cluster }],
            "users": [{ "name": "me", "user": credentials }],
            "contexts": [{ "name": "hub", "context": context }],
            "current-context": "hub",
        });
        Self {
            user: user.to_owned(),
            client: client(&config, Vec::new()).await,
            kubeconfig: write(&config, folder),
            home: folder.to_owned(),
        }
    }

    /// The same user, who impersonates this identity with every request.
    pub async fn acting_as(&self, identity: &Identity<'_>) -> Self {
        let Identity {
            user,
            uid,
            groups,
            extra,
        } = identity;
        let config = std::fs::read(&self.kubeconfig).unwrap();
        let config: Value = serde_json::from_slice(&config).unwrap();
        let mut acting = config.clone();
        let me = acting["users"][0]["user"].as_object_mut().unwrap();
        me.insert("as".to_owned(), json!(user));
        me.insert("as-uid".to_owned(), json!(uid));
        me.insert("as-groups".to_owned(), json!(groups));
        let extras = extra.iter().map(|(key, values)| (*key, json!(values)));
        me.insert("as-user-extra".to_owned(), extras.collect());

        // kube supports only user and groups.
        let mut headers = vec![("impersonate-user".to_owned(), *user)];
        headers.extend((!uid.is_empty()).then(|| ("impersonate-uid".to_owned(), *uid)));
        headers.extend(
            groups
                .iter()
                .map(|it| ("impersonate-group".to_owned(), *it)),
        );
        for (key, values) in *extra {
            let name = format!("impersonate-extra-{}", key.replace('/', "%2f"));
            headers.extend(values.iter().map(|value| (name.clone(), *value)));
        }
        let headers = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        Self {
            user: (*user).to_owned(),
            client: client(&config, headers.collect()).await,
            kubeconfig: write(&acting, &self.home),
            home: self.home.clone(),
        }
    }
}

fn write(config: &Value, folder: &Path) -> PathBuf {
    let path = folder.join(fresh("kubeconfig"));
    std::fs::write(&path, config.to_string()).unwrap();
    path
}

async fn client(config: &Value, headers: Vec<(HeaderName, HeaderValue)>) -> kube::Client {
    let config: Kubeconfig = serde_json::from_value(config.clone()).unwrap();
    let options = KubeConfigOptions::default();
    let mut config = kube::Config::from_custom_kubeconfig(config, &options)
        .await
        .unwrap();
    // Tests check the hub's own responses.
    config.default_retry = false;
    config.headers = headers;
    kube::Client::try_from(config).unwrap()
}

impl Cluster {
    /// A user with all rights.
    pub async fn admin(&self) -> Person {
        self.user("admin", &["system:masters"]).await
    }

    /// A user with a certificate. The group `system:authenticated` is added by the hub.
    pub async fn user(&self, name: &str, groups: &[&str]) -> Person {
        let certificate = self.client_certificate(name, groups);
        self.person(name, &Credentials::Certificate(certificate))
            .await
    }

    /// A service account with a token; it is created if it does not exist.
    pub async fn service_account(&self, namespace: &str, name: &str) -> Person {
        let admin = self.admin().await;
        let accounts = object_path(("", "v1", "serviceaccounts"), namespace, "");
        let account =
            json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name } });
        let answer = admin.post(&accounts, &account).await.unwrap();
        assert!([201, 409].contains(&answer.code), "{answer:?}");
        let request =
            json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
        let answer = admin
            .post(&format!("{accounts}/{name}/token"), &request)
            .await
            .unwrap();
        let Value::String(token) = &answer.ok()["status"]["token"] else {
            panic!("no token: {answer:?}")
        };
        let user = format!("system:serviceaccount:{namespace}:{name}");
        self.person(&user, &Credentials::Token(token.clone())).await
    }

    /// A user without credentials, through an address in front of the hub, in plain HTTP.
    pub async fn person_at(&self, url: &str) -> Person {
        Person::new("", url, "", &Credentials::None, self.folder.path()).await
    }

    /// A user with these credentials, which the hub may accept or not.
    pub async fn person(&self, user: &str, credentials: &Credentials) -> Person {
        let folder = self.folder.path();
        Person::new(user, &self.url(), self.ca_pem(), credentials, folder).await
    }
}
