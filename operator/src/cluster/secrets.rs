//! The Secrets with credentials.

use berth_operator_core::cluster::{AGENT_SECRETS, HUB_SECRET, MANAGED_SECRET};

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
