//! One gate with a hub, its callers, and the resources that it holds.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;

use rustls::ClientConfig;
use tempfile::TempDir;
use tokio::sync::watch;

use crate::faults::calls;
use crate::faults::load::{Target, trusting};
use berth_testkit::cluster::janitor::{self, Watched};
use berth_testkit::cluster::{Cluster, Private};
use berth_testkit::guarded::{gates_kubeconfig, install};
use berth_testkit::{Gate, berth, eventually, when, where_to_serve};

const NAME: &str = "localhost";

/// A gate that is ready.
pub struct Served {
    pub gate: Gate,
    pub trust: watch::Sender<Arc<ClientConfig>>,
    _watched: Watched,
    _hub: Private,
}

/// The resources of a process.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    pub files: usize,
    pub threads: usize,
    /// Resident memory in KiB.
    pub memory: usize,
    /// Peak of resident memory in KiB.
    pub most_memory: usize,
}

impl Served {
    pub async fn start() -> Self {
        Self::with(|command| command).await
    }

    /// In a process with this limit of open files.
    pub async fn with_files(most: usize) -> Self {
        Self::with(|command| {
            let mut limited = Command::new("sh");
            limited
                .args(["-c", &format!("ulimit -n {most} && exec \"$0\" \"$@\"")])
                .arg(command.get_program())
                .args(command.get_args());
            for (name, value) in command.get_envs() {
                match value {
                    Some(value) => limited.env(name, value),
                    None => limited.env_remove(name),
                };
            }
            limited
        })
        .await
    }

    async fn with(started: impl FnOnce(Command) -> Command) -> Self {
        let hub = Cluster::private().await;
        install(&hub).await;
        calls::grant(&hub).await;
        let kubeconfig = gates_kubeconfig(&hub).await;
        let certs = TempDir::new().unwrap();
        janitor::remove_at_the_end(certs.path());
        let mut command = berth(&["webhook-server", "--self-signed"]);
        command
            .args(["--kubeconfig", kubeconfig.to_str().unwrap()])
            .args(where_to_serve(certs.path()));
        let mut gate = Gate::run(started(command), certs);
        let watched = Watched::new(&gate.child);
        gate.logged(|line| line["message"] == "ready: questions are answered");
        let ca = std::fs::read_to_string(gate.certs.path().join("ca.crt")).unwrap();
        Self {
            trust: trusting(&ca),
            gate,
            _watched: watched,
            _hub: hub,
        }
    }

    pub fn target(&self) -> Target {
        Target::new(self.gate.port, NAME, &self.trust)
    }

    pub fn held(&self) -> Held {
        Held::by(self.gate.child.id())
    }

    /// Waits until it holds at most this number of files.
    pub async fn lets_go(&self, files: usize) {
        eventually(&format!("no more than {files} files"), async || {
            when(self.held(), |it| it.files <= files)
        })
        .await;
    }

    /// The number of closed connections, by reason.
    pub async fn closed(&self) -> BTreeMap<String, u64> {
        let metrics = self.gate.metrics().await;
        let lines = metrics.lines();
        let lines = lines
            .filter_map(|line| line.strip_prefix("berth_webhook_connections_closed_total{reason="));
        lines
            .map(|line| {
                let (reason, count) = line.split_once("} ").unwrap();
                (reason.trim_matches('"').to_owned(), count.parse().unwrap())
            })
            .collect()
    }
}

impl Held {
    pub fn by(pid: u32) -> Self {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let value = |name: &str| {
            let mut lines = status.lines();
            let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            let number = value.unwrap().split_whitespace().next();
            number.unwrap().parse().unwrap()
        };
        Self {
            files: std::fs::read_dir(format!("/proc/{pid}/fd"))
                .unwrap()
                .count(),
            threads: value("Threads"),
            memory: value("VmRSS"),
            most_memory: value("VmHWM"),
        }
    }
}
