//! Runs the work agent while this process leads.

mod args;
#[cfg(test)]
mod tests;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use berth_hub::{Access, HubApi};
use berth_lease::{Term, WhenLost};
use berth_serve::{Turns, on_thread};
use berth_work_agent::{Metrics, Settings};
use prometheus::Registry;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

pub(crate) use self::args::{WorkAgentArgs, WorkFlags};
use crate::agent::terminate;
use crate::leading::{Elections, HealthPort};
use crate::signals;

/// The name of the thread in `/healthz`.
const THREAD: &str = "works";

/// The agent, ready to run. Everything that can fail at the start is done.
pub(crate) struct WorkAgent {
    settings: Settings,
    managed: HubApi,
    metrics: Metrics,
}

// === impl WorkAgent ===

impl WorkAgent {
    /// Prepares the agent, and its metrics beside those that all controllers of the process share. No other thread uses the connections of
    /// `managed`.
    ///
    /// # Errors
    /// The registry already has its metrics.
    pub(crate) fn new(
        settings: Settings,
        managed: HubApi,
        registry: &Registry,
        common: berth_reconcile::Metrics,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            settings,
            managed,
            metrics: Metrics::beside(registry, common)?,
        })
    }

    /// Runs as [`WorkAgent::run`] does, on a thread of its own, so that no ManifestWork holds the cluster's heartbeat.
    ///
    /// # Errors
    /// A task that should run forever ended, or the thread cannot be started.
    pub(crate) async fn run_apart(
        self: &Arc<Self>,
        turns: Turns,
        term: Option<Term>,
        stop: &CancellationToken,
    ) -> anyhow::Result<()> {
        // The thread also ends when this future is dropped.
        let stop = stop.child_token();
        let _ends = stop.clone().drop_guard();
        let agent = Arc::clone(self);
        let run = async move || {
            tokio::select! {
                ended = agent.run(term, stop) => ended,
                never = turns.pulse(THREAD) => match never {},
            }
        };
        on_thread(THREAD, run).await?
    }

    /// Runs until `stop`, or until `term` is over.
    ///
    /// # Errors
    /// A task that should run forever ended.
    async fn run(&self, term: Option<Term>, stop: CancellationToken) -> anyhow::Result<()> {
        let Self {
            settings,
            managed,
            metrics,
        } = self;
        Ok(berth_work_agent::run(settings, managed, term, metrics, stop).await?)
    }
}

/// Runs until a signal, or until another replica takes over.
pub(super) fn run(args: &WorkAgentArgs) -> anyhow::Result<ExitCode> {
    // It mostly waits: one thread is enough.
    args.logs.run(Builder::new_current_thread(), work(args))?;
    Ok(ExitCode::SUCCESS)
}

async fn work(args: &WorkAgentArgs) -> anyhow::Result<()> {
    let (tls, tls_warnings) = args.tls.options()?;
    let settings = args.settings()?;
    for warning in tls_warnings
        .iter()
        .chain(&settings.warnings)
        .chain(&args.logs.warnings())
    {
        tracing::warn!("{warning}");
    }
    let connect = async |kubeconfig| HubApi::connect(&Access::of_server(kubeconfig)).await;
    let management = connect(args.kubeconfig.clone()).await?;
    let managed = match &args.spoke_kubeconfig {
        None => management.clone(),
        Some(path) => connect(Some(path.clone()))
            .await
            .context("--spoke-kubeconfig")?,
    };
    let registry = Registry::new();
    berth_serve::metrics::process(&registry);
    berth_hub::register_requests(&registry)?;
    let common = berth_reconcile::Metrics::new(&registry)?;
    let agent = WorkAgent::new(settings.agent, managed, &registry, common)?;
    let mut port = HealthPort::open(management, args.listen, tls, &registry).await?;
    if settings.election.is_some() {
        port = port.with_elections(Elections::start(connect(args.kubeconfig.clone()).await?)?);
    }
    let led = port.component("work-agent", settings.election, WhenLost::End);
    tracing::info!(
        agent = %port.address()?,
        version = env!("CARGO_PKG_VERSION"),
        "serving",
    );
    signals::stop_orderly(", without releasing the Lease", async |stop| {
        let served = port.serve(&stop, |stop| {
            led.run(stop, |term, leading, stop| {
                let agent = &agent;
                async move {
                    leading.leads(Vec::new);
                    tracing::info!(controller = "work-agent", "the agent begins");
                    agent.run(term, stop).await
                }
            })
        });
        terminate::until_changed(&args.terminate_on_files, &stop, served).await
    })
    .await?;
    tracing::info!("stopped");
    Ok(())
}
