//! What the hub's controllers know of add-ons: the objects that were watched, without what decides nothing.

mod add_on;
mod binding;
mod cluster;
mod on_cluster;
mod placed;
mod request;
mod work;

pub use add_on::AddOn;
pub use binding::{add_on_of, binding};
pub use cluster::Cluster;
pub use on_cluster::{NOT_ACCEPTED, OnCluster};
pub use placed::{Placed, PlacedState, Selection, selection};
pub use request::Request;
pub use work::Work;
