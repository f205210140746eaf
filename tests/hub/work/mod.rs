//! `berth work agent`: the built binary, on a managed cluster, with ManifestWorks on a hub.

mod adopting;
mod applying;
mod deleting;
mod evicting;
mod executing;
mod kills;
mod labels;
mod resting;
mod strategies;
mod world;
