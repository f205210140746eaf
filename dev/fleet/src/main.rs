//! Measures a hub's lifecycle controller, with `agents` many real agents against it, with `works` an agent that carries out ManifestWorks, with
//! `addons` the controller of add-ons, and with `console` the server of `berth console`.
//!
//! The controller: time, writes, CPU and memory until a fleet of clusters is accepted; cost when idle and while
//! leases are renewed; the time until a silent cluster is tainted, and until the taints of a wave of available clusters are removed.
//!
//! The hub is a devhub in a process of its own, or that of `--kubeconfig`; the controller is `berth controller`, or any command that
//! takes a kubeconfig. Writes of all clients are counted by the hub's resourceVersion; the tool's own are subtracted.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that people run"
)]

mod addons;
mod agents;
mod console;
mod devhub;
mod hub;
#[path = "../../loadtest/src/process.rs"]
#[allow(dead_code, reason = "shared with the load tool")]
mod process;
mod reported;
mod works;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use serde::Serialize;
use tokio::time::sleep;

use addons::AddonsArgs;
use agents::{AgentsArgs, Others};
use console::ConsoleArgs;
use devhub::DevHubArgs;
use hub::FleetHub;
use works::WorksArgs;

#[derive(Parser)]
#[command(
    name = "fleet",
    about = "Measures a hub's lifecycle controller with a fleet of clusters; agents; an agent's ManifestWorks; and add-ons",
    after_help = "\
Examples:
  # Berth on devhub
  cargo build --release --bin berth && cargo run --release -p fleet -- --clusters 1000

  # On a real hub, which has the CRDs and is otherwise empty
  target/release/fleet --kubeconfig hub.kubeconfig

  # OCM's controller on the same
  target/release/fleet --kubeconfig hub.kubeconfig \\
    --controller '/registration controller --kubeconfig={kubeconfig} --namespace=open-cluster-management-hub --disable-leader-election'

  # A thousand real agents in one process: see fleet agents --help
  target/release/fleet --kubeconfig hub.kubeconfig agents --agents 1000

  # An agent that carries out ManifestWorks: see fleet works --help
  target/release/fleet works

  # The controller of add-ons: see fleet addons --help
  target/release/fleet addons

  # The server of berth console: see fleet console --help
  target/release/fleet console

The clusters it makes are named fleet-N and deleted in the end."
)]
struct Args {
    #[command(subcommand)]
    what: Option<What>,
    /// Number of clusters
    #[arg(long, default_value_t = 1000)]
    clusters: usize,
    /// Kubeconfig of an admin of the hub [default: start a devhub]
    #[arg(long, global = true, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Command that starts the controller; {kubeconfig} stands for the hub's
    /// [default: berth, beside this program]
    #[arg(long, global = true, value_name = "COMMAND")]
    controller: Option<String>,
    /// Duration of the idle measurement
    #[arg(
        long,
        visible_alias = "for",
        global = true,
        value_name = "SECONDS",
        default_value_t = 30
    )]
    rest: u64,
    /// Print JSON instead of a table
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum What {
    Agents(AgentsArgs),
    Works(WorksArgs),
    Addons(AddonsArgs),
    Console(ConsoleArgs),
    Devhub(DevHubArgs),
}

/// The measured figures. Times are in seconds, memory in MiB.
#[derive(Debug, Serialize)]
struct Report {
    clusters: usize,
    /// From the first creation until the last cluster is accepted and has its lease.
    accepted_s: f64,
    accepted_cpu_s: f64,
    /// The hub's writes, without those of this tool and those of a hub in every namespace.
    writes_per_cluster: f64,
    resident_mib: f64,
    rest_s: u64,
    rest_cpu_s: f64,
    rest_writes: i64,
    /// Every lease renewed once within a minute.
    renewals_cpu_s: f64,
    renewals_writes: i64,
    /// From the first agent's report until the last taint is removed; the part after the last report; and the time of the same number of
    /// reports without a controller.
    wave_s: f64,
    wave_after_last_report_s: f64,
    reports_alone_s: f64,
    wave_cpu_s: f64,
    /// From the expiry of a lease until Unknown, and until the taint, for the slowest of ten.
    expiry_to_unknown_ms: f64,
    expiry_to_taint_ms: f64,
    /// Median time of a write of a ManagedCluster without concurrent writes. Until the taint there are one read and two writes.
    one_write_ms: f64,
    peak_mib: f64,
}

