//! `fleet works`: an agent that carries out ManifestWorks, and the same writes without an agent.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use berth_hub::object_path;
use berth_manifests::Manifest;
use berth_manifests::files::{CRD_APPLIED_MANIFEST_WORKS, WORK_CRDS};
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::hub::{FleetHub, condition};
use crate::{Running, mib, process, run, say};

/// The cluster, and its namespace on the hub.
const CLUSTER: &str = "fleet-works";

/// The namespace of the objects on the managed cluster.
const OBJECTS: &str = "fleet-objects";

/// The namespace of the objects that this tool writes itself.
const FLOOR: &str = "fleet-floor";

/// Group, version and resource of ManifestWorks.
pub(crate) const WORKS: (&str, &str, &str) =
    ("work.open-cluster-management.io", "v1", "manifestworks");

/// Group, version and resource of ConfigMaps.
const MAPS: (&str, &str, &str) = ("", "v1", "configmaps");

/// Upper bound on the time of a phase. OCM's agent repairs after minutes.
const PATIENCE: Duration = Duration::from_secs(1800);

/// The value of a ConfigMap, and what another client makes of it.
const VALUE: &str = "prescribed";
const DRIFT: &str = "drift";

/// Measures an agent that carries out ManifestWorks, beside the same writes without an agent
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  # Berth's agent, on two devhubs
  cargo build --release -p berth -p fleet && target/release/fleet works

  # On your own hub and managed cluster
  target/release/fleet --kubeconfig hub.kubeconfig works --managed-kubeconfig managed.kubeconfig

  # OCM's agent on the same
  target/release/fleet --kubeconfig hub.kubeconfig works --managed-kubeconfig managed.kubeconfig \\
    --agent '/work agent --kubeconfig={managed} --workload-source-config={hub} --spoke-cluster-name={cluster} --agent-id=fleet --disable-leader-election'

The tool makes the namespaces fleet-works, fleet-objects and fleet-floor, and deletes them in the end.")]
pub(crate) struct WorksArgs {
    /// Number of ManifestWorks
    #[arg(long, default_value_t = 100)]
    works: usize,
    /// Objects of each: a Deployment and four ConfigMaps in turns
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(2..))]
    manifests: u16,
    /// Kubeconfig of an admin of the managed cluster [default: another devhub, or the hub of --kubeconfig]
    #[arg(long, value_name = "FILE")]
    managed_kubeconfig: Option<PathBuf>,
    /// Command that starts the agent; {hub} and {managed} stand for kubeconfigs, {cluster} for the name of the cluster
    /// [default: berth work agent, beside this program]
    #[arg(long, value_name = "COMMAND")]
    agent: Option<String>,
}

/// The measured figures. Times are in seconds, memory in MiB.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    works: usize,
    objects: usize,
    /// The objects written one after the other by this tool, without an agent.
    floor_s: f64,
    /// The ManifestWorks created by this tool.
    created_s: f64,
    /// From the first creation until the last ManifestWork is reported as applied and available.
    applied_s: f64,
    applied_cpu_s: f64,
    resident_mib: f64,
    rest_s: u64,
    /// Requests to both servers, if they count them, and those of as long a time without an agent.
    rest_requests: Option<f64>,
    rest_requests_alone: Option<f64>,
    rest_writes: i64,
    rest_cpu_s: f64,
    /// ConfigMaps changed by this tool, until its last write, and from then until the last one is as prescribed.
    drifted: usize,
    drift_writes_s: f64,
    repaired_after_s: f64,
    repair_cpu_s: f64,
    /// From the first deletion until the last ManifestWork and its objects are gone.
    deleted_s: f64,
    deleted_cpu_s: f64,
    peak_mib: f64,
}

/// The servers.
struct Servers {
    hub: FleetHub,
    /// `None`: the hub is the managed cluster, too.
    apart: Option<FleetHub>,
}

