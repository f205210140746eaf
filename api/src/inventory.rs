//! The inventory API of SIG-Multicluster (`multicluster.x-k8s.io/v1alpha1`), by which tools that do not know OCM find clusters and
//! decisions about them.
//!
//! Its `PlacementDecision` is another kind than OCM's [`PlacementDecision`](crate::PlacementDecision).

mod cluster_profile;
mod placement_decision;

pub use cluster_profile::{
    AccessProvider, Cluster, ClusterManager, ClusterProfile, ClusterProfileSpec,
    ClusterProfileStatus, ClusterVersion, NamedExtension, Property,
};
pub(crate) use placement_decision::definition;
pub use placement_decision::{ClusterDecision, ClusterProfileReference, LIMIT, PlacementDecision};

/// The API group.
pub const GROUP: &str = "multicluster.x-k8s.io";
/// The version of both kinds.
pub const VERSION: &str = "v1alpha1";
/// Resource name of `ClusterProfile`.
pub const CLUSTER_PROFILES: &str = "clusterprofiles";
/// Resource name of `PlacementDecision`.
pub const PLACEMENT_DECISIONS: &str = "placementdecisions";

/// The name of the cluster manager of OCM's and our ClusterProfiles: in `spec.clusterManager.name`, and in [`MANAGER`].
pub const OPEN_CLUSTER_MANAGEMENT: &str = "open-cluster-management";

/// Label on a ClusterProfile: the name of its cluster manager.
pub const MANAGER: &str = "x-k8s.io/cluster-manager";
/// Label on a ClusterProfile: the exclusive set of the cluster. Empty without one.
pub const CLUSTER_SET: &str = "multicluster.x-k8s.io/clusterset";
/// Label on a PlacementDecision: the decision that it is a slice of.
pub const DECISION_KEY: &str = "multicluster.x-k8s.io/decision-key";
/// Label on a PlacementDecision: its position among the slices of its decision, from 0.
pub const DECISION_INDEX: &str = "multicluster.x-k8s.io/decision-index";
/// Label on a PlacementDecision: what the decision was made for.
pub const PLACEMENT_KEY: &str = "multicluster.x-k8s.io/placement-key";

/// Condition of a ClusterProfile: the control plane of the cluster works.
pub const CONTROL_PLANE_HEALTHY: &str = "ControlPlaneHealthy";
/// Condition of a ClusterProfile: the cluster has joined the hub. OCM's own.
pub const JOINED: &str = "Joined";