/// A process that is measured; killed when this is dropped.
struct Running(Child);

impl Running {
    fn id(&self) -> u32 {
        self.0.id()
    }

    /// Returns whether the process has ended by itself.
    fn has_ended(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(Some(_)) | Err(_))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let _ = rustls::crypto::ring::default_provider().install_default();
    match measure(&Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(args: &Args) -> Result<()> {
    if let Some(What::Devhub(devhub)) = &args.what {
        return devhub.serve().await;
    }
    let folder = tempfile::tempdir()?;
    if let Some(What::Works(works)) = &args.what {
        let hub = args.kubeconfig.as_deref();
        let report = works::measure(works, hub, args.rest, folder.path()).await?;
        return print(&report, report.rows(), args.json);
    }
    let hub = FleetHub::open(args.kubeconfig.as_deref(), folder.path()).await?;
    if let Some(What::Addons(addons)) = &args.what {
        let report = addons::measure(addons, &hub, args.rest).await?;
        return print(&report, report.rows(), args.json);
    }
    if let Some(What::Console(console)) = &args.what {
        let report = console::measure(console, &hub, args.rest).await?;
        return print(&report, report.rows(), args.json);
    }
    let controller = start(args, &hub.kubeconfig)?;
    let pid = controller.id();
    say("waiting for the controller");
    hub.wait_for_the_controller().await?;
    sleep(Duration::from_secs(2)).await;
    if let Some(What::Agents(agents)) = &args.what {
        let others = Others {
            controller: pid,
            hub: hub.process(),
        };
        let report = agents::measure(agents, &hub, others, args.rest, folder.path()).await?;
        return print(&report, report.rows(), args.json);
    }

    say("accepting");
    let cpu = || process::cpu_time(pid).map(|time| time.as_secs_f64());
    let resident = || process::memory(pid).map(|memory| mib(memory.rss_kib));
    let (cpu_before, version) = (cpu()?, hub.version().await?);
    let by_itself = hub.made_by_itself().await?;
    let begun = Instant::now();
    hub.create(args.clusters).await?;
    hub.wait_until_accepted(args.clusters).await?;
    let accepted_s = begun.elapsed().as_secs_f64();
    sleep(Duration::from_secs(2)).await;
    let accepted_cpu_s = cpu()? - cpu_before;
    let own = i64::try_from(args.clusters)?;
    let by_itself = hub.made_by_itself().await? - by_itself;
    let writes = hub.version().await? - version - own - by_itself;
    let resident_mib = resident()?;

    say("resting");
    let (cpu_before, version) = (cpu()?, hub.version().await?);
    sleep(Duration::from_secs(args.rest)).await;
    let rest_cpu_s = cpu()? - cpu_before;
    let rest_writes = hub.version().await? - version;

    say("renewing leases");
    // The first renewal shows the agents' clocks.
    hub.renew(args.clusters, Duration::from_secs(20)).await?;
    sleep(Duration::from_secs(2)).await;
    let (cpu_before, version) = (cpu()?, hub.version().await?);
    hub.renew(args.clusters, Duration::from_secs(60)).await?;
    let renewals_cpu_s = cpu()? - cpu_before;
    let renewals_writes = hub.version().await? - version - own;

    say("turning available");
    let cpu_before = cpu()?;
    let begun = Instant::now();
    hub.turn(args.clusters, "True").await?;
    let reported = Instant::now();
    hub.wait_until_untainted(args.clusters).await?;
    let wave_s = begun.elapsed().as_secs_f64();
    let wave_after_last_report_s = reported.elapsed().as_secs_f64();
    let wave_cpu_s = cpu()? - cpu_before;

    say("falling silent");
    let (unknown, taint) = hub.fall_silent(10.min(args.clusters)).await?;
    let peak_mib = mib(process::memory(pid)?.peak_kib);
    drop(controller);
    say("the hub alone");
    let one_write = hub.one_write().await?;
    let begun = Instant::now();
    hub.turn(args.clusters, "False").await?;
    let reports_alone_s = begun.elapsed().as_secs_f64();
    say("cleaning up");
    hub.clean_up(args.clusters).await?;

    let report = Report {
        clusters: args.clusters,
        accepted_s,
        accepted_cpu_s,
        writes_per_cluster: writes as f64 / args.clusters as f64,
        resident_mib,
        rest_s: args.rest,
        rest_cpu_s,
        rest_writes,
        renewals_cpu_s,
        renewals_writes,
        wave_s,
        wave_after_last_report_s,
        reports_alone_s,
        wave_cpu_s,
        expiry_to_unknown_ms: unknown.as_secs_f64() * 1000.0,
        expiry_to_taint_ms: taint.as_secs_f64() * 1000.0,
        one_write_ms: one_write.as_secs_f64() * 1000.0,
        peak_mib,
    };
    print(&report, rows(&report), args.json)
}

fn start(args: &Args, kubeconfig: &Path) -> Result<Running> {
    let beside = std::env::current_exe()?;
    let berth = beside.with_file_name("berth");
    let command = args.controller.clone().unwrap_or_else(|| {
        format!(
            "{} controller --kubeconfig={{kubeconfig}} --disable-leader-election --listen=127.0.0.1:auto {}",
            berth.display(),
            if args.what.is_some() { agents::CONTROLLER } else { "" },
        )
    });
    let command = command.replace("{kubeconfig}", &kubeconfig.display().to_string());
    run("--controller", &command, &kubeconfig.with_extension("log"))
}

/// Starts a command, and writes its log to this file.
fn run(flag: &str, command: &str, log: &Path) -> Result<Running> {
    let mut words = command.split_whitespace();
    let Some(program) = words.next() else {
        bail!("{flag}: no command")
    };
    let log = std::fs::File::create(log)?;
    let child = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .with_context(|| {
            format!("{program}: cannot be started; build it, or name another by {flag}")
        })?;
    Ok(Running(child))
}

fn say(what: &str) {
    eprintln!("{what} ...");
}

fn mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}

/// Prints figures as JSON or as a table.
fn print(report: &impl Serialize, rows: Vec<(String, String)>, json: bool) -> Result<()> {
    if json {
        println!("{}", serde_json::to_string_pretty(report)?);
        return Ok(());
    }
    for (what, figure) in rows {
        println!("{what:<56}{figure:>22}");
    }
    Ok(())
}

fn rows(report: &Report) -> Vec<(String, String)> {
    let Report {
        clusters, rest_s, ..
    } = report;
    vec![
        (
            format!("{clusters} clusters accepted, with leases"),
            format!("{:.1} s", report.accepted_s),
        ),
        (
            "  CPU of the controller".to_owned(),
            format!("{:.2} s", report.accepted_cpu_s),
        ),
        (
            "  writes per cluster".to_owned(),
            format!("{:.2}", report.writes_per_cluster),
        ),
        (
            "  resident after".to_owned(),
            format!("{:.1} MiB", report.resident_mib),
        ),
        (
            format!("at rest for {rest_s} s"),
            format!("{} writes", report.rest_writes),
        ),
        ("  CPU".to_owned(), format!("{:.2} s", report.rest_cpu_s)),
        (
            "all leases renewed in a minute".to_owned(),
            format!("{} writes", report.renewals_writes),
        ),
        (
            "  CPU".to_owned(),
            format!("{:.2} s", report.renewals_cpu_s),
        ),
        (
            "all turn available: last taint gone".to_owned(),
            format!("{:.1} s", report.wave_s),
        ),
        (
            "  after the last report".to_owned(),
            format!("{:.1} s", report.wave_after_last_report_s),
        ),
        (
            "  the reports alone, no controller".to_owned(),
            format!("{:.1} s", report.reports_alone_s),
        ),
        ("  CPU".to_owned(), format!("{:.2} s", report.wave_cpu_s)),
        (
            "a lease ends: Unknown".to_owned(),
            format!("{:.0} ms", report.expiry_to_unknown_ms),
        ),
        (
            "  taint".to_owned(),
            format!("{:.0} ms", report.expiry_to_taint_ms),
        ),
        (
            "  one write of this hub, alone".to_owned(),
            format!("{:.1} ms", report.one_write_ms),
        ),
        (
            "most that was resident".to_owned(),
            format!("{:.1} MiB", report.peak_mib),
        ),
    ]
}