pub(crate) async fn measure(
    args: &WorksArgs,
    kubeconfig: Option<&Path>,
    rest: u64,
    folder: &Path,
) -> Result<Report> {
    let servers = Servers::open(args, kubeconfig, folder).await?;
    let (hub, managed) = (&servers.hub, servers.managed());
    let (works, each) = (args.works, usize::from(args.manifests));
    let objects = works * each;

    say("writing without an agent");
    let begun = Instant::now();
    for number in 0..objects {
        let object = object(FLOOR, number);
        managed
            .send("POST", &collection(&object, FLOOR), &object)
            .await?;
    }
    let floor_s = begun.elapsed().as_secs_f64();
    let before = servers.served().await?;
    sleep(Duration::from_secs(rest)).await;
    let rest_requests_alone = between(before, servers.served().await?);

    let agent = start(args, &servers)?;
    let cpu = || process::cpu_time(agent.id()).map(|time| time.as_secs_f64());
    sleep(Duration::from_secs(3)).await;

    say("applying");
    let (cpu_before, begun) = (cpu()?, Instant::now());
    let path = object_path(WORKS, CLUSTER, "");
    let create = async {
        let bodies = (0..works).map(|number| work(number, each)).collect();
        hub.send_all("POST", bodies, |_| path.clone()).await?;
        Ok(begun.elapsed().as_secs_f64())
    };
    let created_s = until(hub, &path, works, is_available, create).await?;
    let applied_s = begun.elapsed().as_secs_f64();
    sleep(Duration::from_secs(2)).await;
    let applied_cpu_s = cpu()? - cpu_before;
    let resident_mib = mib(process::memory(agent.id())?.rss_kib);

    say("resting");
    let (cpu_before, before) = (cpu()?, servers.served().await?);
    let version = servers.version().await?;
    sleep(Duration::from_secs(rest)).await;
    let rest_cpu_s = cpu()? - cpu_before;
    let rest_writes = servers.version().await? - version;
    let rest_requests = between(before, servers.served().await?);

    say("changing objects");
    let (cpu_before, begun) = (cpu()?, Instant::now());
    let maps = object_path(MAPS, OBJECTS, "");
    let drift = async {
        let change = || json!({"data": {"k": DRIFT}});
        let bodies = (0..works).map(|_| change()).collect();
        let path = |number| format!("{maps}/{}", name(number * each + 1));
        managed.send_all("PATCH", bodies, path).await?;
        Ok(begun.elapsed().as_secs_f64())
    };
    let is_repaired = |map: &Value| map["data"]["k"] == VALUE;
    let drift_writes_s = until(managed, &maps, works, is_repaired, drift).await?;
    let repaired_after_s = begun.elapsed().as_secs_f64() - drift_writes_s;
    let repair_cpu_s = cpu()? - cpu_before;

    say("deleting");
    let (cpu_before, begun) = (cpu()?, Instant::now());
    let bodies = vec![Value::Null; works];
    hub.send_all("DELETE", bodies, |number| format!("{path}/w{number}"))
        .await?;
    for (server, path) in [(hub, &path), (managed, &maps)] {
        gone(server, path).await?;
    }
    let deleted_s = begun.elapsed().as_secs_f64();
    let deleted_cpu_s = cpu()? - cpu_before;
    let peak_mib = mib(process::memory(agent.id())?.peak_kib);
    drop(agent);
    say("cleaning up");
    servers.clean_up().await?;
    Ok(Report {
        works,
        objects,
        floor_s,
        created_s,
        applied_s,
        applied_cpu_s,
        resident_mib,
        rest_s: rest,
        rest_requests,
        rest_requests_alone,
        rest_writes,
        rest_cpu_s,
        drifted: works,
        drift_writes_s,
        repaired_after_s,
        repair_cpu_s,
        deleted_s,
        deleted_cpu_s,
        peak_mib,
    })
}

fn start(args: &WorksArgs, servers: &Servers) -> Result<Running> {
    let berth = std::env::current_exe()?.with_file_name("berth");
    let command = args.agent.clone().unwrap_or_else(|| {
        format!(
            "{} work agent --kubeconfig={{managed}} --workload-source-config={{hub}} --spoke-cluster-name={{cluster}} --agent-id=fleet \
             --disable-leader-election --listen=127.0.0.1:auto",
            berth.display()
        )
    });
    let (hub, managed) = (&servers.hub.kubeconfig, &servers.managed().kubeconfig);
    let command = command
        .replace("{hub}", &hub.display().to_string())
        .replace("{managed}", &managed.display().to_string())
        .replace("{cluster}", CLUSTER);
    run("--agent", &command, &hub.with_extension("log"))
}

