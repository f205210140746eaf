//! `fleet addons`: the controller of add-ons from templates, on clusters whose agents this tool plays.

mod objects;
mod seen;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use berth_manifests::files::{PLACEMENT_CRDS, WORK_CRDS};
use berth_manifests::{Manifest, addons_in_one_version};
use clap::Args;
use futures::{StreamExt, TryStreamExt};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::hub::{AT_ONCE, FleetHub};
use crate::{Running, mib, process, run, say};
use objects::{ON_CLUSTERS, WORKS};
use seen::Seen;

/// Upper bound on the time of a phase.
const PATIENCE: Duration = Duration::from_secs(1800);

/// Measures the controller of add-ons, with clusters that report everything at once
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  # Berth's controller, on a devhub
  cargo build --release -p berth -p fleet && target/release/fleet addons

  # On a real hub, which has the CRDs, with their conversion, and is otherwise empty
  target/release/fleet --kubeconfig hub.kubeconfig addons

  # OCM's controller on the same
  target/release/fleet --kubeconfig hub.kubeconfig addons \\
    --manager '/addon manager --kubeconfig={kubeconfig} --namespace=open-cluster-management-hub --disable-leader-election'

The clusters it makes are named fleet-N and deleted in the end.")]
pub(crate) struct AddonsArgs {
    /// Number of add-ons: a ConfigMap and a Deployment each
    #[arg(long, default_value_t = 10)]
    addons: usize,
    /// Number of clusters
    #[arg(long, default_value_t = 200)]
    clusters: usize,
    /// Command that starts the controller; {kubeconfig} stands for the hub's
    /// [default: berth addon manager, beside this program]
    #[arg(long, value_name = "COMMAND")]
    manager: Option<String>,
}

/// The measured figures. Times are in seconds, memory in MiB.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    addons: usize,
    clusters: usize,
    phases: Vec<Phase>,
    resident_mib: f64,
    peak_mib: f64,
}

/// One phase: how long it took, and what it cost.
#[derive(Debug, Serialize)]
struct Phase {
    what: String,
    s: f64,
    cpu_s: f64,
    /// The hub's writes, without those of this tool.
    writes: i64,
}

/// The state of the benchmark.
struct Bench<'a> {
    args: &'a AddonsArgs,
    hub: &'a FleetHub,
    manager: Running,
    seen: &'a Seen,
    phases: Vec<Phase>,
}

pub(crate) async fn measure(args: &AddonsArgs, hub: &FleetHub, rest: u64) -> Result<Report> {
    say("making clusters");
    install(hub).await?;
    hub.create(args.clusters).await?;
    objects::place(hub, args.clusters).await?;
    let (due, reports) = mpsc::unbounded_channel();
    let seen = Seen::new(due);
    let work = async {
        let manager = start(args, hub)?;
        sleep(Duration::from_secs(3)).await;
        let mut bench = Bench {
            args,
            hub,
            manager,
            seen: &seen,
            phases: Vec::new(),
        };
        bench.run(rest).await?;
        let memory = process::memory(bench.manager.id())?;
        anyhow::Ok(Report {
            addons: args.addons,
            clusters: args.clusters,
            phases: bench.phases,
            resident_mib: mib(memory.rss_kib),
            peak_mib: mib(memory.peak_kib),
        })
    };
    let report = tokio::select! {
        report = work => report,
        error = hub.follow(WORKS, |work, is_gone| seen.work(work, is_gone)) => Err(error),
        error = hub.follow(ON_CLUSTERS, |on, is_gone| seen.on_cluster(on, is_gone)) => Err(error),
        failed = play(hub, &seen, reports) => Err(failed),
    };
    say("cleaning up");
    let cleaned = objects::clean_up(hub, args.addons, args.clusters).await;
    // The first error says more.
    let report = report?;
    cleaned.map(|()| report)
}

async fn install(hub: &FleetHub) -> Result<()> {
    let documents = |files: &[Manifest]| files.iter().flat_map(Manifest::documents).collect();
    let placements: Vec<Value> = documents(&PLACEMENT_CRDS);
    hub.install(placements, objects::PLACEMENTS).await?;
    let works: Vec<Value> = documents(&WORK_CRDS);
    hub.install(works, WORKS).await?;
    // Without a gate, as on a devhub, nothing is converted.
    hub.install(addons_in_one_version(), ON_CLUSTERS).await
}

