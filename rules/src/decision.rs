//! The decision about a change, and the reasons for it.

use json_patch::Patch;
use serde::Serialize;

use crate::display::{InNamespace, ObjectOrAll};
use crate::{Answer, Answers, Namespace};

/// The decision about a change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// Admitted, or the reasons why not.
    pub outcome: DecisionOutcome,
    /// The changes that the mutating path makes to the object; empty for most changes. It contains only these paths, so
    /// that fields that this program does not know are kept.
    pub patch: Patch,
    /// Sentences that the requester's client prints. A warning never refuses a write.
    pub warnings: Vec<String>,
}

/// Admits a change, or refuses it with reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DecisionOutcome {
    /// Admitted.
    #[default]
    Allowed,
    /// 400 `BadRequest`: the faults of the object. Of many faults, the first few and the number of the others. Never
    /// empty.
    Malformed(Vec<Fault>),
    /// 403 `Forbidden`: all permissions and conditions that are missing. Never empty.
    Denied(Vec<Denial>),
    /// 500 `InternalError`: the questions without an answer. Not a denial: the client can try again. Never empty.
    Undecided(Vec<Undecided>),
}

/// A fault of the object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// The sentence for the requester.
    pub message: String,
    /// The rule that it breaks.
    pub reason: Reason,
}

/// A permission or condition that the change lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The rule that refuses.
    pub reason: Reason,
    /// The API group of the refused object, as the status' details name it.
    pub group: &'static str,
    /// The resource of the refused object, with its subresource.
    pub resource: &'static str,
    /// The name of the refused object.
    pub name: String,
    /// The whole sentence for the requester.
    pub message: String,
}

/// A question that could not be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecided {
    /// The sentence for the requester.
    pub message: String,
}

/// The rules that refuse changes: a closed list, for metrics, logs and audit annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The name of a ManagedCluster is not a DNS label.
    ClusterName,
    /// The name of a ManagedCluster is reserved.
    ReservedName,
    /// The URL of a client config is not `https` with a host.
    ClientConfigUrl,
    /// The CA bundle of a client config holds no certificate.
    ClientConfigCaBundle,
    /// The lease duration is out of bounds.
    LeaseDuration,
    /// A taint has no key, or two taints have the same key and effect.
    Taint,
    /// The requester set the time of a taint.
    TaintTimeAdded,
    /// The permission to widen the selector of a set is missing.
    WidenSet,
    /// The name of a ManagedClusterSet does not fit a label.
    SetName,
    /// The selector of a ManagedClusterSet is missing or invalid.
    SetSelector,
    /// A list is longer than its limit.
    ListTooLong,
    /// A ManagedCluster has more text than its limit.
    ClusterSize,
    /// A ManagedClusterSetBinding and its set have different names.
    BindingName,
    /// The cluster's namespace is terminating.
    NamespaceTerminating,
    /// The permission to accept is missing.
    Accept,
    /// The cluster's namespace holds bindings.
    BindingsHeld,
    /// The permission to join a set is missing.
    Join,
    /// The permission to bind a set is missing.
    Bind,
    /// The namespace of a binding belongs to an accepted cluster.
    ClusterNamespace,
    /// An agent labels a certificate request for another cluster.
    ForeignRequest,
    /// Somebody else than a cluster's agent labels a certificate request for an add-on there.
    AddonRequest,
    /// The name of a Placement does not fit a label.
    PlacementName,
    /// The placement controller would report the Placement as misconfigured.
    Misconfigured,
    /// Another field of a Placement cannot have its effect, or cannot be read.
    PlacementField,
    /// The name of a ManifestWork or a ManifestWorkReplicaSet is too long for the names that are made of it.
    WorkName,
    /// A ManifestWork has no manifests.
    NoManifests,
    /// The manifests of a ManifestWork are too large.
    ManifestsSize,
    /// A manifest is not an object with apiVersion, kind and name.
    Manifest,
    /// Two manifests are the same object.
    DuplicateManifest,
    /// Two reported values have the same name, or a condition has the name of one of the agent's.
    ManifestConfig,
    /// The executor of a ManifestWork is not a service account.
    Executor,
    /// The permission to write with the identity of the executor is missing.
    ExecuteAs,
    /// A ManifestWorkReplicaSet names no placement, or one twice.
    PlacementRef,
    /// A rollout strategy is invalid.
    RolloutStrategy,
    /// A field of a ManifestWork or a ManifestWorkReplicaSet cannot be read.
    WorkField,
    /// An AddOnTemplate cannot be rendered.
    AddonTemplate,
    /// An AddOnDeploymentConfig has a part that cannot be used.
    AddonDeploymentConfig,
    /// A ClusterManagementAddOn has a config of a kind that it does not support.
    AddonConfigs,
    /// A field of an object of the add-on API cannot be read.
    AddonField,
}

/// Audit annotations of a decision, as the API server writes them to its audit log (it puts the webhook's name before
/// each key).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Annotations {
    /// `allowed`, `malformed`, `denied` or `undecided`.
    pub outcome: &'static str,
    /// The first reason for a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// The questions and their answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requirements: Option<String>,
}

// === impl Decision ===

impl Decision {
    /// Returns a decision that admits the change without a patch.
    pub fn allowed() -> Self {
        Self::default()
    }

