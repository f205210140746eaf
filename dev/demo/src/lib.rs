//! `berth demo`: runs a development hub, the gate and the lifecycle controller in this process, and plays the story of a cluster.

mod act;
mod gate;
mod install;
mod play;
mod request;
mod steps;
mod text;
mod users;

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use anyhow::Context;
use berth_devhub::{DevHub, Options};
use kube::config::Kubeconfig;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use text::Screen;

/// Settings of a demo.
#[derive(Clone, Copy, Debug)]
pub struct Demo {
    /// Port of the hub on 127.0.0.1; 0 chooses a free one.
    pub port: u16,
    /// End after the last step.
    pub exit: bool,
}

impl Demo {
    /// Plays the steps, and then keeps the hub running until `shutdown`, unless `exit` is set. Removes all its files.
    ///
    /// # Errors
    /// The demo cannot start, or a step does not end as expected.
    pub async fn run(&self, shutdown: CancellationToken) -> anyhow::Result<()> {
        let started = Instant::now();
        let folder = folder()?;
        let stage = Stage::set(self, folder, started).await?;
        let played = tokio::select! {
            played = stage.play(self.exit) => played,
            () = shutdown.cancelled() => Ok(()),
        };
        if played.is_ok() && !self.exit {
            shutdown.cancelled().await;
        }
        stage.clear().await?;
        played
    }
}

/// The running hub and gate, and the users' kubeconfig.
struct Stage {
    hub: DevHub,
    gate: gate::Running,
    folder: TempDir,
    kubeconfig: Kubeconfig,
    started: Instant,
}

impl Stage {
    async fn set(demo: &Demo, folder: TempDir, started: Instant) -> anyhow::Result<Self> {
        let gate_port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = gate_port.local_addr()?;
        let hub = DevHub::start(Options {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, demo.port)),
            // The address that a cluster's network would resolve for the Service.
            services: [(gate::service(), address)].into(),
            ..Options::default()
        })
        .await
        .context("--port")?;
        let kubeconfig = users::kubeconfig(&hub)?;
        let path = folder.path().join("kubeconfig");
        fs::write(&path, serde_saphyr::to_string(&kubeconfig)?)
            .with_context(|| format!("{} cannot be written", path.display()))?;

        let admin = users::client(&kubeconfig, users::ROOT).await?;
        let certificates = gate::certificates(&folder.path().join("gate"))?;
        install::before_the_gate(&admin).await?;
        let folder_of_gate = certificates.folder;
        let gate = gate::Running::start(&admin, &hub, gate_port, folder_of_gate).await?;
        install::registrations(&admin, &certificates.ca).await?;
        install::users(&admin).await?;
        play::write_files(folder.path())?;
        Ok(Self {
            hub,
            gate,
            folder,
            kubeconfig,
            started,
        })
    }

    async fn play(&self, exits: bool) -> anyhow::Result<()> {
        let screen = Screen::stdout();
        let took = self.started.elapsed();
        screen.say(&format!(
            "A hub is up at {} with Berth, after {} ms.\n",
            self.hub.url(),
            took.as_millis()
        ))?;
        play::play(&screen, &self.kubeconfig).await?;
        if !exits {
            text::look_around(&screen, self.folder.path(), self.gate.metrics)?;
        }
        io::stdout().flush()?;
        Ok(())
    }

    async fn clear(self) -> anyhow::Result<()> {
        self.gate.stop().await?;
        self.hub.shutdown().await;
        self.folder
            .close()
            .context("the demo's folder cannot be removed")
    }
}

/// A new folder with a random name, readable by this user only: the kubeconfig in it contains keys.
fn folder() -> anyhow::Result<TempDir> {
    tempfile::Builder::new()
        .prefix("berth-demo-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
        .context("a folder for the kubeconfig cannot be created")
}
