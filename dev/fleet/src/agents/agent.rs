//! One agent, and its cluster, which outlives it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use berth_agent::{Clock, Clusters, Counts, Settings, Standing};
use berth_agent_core::registered::HubStanding;
use berth_reconcile::Metrics;
use prometheus::Registry;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::managed::ManagedCluster;

/// What all agents share.
pub(crate) struct Common {
    pub(crate) folder: PathBuf,
    pub(crate) metrics: Metrics,
    pub(crate) nodes: usize,
}

/// An agent, and its cluster.
pub(crate) struct Agent {
    settings: Settings,
    cluster: Arc<ManagedCluster>,
    standing: Standing,
    stop: CancellationToken,
    task: JoinHandle<()>,
    pub(crate) started: Instant,
}

// === impl Agent ===

impl Agent {
    /// Starts an agent on a new cluster, with this bootstrap kubeconfig.
    pub(crate) fn start(common: &Common, number: usize, bootstrap: PathBuf) -> Result<Self> {
        let name = crate::hub::name(number);
        let settings = Settings {
            cluster_name: Some(name.clone()),
            ..Settings::new(bootstrap, common.folder.join(&name), &name)
        };
        let cluster = Arc::new(ManagedCluster::new(&name, common.nodes));
        let mut agent = Self {
            settings,
            cluster,
            standing: Standing::new(),
            stop: CancellationToken::new(),
            task: tokio::spawn(async {}),
            started: Instant::now(),
        };
        agent.restart(common)?;
        Ok(agent)
    }

    /// Starts the agent on the cluster as it is.
    pub(crate) fn restart(&mut self, common: &Common) -> Result<()> {
        self.standing = Standing::new();
        self.stop = CancellationToken::new();
        let api = ManagedCluster::api(&self.cluster);
        let clusters = Clusters {
            management: api.clone(),
            managed: api,
        };
        let counts = Counts::new(&Registry::new(), &self.standing)?;
        let (settings, standing) = (self.settings.clone(), self.standing.clone());
        let (metrics, stop) = (common.metrics.clone(), self.stop.clone());
        self.task = tokio::spawn(async move {
            let ended =
                berth_agent::run(&settings, &clusters, None, metrics, counts, &standing, stop);
            ended.await.expect("an agent runs until it is stopped");
        });
        Ok(())
    }

    /// Ends the agent at once, and removes its files, as a crash of its node does.
    pub(crate) async fn crash(&mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
        let _ = std::fs::remove_dir_all(&self.settings.folder);
    }

    /// The clock by which the agent dates its Leases.
    pub(crate) fn clock(&self) -> &Clock {
        &self.settings.clock
    }

    pub(crate) async fn stop(self) -> Result<()> {
        self.stop.cancel();
        self.task.await.context("an agent failed")
    }

    fn is_managed(&self) -> bool {
        self.standing.state().hub == HubStanding::Managed
    }
}

/// Waits until every agent knows that the hub manages its cluster.
///
/// # Errors
/// Some do not within the patience.
pub(crate) async fn all_managed(agents: &[Agent], patience: Duration) -> Result<()> {
    let begun = Instant::now();
    loop {
        let waiting = agents.iter().filter(|it| !it.is_managed());
        let Some(first) = waiting.clone().next() else {
            return Ok(());
        };
        if begun.elapsed() > patience {
            let wait = first.standing.state().wait();
            let wait = wait.map_or(String::new(), |it| it.to_string());
            bail!(
                "{} clusters are not managed after {} s; the agent of {} waits: {wait}",
                waiting.count(),
                patience.as_secs(),
                first.settings.instance
            );
        }
        sleep(Duration::from_millis(100)).await;
    }
}
