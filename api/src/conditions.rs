//! Condition types and reasons in the status of this crate's kinds.
//!
//! Each kind has its own module. Reasons follow the condition type that they explain. The names are OCM's, because `kubectl wait`,
//! dashboards and agents rely on them, unless the documentation says otherwise.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// Go's zero time, which Kubernetes treats as a missing time.
pub(crate) const NO_TIME: Timestamp = Timestamp::constant(-62_135_596_800, 0);

/// A condition with this status and reason, since then.
pub fn new(
    type_: &str,
    (status, reason): (&str, &str),
    message: impl Into<String>,
    since: Timestamp,
) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.into(),
        last_transition_time: Time(since),
        observed_generation: None,
    }
}

/// Returns the condition of this type.
pub fn condition_of<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|it| it.type_ == type_)
}

/// Returns the time since which the condition has this status; `None` if it has another status or its time is missing.
pub fn since(condition: Option<&Condition>, status: &str) -> Option<Time> {
    condition
        .filter(|old| old.status == status && old.last_transition_time.0 != NO_TIME)
        .map(|old| old.last_transition_time.clone())
}

/// Inserts a condition, or replaces the one of the same type; its time stays if the status stays. Returns `None` if nothing
/// changes.
pub fn with_condition(conditions: &[Condition], condition: Condition) -> Option<Vec<Condition>> {
    let at = (conditions.iter()).position(|old| old.type_ == condition.type_);
    let old = at.and_then(|at| conditions.get(at));
    let is_same = |old: &Condition| {
        (&old.status, &old.reason, &old.message)
            == (&condition.status, &condition.reason, &condition.message)
    };
    if old.is_some_and(is_same) {
        return None;
    }
    let mut new = condition;
    if let Some(since) = since(old, &new.status) {
        new.last_transition_time = since;
    }
    let mut conditions = conditions.to_vec();
    match at.and_then(|at| conditions.get_mut(at)) {
        Some(old) => *old = new,
        None => conditions.push(new),
    }
    Some(conditions)
}

/// `status` of a condition that is true.
pub const TRUE: &str = "True";
/// `status` of a condition that is false.
pub const FALSE: &str = "False";
/// `status` of a condition that is unknown.
pub const UNKNOWN: &str = "Unknown";

/// Conditions of a ManagedCluster.
pub mod cluster {
    /// A hub admin accepted the cluster, and its objects on the hub exist.
    pub const HUB_ACCEPTED: &str = "HubAcceptedManagedCluster";
    /// Reason of [`HUB_ACCEPTED`]: true.
    pub const HUB_CLUSTER_ADMIN_ACCEPTED: &str = "HubClusterAdminAccepted";
    /// Reason of [`HUB_ACCEPTED`]: false, a hub admin denied the cluster.
    pub const HUB_CLUSTER_ADMIN_DENIED: &str = "HubClusterAdminDenied";
    /// Reason of [`HUB_ACCEPTED`]: false, an object of the cluster on the hub could not be set up.
    pub const ERROR: &str = "Error";

    /// The agent has connected to the hub with its own credentials. Written by the agent.
    pub const JOINED: &str = "ManagedClusterJoined";

    /// The managed cluster is available. The agent writes True and False, the hub writes Unknown.
    pub const AVAILABLE: &str = "ManagedClusterConditionAvailable";
    /// Reason of [`AVAILABLE`]: unknown, the agent stopped renewing its lease.
    pub const LEASE_UPDATE_STOPPED: &str = "ManagedClusterLeaseUpdateStopped";

    /// The clocks of the managed cluster and of the hub agree.
    pub const CLOCK_SYNCED: &str = "ManagedClusterConditionClockSynced";
    /// Reason of [`CLOCK_SYNCED`]: true.
    pub const CLOCK_IN_SYNC: &str = "ManagedClusterClockSynced";
    /// Reason of [`CLOCK_SYNCED`]: false.
    pub const CLOCK_OUT_OF_SYNC: &str = "ManagedClusterClockOutOfSync";

    /// Progress of the cleanup of a deleted cluster.
    pub const DELETING: &str = "Deleting";
    /// Reason of [`DELETING`]: false, objects are left in the cluster's namespace.
    pub const RESOURCE_REMAINING: &str = "ResourceRemaining";

    /// Reason of [`DELETING`]: true, no objects are left.
    pub const NO_RESOURCE: &str = "NoResource";
    /// Reason of [`DELETING`]: false, the cleanup failed and will be retried.
    pub const DELETING_ERROR: &str = "DeletingError";

