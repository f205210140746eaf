//! `berth work agent`: the built binary, on a managed cluster, with ManifestWorks on a hub.

mod absences;
mod adopting;
mod applying;
mod changing;
mod conditions;
mod custom;
mod deleting;
mod deployments;
mod dropping;
mod escalation;
mod evicting;
mod executing;
mod finalizers;
mod grants_model;
mod ignoring;
mod kills;
mod labels;
mod moving;
mod polling;
mod refusing;
mod reporting;
mod restarting;
mod resting;
mod sharing;
mod strategies;
mod trouble;
pub mod world;
