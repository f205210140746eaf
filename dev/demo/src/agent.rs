//! The agent of a managed cluster, in a task of its own, with a port for its readiness.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use berth_agent::{Clusters, Counts, Driver, Settings, Standing};
use berth_hub::HubApi;
use berth_reconcile::{Ended, Metrics};
use berth_serve::{Limits, Listener, Stop, Turns, endpoints};
use prometheus::Registry;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The namespace of the agent on its cluster.
pub(super) const NAMESPACE: &str = "open-cluster-management-agent";

/// An agent that can be stopped and started again, as a pod whose node fails.
pub(super) struct Agent {
    /// The name of its cluster.
    pub(super) cluster: &'static str,
    /// The address of `/readyz`.
    pub(super) health: SocketAddr,
    parts: Arc<Parts>,
    running: Option<(CancellationToken, JoinHandle<Result<(), Ended>>)>,
    served: CancellationToken,
    listener: JoinHandle<()>,
}

/// What each run of the agent needs.
struct Parts {
    settings: Settings,
    clusters: Clusters,
    metrics: Metrics,
    counts: Counts,
    standing: Standing,
    work: berth_work_agent::Settings,
    work_metrics: berth_work_agent::Metrics,
}

// === impl Agent ===

impl Agent {
    /// Starts the agent of this cluster. Its name on the hub is `agent`.
    pub(super) async fn start(
        cluster: &'static str,
        managed: HubApi,
        bootstrap: &Path,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        let registry = Registry::new();
        let standing = Standing::new();
        let metrics = Metrics::new(&registry)?;
        let kubeconfig = folder.join(cluster).join("kubeconfig");
        let parts = Parts {
            work: berth_work_agent::Settings::new(kubeconfig, "berth-demo"),
            work_metrics: berth_work_agent::Metrics::beside(&registry, metrics.clone())?,
            settings: Settings {
                cluster_name: Some(cluster.to_owned()),
                agent_name: Some("agent".to_owned()),
                namespace: NAMESPACE.to_owned(),
                addons: Some(Driver::Csr),
                ..Settings::new(bootstrap.to_owned(), folder.join(cluster), "berth-demo")
            },
            clusters: Clusters {
                management: managed.clone(),
                managed,
            },
            metrics,
            counts: Counts::new(&registry, &standing)?,
            standing: standing.clone(),
        };
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let health = port.local_addr()?;
        // The words of `berth agent`.
        let router = endpoints::health(Turns::default(), move || {
            let wait = standing.state().wait();
            let text = wait.map_or("managed".to_owned(), |it| format!("waiting: {it}"));
            async { [("hub", Ok(text))] }
        });
        let listener = Listener::new(port, None, router, Limits::default().few());
        let served = CancellationToken::new();
        let mut agent = Self {
            cluster,
            health,
            parts: Arc::new(parts),
            running: None,
            listener: tokio::spawn(listener.serve(Stop::at_once(served.clone()))),
            served,
        };
        agent.run();
        Ok(agent)
    }

    /// Runs the agent in a new task, unless it runs.
    pub(super) fn run(&mut self) {
        if self.running.is_some() {
            return;
        }
        let stop = CancellationToken::new();
        let (parts, stopped) = (Arc::clone(&self.parts), stop.clone());
        let task = tokio::spawn(async move {
            let (metrics, counts) = (parts.metrics.clone(), parts.counts.clone());
            let (settings, clusters) = (&parts.settings, &parts.clusters);
            let registration = berth_agent::run(
                settings,
                clusters,
                None,
                metrics,
                counts,
                &parts.standing,
                stopped.clone(),
            );
            let managed = &clusters.managed;
            let work =
                berth_work_agent::run(&parts.work, managed, None, &parts.work_metrics, stopped);
            tokio::try_join!(registration, work).map(|((), ())| ())
        });
        self.running = Some((stop, task));
    }

    /// Stops the agent, and waits for the end of its task. Its port stays open.
    pub(super) async fn stop(&mut self) -> anyhow::Result<()> {
        let Some((stop, task)) = &mut self.running else {
            return Ok(());
        };
        stop.cancel();
        let ended = task.await;
        self.running = None;
        let context = || format!("the agent of {}", self.cluster);
        ended.with_context(context)?.with_context(context)
    }

    /// Stops the agent, and closes its port.
    pub(super) async fn end(mut self) -> anyhow::Result<()> {
        let stopped = self.stop().await;
        self.served.cancel();
        self.listener.await.context("the port of an agent")?;
        stopped
    }
}
