//! The settings of the agent.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use berth_agent_core::addons::Driver;
use berth_agent_core::claims::ClaimSettings;
use berth_agent_core::cluster::Wish;
use jiff::{SignedDuration, Timestamp};

/// The version that the agent reports.
pub const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// The settings of the agent.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The name of the cluster. `None`: the one in the hub Secret, else a new UUID.
    pub cluster_name: Option<String>,
    /// The name of the agent. `None`: the one in the hub Secret, else a new one.
    pub agent_name: Option<String>,
    /// The namespace of the agent's Secrets.
    pub namespace: String,
    /// The Secret with the agent's identity for the hub.
    pub hub_secret: String,
    /// The folder that gets the content of this Secret.
    pub folder: PathBuf,
    /// The bootstrap kubeconfigs: of the hub, or of several hubs, the preferred ones first. Not empty.
    pub bootstraps: Vec<PathBuf>,
    /// With several hubs: how long one may not manage the cluster before the agent goes to another.
    pub hub_timeout: Duration,
    /// The ManagedCluster that the agent creates.
    pub wish: Wish,
    /// The lifetime of certificates to ask for. `None` leaves it to the signer.
    pub expiration_seconds: Option<i32>,
    /// The interval of probes of the managed cluster's API server.
    pub probe_period: Duration,
    /// Which claims are reported.
    pub claims: ClaimSettings,
    /// Report ClusterClaims. If false, and [`Settings::cluster_properties`] is, too, the hub's claims stay as they are.
    pub cluster_claims: bool,
    /// Report ClusterProperties (about.k8s.io).
    pub cluster_properties: bool,
    /// Register add-ons in this way, and report their health. `None`: leave them alone.
    pub addons: Option<Driver>,
    /// The name of this process in Events.
    pub instance: String,
    /// The clock by which the agent dates the cluster's Lease.
    pub clock: Clock,
}

// === impl Settings ===

impl Settings {
    /// Those of an agent without flags, but for its bootstrap kubeconfig, its folder and its name in Events. It leaves add-ons alone.
    #[must_use]
    pub fn new(bootstrap: PathBuf, folder: PathBuf, instance: &str) -> Self {
        Self {
            cluster_name: None,
            agent_name: None,
            namespace: "open-cluster-management-agent".to_owned(),
            hub_secret: "hub-kubeconfig-secret".to_owned(),
            folder,
            bootstraps: vec![bootstrap],
            hub_timeout: Duration::from_secs(600),
            wish: Wish::default(),
            expiration_seconds: None,
            probe_period: Duration::from_secs(60),
            claims: ClaimSettings {
                agent_version: Some(VERSION.to_owned()),
                ..ClaimSettings::default()
            },
            cluster_claims: true,
            cluster_properties: false,
            addons: None,
            instance: instance.to_owned(),
            clock: Clock::default(),
        }
    }
}

/// The machine's clock, or one that is off, so that a hub can be tried with it. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// In milliseconds.
    off_by: Arc<AtomicI64>,
}

// === impl Clock ===

impl Clock {
    /// From now on the clock is off by this.
    pub fn set_off(&self, by: SignedDuration) {
        let by = i64::try_from(by.as_millis()).unwrap_or_default();
        self.off_by.store(by, Ordering::Relaxed);
    }

    pub(crate) fn now(&self) -> Timestamp {
        let by = SignedDuration::from_millis(self.off_by.load(Ordering::Relaxed));
        let now = Timestamp::now();
        now.saturating_add(by).unwrap_or(now)
    }
}
