//! The settings of the work agent.

use std::path::PathBuf;
use std::time::Duration;

use berth_work_core::evaluate::FeedbackSettings;

/// Upper bound on the grace period that counts as one; as with OCM, a longer one turns eviction off.
pub const NO_EVICTION: Duration = Duration::from_secs(876_000 * 3600);

/// The default of [`Settings::works_memory`]: half of the memory limit in the manifests.
pub const WORKS_MEMORY: u64 = 64 << 20;

/// The settings of the work agent.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The kubeconfig of the hub. It need not exist yet: the agent waits for it.
    pub hub_kubeconfig: PathBuf,
    /// The name of the cluster: the namespace of its ManifestWorks on the hub. `None`: the content of the file `cluster-name` beside the
    /// kubeconfig, which the registration writes.
    pub cluster_name: Option<String>,
    /// The name of the agent in its AppliedManifestWorks. `None`: the hash of the hub's address.
    pub agent_id: Option<String>,
    /// How long the AppliedManifestWork stays of a ManifestWork that is missing on the hub.
    pub eviction_grace: Duration,
    /// How often objects are read that may not be watched.
    pub poll_interval: Duration,
    /// Upper bound on the bytes of a reported value that is raw JSON.
    pub max_json_raw: usize,
    /// Report structs, lists and numbers with a fraction as raw JSON.
    pub raw_feedback: bool,
    /// Write the objects of ManifestWorks with an executor as the executor.
    pub impersonates_executors: bool,
    /// Upper bound on the requests per second to the managed cluster, and the burst.
    pub managed_limit: Option<(f64, u32)>,
    /// Upper bound on the requests per second to the hub, and the burst.
    pub hub_limit: Option<(f64, u32)>,
    /// Upper bound on the memory of all ManifestWorks together, in bytes, as [`berth_work_core::budget`] estimates it.
    pub works_memory: u64,
    /// The namespace of the agent. ManifestWorks with an executor cannot write objects in it.
    pub namespace: String,
    /// The name of this process in Events.
    pub instance: String,
}

// === impl Settings ===

impl Settings {
    /// Those of an agent without flags, but for the kubeconfig of its hub and its name in Events.
    #[must_use]
    pub fn new(hub_kubeconfig: PathBuf, instance: &str) -> Self {
        Self {
            hub_kubeconfig,
            cluster_name: None,
            agent_id: None,
            eviction_grace: Duration::from_secs(3600),
            poll_interval: Duration::from_secs(10),
            max_json_raw: 1024,
            raw_feedback: false,
            impersonates_executors: false,
            managed_limit: None,
            hub_limit: None,
            works_memory: WORKS_MEMORY,
            namespace: "open-cluster-management-agent".to_owned(),
            instance: instance.to_owned(),
        }
    }

    /// The part that decides.
    pub(crate) fn core(&self) -> berth_work_agent_core::Settings {
        berth_work_agent_core::Settings {
            eviction_grace: self.eviction_grace,
            poll_interval: self.poll_interval,
            impersonates_executors: self.impersonates_executors,
            namespace: self.namespace.clone(),
            feedback: FeedbackSettings {
                raw: self.raw_feedback,
                max_raw: self.max_json_raw,
            },
            works_memory: self.works_memory,
        }
    }
}
