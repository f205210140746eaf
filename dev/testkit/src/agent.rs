//! A running agent of a managed cluster.

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::cluster::janitor::Watched;
use crate::{Logged, berth, port};

/// A running `berth agent`, which ends with this process.
pub struct Agent {
    process: Logged,
    _watched: Watched,
    /// The port of health and metrics.
    pub port: u16,
}

impl Agent {
    /// Starts it on the cluster of one kubeconfig, for the hub of the other, with these flags. It does not elect a leader.
    pub fn start(kubeconfig: &Path, bootstrap: &Path, flags: &[&str]) -> Self {
        let mut process = Logged::start(Self::command(kubeconfig, bootstrap, flags));
        let watched = Watched::new(&process.child);
        let serving = process.logged(|line| line["message"] == "serving");
        Self {
            process,
            _watched: watched,
            port: port(&serving["agent"]),
        }
    }

    /// Starts it likewise, and kills it after this time, whatever it does then.
    pub async fn killed_after(time: Duration, kubeconfig: &Path, bootstrap: &Path, flags: &[&str]) {
        let process = Logged::start(Self::command(kubeconfig, bootstrap, flags));
        let _watched = Watched::new(&process.child);
        tokio::time::sleep(time).await;
    }

    fn command(kubeconfig: &Path, bootstrap: &Path, flags: &[&str]) -> Command {
        let mut command = berth(&["agent", "--kubeconfig", kubeconfig.to_str().unwrap()]);
        command
            .args(["--bootstrap-kubeconfig", bootstrap.to_str().unwrap()])
            .args(["--listen", "127.0.0.1:auto", "--log-format", "json"])
            .args(["--disable-leader-election", "--work=false"])
            .args(flags)
            // As in a pod, whose file system is read-only.
            .env("TMPDIR", "/nonexistent");
        command
    }

    /// Waits until it has logged that it waits for this reason, and returns the message.
    pub async fn waits(&mut self, reason: &str) -> String {
        let line = self.logs(|line| line["reason"] == reason).await;
        let Value::String(message) = &line["message"] else {
            panic!("{line}")
        };
        message.clone()
    }

    /// Waits until it has logged that the hub manages the cluster.
    pub async fn is_managed(&mut self) {
        self.logs(|line| line["message"] == "the cluster is managed by the hub")
            .await;
    }
}

impl Deref for Agent {
    type Target = Logged;

    fn deref(&self) -> &Logged {
        &self.process
    }
}

impl DerefMut for Agent {
    fn deref_mut(&mut self) -> &mut Logged {
        &mut self.process
    }
}
