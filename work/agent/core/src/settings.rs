//! The settings and names of the agent that decide.

use std::time::Duration;

use berth_work_core::evaluate::FeedbackSettings;

/// The settings that decide.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long the AppliedManifestWork stays of a ManifestWork that is missing on the hub.
    pub eviction_grace: Duration,
    /// How often objects are read that may not be watched.
    pub poll_interval: Duration,
    /// Write the objects of ManifestWorks with an executor as the executor.
    pub impersonates_executors: bool,
    /// The namespace of the agent. ManifestWorks with an executor cannot write objects in it.
    pub namespace: String,
    /// What values are reported, and in which form.
    pub feedback: FeedbackSettings,
    /// Upper bound on the memory of all ManifestWorks together, in bytes, as [`berth_work_core::budget`] estimates it.
    pub works_memory: u64,
}

/// The names of the agent and its hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// SHA-256 of the hub's address, in hexadecimal: the beginning of the names of AppliedManifestWorks.
    pub hub_hash: String,
    /// The name of the cluster on the hub.
    pub cluster: String,
    /// The name of the agent in AppliedManifestWorks.
    pub agent_id: String,
}
