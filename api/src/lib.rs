//! Berth: the stored types of the hub, their names, labels, conditions and selectors.
//!
//! Everything here is a value or a pure function of values: no client, no clock, no I/O. What OCM's agents, tools and
//! manifests rely on (names, schemas, defaults) is the same here as there.

pub mod agents;
pub mod cluster;
pub mod cluster_claim;
pub mod cluster_set;
pub mod cluster_set_binding;
pub mod conditions;
pub mod crds;
pub mod groups;
pub mod labels;
pub mod lenient;
pub mod names;
pub mod plan;
pub mod reserved;
pub mod room;
pub mod selector;
pub mod text;

mod now;
mod resource;
mod schema;
mod wire;

pub use cluster::ManagedCluster;
pub use cluster_claim::ClusterClaim;
pub use cluster_set::ManagedClusterSet;
pub use cluster_set_binding::ManagedClusterSetBinding;
pub use now::Now;
pub use resource::GroupVersionResource;