/// Does something, and waits until this many objects of a collection have changed and are so. Returns the result of `act`.
async fn until<T>(
    server: &FleetHub,
    path: &str,
    count: usize,
    is: impl Fn(&Value) -> bool,
    act: impl Future<Output = Result<T>>,
) -> Result<T> {
    let version = server.version().await?;
    let done = std::sync::Mutex::new(HashSet::new());
    let all = Notify::new();
    let see = |object: &Value| {
        if is(object)
            && let Some(name) = object["metadata"]["name"].as_str()
            && let Ok(mut done) = done.lock()
        {
            done.insert(name.to_owned());
            if done.len() >= count {
                all.notify_one();
            }
        }
    };
    let wait = async {
        let acted = act.await?;
        match timeout(PATIENCE, all.notified()).await {
            Ok(()) => Ok(acted),
            Err(_) => {
                let so_far = done.lock().map_or(0, |done| done.len());
                bail!("{so_far} of {count} objects of {path}")
            }
        }
    };
    tokio::select! {
        ended = server.tell_since(path, version, see) => Err(ended.err().unwrap_or_else(|| anyhow::anyhow!("the watch ended"))),
        acted = wait => acted,
    }
}

/// Waits until a collection has no object of this tool.
async fn gone(server: &FleetHub, path: &str) -> Result<()> {
    let begun = Instant::now();
    let label = format!("{path}?limit=1&labelSelector=fleet%3Dworks");
    while !server.get(&label).await?["items"]
        .as_array()
        .is_none_or(Vec::is_empty)
    {
        if begun.elapsed() > PATIENCE {
            bail!("{path} is not empty");
        }
        sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

fn is_available(work: &Value) -> bool {
    let generation = &work["metadata"]["generation"];
    let conditions = work["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.all(|it| it["observedGeneration"] == *generation)
        && ["Applied", "Available"]
            .iter()
            .all(|type_| condition(work, type_) == Some("True"))
}

fn name(number: usize) -> String {
    format!("o{number}")
}

/// A Deployment, or one of four ConfigMaps.
fn object(namespace: &str, number: usize) -> Value {
    let name = name(number);
    let metadata =
        json!({"name": name, "namespace": namespace, "labels": {"fleet": "works", "app": name}});
    if !number.is_multiple_of(5) {
        return json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"k": VALUE, "text": "v".repeat(200)},
        });
    }
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "a", "image": "registry.example/a:1"}]},
            },
        },
    })
}

fn collection(object: &Value, namespace: &str) -> String {
    let kind = match object["kind"].as_str() {
        Some("Deployment") => ("apps", "v1", "deployments"),
        _ => MAPS,
    };
    object_path(kind, namespace, "")
}

pub(crate) fn work(number: usize, each: usize) -> Value {
    let first = number * each;
    let manifests: Vec<_> = (first..first + each)
        .map(|it| object(OBJECTS, it))
        .collect();
    json!({
        "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
        "metadata": {"name": format!("w{number}"), "labels": {"fleet": "works"}},
        "spec": {"workload": {"manifests": manifests}},
    })
}

fn between(before: Option<f64>, after: Option<f64>) -> Option<f64> {
    Some(after? - before?)
}

// === impl Servers ===

impl Servers {
    async fn open(args: &WorksArgs, hub: Option<&Path>, folder: &Path) -> Result<Self> {
        let managed = match (hub, &args.managed_kubeconfig) {
            (Some(_), None) => None,
            (_, managed) => Some(managed.as_deref()),
        };
        let hub = FleetHub::open(hub, folder).await?;
        let apart = match managed {
            None => None,
            Some(kubeconfig) => {
                let folder = folder.join("managed");
                std::fs::create_dir(&folder)?;
                Some(FleetHub::open(kubeconfig, &folder).await?)
            }
        };
        let servers = Self { hub, apart };
        let (hub, managed) = (&servers.hub, servers.managed());
        let path = object_path(WORKS, CLUSTER, "");
        hub.install(WORK_CRDS.iter().flat_map(Manifest::documents), &path)
            .await?;
        let path = "/apis/work.open-cluster-management.io/v1/appliedmanifestworks";
        let applied = CRD_APPLIED_MANIFEST_WORKS.documents();
        managed.install(applied, path).await?;
        for (server, name) in [(hub, CLUSTER), (managed, OBJECTS), (managed, FLOOR)] {
            let namespace =
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            server
                .send("POST", "/api/v1/namespaces", &namespace)
                .await?;
        }
        Ok(servers)
    }

    fn managed(&self) -> &FleetHub {
        self.apart.as_ref().unwrap_or(&self.hub)
    }

    fn all(&self) -> impl Iterator<Item = &FleetHub> {
        std::iter::once(&self.hub).chain(&self.apart)
    }

