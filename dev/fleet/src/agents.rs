//! `fleet agents`: many real agents in this process, against one hub.
//!
//! What an agent asks of its own cluster is answered by [`managed::ManagedCluster`], so that only the hub is loaded. The hub accepts the
//! clusters by the gate `ManagedClusterAutoApproval` of its controller. Hub and controller are processes of their own.

mod agent;
mod faults;
mod managed;
mod relay;
mod report;
mod seen;
mod spread;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use berth_reconcile::Metrics;
use clap::Args;
use jiff::SignedDuration;
use prometheus::Registry;
use tokio::time::sleep;

use crate::hub::FleetHub;
use crate::{mib, process, say};
use agent::{Agent, Common, all_managed};
use faults::{Fault, Fleet};
use relay::Relay;
use report::{Process, Report, Usage};
use seen::Seen;
use spread::Spread;

/// Whose requests the hub's controller approves.
const BOOTSTRAP: &str = "fleet-bootstrap";

/// The flags of a controller that does.
pub(crate) const CONTROLLER: &str = "--feature-gates=ManagedClusterAutoApproval=true --auto-approved-csr-users=system:serviceaccount:default:fleet-bootstrap";

/// Upper bound on the time until all clusters are managed.
const PATIENCE: Duration = Duration::from_secs(1800);

/// The duration of a Lease that a hub chooses.
const LEASE: u32 = 60;

/// Runs many real agents in this process, against one hub
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  # What does a hub carry? A thousand agents on a devhub, at rest for five minutes
  fleet agents --agents 1000 --for 300

  # On your own hub. Its controller is the one that this tool starts, or --controller
  fleet --kubeconfig hub.kubeconfig agents --agents 1000 --ramp 20

  # A hundred agents lose the hub until it has noticed, and come back. Leases of 5 s instead of 60 s: it notices after 25 s
  fleet agents --agents 1000 --lease 5 --cut-off 100

  # As before, for ten seconds only: the hub should not notice
  fleet agents --agents 1000 --lease 5 --cut-off 100 --fault-for 10

  # The clocks of a hundred agents go ten minutes back; then a hundred agents crash
  fleet agents --agents 1000 --lease 5 --clock-off 100 --clock-by=-600 --crash 100

The faults happen one after the other, each to the first agents of the fleet. For each the tool prints when the hub has reported their
clusters as Unknown, and has tainted them, and when they were available again after the fault had ended.")]
pub(crate) struct AgentsArgs {
    /// Number of agents
    #[arg(long, default_value_t = 1000)]
    agents: usize,
    /// How many agents start in a second
    #[arg(long, value_name = "AGENTS", default_value_t = 100)]
    ramp: u32,
    /// Nodes of each cluster
    #[arg(long, default_value_t = 3)]
    nodes: usize,
    /// The duration of the clusters' Leases [default: the hub's, 60]
    #[arg(long, value_name = "SECONDS")]
    lease: Option<u32>,
    /// How many agents lose the hub after the rest: no byte passes, and no connection ends
    #[arg(long, value_name = "AGENTS", default_value_t = 0)]
    cut_off: usize,
    /// How many agents have a wrong clock, by which they date their Leases
    #[arg(long, value_name = "AGENTS", default_value_t = 0)]
    clock_off: usize,
    /// By how much those clocks are wrong
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = -600,
        allow_negative_numbers = true
    )]
    clock_by: i32,
    /// How many agents crash, and start anew without their files, as after a restart of their nodes
    #[arg(long, value_name = "AGENTS", default_value_t = 0)]
    crash: usize,
    /// How long each fault lasts [default: until the hub has noticed; for clocks, as long as that would take]
    #[arg(long, value_name = "SECONDS")]
    fault_for: Option<u64>,
}

/// The processes beside this one.
#[derive(Clone, Copy)]
pub(crate) struct Others {
    pub(crate) controller: u32,
    pub(crate) hub: Option<u32>,
}

pub(crate) async fn measure(
    args: &AgentsArgs,
    hub: &FleetHub,
    others: Others,
    rest: u64,
    folder: &Path,
) -> Result<Report> {
    args.check()?;
    let seen = Seen::default();
    tokio::select! {
        report = args.measure(hub, others, rest, folder, &seen) => report,
        ended = hub.follow_clusters(|cluster| seen.sees(cluster, Instant::now())) => Err(ended),
    }
}

// === impl AgentsArgs ===

impl AgentsArgs {
    fn check(&self) -> Result<()> {
        for (flag, agents) in [
            ("--cut-off", self.cut_off),
            ("--clock-off", self.clock_off),
            ("--crash", self.crash),
        ] {
            ensure!(
                agents <= self.agents,
                "{flag} {agents}: there are {} agents only; see --agents",
                self.agents
            );
        }
        ensure!(self.lease != Some(0), "--lease: at least one second");
        Ok(())
    }

