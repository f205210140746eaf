//! `fleet agents`: many real agents in this process, against one hub.
//!
//! What an agent asks of its own cluster is answered by [`managed::ManagedCluster`], so that only the hub is loaded. The hub accepts the
//! clusters by the gate `ManagedClusterAutoApproval` of its controller.

mod managed;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use berth_agent::{Clusters, Counts, Settings, Standing};
use berth_agent_core::claims::ClaimSettings;
use berth_agent_core::cluster::Wish;
use berth_agent_core::registered::HubStanding;
use berth_reconcile::Metrics;
use clap::Args;
use prometheus::Registry;
use serde::Serialize;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::hub::FleetHub;
use crate::{mib, process, say};
use managed::ManagedCluster;

/// Whose requests the hub's controller approves.
const BOOTSTRAP: &str = "fleet-bootstrap";

/// The flags of a controller that does.
pub(crate) const CONTROLLER: &str = "--feature-gates=ManagedClusterAutoApproval=true --auto-approved-csr-users=system:serviceaccount:default:fleet-bootstrap";

/// Upper bound on each wait.
const PATIENCE: Duration = Duration::from_secs(900);

/// Runs many real agents in this process, against one hub
#[derive(Args, Debug)]
pub(crate) struct AgentsArgs {
    /// Number of agents
    #[arg(long, default_value_t = 1000)]
    agents: usize,
    /// How many agents start in a second
    #[arg(long, default_value_t = 100)]
    ramp: u32,
    /// Nodes of each cluster
    #[arg(long, default_value_t = 3)]
    nodes: usize,
    /// How many agents crash and start anew after the rest, as after a restart of their nodes
    #[arg(long, default_value_t = 0)]
    crash: usize,
}

/// The measured figures. Times are in seconds, memory in MiB.
#[derive(Debug, Serialize)]
struct Report {
    agents: usize,
    /// From the start of the first agent until the hub manages the last cluster.
    managed_s: f64,
    /// Of this process: agents, and devhub if the hub is one.
    agents_cpu_s: f64,
    resident_mib: f64,
    /// What this process had before the first agent.
    resident_before_mib: f64,
    controller_cpu_s: f64,
    controller_resident_mib: f64,
    rest_s: u64,
    rest_agents_cpu_s: f64,
    rest_controller_cpu_s: f64,
    /// All writes of the hub: renewals of Leases, if nothing else happens.
    rest_writes: i64,
    /// From the restart of the crashed agents until all are managed, and how many requests for certificates that took.
    crash_s: f64,
    crash_requests: usize,
}

