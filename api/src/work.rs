//! The work API (`work.open-cluster-management.io`): objects that the hub has applied on managed clusters.
//!
//! All kinds are read and written as leniently as [`ManagedCluster`](crate::cluster::ManagedCluster). Manifests are kept as they are
//! written; see [`Manifest`].

mod applied;
mod config;
mod manifest;
mod manifest_work;
mod replica_set;
mod status;

pub use applied::{
    AppliedManifestResourceMeta, AppliedManifestWork, AppliedManifestWorkSpec,
    AppliedManifestWorkStatus,
};
pub use config::{
    ConditionRule, ConditionRuleType, FeedbackRule, FeedbackScrapeType, FeedbackType, IgnoreField,
    IgnoreFieldsCondition, JsonPath, ManifestConfigOption, ServerSideApplyConfig, UpdateStrategy,
    UpdateStrategyType,
};
pub use manifest::Manifest;
pub use manifest_work::{
    DeleteOption, DeletePropagationPolicy, ExecutorSubjectType, ManifestWork, ManifestWorkExecutor,
    ManifestWorkExecutorSubject, ManifestWorkSpec, ManifestWorkSubjectServiceAccount,
    ManifestsTemplate, ResourceIdentifier, SelectivelyOrphan,
};
pub use replica_set::{
    CascadeDeletionPolicy, LocalPlacementReference, ManifestWorkReplicaSet,
    ManifestWorkReplicaSetSpec, ManifestWorkReplicaSetStatus, ManifestWorkReplicaSetSummary,
    PlacementSummary,
};
pub use status::{
    FeedbackValue, FieldValue, ManifestCondition, ManifestResourceMeta, ManifestResourceStatus,
    ManifestWorkStatus, StatusFeedbackResult, ValueType,
};

/// The field manager of the agent's writes, unless the update strategy of a manifest names another one, which begins with this.
pub const FIELD_MANAGER: &str = "work-agent";