    async fn measure(
        &self,
        hub: &FleetHub,
        others: Others,
        rest: u64,
        folder: &Path,
        seen: &Seen,
    ) -> Result<Report> {
        let relay = match self.cut_off {
            0 => None,
            _ => Some(Relay::start().await?),
        };
        let token = hub.bootstrap_token(BOOTSTRAP).await?;
        let direct = folder.join("bootstrap.kubeconfig");
        hub.write_bootstrap(&token, None, &direct)?;
        let relayed = folder.join("relayed.kubeconfig");
        if let Some(relay) = &relay {
            hub.write_bootstrap(&token, Some(&relay.url), &relayed)?;
        }
        let common = Common {
            folder: folder.to_owned(),
            metrics: Metrics::new(&Registry::new())?,
            nodes: self.nodes,
        };
        let resident_before_mib = resident(std::process::id())?;

        let own = connections()?;
        say("joining");
        let version = hub.version().await?;
        let mut meter = Meter::start(others)?;
        let begun = Instant::now();
        let mut agents = Vec::with_capacity(self.agents);
        for number in 0..self.agents {
            let due = begun + Duration::from_secs(1) * u32::try_from(number)? / self.ramp.max(1);
            tokio::time::sleep_until(due.into()).await;
            let bootstrap = if number < self.cut_off {
                &relayed
            } else {
                &direct
            };
            agents.push(Agent::start(&common, number, bootstrap.clone())?);
        }
        all_managed(&agents, PATIENCE).await?;
        let managed_s = begun.elapsed().as_secs_f64();
        if let Some(lease) = self.lease {
            hub.set_lease(self.agents, lease).await?;
        }
        seen.are_well(self.agents, PATIENCE).await?;
        let join = meter.read()?;
        let join_writes = hub.version().await? - version;
        let accepted = |_, it: &seen::Since| it.accepted;
        let accepted_to_available = seen.times(self.agents, accepted, |it| it.available);
        let started = |number: usize, _: &seen::Since| Some(agents[number].started);
        let started_to_available = seen.times(self.agents, started, |it| it.available);

        say("resting");
        let (served, version) = (hub.served().await?, hub.version().await?);
        meter.read()?;
        sleep(Duration::from_secs(rest)).await;
        let rest_usage = meter.read()?;
        let connections = connections()?.saturating_sub(own);
        let rest_writes = hub.version().await? - version;
        let rest_requests = match (served, hub.served().await?) {
            (Some(before), Some(after)) => Some(after - before),
            _ => None,
        };

        let mut fleet = Fleet {
            hub,
            common: &common,
            agents: &mut agents,
            relay: relay.as_ref(),
            seen,
            lease: Duration::from_secs(self.lease.unwrap_or(LEASE).into()),
            lasts: self.fault_for.map(Duration::from_secs),
        };
        let clock = Fault::ClockOff(SignedDuration::from_secs(self.clock_by.into()));
        let mut faults = Vec::new();
        for (fault, number) in [
            (Fault::CutOff, self.cut_off),
            (clock, self.clock_off),
            (Fault::Crash, self.crash),
        ] {
            if number > 0 {
                faults.push(fleet.suffer(fault, number).await?);
            }
        }

        say("cleaning up");
        for agent in agents {
            agent.stop().await?;
        }
        // A devhub of this tool ends with it.
        if others.hub.is_none() {
            hub.clean_up(self.agents).await?;
        }
        Ok(Report {
            agents: self.agents,
            managed_s,
            accepted_to_available: Spread::of(accepted_to_available),
            started_to_available: Spread::of(started_to_available),
            join_writes,
            join,
            resident_before_mib,
            rest_s: rest,
            rest_writes,
            rest_requests,
            rest: rest_usage,
            connections,
            faults,
        })
    }
}

/// Measures this process and the others.
struct Meter {
    others: Others,
    before: [f64; 3],
}

// === impl Meter ===

impl Meter {
    fn start(others: Others) -> Result<Self> {
        let before = cpu(others)?;
        Ok(Self { others, before })
    }

    /// CPU since the last reading, and memory now.
    fn read(&mut self) -> Result<Usage> {
        let now = cpu(self.others)?;
        let before = std::mem::replace(&mut self.before, now);
        let process = |place: usize, pid| {
            Ok::<_, anyhow::Error>(Process {
                cpu_s: now[place] - before[place],
                resident_mib: resident(pid)?,
            })
        };
        Ok(Usage {
            agents: process(0, std::process::id())?,
            controller: process(1, self.others.controller)?,
            hub: self.others.hub.map(|pid| process(2, pid)).transpose()?,
        })
    }
}

/// CPU of this process, of the controller, and of the hub.
fn cpu(others: Others) -> Result<[f64; 3]> {
    let of = |pid| process::cpu_time(pid).map(|time| time.as_secs_f64());
    let hub = others.hub.map_or(Ok(0.0), of)?;
    Ok([of(std::process::id())?, of(others.controller)?, hub])
}

fn resident(pid: u32) -> Result<f64> {
    process::memory(pid).map(|memory| mib(memory.rss_kib))
}

/// The number of sockets of this process.
fn connections() -> Result<usize> {
    let files = std::fs::read_dir("/proc/self/fd")?.flatten();
    let is_socket = |it: &std::fs::DirEntry| {
        let target = std::fs::read_link(it.path());
        target.is_ok_and(|target| target.to_string_lossy().starts_with("socket:"))
    };
    Ok(files.filter(is_socket).count())
}
