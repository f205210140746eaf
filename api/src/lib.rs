//! Berth: the stored types of the hub, their names, labels, conditions and selectors.
//!
//! This crate contains values and pure functions: no client, no clock, no I/O. Names, schemas and defaults are those of OCM, because
//! OCM's agents, tools and manifests rely on them.

pub mod addon;
pub mod addon_placement_score;
pub mod agents;
pub mod certificate_request;
pub mod clocks;
pub mod cluster;
pub mod cluster_claim;
pub mod cluster_set;
pub mod cluster_set_binding;
pub mod conditions;
pub mod crds;
pub mod groups;
pub mod inventory;
pub mod labels;
pub mod lenient;
pub mod names;
pub mod operator;
pub mod path;
pub mod placement;
pub mod placement_decision;
pub mod plan;
pub mod quantity;
pub mod reserved;
pub mod rollout;
pub mod room;
pub mod selector;
pub mod text;
pub mod token;
pub mod work;

mod now;
mod resource;
mod schema;
mod webhook;
mod wire;

pub use addon_placement_score::AddOnPlacementScore;
pub use cluster::ManagedCluster;
pub use cluster_claim::ClusterClaim;
pub use cluster_set::ManagedClusterSet;
pub use cluster_set_binding::ManagedClusterSetBinding;
pub use now::Now;
pub use placement::Placement;
pub use placement_decision::PlacementDecision;
pub use resource::GroupVersionResource;
pub use webhook::Webhook;
pub use work::{AppliedManifestWork, ManifestWork, ManifestWorkReplicaSet};