/// One agent, and its cluster, which outlives it.
struct Agent {
    settings: Settings,
    cluster: Arc<ManagedCluster>,
    standing: Standing,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

/// What all agents share.
struct Common {
    folder: PathBuf,
    bootstrap: PathBuf,
    metrics: Metrics,
    nodes: usize,
}

pub(crate) async fn measure(
    args: &AgentsArgs,
    hub: &FleetHub,
    controller: u32,
    rest: u64,
    folder: &Path,
    json: bool,
) -> Result<()> {
    let bootstrap = folder.join("bootstrap.kubeconfig");
    hub.write_bootstrap(BOOTSTRAP, &bootstrap).await?;
    let common = Common {
        folder: folder.to_owned(),
        bootstrap,
        metrics: Metrics::new(&Registry::new())?,
        nodes: args.nodes,
    };
    let own = std::process::id();
    let cpu = |pid| process::cpu_time(pid).map(|time| time.as_secs_f64());
    let resident = |pid| process::memory(pid).map(|memory| mib(memory.rss_kib));
    let resident_before_mib = resident(own)?;

    say("joining");
    let (own_before, controller_before) = (cpu(own)?, cpu(controller)?);
    let begun = Instant::now();
    let pause = Duration::from_secs(1) / args.ramp.max(1);
    let mut agents = Vec::with_capacity(args.agents);
    for number in 0..args.agents {
        agents.push(Agent::start(&common, number)?);
        sleep(pause).await;
    }
    all_managed(&agents).await?;
    let managed_s = begun.elapsed().as_secs_f64();
    // The first reports.
    sleep(Duration::from_secs(5)).await;
    let (own_after, controller_after) = (cpu(own)?, cpu(controller)?);
    let (resident_mib, controller_resident_mib) = (resident(own)?, resident(controller)?);

    say("resting");
    let version = hub.version().await?;
    sleep(Duration::from_secs(rest)).await;
    let rest_agents_cpu_s = cpu(own)? - own_after;
    let rest_controller_cpu_s = cpu(controller)? - controller_after;
    let rest_writes = hub.version().await? - version;

    let requests = hub.requests().await?;
    let begun = Instant::now();
    if args.crash > 0 {
        say("crashing");
        for agent in agents.iter_mut().take(args.crash) {
            agent.crash().await;
        }
        for agent in agents.iter_mut().take(args.crash) {
            agent.restart(&common)?;
        }
        all_managed(&agents).await?;
    }
    let crash_s = begun.elapsed().as_secs_f64();
    let crash_requests = hub.requests().await?.saturating_sub(requests);

    say("cleaning up");
    for agent in agents {
        agent.stop.cancel();
        agent.task.await.context("an agent failed")?;
    }
    hub.clean_up(args.agents).await?;
    let report = Report {
        agents: args.agents,
        managed_s,
        agents_cpu_s: own_after - own_before,
        resident_mib,
        resident_before_mib,
        controller_cpu_s: controller_after - controller_before,
        controller_resident_mib,
        rest_s: rest,
        rest_agents_cpu_s,
        rest_controller_cpu_s,
        rest_writes,
        crash_s,
        crash_requests,
    };
    report.print(args.crash, json)
}

/// Waits until the hub manages every cluster.
async fn all_managed(agents: &[Agent]) -> Result<()> {
    let begun = Instant::now();
    loop {
        let waiting = agents
            .iter()
            .filter(|it| it.standing.state().hub != HubStanding::Managed);
        let Some(first) = waiting.clone().next() else {
            return Ok(());
        };
        if begun.elapsed() > PATIENCE {
            let wait = first.standing.state().wait();
            bail!(
                "{} clusters are not managed; the first one waits: {wait:?}",
                waiting.count()
            );
        }
        sleep(Duration::from_millis(100)).await;
    }
}

// === impl Agent ===

impl Agent {
    fn start(common: &Common, number: usize) -> Result<Self> {
        let name = crate::hub::name(number);
        let settings = Settings {
            cluster_name: Some(name.clone()),
            agent_name: None,
            namespace: "open-cluster-management-agent".to_owned(),
            hub_secret: "hub-kubeconfig-secret".to_owned(),
            folder: common.folder.join(&name),
            bootstraps: vec![common.bootstrap.clone()],
            hub_timeout: Duration::MAX,
            wish: Wish::default(),
            expiration_seconds: None,
            probe_period: Duration::from_secs(60),
            claims: ClaimSettings::default(),
            cluster_claims: true,
            cluster_properties: false,
            addons: None,
            instance: name.clone(),
        };
        let cluster = Arc::new(ManagedCluster::new(&name, common.nodes));
        let mut agent = Self {
            settings,
            cluster,
            standing: Standing::new(),
            stop: CancellationToken::new(),
            task: tokio::spawn(async {}),
        };
        agent.restart(common)?;
        Ok(agent)
    }

    /// Starts the agent on the cluster as it is.
    fn restart(&mut self, common: &Common) -> Result<()> {
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
    async fn crash(&mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
        let _ = std::fs::remove_dir_all(&self.settings.folder);
    }
}

// === impl Report ===

impl Report {
    fn print(&self, crashed: usize, json: bool) -> Result<()> {
        if json {
            println!("{}", serde_json::to_string_pretty(self)?);
            return Ok(());
        }
        let rows = [
            (
                format!("{} agents managed", self.agents),
                format!("{:.1} s", self.managed_s),
            ),
            (
                "  CPU of this process".to_owned(),
                format!("{:.2} s", self.agents_cpu_s),
            ),
            (
                "  resident".to_owned(),
                format!("{:.1} MiB", self.resident_mib),
            ),
            (
                "  before the first agent".to_owned(),
                format!("{:.1} MiB", self.resident_before_mib),
            ),
            (
                "  CPU of the controller".to_owned(),
                format!("{:.2} s", self.controller_cpu_s),
            ),
            (
                "  resident".to_owned(),
                format!("{:.1} MiB", self.controller_resident_mib),
            ),
            (
                format!("at rest for {} s", self.rest_s),
                format!("{} writes", self.rest_writes),
            ),
            (
                "  CPU of this process".to_owned(),
                format!("{:.2} s", self.rest_agents_cpu_s),
            ),
            (
                "  CPU of the controller".to_owned(),
                format!("{:.2} s", self.rest_controller_cpu_s),
            ),
            (
                format!("{crashed} agents crashed: managed again"),
                format!("{:.1} s", self.crash_s),
            ),
            (
                "  requests for certificates".to_owned(),
                self.crash_requests.to_string(),
            ),
        ];
        for (what, figure) in rows {
            println!("{what:<40}{figure:>14}");
        }
        Ok(())
    }
}
