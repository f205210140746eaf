//! The Secret with the credentials of an agent for a managed cluster that is not its own. It equals that of OCM's operator, so that each can
//! go on with the other's.

use std::collections::BTreeMap;

use berth_api::token::{Standing, judge};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::credentials::{OF_CLUSTER, named};
use crate::objects::Id;

/// The Secret with the credentials of an agent for its hub.
pub const HUB_SECRET: &str = "hub-kubeconfig-secret";

/// The Secret with the kubeconfig of the managed cluster, in the namespace of the agent. Users make it.
pub const MANAGED_SECRET: &str = "external-managed-kubeconfig";

/// The Secrets that are made of it, for the agents of the modes Hosted and SingletonHosted. The third one is OCM's in mode Hosted, for its
/// registration agent: Berth's agent has the account of the first.
pub const AGENT_SECRETS: [&str; 3] = [
    "external-managed-kubeconfig-work",
    "external-managed-kubeconfig-agent",
    "external-managed-kubeconfig-registration",
];

/// The lifetime of a token, in seconds. Another one is asked for when a fifth of it is left.
pub const TOKEN_SECONDS: i64 = 30 * 24 * 3600;

/// Where the agent has the token.
const TOKEN_FILE: &str = "/spoke/config/token";

/// The authority of a server, in a kubeconfig.
const AUTHORITY: &str = "certificate-authority-data";

/// A service account of the managed cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

/// The name of the Secret with the credentials of the agent.
pub(super) fn secret_name(is_single: bool) -> &'static str {
    AGENT_SECRETS[usize::from(is_single)]
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
    let is_for = data.get("kubeconfig").is_some_and(|it| is_for(it, cluster));
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
fn is_for(kubeconfig: &[u8], cluster: &Value) -> bool {
    let Ok(config) = serde_saphyr::from_slice::<Value>(kubeconfig) else {
        return false;
    };
    let stored = named(&config["clusters"], "cluster", "cluster").unwrap_or(&Value::Null);
    let user = named(&config["users"], "user", "user").unwrap_or(&Value::Null);
    let is_set = |it: &Value| !it.is_null() && *it != json!(false) && *it != json!("");
    let mut fields = OF_CLUSTER.iter().chain([&AUTHORITY]);
    user["tokenFile"] == TOKEN_FILE
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
        "users": [{"name": "user", "user": {"tokenFile": TOKEN_FILE}}],
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

/// The Secret. `labels`: of what is written for the Klusterlet. `encode`: in base64.
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
