//! What the doctor finds, and what it looks at.

use serde::Serialize;

use super::facts::Unread;

/// What is looked at: all there is, in the order in which it is told. The names are part of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Check {
    Crds,
    Registrations,
    WebhookService,
    WebhookCertificate,
    DryRun,
    GateRights,
    ControllerRights,
    AgentRoles,
    Controller,
    OcmLeftovers,
    Clock,
    DefaultSets,
    Sets,
    Bindings,
    ClusterNamespaces,
    PendingClusters,
    AcceptedClusters,
    CertificateRequests,
    UnknownClusters,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    /// Something does not work, or is not guarded.
    Fault,
    /// Something will not work for long, or waits for a person, or is not as it is shipped.
    Warning,
    /// It could not be found out.
    Unknown,
    /// It was not looked at, as it does not apply here.
    Skipped,
    /// Worth knowing, and nothing is wrong.
    Note,
}

/// What a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct FindingObject {
    /// As kubectl takes it: lower case, singular.
    pub(crate) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) check: Check,
    pub(crate) severity: Severity,
    pub(crate) object: Option<FindingObject>,
    pub(crate) message: String,
    /// What to do about it: a command where there is one.
    pub(crate) remedy: Option<String>,
}

// === impl Check ===

impl Check {
    pub(crate) const ALL: [Self; 19] = [
        Self::Crds,
        Self::Registrations,
        Self::WebhookService,
        Self::WebhookCertificate,
        Self::DryRun,
        Self::GateRights,
        Self::ControllerRights,
        Self::AgentRoles,
        Self::Controller,
        Self::OcmLeftovers,
        Self::Clock,
        Self::DefaultSets,
        Self::Sets,
        Self::Bindings,
        Self::ClusterNamespaces,
        Self::PendingClusters,
        Self::AcceptedClusters,
        Self::CertificateRequests,
        Self::UnknownClusters,
    ];

    /// Its name in the output.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Crds => "crds",
            Self::Registrations => "registrations",
            Self::WebhookService => "webhook-service",
            Self::WebhookCertificate => "webhook-certificate",
            Self::DryRun => "dry-run",
            Self::GateRights => "gate-rights",
            Self::ControllerRights => "controller-rights",
            Self::AgentRoles => "agent-roles",
            Self::Controller => "controller",
            Self::OcmLeftovers => "ocm-leftovers",
            Self::Clock => "clock",
            Self::DefaultSets => "default-sets",
            Self::Sets => "sets",
            Self::Bindings => "bindings",
            Self::ClusterNamespaces => "cluster-namespaces",
            Self::PendingClusters => "pending-clusters",
            Self::AcceptedClusters => "accepted-clusters",
            Self::CertificateRequests => "certificate-requests",
            Self::UnknownClusters => "unknown-clusters",
        }
    }

    /// What holds when nothing is found.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Crds => "the CRDs are there, established, and have what Berth needs",
            Self::Registrations => "the webhooks are registered as they are shipped",
            Self::WebhookService => "the Service of the webhooks has endpoints that are ready",
            Self::WebhookCertificate => {
                "the API server trusts the certificate of the webhooks, and will for a while"
            }
            Self::DryRun => "malformed writes are refused, by Berth",
            Self::GateRights => "the gate may find out what it must know",
            Self::ControllerRights => "the controller may do what it must",
            Self::AgentRoles => "the roles that all agents share are as they are shipped",
            Self::Controller => "a controller carries clusters through their life",
            Self::OcmLeftovers => "nothing of OCM's decides beside Berth",
            Self::Clock => "the hub's clock and this machine's agree",
            Self::DefaultSets => "the sets default and global are there, with their selectors",
            Self::Sets => "the selectors of all sets are valid",
            Self::Bindings => "all bindings are in force",
            Self::ClusterNamespaces => "no namespace of an accepted cluster holds bindings",
            Self::PendingClusters => "no cluster waits for acceptance",
            Self::AcceptedClusters => "accepted clusters have what they need",
            Self::CertificateRequests => "no accepted cluster's agent waits for a certificate",
            Self::UnknownClusters => "the agents of all accepted clusters are heard of",
        }
    }

    pub(crate) fn fault(self, message: impl Into<String>) -> Finding {
        Finding::new(self, Severity::Fault, message)
    }

    pub(crate) fn warning(self, message: impl Into<String>) -> Finding {
        Finding::new(self, Severity::Warning, message)
    }

    pub(crate) fn note(self, message: impl Into<String>) -> Finding {
        Finding::new(self, Severity::Note, message)
    }

    /// It is not looked at, for this reason.
    pub(crate) fn skipped(self, why: impl Into<String>) -> Finding {
        Finding::new(self, Severity::Skipped, why)
    }

    /// It could not be found out, as this could not be read. `what`: the question that stays open.
    pub(crate) fn unknown(self, what: &str, unread: &Unread) -> Finding {
        Finding::new(
            self,
            Severity::Unknown,
            format!("could not be checked: {what}: {unread}"),
        )
    }
}

// === impl FindingObject ===

impl FindingObject {
    pub(crate) fn new(kind: &'static str, name: impl Into<String>) -> Self {
        Self {
            kind,
            namespace: None,
            name: name.into(),
        }
    }

    pub(crate) fn within(
        kind: &'static str,
        namespace: impl Into<String>,
        name: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            namespace: Some(namespace.into()),
            name: name.into(),
        }
    }
}

impl std::fmt::Display for FindingObject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)?;
        match &self.namespace {
            Some(namespace) => write!(f, " in {namespace}"),
            None => Ok(()),
        }
    }
}

// === impl Finding ===

impl Finding {
    fn new(check: Check, severity: Severity, message: impl Into<String>) -> Self {
        Self {
            check,
            severity,
            object: None,
            message: message.into(),
            remedy: None,
        }
    }

    pub(crate) fn of(mut self, object: FindingObject) -> Self {
        self.object = Some(object);
        self
    }

    pub(crate) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}