fn start(args: &AddonsArgs, hub: &FleetHub) -> Result<Running> {
    let berth = std::env::current_exe()?.with_file_name("berth");
    let command = args.manager.clone().unwrap_or_else(|| {
        format!(
            "{} addon manager --kubeconfig={{kubeconfig}} --disable-leader-election --listen=127.0.0.1:auto",
            berth.display()
        )
    });
    let kubeconfig: &Path = &hub.kubeconfig;
    let command = command.replace("{kubeconfig}", &kubeconfig.display().to_string());
    run("--manager", &command, &kubeconfig.with_extension("log"))
}

/// Reports each work as its cluster's agent would, as soon as it is seen. Returns only an error.
async fn play(
    hub: &FleetHub,
    seen: &Seen,
    mut reports: mpsc::UnboundedReceiver<(String, Value)>,
) -> anyhow::Error {
    let all = futures::stream::poll_fn(|context| reports.poll_recv(context)).map(Ok);
    let played = all.try_for_each_concurrent(AT_ONCE, async |(path, status)| {
        match hub.send("PATCH", &path, &status).await {
            Ok(_) => seen.wrote(1),
            // It is gone meanwhile.
            Err(error) if is_not_found(&error) => {}
            Err(error) => return Err(error.context("a work is not reported")),
        }
        Ok(())
    });
    match played.await {
        Ok(()) => anyhow::anyhow!("nothing is to be reported any more"),
        Err(error) => error,
    }
}

fn is_not_found(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(kube::Error::Api(status)) if status.code == 404)
}

// === impl Bench ===

impl Bench<'_> {
    async fn run(&mut self, rest: u64) -> Result<()> {
        let (hub, addons) = (self.hub, self.args.addons);
        let all = addons * self.args.clusters;
        let seen = self.seen;
        self.phase("enabled", objects::enable(hub, seen, addons), || {
            seen.done_with(None) >= all
        })
        .await?;
        let before = seen.hash();
        let change = objects::configure(hub, seen, "2");
        self.phase("config changed, all at once", change, || {
            seen.done_with(before.as_deref()) >= all
        })
        .await?;
        let before = seen.hash();
        objects::step(hub, seen, addons).await?;
        // The controller has seen it by then.
        sleep(Duration::from_secs(5)).await;
        let change = objects::configure(hub, seen, "3");
        self.phase("config changed, a quarter at once", change, || {
            seen.done_with(before.as_deref()) >= all
        })
        .await?;
        let sleeps = async {
            sleep(Duration::from_secs(rest)).await;
            Ok(())
        };
        self.phase("at rest", sleeps, || true).await?;
        let disable = objects::disable(hub, seen, addons);
        self.phase("disabled, with their works", disable, || seen.is_empty())
            .await
    }

    /// Does something, and waits until it is done.
    async fn phase(
        &mut self,
        what: &str,
        act: impl Future<Output = Result<()>>,
        is_done: impl Fn() -> bool,
    ) -> Result<()> {
        say(what);
        let pid = self.manager.id();
        let cpu = || process::cpu_time(pid).map(|time| time.as_secs_f64());
        let (cpu_before, own) = (cpu()?, self.seen.written());
        let (version, begun) = (self.hub.version().await?, Instant::now());
        act.await?;
        while !is_done() {
            if self.manager.has_ended() {
                let log = std::fs::read_to_string(self.hub.kubeconfig.with_extension("log"));
                bail!("the manager has ended: {}", log.unwrap_or_default());
            }
            if begun.elapsed() > PATIENCE {
                bail!("{what}: {}", self.seen.said());
            }
            sleep(Duration::from_millis(20)).await;
        }
        let s = begun.elapsed().as_secs_f64();
        // What is still written belongs to it.
        sleep(Duration::from_secs(2)).await;
        let writes = self.hub.version().await? - version - (self.seen.written() - own);
        self.phases.push(Phase {
            what: what.to_owned(),
            s,
            cpu_s: cpu()? - cpu_before,
            writes,
        });
        Ok(())
    }
}

// === impl Report ===

impl Report {
    pub(crate) fn rows(&self) -> Vec<(String, String)> {
        let head = format!("{} add-ons on {} clusters", self.addons, self.clusters);
        let mut rows = vec![(head, String::new())];
        for phase in &self.phases {
            rows.push((phase.what.clone(), format!("{:.1} s", phase.s)));
            let cpu = format!("{:.2} s", phase.cpu_s);
            rows.push(("  CPU of the controller".to_owned(), cpu));
            rows.push(("  writes".to_owned(), phase.writes.to_string()));
        }
        let memory = [
            ("resident in the end", self.resident_mib),
            ("most that was resident", self.peak_mib),
        ];
        rows.extend(memory.map(|(what, mib)| (what.to_owned(), format!("{mib:.1} MiB"))));
        rows
    }
}