    /// All fields of the ManagedCluster can be parsed. Written only to a cluster that had an unreadable field. Not in OCM.
    pub const READABLE: &str = "ManagedClusterReadable";
    /// Reason of [`READABLE`]: true.
    pub const ALL_FIELDS_READABLE: &str = "AllFieldsReadable";
    /// Reason of [`READABLE`]: false. The message names the fields.
    pub const UNREADABLE_FIELDS: &str = "UnreadableFields";
}

/// Conditions of a ManagedClusterSet.
pub mod cluster_set {
    /// No cluster belongs to the set.
    pub const EMPTY: &str = "ClusterSetEmpty";
    /// Reason of [`EMPTY`]: true.
    pub const NO_CLUSTER_MATCHED: &str = "NoClusterMatched";
    /// Reason of [`EMPTY`]: false.
    pub const CLUSTERS_SELECTED: &str = "ClustersSelected";
    /// Reason of [`EMPTY`]: unknown, the selector is invalid. Not in OCM.
    pub const INVALID_SELECTOR: &str = "InvalidClusterSelector";
}

/// Conditions of a ManagedClusterSetBinding.
pub mod cluster_set_binding {
    /// The binding has effect.
    pub const BOUND: &str = "Bound";
    /// Reason of [`BOUND`]: true.
    pub const CLUSTER_SET_BOUND: &str = "ClusterSetBound";
    /// Reason of [`BOUND`]: false, the set does not exist.
    pub const CLUSTER_SET_NOT_FOUND: &str = "ClusterSetNotFound";
    /// Reason of [`BOUND`]: false, the namespace belongs to an accepted ManagedCluster. Not in OCM.
    pub const NAMESPACE_BELONGS_TO_CLUSTER: &str = "NamespaceBelongsToCluster";
}

/// Conditions of a Placement.
pub mod placement {
    /// As many clusters are selected as the Placement asks for.
    pub const SATISFIED: &str = "PlacementSatisfied";
    /// Reason of [`SATISFIED`]: true.
    pub const ALL_DECISIONS_SCHEDULED: &str = "AllDecisionsScheduled";
    /// Reason of [`SATISFIED`]: false, fewer clusters are selected than the Placement asks for.
    pub const NOT_ALL_DECISIONS_SCHEDULED: &str = "NotAllDecisionsScheduled";
    /// Reason of [`SATISFIED`]: false, no existing set is bound to the namespace.
    pub const NO_BINDINGS: &str = "NoManagedClusterSetBindings";
    /// Reason of [`SATISFIED`]: false, the Placement names sets, and none of them is bound to the namespace.
    pub const NO_INTERSECTION: &str = "NoIntersection";
    /// Reason of [`SATISFIED`]: false, the sets have no clusters.
    pub const ALL_SETS_EMPTY: &str = "AllManagedClusterSetsEmpty";
    /// Reason of [`SATISFIED`]: false, no cluster of the sets is selected.
    pub const NO_CLUSTER_MATCHED: &str = "NoManagedClusterMatched";

    /// The spec of the Placement is invalid.
    pub const MISCONFIGURED: &str = "PlacementMisconfigured";
    /// Reason of [`MISCONFIGURED`]: true. The message names the mistake.
    pub const REASON_MISCONFIGURED: &str = "Misconfigured";
    /// Reason of [`MISCONFIGURED`]: false.
    pub const SUCCEEDED: &str = "Succeedconfigured";
}

/// Conditions of a ManifestWork. Its condition rules add others.
pub mod manifest_work {
    /// All objects are applied.
    pub const APPLIED: &str = "Applied";
    /// Reason of [`APPLIED`]: true.
    pub const APPLIED_COMPLETE: &str = "AppliedManifestWorkComplete";
    /// Reason of [`APPLIED`]: false.
    pub const APPLIED_FAILED: &str = "AppliedManifestWorkFailed";
    /// Reason of [`APPLIED`]: false, the agent does not carry out the work, since it exceeds the agent's memory. Not in OCM.
    pub const TOO_LARGE: &str = "AppliedManifestWorkTooLarge";

    /// All objects exist on the cluster.
    pub const AVAILABLE: &str = "Available";
    /// Reason of [`AVAILABLE`]: true.
    pub const RESOURCES_AVAILABLE: &str = "ResourcesAvailable";
    /// Reason of [`AVAILABLE`]: false, an object does not exist.
    pub const RESOURCES_NOT_AVAILABLE: &str = "ResourcesNotAvailable";
    /// Reason of [`AVAILABLE`]: unknown, an object could not be read.
    pub const RESOURCES_STATUS_UNKNOWN: &str = "ResourcesStatusUnknown";