    /// The requests that the servers have answered; `None` if one does not count them.
    async fn served(&self) -> Result<Option<f64>> {
        let mut all = Some(0.0);
        for server in self.all() {
            let served = server.served().await?;
            all = all.zip(served).map(|(all, served)| all + served);
        }
        Ok(all)
    }

    /// The sum of the servers' resourceVersions.
    async fn version(&self) -> Result<i64> {
        let mut sum = 0;
        for server in self.all() {
            sum += server.version().await?;
        }
        Ok(sum)
    }

    async fn clean_up(&self) -> Result<()> {
        let managed = self.managed();
        for (server, name) in [(&self.hub, CLUSTER), (managed, OBJECTS), (managed, FLOOR)] {
            let path = object_path(("", "v1", "namespaces"), "", name);
            server.send("DELETE", &path, &Value::Null).await?;
        }
        Ok(())
    }
}

// === impl Report ===

impl Report {
    pub(crate) fn rows(&self) -> Vec<(String, String)> {
        let row = |what: &str, figure: String| (what.to_owned(), figure);
        let seconds = |seconds: f64| format!("{seconds:.2} s");
        let count = |count: Option<f64>| count.map_or("-".to_owned(), |it| format!("{it:.0}"));
        let Self {
            works,
            objects,
            drifted,
            ..
        } = self;
        vec![
            (
                format!("{objects} objects written one by one, no agent"),
                seconds(self.floor_s),
            ),
            (
                format!("{works} ManifestWorks of them created"),
                seconds(self.created_s),
            ),
            row("  all applied and reported", seconds(self.applied_s)),
            row(
                "  as a ratio to the writes without an agent",
                format!("{:.2}", self.applied_s / self.floor_s),
            ),
            row("  CPU of the agent", seconds(self.applied_cpu_s)),
            row("  resident after", format!("{:.1} MiB", self.resident_mib)),
            (
                format!("at rest for {} s: requests", self.rest_s),
                count(self.rest_requests),
            ),
            row(
                "  in the same time without an agent",
                count(self.rest_requests_alone),
            ),
            row("  writes", self.rest_writes.to_string()),
            row("  CPU of the agent", seconds(self.rest_cpu_s)),
            (
                format!("{drifted} objects changed by another client"),
                seconds(self.drift_writes_s),
            ),
            row(
                "  as prescribed after the last change",
                seconds(self.repaired_after_s),
            ),
            row("  CPU of the agent", seconds(self.repair_cpu_s)),
            (
                format!("{works} ManifestWorks deleted, with their objects"),
                seconds(self.deleted_s),
            ),
            row("  CPU of the agent", seconds(self.deleted_cpu_s)),
            row(
                "most that was resident",
                format!("{:.1} MiB", self.peak_mib),
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_work_counts_once_all_of_its_status_is_of_its_generation() {
        let work = |conditions: Value| json!({"metadata": {"generation": 2}, "status": {"conditions": conditions}});
        let condition = |type_: &str, status: &str, generation: i64| json!({"type": type_, "status": status, "observedGeneration": generation});
        let applied = condition("Applied", "True", 2);
        for (sentence, conditions, expected) in [
            ("no status", Value::Null, false),
            ("applied only", json!([applied]), false),
            (
                "available before",
                json!([applied, condition("Available", "True", 1)]),
                false,
            ),
            (
                "not available",
                json!([applied, condition("Available", "False", 2)]),
                false,
            ),
            (
                "available",
                json!([applied, condition("Available", "True", 2)]),
                true,
            ),
        ] {
            assert_eq!(is_available(&work(conditions)), expected, "{sentence}");
        }
    }

    #[test]
    fn manifests_are_the_objects_that_are_written_without_an_agent() {
        let works = (0..3).flat_map(|it| {
            let work = work(it, 10);
            work["spec"]["workload"]["manifests"]
                .as_array()
                .cloned()
                .unwrap()
        });
        let objects: Vec<_> = (0..30).map(|it| object(OBJECTS, it)).collect();
        assert_eq!(works.collect::<Vec<_>>(), objects);
        let paths: HashSet<_> = objects.iter().map(|it| collection(it, OBJECTS)).collect();
        assert_eq!(paths.len(), 2);
        // The object that is changed is a ConfigMap.
        assert!((0..3).all(|it| object(OBJECTS, it * 10 + 1)["data"]["k"] == VALUE));
    }
}
