//! User and group names of the agents of managed clusters, as in the subjects of their certificates.

/// Prefix of the user names of agents, and of the group of a cluster's agents.
pub const PREFIX: &str = "system:open-cluster-management:";

/// The group of all agents.
pub const ALL: &str = "system:open-cluster-management:managed-clusters";

/// The signer of client certificates for the hub's API server.
pub const API_SERVER: &str = "kubernetes.io/kube-apiserver-client";

/// Returns the cluster of the agent with the user name `system:open-cluster-management:<cluster>:<agent>`, and `None` for any other
/// user name.
#[must_use]
pub fn cluster_of(user: &str) -> Option<&str> {
    let (cluster, agent) = user.strip_prefix(PREFIX)?.split_once(':')?;
    let is_part = |part: &str| !part.is_empty() && !part.contains(':');
    (is_part(cluster) && is_part(agent)).then_some(cluster)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_of_the_cluster_in_its_name() {
        for (user, cluster) in [
            ("system:open-cluster-management:c1:a1", Some("c1")),
            ("system:open-cluster-management:c1:", None),
            ("system:open-cluster-management::a1", None),
            ("system:open-cluster-management:c1", None),
            ("system:open-cluster-management:", None),
            ("system:open-cluster-management:c1:a1:b", None),
            (
                "system:open-cluster-management:cluster:c1:addon:x:agent:y",
                None,
            ),
            ("xsystem:open-cluster-management:c1:a1", None),
            ("system:open-cluster-managementc1:a1", None),
            ("c1:a1", None),
            ("", None),
        ] {
            assert_eq!(cluster_of(user), cluster, "{user:?}");
        }
    }
}
