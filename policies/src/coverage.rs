//! What the policies cannot say, and where they say it differently.

use berth_rules::Reason;

/// A part of the rules that no policy covers.
#[derive(Clone, Copy, Debug)]
pub struct NotInCel {
    /// The part.
    pub what: &'static str,
    /// Its reason, if the part is all of it.
    pub reason: Option<Reason>,
    /// Why CEL cannot say it, and what else covers it.
    pub why: &'static str,
    /// The webhook of the mode `with-webhook` covers it.
    pub in_webhook: bool,
}

/// What no policy covers.
pub const NOT_IN_CEL: [NotInCel; 26] = [
    NotInCel {
        what: "acceptance while the cluster's namespace is terminating",
        reason: Some(Reason::NamespaceTerminating),
        why: "a policy cannot read a namespace by a computed name; the controller gives such a cluster nothing until the namespace is gone",
        in_webhook: true,
    },
    NotInCel {
        what: "acceptance while the cluster's namespace holds ManagedClusterSetBindings",
        reason: Some(Reason::BindingsHeld),
        why: "a policy cannot read other objects by a computed name; the controller gives such a cluster nothing until they are deleted",
        in_webhook: true,
    },
    NotInCel {
        what: "CA bundles with a PEM block of a certificate that does not parse",
        reason: None,
        why: "CEL has no X.509; the client that uses the bundle reports the error",
        in_webhook: true,
    },
    NotInCel {
        what: "names with a reserved prefix whose namespace is the cluster's already",
        reason: None,
        why: "a policy cannot read a namespace by a computed name; such a cluster stays, but cannot be accepted again",
        in_webhook: true,
    },
    NotInCel {
        what: "the warning that a ManagedClusterSet does not exist",
        reason: None,
        why: "a policy cannot ask if an object exists",
        in_webhook: false,
    },
    NotInCel {
        what: "Placements that the placement controller reports as misconfigured",
        reason: Some(Reason::Misconfigured),
        why: "CEL cannot parse CEL expressions and selectors; the controller keeps the decisions of such a placement, and OCM's removes them",
        in_webhook: false,
    },
    NotInCel {
        what: "names of Placements with more than 63 characters",
        reason: Some(Reason::PlacementName),
        why: "no policy guards Placements; such a placement gets no decisions",
        in_webhook: false,
    },
    NotInCel {
        what: "names of decision groups and of add-on scores in Placements",
        reason: Some(Reason::PlacementField),
        why: "no policy guards Placements; the group gets no decisions, and the score counts as zero",
        in_webhook: false,
    },
    NotInCel {
        what: "long lists, costly CEL expressions and warnings of Placements",
        reason: None,
        why: "no policy guards Placements",
        in_webhook: false,
    },
    NotInCel {
        what: "names of ManifestWorks with more than 188 characters, and of ManifestWorkReplicaSets that do not fit a label",
        reason: Some(Reason::WorkName),
        why: "no policy guards the work API; such a ManifestWork is never applied, and such a ManifestWorkReplicaSet makes no ManifestWorks",
        in_webhook: false,
    },
    NotInCel {
        what: "ManifestWorks without manifests",
        reason: Some(Reason::NoManifests),
        why: "no policy guards the work API; the agent has nothing to do",
        in_webhook: false,
    },
    NotInCel {
        what: "the size of all manifests of a ManifestWork",
        reason: Some(Reason::ManifestsSize),
        why: "no policy guards the work API; the API server limits the size of the request",
        in_webhook: false,
    },
    NotInCel {
        what: "manifests without apiVersion, kind or name",
        reason: Some(Reason::Manifest),
        why: "no policy guards the work API; the agent reports them in conditions",
        in_webhook: false,
    },
    NotInCel {
        what: "manifests of the same object",
        reason: Some(Reason::DuplicateManifest),
        why: "no policy guards the work API; the agent applies the last one",
        in_webhook: false,
    },
    NotInCel {
        what: "values and conditions of ManifestWorks with the same name",
        reason: Some(Reason::ManifestConfig),
        why: "no policy guards the work API; the API server may refuse the agent's status",
        in_webhook: false,
    },
    NotInCel {
        what: "executors of ManifestWorks that are no service account",
        reason: Some(Reason::Executor),
        why: "no policy guards the work API; the agent refuses them",
        in_webhook: false,
    },
    NotInCel {
        what: "the permission to execute as the executor of a ManifestWork",
        reason: Some(Reason::ExecuteAs),
        why: "no policy guards the work API; keep the webhooks of ManifestWorks and ManifestWorkReplicaSets if users who may write them must not choose any executor",
        in_webhook: false,
    },
    NotInCel {
        what: "placements of ManifestWorkReplicaSets",
        reason: Some(Reason::PlacementRef),
        why: "no policy guards the work API; the controller reports a missing placement in a condition",
        in_webhook: false,
    },
    NotInCel {
        what: "rollout strategies of ManifestWorkReplicaSets",
        reason: Some(Reason::RolloutStrategy),
        why: "no policy guards the work API; the controller reports an invalid one in a condition",
        in_webhook: false,
    },
    NotInCel {
        what: "fields of ManifestWorks and ManifestWorkReplicaSets with another type",
        reason: Some(Reason::WorkField),
        why: "no policy guards the work API; the API server checks the types of fields",
        in_webhook: false,
    },
    NotInCel {
        what: "long lists and warnings of ManifestWorks and ManifestWorkReplicaSets",
        reason: None,
        why: "no policy guards the work API",
        in_webhook: false,
    },
    NotInCel {
        what: "AddOnTemplates that cannot be rendered",
        reason: Some(Reason::AddonTemplate),
        why: "no policy guards the add-on API; the controller reports the mistake in a condition of each ManagedClusterAddOn",
        in_webhook: false,
    },
    NotInCel {
        what: "AddOnDeploymentConfigs with a container ID or a CA bundle that cannot be read",
        reason: Some(Reason::AddonDeploymentConfig),
        why: "no policy guards the add-on API; the controller reports the mistake in a condition of each ManagedClusterAddOn",
        in_webhook: false,
    },
    NotInCel {
        what: "configs of ClusterManagementAddOns of a kind that the add-on does not support",
        reason: Some(Reason::AddonConfigs),
        why: "no policy guards the add-on API; such a config has no effect",
        in_webhook: false,
    },
    NotInCel {
        what: "fields of the add-on API with another type",
        reason: Some(Reason::AddonField),
        why: "no policy guards the add-on API; the API server checks the types of fields",
        in_webhook: false,
    },
    NotInCel {
        what: "warnings of the add-on API",
        reason: None,
        why: "no policy guards the add-on API",
        in_webhook: false,
    },
];