    /// The ManifestWork is being deleted.
    pub const DELETING: &str = "Deleting";
    /// Reason of [`DELETING`]: true.
    pub const WORK_DELETING: &str = "WorkDeleting";

    /// The objects are changing. Read by rollouts. Set by condition rules, or else by rules of the agent for common kinds, which OCM does not
    /// have.
    pub const PROGRESSING: &str = "Progressing";
    /// The objects do not work as they should. Read by rollouts. Set as [`PROGRESSING`].
    pub const DEGRADED: &str = "Degraded";
    /// The work is done: its objects are not updated any more. Set by condition rules.
    pub const COMPLETE: &str = "Complete";
    /// An admin of the cluster holds the work back. Not in OCM.
    pub const HELD: &str = "Held";
    /// Reason of [`HELD`]: true, changes of the hub are not applied.
    pub const CHANGES_HELD: &str = "ChangesHeld";
    /// Reason of [`HELD`]: true, nothing is written to the cluster.
    pub const ALL_HELD: &str = "AllHeld";
    /// Objects differ from their manifests. Also a condition of the objects. Not in OCM.
    pub const DRIFTED: &str = "Drifted";
    /// Reason of a condition that condition rules set.
    pub const CONDITION_RULES_AGGREGATED: &str = "ConditionRulesAggregated";
}

/// Conditions of an object of a ManifestWork. Its condition rules add others.
pub mod manifest {
    /// The object is applied.
    pub const APPLIED: &str = "Applied";
    /// Reason of [`APPLIED`]: true.
    pub const APPLIED_COMPLETE: &str = "AppliedManifestComplete";
    /// Reason of [`APPLIED`]: false.
    pub const APPLIED_FAILED: &str = "AppliedManifestFailed";
    /// Reason of [`APPLIED`]: false, an ignored field of the update strategy is invalid.
    pub const IGNORE_FIELD_ERROR: &str = "AppliedManifestSSAIgnoreFieldError";

    /// The object exists on the cluster.
    pub const AVAILABLE: &str = "Available";
    /// Reason of [`AVAILABLE`]: true.
    pub const RESOURCE_AVAILABLE: &str = "ResourceAvailable";
    /// Reason of [`AVAILABLE`]: false.
    pub const RESOURCE_NOT_AVAILABLE: &str = "ResourceNotAvailable";
    /// Reason of [`AVAILABLE`]: unknown, the manifest does not identify an object.
    pub const INCOMPLETE_RESOURCE_META: &str = "IncompleteResourceMeta";
    /// Reason of [`AVAILABLE`]: unknown, the object could not be read.
    pub const FETCHING_RESOURCE_FAILED: &str = "FetchingResourceFailed";

    /// The fields of the feedback rules are reported. Also the reason if true.
    pub const STATUS_FEEDBACK_SYNCED: &str = "StatusFeedbackSynced";
    /// Reason of [`STATUS_FEEDBACK_SYNCED`]: true, no field is to be reported.
    pub const NO_STATUS_FEEDBACK_SYNCED: &str = "NoStatusFeedbackSynced";
    /// Reason of [`STATUS_FEEDBACK_SYNCED`]: false, a field could not be reported.
    pub const STATUS_FEEDBACK_SYNC_FAILED: &str = "StatusFeedbackSyncFailed";

    /// Prefix of the reasons of conditions that condition rules set.
    pub const CONDITION_RULE_PREFIX: &str = "ConditionRule";
    /// Reason of a condition that a rule sets: the rule was evaluated.
    pub const CONDITION_RULE_EVALUATED: &str = "ConditionRuleEvaluated";
    /// Reason of a condition that a rule sets: the rule is invalid.
    pub const CONDITION_RULE_INVALID: &str = "ConditionRuleInvalid";
    /// Reason of a condition that a rule sets: an expression of the rule is invalid, or failed.
    pub const CONDITION_RULE_EXPRESSION_ERROR: &str = "ConditionRuleExpressionError";
    /// Reason of a condition that a rule of the agent sets. Not in OCM, whose agent removes these conditions as those of its own rules.
    pub const CONDITION_RULE_BUILT_IN: &str = "ConditionRuleBuiltIn";
    /// Reason of a condition that a rule sets: the rule could not be evaluated for another reason.
    pub const CONDITION_RULE_INTERNAL_ERROR: &str = "ConditionRuleInternalError";
}

