//! Who the agent is to the hub.

use berth_api::{agents, names};

/// The longest name of an agent, in bytes.
const LONGEST_AGENT: usize = 253;

/// A cluster and its agent. The user name on the hub has both, so both stay the same for life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The name of the ManagedCluster.
    pub cluster: String,
    /// The name of the agent.
    pub agent: String,
}

/// A name that no agent can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidIdentity {
    /// The name of the cluster is not a DNS label, for these reasons.
    Cluster(Vec<String>),
    /// The name of the agent is empty, too long, or has a character that separates user names.
    Agent,
}

// === impl Identity ===

impl Identity {
    /// Checks the names.
    ///
    /// # Errors
    /// See [`InvalidIdentity`].
    pub fn new(
        cluster: impl Into<String>,
        agent: impl Into<String>,
    ) -> Result<Self, InvalidIdentity> {
        let identity = Self {
            cluster: cluster.into(),
            agent: agent.into(),
        };
        let reasons = names::dns1123_label(&identity.cluster);
        if !reasons.is_empty() {
            return Err(InvalidIdentity::Cluster(reasons));
        }
        let is_plain = |c: char| c.is_ascii_graphic() && c != ':';
        let agent = &identity.agent;
        if agent.is_empty() || agent.len() > LONGEST_AGENT || !agent.chars().all(is_plain) {
            return Err(InvalidIdentity::Agent);
        }
        Ok(identity)
    }

    /// Returns the user name on the hub, which is the common name of the certificate.
    #[must_use]
    pub fn user(&self) -> String {
        format!("{}{}:{}", agents::PREFIX, self.cluster, self.agent)
    }

    /// Returns the groups on the hub, which are the organizations of the certificate.
    #[must_use]
    pub fn groups(&self) -> [String; 2] {
        [
            format!("{}{}", agents::PREFIX, self.cluster),
            agents::ALL.to_owned(),
        ]
    }
}

impl std::error::Error for InvalidIdentity {}

impl std::fmt::Display for InvalidIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cluster(reasons) => {
                write!(f, "the name of the cluster {}", reasons.join(", and "))
            }
            Self::Agent => write!(
                f,
                "the name of the agent must have 1 to {LONGEST_AGENT} printable characters, and no colon or space"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subject_is_that_of_ocms_agent() {
        let identity = Identity::new("c1", "a1").unwrap();
        assert_eq!(identity.user(), "system:open-cluster-management:c1:a1");
        let groups = [
            "system:open-cluster-management:c1",
            "system:open-cluster-management:managed-clusters",
        ];
        assert_eq!(identity.groups(), groups);
        let user = identity.user();
        assert_eq!(agents::cluster_of(&user), Some("c1"));
    }

    #[test]
    fn names_that_would_mean_another_user_are_refused() {
        let long = "a".repeat(LONGEST_AGENT + 1);
        for agent in ["", "a:b", "a b", "a\n", "ä", long.as_str()] {
            let refused = Identity::new("c1", agent);
            assert_eq!(refused, Err(InvalidIdentity::Agent), "{agent:?}");
        }
        for cluster in ["", "C1", "a.b", "-a", "a:b"] {
            let refused = Identity::new(cluster, "a1").unwrap_err();
            let text = refused.to_string();
            assert!(
                text.starts_with("the name of the cluster ") && text.contains("must"),
                "{cluster:?}: {text}"
            );
        }
        assert!(Identity::new("c".repeat(63), "a".repeat(LONGEST_AGENT)).is_ok());
    }
}
