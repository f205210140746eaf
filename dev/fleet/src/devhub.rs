//! A devhub in a process of its own, so that its CPU and memory are not the agents'.
//!
//! The process is this program again, by a hidden command. It ends with the tool: its input ends then.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use berth_devhub::{DevHub, Options};
use clap::Args;
use tokio::time::sleep;

/// Serves a devhub until its input ends
#[derive(Args, Debug)]
#[command(hide = true)]
pub(crate) struct DevHubArgs {
    /// The admin's kubeconfig to write
    kubeconfig: PathBuf,
}

/// A running devhub. Ends when it is dropped.
pub(crate) struct DevHubProcess(Child);

// === impl DevHubArgs ===

impl DevHubArgs {
    pub(crate) async fn serve(&self) -> Result<()> {
        let hub = DevHub::start(Options::default()).await?;
        let kubeconfig = hub.kubeconfig("admin", &["system:masters"])?;
        // The tool reads the file as soon as it exists.
        let draft = self.kubeconfig.with_extension("draft");
        std::fs::write(&draft, kubeconfig)?;
        std::fs::rename(&draft, &self.kubeconfig)?;
        let read = || std::io::stdin().read_to_end(&mut Vec::new());
        tokio::task::spawn_blocking(read).await??;
        Ok(())
    }
}

// === impl DevHubProcess ===

impl DevHubProcess {
    /// Starts it, and waits until it has written the admin's kubeconfig.
    pub(crate) async fn start(kubeconfig: &Path) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("devhub")
            .arg(kubeconfig)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .context("the devhub cannot be started")?;
        let begun = Instant::now();
        while !kubeconfig.exists() {
            if let Some(status) = child.try_wait()? {
                bail!("the devhub ended: {status}");
            }
            if begun.elapsed() > Duration::from_secs(30) {
                bail!("the devhub has not started within 30 s");
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(Self(child))
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for DevHubProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