/// Conditions of a ManagedClusterAddOn.
pub mod addon {
    /// The agent of the add-on works.
    pub const AVAILABLE: &str = "Available";
    /// Something of the add-on does not work as it should.
    pub const DEGRADED: &str = "Degraded";
    /// The add-on is being installed or changed; false if that waits, failed, or is done: the reason says which. Also the reason if true.
    pub const PROGRESSING: &str = "Progressing";
    /// Reason of [`PROGRESSING`]: false, the add-on has the configs that it is to have.
    pub const COMPLETED: &str = "Completed";
    /// Reason of [`PROGRESSING`]: false, the manifests of the add-on cannot be made or applied.
    pub const FAILED: &str = "Failed";
    /// Reason of [`PROGRESSING`]: false, a config of the ManagedClusterAddOn is of a kind that the add-on does not support.
    pub const CONFIGURATION_UNSUPPORTED: &str = "ConfigurationUnsupported";
    /// Reason of [`PROGRESSING`]: false, the add-on's manager has not reported [`MANIFEST_APPLIED`] yet.
    pub const WAITING_FOR_MANIFEST_APPLIED: &str = "WaitingForManifestApplied";
    /// Reason of [`PROGRESSING`]: false, the add-on's manager has not reported [`HOSTING_MANIFEST_APPLIED`] yet.
    pub const WAITING_FOR_HOSTING_MANIFEST_APPLIED: &str = "WaitingForHostingManifestApplied";
    /// Reason of [`PROGRESSING`] of an install progression: false, its rollout strategy is invalid. Not in OCM.
    pub const ROLLOUT_STRATEGY_INVALID: &str = "RolloutStrategyInvalid";

    /// The ManagedClusterAddOn names the configs that the add-on is to have.
    pub const CONFIGURED: &str = "Configured";
    /// Reason of [`CONFIGURED`]: true.
    pub const CONFIGURATIONS_CONFIGURED: &str = "ConfigurationsConfigured";
    /// Reason of [`CONFIGURED`]: false, the cluster waits for its turn in the rollout.
    pub const CONFIGURATIONS_NOT_CONFIGURED: &str = "ConfigurationsNotConfigured";

    /// It is known as whom the agents of the add-on act on the hub, and they have their permissions. Written by the add-on's manager.
    pub const REGISTRATION_APPLIED: &str = "RegistrationApplied";
    /// Reason of [`REGISTRATION_APPLIED`]: true.
    pub const SET_PERMISSION_APPLIED: &str = "SetPermissionApplied";
    /// Reason of [`REGISTRATION_APPLIED`]: false, the hub cannot give the permissions.
    pub const SET_PERMISSION_FAILED: &str = "SetPermissionFailed";
    /// Reason of [`REGISTRATION_APPLIED`]: false, the agent has not said yet as whom it acts, the cluster is not accepted, or the RoleBindings are not written yet.
    pub const PERMISSION_CONFIG_PENDING: &str = "PermissionConfigPending";

    /// The agents of the add-on can ask for tokens of their service account. While it is true, its message has the uid of the
    /// account, as `(UID: <uid>)`: agents read it there.
    pub const TOKEN_INFRASTRUCTURE_READY: &str = "TokenInfrastructureReady";
    /// Reason of [`TOKEN_INFRASTRUCTURE_READY`]: false, the hub cannot make the service account or the right.
    pub const TOKEN_INFRASTRUCTURE_APPLY_FAILED: &str = "TokenInfrastructureApplyFailed";

    /// The manifests of the add-on are applied. Written by the add-on's manager.
    pub const MANIFEST_APPLIED: &str = "ManifestApplied";
    /// Reason of [`MANIFEST_APPLIED`]: true.
    pub const ADDON_MANIFEST_APPLIED: &str = "AddonManifestApplied";
    /// Reason of [`MANIFEST_APPLIED`]: false, the cluster cannot apply them.
    pub const ADDON_MANIFEST_APPLIED_FAILED: &str = "AddonManifestAppliedFailed";
    /// The manifests of the add-on in its hosting cluster are applied. Written by the add-on's manager.
    pub const HOSTING_MANIFEST_APPLIED: &str = "HostingManifestApplied";
    /// The cluster that is to host the agent of the add-on exists.
    pub const HOSTING_CLUSTER_VALIDITY: &str = "HostingClusterValidity";
    /// Reason of [`HOSTING_CLUSTER_VALIDITY`]: true.
    pub const HOSTING_CLUSTER_VALID: &str = "HostingClusterValid";
    /// Reason of [`HOSTING_CLUSTER_VALIDITY`]: false.
    pub const HOSTING_CLUSTER_INVALID: &str = "HostingClusterInvalid";
    /// Reason of [`MANIFEST_APPLIED`] and [`HOSTING_MANIFEST_APPLIED`]: false, the manifests could not be made, or the ManifestWork not be
    /// written.
    pub const MANIFEST_WORK_APPLY_FAILED: &str = "ManifestWorkApplyFailed";
}

