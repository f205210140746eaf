//! `berth agent`: the managed cluster's half, with the name and the flags of OCM's registration agent.

mod args;
mod gates;
mod refused;
pub(crate) mod terminate;
#[cfg(test)]
mod tests;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use berth_agent::{Clusters, Counts, Settings, Standing};
use berth_hub::{Access, HubApi};
use berth_lease::{Term, WhenLost, lost};
use berth_reconcile::Metrics;
use berth_serve::Turns;
use futures::FutureExt;
use prometheus::Registry;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use self::args::Command;
pub(crate) use self::args::{AgentTimes, Args, WORK_LEASE};
use crate::leading::{HealthPort, together};
use crate::signals;
use crate::work::WorkAgent;

/// Runs until a signal, or until another replica takes over; or runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(Command::Status(args)) = &args.command {
        return berth_admin::run_agent_status(args);
    }
    // It mostly waits: one thread is enough. Works have another one.
    args.logs.run(Builder::new_current_thread(), work(args))?;
    Ok(ExitCode::SUCCESS)
}

async fn work(args: &Args) -> anyhow::Result<()> {
    let (tls, tls_warnings) = args.tls.options()?;
    let mut settings = args.settings()?;
    // It goes at the end.
    let _temporary = settings.temporary.take();
    for warning in tls_warnings
        .iter()
        .chain(&settings.warnings)
        .chain(&args.logs.warnings())
    {
        tracing::warn!("{warning}");
    }
    let clusters = clusters(args).await?;
    let registry = Registry::new();
    berth_serve::metrics::process(&registry);
    berth_hub::register_requests(&registry)?;
    let metrics = Metrics::new(&registry)?;
    let standing = Standing::new();
    let counts = Counts::new(&registry, &standing)?;
    let works = match args.work {
        false => None,
        true => Some(Arc::new(WorkAgent::new(
            settings.work.clone(),
            managed(args).await?,
            &registry,
            metrics.clone(),
        )?)),
    };
    let management = clusters.management.clone();
    let mut port = HealthPort::open(management, args.listen, tls, &registry).await?;
    let components = settings.parts.iter().map(|(part, election)| {
        let led = port.component(part.name(), election.clone(), WhenLost::End);
        (*part, led)
    });
    let components: Vec<_> = components.collect();
    let turns = port.turns();
    let port = port.with_check({
        let standing = standing.clone();
        // The agent works while it waits for a person: that is in the text, and fails nothing.
        move || {
            let wait = standing.state().wait();
            let text = wait.map_or("managed".to_owned(), |it| format!("waiting: {it}"));
            ("hub", Ok(text))
        }
    });
    tracing::info!(
        agent = %port.address()?,
        version = env!("CARGO_PKG_VERSION"),
        "serving",
    );
    signals::stop_orderly(", without releasing the Lease", async |stop| {
        let agent = port.serve(&stop, async |stop| {
            let running = components.into_iter().map(|(part, led)| {
                let (settings, clusters, metrics) = (&settings.agent, &clusters, &metrics);
                let (counts, standing, works, turns) = (&counts, &standing, &works, &turns);
                led.run(stop.clone(), move |term, leading, stop| {
                    let running = Running {
                        registers: part.registers,
                        settings,
                        clusters,
                        metrics: metrics.clone(),
                        counts: counts.clone(),
                        standing,
                        works: works.as_ref().filter(|_| part.works),
                        turns,
                    };
                    async move {
                        leading.leads(Vec::new);
                        tracing::info!(
                            part = part.name(),
                            namespace = running.settings.namespace,
                            "the agent begins"
                        );
                        running.run(term, stop).await
                    }
                })
                .boxed()
            });
            together(&stop, running).await
        });
        terminate::until_changed(&args.terminate_on_files, &stop, agent).await
    })
    .await?;
    tracing::info!("stopped");
    Ok(())
}

/// What runs under one Lease.
struct Running<'a> {
    registers: bool,
    settings: &'a Settings,
    clusters: &'a Clusters,
    metrics: Metrics,
    counts: Counts,
    standing: &'a Standing,
    works: Option<&'a Arc<WorkAgent>>,
    turns: &'a Turns,
}

impl Running<'_> {
    /// Runs until `stop`, or until `term` is over. A part that fails stops the other one.
    ///
    /// # Errors
    /// A task that should run forever ended.
    async fn run(self, term: Option<Term>, stop: CancellationToken) -> anyhow::Result<()> {
        let Self {
            registers,
            settings,
            clusters,
            metrics,
            counts,
            standing,
            works,
            turns,
        } = self;
        let stop = stop.child_token();
        let registration = async {
            if registers {
                let (term, stop) = (term.clone(), stop.clone());
                let ended =
                    berth_agent::run(settings, clusters, term, metrics, counts, standing, stop);
                return Ok(ended.await?);
            }
            over(&term, &stop).await;
            Ok(())
        };
        let works = async {
            match works {
                Some(works) => works.run_apart(turns.clone(), term.clone(), &stop).await,
                None => {
                    over(&term, &stop).await;
                    Ok(())
                }
            }
        };
        // Each ends with the term.
        together(&stop, [registration.boxed(), works.boxed()]).await
    }
}

/// Waits for the end of the term, or for `stop`.
async fn over(term: &Option<Term>, stop: &CancellationToken) {
    tokio::select! {
        () = stop.cancelled() => {}
        () = lost(term.as_ref()) => {}
    }
}

/// Connects to the cluster that this runs in, and to the one that it registers.
async fn clusters(args: &Args) -> anyhow::Result<Clusters> {
    let management = HubApi::connect(&Access::of_server(args.kubeconfig.clone())).await?;
    let managed = match &args.spoke_kubeconfig {
        None => management.clone(),
        Some(_) => managed(args).await?,
    };
    Ok(Clusters {
        management,
        managed,
    })
}

/// Connects to the cluster that this registers, with connections of its own.
async fn managed(args: &Args) -> anyhow::Result<HubApi> {
    let (kubeconfig, flag) = match &args.spoke_kubeconfig {
        None => (&args.kubeconfig, "--kubeconfig"),
        kubeconfig => (kubeconfig, "--spoke-kubeconfig"),
    };
    let connected = HubApi::connect(&Access::of_server(kubeconfig.clone())).await;
    connected.context(flag)
}