    /// Makes a decision from faults alone, else from denials, else from open questions.
    pub(crate) fn from_findings(
        faults: Vec<Fault>,
        denials: Vec<Denial>,
        undecided: Vec<Undecided>,
    ) -> Self {
        let outcome = if !faults.is_empty() {
            DecisionOutcome::Malformed(faults)
        } else if !denials.is_empty() {
            DecisionOutcome::Denied(denials)
        } else if !undecided.is_empty() {
            DecisionOutcome::Undecided(undecided)
        } else {
            DecisionOutcome::Allowed
        };
        Self {
            outcome,
            ..Self::default()
        }
    }

    /// Returns the audit annotations of this decision.
    pub fn annotations(&self, answers: Answers<'_>) -> Annotations {
        let mut requirements = String::new();
        for (question, answer) in answers.iter() {
            if !requirements.is_empty() {
                requirements.push_str("; ");
            }
            let answer = match answer {
                Answer::Yes => "yes",
                Answer::No => "no",
                Answer::Names(names) if names.is_empty() => "no",
                Answer::Names(_) => "yes",
                Answer::Namespace(Namespace {
                    terminating,
                    of_cluster,
                }) => match (terminating, of_cluster) {
                    (true, _) => "terminating",
                    (false, true) => "the cluster's",
                    (false, false) => "yes",
                },
                Answer::Unknown(_) => "unknown",
            };
            let requirement = question.requirement().as_str();
            let object = ObjectOrAll(question.object());
            let namespace = InNamespace(question.namespace());
            requirements.push_str(&format!("{requirement} {object}{namespace}: {answer}"));
        }
        Annotations {
            outcome: self.outcome.as_str(),
            reason: self.outcome.reason().map(Reason::as_str),
            requirements: (!requirements.is_empty()).then_some(requirements),
        }
    }
}

// === impl DecisionOutcome ===

impl DecisionOutcome {
    /// Returns the value of metric labels and audit annotations.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Malformed(_) => "malformed",
            Self::Denied(_) => "denied",
            Self::Undecided(_) => "undecided",
        }
    }

    /// Returns the first reason of a refusal.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Self::Allowed | Self::Undecided(_) => None,
            Self::Malformed(faults) => faults.first().map(|fault| fault.reason),
            Self::Denied(denials) => denials.first().map(|denial| denial.reason),
        }
    }
}

// === impl Fault ===

impl Fault {
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
        }
    }
}

// === impl Reason ===

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 39] = [
        Self::ClusterName,
        Self::ReservedName,
        Self::ClientConfigUrl,
        Self::ClientConfigCaBundle,
        Self::LeaseDuration,
        Self::Taint,
        Self::TaintTimeAdded,
        Self::WidenSet,
        Self::SetName,
        Self::SetSelector,
        Self::ListTooLong,
        Self::ClusterSize,
        Self::BindingName,
        Self::NamespaceTerminating,
        Self::Accept,
        Self::BindingsHeld,
        Self::Join,
        Self::Bind,
        Self::ClusterNamespace,
        Self::ForeignRequest,
        Self::AddonRequest,
        Self::PlacementName,
        Self::Misconfigured,
        Self::PlacementField,
        Self::WorkName,
        Self::NoManifests,
        Self::ManifestsSize,
        Self::Manifest,
        Self::DuplicateManifest,
        Self::ManifestConfig,
        Self::Executor,
        Self::ExecuteAs,
        Self::PlacementRef,
        Self::RolloutStrategy,
        Self::WorkField,
        Self::AddonTemplate,
        Self::AddonDeploymentConfig,
        Self::AddonConfigs,
        Self::AddonField,
    ];

    /// Returns the value of metric labels, log fields and audit annotations.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClusterName => "cluster-name",
            Self::ReservedName => "reserved-name",
            Self::ClientConfigUrl => "client-config-url",
            Self::ClientConfigCaBundle => "client-config-ca-bundle",
            Self::LeaseDuration => "lease-duration",
            Self::Taint => "taint",
            Self::TaintTimeAdded => "taint-time-added",
            Self::WidenSet => "widen-set",
            Self::SetName => "set-name",
            Self::SetSelector => "set-selector",
            Self::ListTooLong => "list-too-long",
            Self::ClusterSize => "cluster-size",
            Self::BindingName => "binding-name",
            Self::NamespaceTerminating => "namespace-terminating",
            Self::Accept => "accept",
            Self::BindingsHeld => "bindings-held",
            Self::Join => "join",
            Self::Bind => "bind",
            Self::ClusterNamespace => "cluster-namespace",
            Self::ForeignRequest => "foreign-request",
            Self::AddonRequest => "addon-request",
            Self::PlacementName => "placement-name",
            Self::Misconfigured => "misconfigured",
            Self::PlacementField => "placement-field",
            Self::WorkName => "work-name",
            Self::NoManifests => "no-manifests",
            Self::ManifestsSize => "manifests-size",
            Self::Manifest => "manifest",
            Self::DuplicateManifest => "duplicate-manifest",
            Self::ManifestConfig => "manifest-config",
            Self::Executor => "executor",
            Self::ExecuteAs => "execute-as",
            Self::PlacementRef => "placement-ref",
            Self::RolloutStrategy => "rollout-strategy",
            Self::WorkField => "work-field",
            Self::AddonTemplate => "addon-template",
            Self::AddonDeploymentConfig => "addon-deployment-config",
            Self::AddonConfigs => "addon-configs",
            Self::AddonField => "addon-field",
        }
    }
}
