//! A Secret with a token of a service account of another cluster, for pods that run on this one. It equals that of OCM's operators, so that each
//! can go on with the other's.

use std::collections::BTreeMap;

use berth_api::token::{Standing, judge};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::credentials::{OF_CLUSTER, named};
use crate::objects::Id;

/// The lifetime of a token, in seconds. Another one is asked for when a fifth of it is left.
pub const TOKEN_SECONDS: i64 = 30 * 24 * 3600;

/// The authority of a server, in a kubeconfig.
const AUTHORITY: &str = "certificate-authority-data";

/// A service account of another cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// The file in which the pods have its token.
    pub token_file: &'static str,
}

/// Until when the content of the Secret is good: a token of this account, for this server. `None`: it is not good, or another token is due.
/// `cluster`: the server, as in a kubeconfig.
#[must_use]
pub fn good_until(
    data: &BTreeMap<String, Vec<u8>>,
    cluster: &Value,
    account: &Account,
    now: Timestamp,
) -> Option<Timestamp> {
    let token = data.get("token").map(Vec::as_slice).unwrap_or_default();
    let until = token_until(token, account, now)?;
    let kubeconfig = data.get("kubeconfig");
    let is_for = kubeconfig.is_some_and(|it| is_for(it, cluster, account.token_file));
    is_for.then_some(until)
}

/// Until when a token of this account is good: then another one is due. `None`: it is now.
#[must_use]
pub fn token_until(token: &[u8], account: &Account, now: Timestamp) -> Option<Timestamp> {
    match judge(token, Some(&account.uid), now) {
        Standing::Fresh { renew_at, .. } => Some(renew_at),
        Standing::Due => None,
    }
}

/// Returns whether a kubeconfig uses the token for this server.
fn is_for(kubeconfig: &[u8], cluster: &Value, token_file: &str) -> bool {
    let Ok(config) = serde_saphyr::from_slice::<Value>(kubeconfig) else {
        return false;
    };
    let stored = named(&config["clusters"], "cluster", "cluster").unwrap_or(&Value::Null);
    let user = named(&config["users"], "user", "user").unwrap_or(&Value::Null);
    let is_set = |it: &Value| !it.is_null() && *it != json!(false) && *it != json!("");
    let mut fields = OF_CLUSTER.iter().chain([&AUTHORITY]);
    user["tokenFile"] == token_file
        && fields.all(|field| {
            let (stored, wanted) = (&stored[*field], &cluster[*field]);
            stored == wanted || !is_set(stored) && !is_set(wanted)
        })
}

/// The content of the Secret, as text. `expires`: when the token ends.
#[must_use]
pub fn content(
    cluster: &Value,
    account: &Account,
    token: &str,
    expires: Option<&str>,
) -> BTreeMap<&'static str, String> {
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "context",
        "contexts": [{"name": "context", "context": {"cluster": "cluster", "user": "user"}}],
        "clusters": [{"name": "cluster", "cluster": cluster}],
        "users": [{"name": "user", "user": {"tokenFile": account.token_file}}],
    });
    let mut content = BTreeMap::from([
        ("kubeconfig", kubeconfig.to_string()),
        ("token", token.to_owned()),
        ("serviceaccount_namespace", account.namespace.clone()),
        ("serviceaccount_name", account.name.clone()),
        ("serviceaccount_uid", account.uid.clone()),
    ]);
    if let Some(expires) = expires {
        content.insert("expiration", expires.to_owned());
    }
    content
}

/// The Secret. `labels`: of what the operator writes. `encode`: in base64.
#[must_use]
pub fn secret(
    Id {
        namespace, name, ..
    }: &Id,
    labels: &Map<String, Value>,
    content: &BTreeMap<&'static str, String>,
    encode: fn(&[u8]) -> String,
) -> Value {
    let data: Map<String, Value> = (content.iter())
        .map(|(key, value)| ((*key).to_owned(), json!(encode(value.as_bytes()))))
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "data": data,
    })
}
