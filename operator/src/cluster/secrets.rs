//! The Secrets with credentials.

use std::collections::BTreeMap;

use base64::prelude::{BASE64_STANDARD, Engine};
use berth_operator_core::cluster::{AGENT_SECRETS, HUB_SECRET, MANAGED_SECRET};
use serde_json::Value;

/// The Secrets with credentials: for the hub, and for a managed cluster that is not the one of its agent.
pub(super) const SECRETS: [&str; 6] = [
    BOOTSTRAP_SECRET,
    HUB_SECRET,
    MANAGED_SECRET,
    AGENT_SECRETS[0],
    AGENT_SECRETS[1],
    AGENT_SECRETS[2],
];

/// The Secret with the credentials of the first request to the hub.
pub(super) const BOOTSTRAP_SECRET: &str = "bootstrap-hub-kubeconfig";

/// `data` of a Secret.
pub(super) fn decoded(secret: &Value) -> BTreeMap<String, Vec<u8>> {
    let data = secret["data"].as_object().into_iter().flatten();
    let data = data.filter_map(|(key, value)| {
        let bytes = BASE64_STANDARD.decode(value.as_str()?).ok()?;
        Some((key.clone(), bytes))
    });
    data.collect()
}
