//! What the hub's controllers know of add-ons: the objects that were watched, without what decides nothing.

mod add_on;
mod cluster;
mod on_cluster;
mod placed;
mod work;

pub use add_on::AddOn;
pub use cluster::Cluster;
pub use on_cluster::OnCluster;
pub use placed::{Placed, PlacedState, Selection, selection};
pub use work::Work;
