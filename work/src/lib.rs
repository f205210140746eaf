//! ManifestWorks, on both sides: the agent that carries them out on a managed cluster ([`agent`]), and the hub's controller that makes
//! them of ManifestWorkReplicaSets ([`hub`]).

pub mod agent;
pub mod hub;
