//! What the agent waits for, in words for people.

use std::fmt;

use super::Fault;
use crate::asked::{API_SERVER, Asked};

/// What the agent waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// The hub refuses to create the ManagedCluster.
    ClusterRefused {
        /// The words of the hub.
        message: String,
    },
    /// Someone has to approve the CSR.
    Approval {
        /// The name of the CSR.
        csr: String,
        /// The name of the cluster.
        cluster: String,
    },
    /// The hub's part of the add-on has to approve the CSR.
    AddonApproval {
        /// The name of the CSR.
        csr: String,
        /// The name of the add-on.
        addon: String,
    },
    /// The CSR is approved, and the hub's signer has to sign it.
    Signature {
        /// The name of the CSR.
        csr: String,
        /// The name of the signer.
        signer: String,
    },
    /// The CSR is denied. The agent asks again later.
    Denied {
        /// The name of the CSR.
        csr: String,
        /// The message of the condition.
        message: String,
    },
    /// The hub's signer refused the CSR. The agent asks again later.
    Failed {
        /// The name of the CSR.
        csr: String,
        /// The message of the condition.
        message: String,
    },
    /// The hub issued another certificate than was asked for. The agent asks again later.
    WrongCertificate {
        /// The name of the CSR.
        csr: String,
        /// What is wrong with it.
        why: Fault,
    },
    /// Too many CSRs of this agent are pending.
    TooMany {
        /// Their number.
        count: usize,
    },
}

// === impl Waiting ===

impl Waiting {
    pub(super) fn approval(csr: String, asked: &Asked) -> Self {
        match &asked.addon {
            None => Self::Approval {
                csr,
                cluster: asked.cluster.clone(),
            },
            Some(addon) => Self::AddonApproval {
                csr,
                addon: addon.clone(),
            },
        }
    }

    /// Returns the reason, for conditions, Events and metrics.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::ClusterRefused { .. } => "ManagedClusterRefused",
            Self::Approval { .. } | Self::AddonApproval { .. } => "CSRPending",
            Self::Signature { .. } => "CSRUnsigned",
            Self::Denied { .. } => "CSRDenied",
            Self::Failed { .. } => "CSRFailed",
            Self::WrongCertificate { .. } => "CSRWrongCertificate",
            Self::TooMany { .. } => "TooManyCSRs",
        }
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = |message: &str| match message {
            "" => String::new(),
            message => format!(" ({message})"),
        };
        match self {
            Self::ClusterRefused { message } => {
                write!(f, "the hub refuses to create the ManagedCluster: {message}")
            }
            Self::Approval { csr, cluster } => write!(
                f,
                "CertificateSigningRequest {csr} is not approved: on the hub, run `berth accept {cluster}`"
            ),
            Self::AddonApproval { csr, addon } => write!(
                f,
                "CertificateSigningRequest {csr} is not approved: on the hub, check the manager of add-on {addon}, which approves it"
            ),
            Self::Signature { csr, signer } if signer == API_SERVER => write!(
                f,
                "CertificateSigningRequest {csr} is approved, but not signed: on the hub, check kube-controller-manager, which signs \
                 for {API_SERVER}"
            ),
            Self::Signature { csr, signer } => write!(
                f,
                "CertificateSigningRequest {csr} is approved, but not signed: on the hub, check the signer {signer}"
            ),
            Self::Denied { csr, message } => write!(
                f,
                "CertificateSigningRequest {csr} is denied{}: ask the hub's admin; the agent asks again later",
                said(message)
            ),
            Self::Failed { csr, message } => write!(
                f,
                "the hub's signer refused CertificateSigningRequest {csr}{}; the agent asks again later",
                said(message)
            ),
            Self::WrongCertificate { csr, why } => write!(
                f,
                "the certificate of CertificateSigningRequest {csr} {why}; the agent asks again later"
            ),
            Self::TooMany { count } => write!(
                f,
                "{count} CertificateSigningRequests of this agent are pending: on the hub, approve, deny or delete them"
            ),
        }
    }
}

// === impl Fault ===

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "does not exist",
            Self::Unreadable => "cannot be read",
            Self::OtherSubject => "is for another cluster or agent",
            Self::OtherHub => "is for another hub",
            Self::OtherKey => "does not belong to the key",
            Self::Expired => "has expired",
            Self::Refused => "is refused by the hub",
        })
    }
}