/// Where the answers of policies and of the gate differ, as sentences for the documentation.
pub const DIFFERENCES: [&str; 17] = [
    "Malformed objects are refused with the code 422 (`Invalid`) instead of 400 (`BadRequest`): policies have no other code.",
    "A message has one line. What the gate writes on several lines is joined by `; `.",
    "Messages and warnings begin with the API server's words, which name the policy and its binding.",
    "Text with characters that cannot be printed is not shown escaped; its size is shown instead. Long text is cut at 253 \
     characters, not bytes.",
    "Of more than 20 faults, the gate counts those left out; a policy may count repeated ones, or not count.",
    "A stored list that is longer than its limit may stay as it is, or shrink to its limit. The gate lets it shrink less, too. More \
     than 2,000 stored taints may stay, or all be removed.",
    "The policies know the time from metadata.managedFields. They refuse changes of taints by a requester who writes entries with another \
     time there.",
    "If a requester removes metadata.managedFields, new taints get no time until the next server-side apply.",
    "Where a list is too long, the policies refuse only that. The gate names other faults beside it where it need not fill anything in.",
    "The policies count the characters of a ManagedCluster's text, and the gate its bytes.",
    "The gate does not read the values of a selector's requirements beyond the first 1,000. The policies count them.",
    "Beside a refusal of content or of a reserved name, the policies warn, too. The gate warns only beside a denial.",
    "In the warning about the default set, the gate does not know a name that the API server generates.",
    "A change of the selector of a ManagedClusterSet with more than 400 requirements and values counts as widening it: the cost of \
     the comparison is limited.",
    "Where a namespace belongs to a cluster that the hub has just accepted, a ManagedClusterSetBinding is refused as soon as the \
     controller has made the cluster's RoleBindings there.",
    "A question that the authorizer cannot answer refuses the write, as a denial.",
    "What the API server itself refuses, such as a field of another type, is refused in its words.",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, policies};

    /// A part of the message of each reason that a policy gives.
    fn words(reason: Reason) -> Option<&'static str> {
        Some(match reason {
            Reason::ClusterName => "metadata.name format is not correct: ",
            Reason::ReservedName => "is reserved: ",
            Reason::ClientConfigUrl => " is invalid in client configs",
            Reason::ClientConfigCaBundle => " in client configs holds no PEM block",
            Reason::LeaseDuration => "spec.leaseDurationSeconds: Invalid value: ",
            Reason::Taint => "spec.taints: Duplicate value: key ",
            Reason::TaintTimeAdded => "It is not allowed to set TimeAdded of Taint ",
            Reason::WidenSet => " cannot widen the selector of ManagedClusterSet ",
            Reason::SetName => ": must be no more than 63 characters, ",
            Reason::SetSelector => "labelSelector: Required value: ",
            Reason::ListTooLong => ": must have at most 1000 items",
            Reason::ClusterSize => "a ManagedCluster must have at most 65536 bytes",
            Reason::BindingName => "must have the same name as the target ManagedClusterSet",
            Reason::Accept => " cannot update the HubAcceptsClient field",
            Reason::Join => " cannot add/remove a ManagedCluster to/from ManagedClusterSet ",
            Reason::Bind => " is not allowed to bind cluster set ",
            Reason::ClusterNamespace => " belongs to the accepted ManagedCluster ",
            Reason::ForeignRequest => " cannot file a request for ManagedCluster ",
            Reason::AddonRequest => " cannot file an add-on",
            Reason::NamespaceTerminating
            | Reason::BindingsHeld
            | Reason::PlacementName
            | Reason::Misconfigured
            | Reason::PlacementField
            | Reason::WorkName
            | Reason::NoManifests
            | Reason::ManifestsSize
            | Reason::Manifest
            | Reason::DuplicateManifest
            | Reason::ManifestConfig
            | Reason::Executor
            | Reason::ExecuteAs
            | Reason::PlacementRef
            | Reason::RolloutStrategy
            | Reason::WorkField
            | Reason::AddonTemplate
            | Reason::AddonDeploymentConfig
            | Reason::AddonConfigs
            | Reason::AddonField => return None,
        })
    }

    #[test]
    fn every_reason_has_a_policy_or_a_row_that_says_why_not() {
        let printed = serde_json::to_string(&policies(&Options::default())).unwrap();
        for reason in Reason::ALL {
            let excused = NOT_IN_CEL.iter().any(|row| row.reason == Some(reason));
            match words(reason) {
                Some(words) => {
                    assert!(printed.contains(words), "{reason:?}: {words}");
                    assert!(!excused, "{reason:?}");
                }
                None => assert!(excused, "{reason:?}"),
            }
        }
    }
}
