//! The Secrets with the credentials of an agent. Their names are OCM's.

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

/// Where the agent has the token for its managed cluster.
pub const TOKEN_FILE: &str = "/spoke/config/token";

/// The name of the Secret with the credentials of the agent.
pub(super) fn secret_name(is_single: bool) -> &'static str {
    AGENT_SECRETS[usize::from(is_single)]
}