/// Conditions of a ManifestWorkReplicaSet.
pub mod manifest_work_replica_set {
    /// The placements exist and select clusters.
    pub const PLACEMENT_VERIFIED: &str = "PlacementVerified";
    /// Reason of [`PLACEMENT_VERIFIED`]: false, a placement does not exist.
    pub const PLACEMENT_DECISION_NOT_FOUND: &str = "PlacementDecisionNotFound";
    /// Reason of [`PLACEMENT_VERIFIED`] and [`MANIFESTWORK_APPLIED`]: false, no cluster is selected.
    pub const PLACEMENT_DECISION_EMPTY: &str = "PlacementDecisionEmpty";

    /// The rollout of the template is complete.
    pub const PLACEMENT_ROLLED_OUT: &str = "PlacementRolledOut";
    /// Reason of [`PLACEMENT_ROLLED_OUT`]: true.
    pub const COMPLETE: &str = "Complete";
    /// Reason of [`PLACEMENT_ROLLED_OUT`]: false.
    pub const PROGRESSING: &str = "Progressing";
    /// Reason of [`PLACEMENT_ROLLED_OUT`]: false, an annotation pauses the rollouts. Not in OCM.
    pub const PAUSED: &str = "Paused";

    /// A step of a rollout waits for an approval. Only with the annotation that requires one. Also the reason of
    /// [`PLACEMENT_ROLLED_OUT`]: false, for that. Not in OCM.
    pub const APPROVAL_PENDING: &str = "ApprovalPending";
    /// Reason of [`APPROVAL_PENDING`]: true.
    pub const STEP_NOT_APPROVED: &str = "StepNotApproved";
    /// Reason of [`APPROVAL_PENDING`]: false.
    pub const NOTHING_WAITS: &str = "NothingWaits";

    /// The ManifestWorks are available. The lower case `w` is OCM's.
    pub const MANIFESTWORK_APPLIED: &str = "ManifestworkApplied";
    /// Reason of [`MANIFESTWORK_APPLIED`] and [`PLACEMENT_VERIFIED`]: true.
    pub const AS_EXPECTED: &str = "AsExpected";
    /// Reason of [`MANIFESTWORK_APPLIED`]: false, a ManifestWork is degraded or not available. Reason of [`PLACEMENT_VERIFIED`]: false,
    /// the rollout could not be decided.
    pub const NOT_AS_EXPECTED: &str = "NotAsExpected";
    /// Reason of [`MANIFESTWORK_APPLIED`]: false, ManifestWorks are being applied.
    pub const PROCESSING: &str = "Processing";
    /// Reason of [`MANIFESTWORK_APPLIED`]: false, namespace and name do not fit in the label that marks the ManifestWorks.
    pub const INVALID_MANIFEST_WORK_NAME: &str = "InvalidManifestWorkName";
}

/// Conditions of a ClusterManager and of a Klusterlet.
pub mod operator {
    /// All objects are written.
    pub const APPLIED: &str = "Applied";
    /// Of a ClusterManager: its Deployments are rolled out; true while they are not.
    pub const PROGRESSING: &str = "Progressing";
    /// Of a Klusterlet whose agent manages another cluster than its own: that one can be reached.
    pub const READY_TO_APPLY: &str = "ReadyToApply";
    /// Of a Klusterlet: its agents run.
    pub const AVAILABLE: &str = "Available";
    /// All feature gates exist; unknown ones are ignored.
    pub const VALID_FEATURE_GATES: &str = "ValidFeatureGates";
    /// Everything that is set has an effect. OCM has no such condition.
    pub const SETTINGS_SUPPORTED: &str = "SettingsSupported";
    /// The registration of clusters does not work as it should.
    pub const HUB_REGISTRATION_DEGRADED: &str = "HubRegistrationDegraded";
    /// Placements do not work as they should.
    pub const HUB_PLACEMENT_DEGRADED: &str = "HubPlacementDegraded";
    /// Of a ClusterManager: all objects are stored in versions that its hub has.
    pub const MIGRATION_SUCCEEDED: &str = "MigrationSucceeded";
    /// Of a Klusterlet: the agent cannot do at its hub what it has to.
    pub const HUB_CONNECTION_DEGRADED: &str = "HubConnectionDegraded";
    /// Of a Klusterlet: replicas of the registration agent are missing.
    pub const REGISTRATION_DESIRED_DEGRADED: &str = "RegistrationDesiredDegraded";
    /// Of a Klusterlet: replicas of the work agent are missing.
    pub const WORK_DESIRED_DEGRADED: &str = "WorkDesiredDegraded";
}
