//! How the cluster stands with its hub, once the agent has a certificate.

use std::fmt;

use crate::cluster::Cluster;

/// What the hub says about the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HubStanding {
    /// The hub has not answered yet.
    Unknown,
    /// The hub does not let the agent see its ManagedCluster: it is not accepted yet.
    NotAccepted,
    /// The ManagedCluster is accepted, and the hub has not set up its namespace and roles yet.
    NotSetUp,
    /// The ManagedCluster was accepted, and is no longer.
    Denied,
    /// The ManagedCluster does not exist.
    Absent,
    /// The ManagedCluster is being deleted.
    Deleting,
    /// The hub refuses the agent's certificate.
    Refused,
    /// The hub does not answer, for this reason.
    Away(String),
    /// The hub says that the clocks differ.
    ClockOff,
    /// Another agent renews the Lease of this cluster.
    TwoAgents,
    /// The cluster is managed.
    Managed,
}

// === impl HubStanding ===

impl HubStanding {
    /// Judges the ManagedCluster as the hub shows it; `None`: the hub says that it does not exist.
    #[must_use]
    pub fn of(cluster: Option<&Cluster>) -> Self {
        match cluster {
            None => Self::Absent,
            Some(it) if it.is_deleting => Self::Deleting,
            Some(it) if !it.is_accepted => Self::Denied,
            Some(it) if !it.is_set_up() => Self::NotSetUp,
            Some(it) if it.is_clock_off() => Self::ClockOff,
            Some(_) => Self::Managed,
        }
    }

    /// Judges a request for the ManagedCluster that failed with this status; 0 without a response.
    #[must_use]
    pub fn of_failure(code: u16, message: &str) -> Self {
        match code {
            401 => Self::Refused,
            403 => Self::NotAccepted,
            _ => Self::Away(message.to_owned()),
        }
    }

    /// Returns true if the hub has taken the agent's certificate.
    #[must_use]
    pub fn knows_the_agent(&self) -> bool {
        !matches!(self, Self::Unknown | Self::Refused | Self::Away(_))
    }

    /// Returns the reason, for conditions, Events and metrics.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Unknown => "HubUnknown",
            Self::NotAccepted => "ManagedClusterNotAccepted",
            Self::NotSetUp => "ManagedClusterNotSetUp",
            Self::Denied => "ManagedClusterDenied",
            Self::Absent => "ManagedClusterAbsent",
            Self::Deleting => "ManagedClusterDeleting",
            Self::Refused => "CertificateRefused",
            Self::Away(_) => "HubAway",
            Self::ClockOff => "ClockOutOfSync",
            Self::TwoAgents => "TwoAgents",
            Self::Managed => "Managed",
        }
    }

    /// Returns what it means and what to do, for people.
    #[must_use]
    pub fn message(&self, cluster: &str) -> Message<'_> {
        Message {
            standing: self,
            cluster: cluster.to_owned(),
        }
    }
}

/// The text of a [`HubStanding`].
#[derive(Debug)]
pub struct Message<'a> {
    standing: &'a HubStanding,
    cluster: String,
}

impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cluster = &self.cluster;
        match self.standing {
            HubStanding::Unknown => f.write_str("the hub has not answered yet"),
            HubStanding::NotAccepted => write!(
                f,
                "the hub does not accept ManagedCluster {cluster}, or it was deleted there: on the hub, run `berth accept {cluster}`"
            ),
            HubStanding::Denied => write!(
                f,
                "the hub does not accept ManagedCluster {cluster}: on the hub, run `berth accept {cluster}`"
            ),
            HubStanding::NotSetUp => write!(
                f,
                "the hub accepts ManagedCluster {cluster}, and has not set it up yet: if this lasts, check the hub's registration controller"
            ),
            HubStanding::Absent => write!(
                f,
                "ManagedCluster {cluster} does not exist on the hub: create it there, or have this cluster join again"
            ),
            HubStanding::Deleting => write!(
                f,
                "ManagedCluster {cluster} is being deleted on the hub"
            ),
            HubStanding::Refused => f.write_str(
                "the hub refuses the certificate of this agent: the agent asks for a new one with the bootstrap kubeconfig"
            ),
            HubStanding::Away(why) => write!(f, "the hub does not answer: {why}"),
            HubStanding::ClockOff => f.write_str(
                "the clocks of the hub and of this cluster differ: check the time service of both; nothing is reported until they agree"
            ),
            HubStanding::TwoAgents => write!(
                f,
                "another agent renews the Lease of ManagedCluster {cluster}: find the other cluster that joined under this name; nothing is reported until it stops"
            ),
            HubStanding::Managed => write!(f, "ManagedCluster {cluster} is managed by the hub"),
        }
    }
}
