//! Checks and findings.

use serde::Serialize;

use super::facts::Unread;

/// The checks, in the order of the report. The names are part of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Check {
    Crds,
    Registrations,
    Policies,
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
    AddOns,
    Operator,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    /// A part of the hub does not work, or is not protected.
    Fault,
    /// A part of the hub will stop working soon, waits for an admin, or differs from what ships.
    Warning,
    /// The check could not run.
    Unknown,
    /// The check does not apply here.
    Skipped,
    /// Not a problem.
    Note,
}

/// The object of a finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct FindingObject {
    /// The kind as kubectl accepts it: lower case, singular.
    pub(crate) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) check: Check,
    pub(crate) severity: Severity,
    pub(crate) object: Option<FindingObject>,
    pub(crate) message: String,
    /// The remedy, as a command if possible.
    pub(crate) remedy: Option<String>,
}

// === impl Check ===

impl Check {
    pub(crate) const ALL: [Self; 22] = [
        Self::Crds,
        Self::Registrations,
        Self::Policies,
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
        Self::AddOns,
        Self::Operator,
    ];

    /// Returns the name of the check in the output.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Crds => "crds",
            Self::Registrations => "registrations",
            Self::Policies => "policies",
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
            Self::AddOns => "add-ons",
            Self::Operator => "operator",
        }
    }

    /// Returns the sentence that is true if the check passes.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Crds => "the CRDs exist, are established, and have the fields that Berth needs",
            Self::Registrations => "the webhooks are registered as shipped",
            Self::Policies => "the policies in the API server, if there are any, are complete",
            Self::WebhookService => "the Service of the webhooks has ready endpoints",
            Self::WebhookCertificate => {
                "the API server trusts the certificate of the webhooks, which does not expire soon"
            }
            Self::DryRun => "Berth refuses malformed writes",
            Self::GateRights => "the gate has the rights that it needs",
            Self::ControllerRights => "the controller has the rights that it needs",
            Self::AgentRoles => "the roles that all agents share are as shipped",
            Self::Controller => "a controller is active",
            Self::OcmLeftovers => "no component of OCM is active beside Berth",
            Self::Clock => "the hub's clock and this machine's agree",
            Self::DefaultSets => "the sets default and global exist, with their selectors",
            Self::Sets => "the selectors of all sets are valid",
            Self::Bindings => "all bindings are effective",
            Self::ClusterNamespaces => "no namespace of an accepted cluster holds bindings",
            Self::PendingClusters => "no cluster waits for acceptance",
            Self::AcceptedClusters => "all accepted clusters are set up",
            Self::CertificateRequests => "no accepted cluster's agent waits for a certificate",
            Self::UnknownClusters => "the agents of all accepted clusters send heartbeats",
            Self::AddOns => "no add-on has failed, or is reported as unavailable",
            Self::Operator => "the operator, if there is one, reports no trouble",
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

    /// The check does not apply, for this reason.
    pub(crate) fn skipped(self, why: impl Into<String>) -> Finding {
        Finding::new(self, Severity::Skipped, why)
    }

    /// The check could not run. `what` is the part that could not be checked.
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

    /// A fault becomes a warning.
    pub(crate) fn eased(mut self) -> Self {
        self.severity = self.severity.max(Severity::Warning);
        self
    }

    pub(crate) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}
