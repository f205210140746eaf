//! `berth demo`: runs a hub with the gate and the controllers, and two managed clusters with their agents, in this process, and
//! plays the story of these clusters. Then it serves the console, and a third cluster asks to join. All API servers are hubs for development.

mod act;
mod agent;
mod gate;
mod install;
mod managed;
mod play;
mod request;
mod see;
mod steps;
mod text;
mod users;
mod visit;

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use anyhow::Context;
use berth_devhub::{DevHub, Options};
use kube::config::Kubeconfig;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use managed::{Agents, Servers};
use text::Screen;

/// The validity of the first certificate, that of c1's agent. It begins five minutes before it is signed, and an agent renews when a quarter
/// to a fifth is left: that is at most four seconds later.
const FIRST_VALIDITY: Duration = Duration::from_secs(80);

/// Settings of a demo.
#[derive(Clone, Copy, Debug)]
pub struct Demo {
    /// Port of the hub on 127.0.0.1; 0 chooses a free one.
    pub port: u16,
    /// End after the last step.
    pub exit: bool,
}

impl Demo {
    /// Plays the steps, and then keeps all clusters running until `shutdown`, unless `exit` is set. Removes all its files.
    ///
    /// # Errors
    /// The demo cannot start, or a step does not end as expected.
    pub async fn run(&self, shutdown: CancellationToken) -> anyhow::Result<()> {
        let started = Instant::now();
        let folder = folder()?;
        let mut stage = Stage::set(self, folder, started).await?;
        let played = tokio::select! {
            played = stage.play(self.exit) => played,
            () = shutdown.cancelled() => Ok(()),
        };
        let looked = match played.is_ok() && !self.exit && !shutdown.is_cancelled() {
            true => visit::host(&mut stage, shutdown).await,
            false => Ok(()),
        };
        stage.clear().await?;
        played.and(looked)
    }
}

/// The running clusters, gate and agents, and the users' kubeconfig.
struct Stage {
    hub: DevHub,
    gate: gate::Running,
    managed: Servers,
    agents: Agents,
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
            first_validities: vec![FIRST_VALIDITY],
            ..Options::default()
        })
        .await
        .context("--port")?;
        let guest = (!demo.exit).then_some(managed::GUEST);
        let managed = Servers::start(guest).await.context("a managed cluster")?;
        let kubeconfig = users::kubeconfig(&hub, managed.all())?;
        let path = folder.path().join(act::KUBECONFIG);
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
        let agents = Agents::start(&kubeconfig, &hub, folder.path()).await?;
        Ok(Self {
            hub,
            gate,
            managed,
            agents,
            folder,
            kubeconfig,
            started,
        })
    }

    async fn play(&mut self, exits: bool) -> anyhow::Result<()> {
        let screen = Screen::stdout();
        let took = self.started.elapsed();
        screen.say(&format!(
            "A hub is up at {} with Berth, and two managed clusters with its agents, after {} ms.\n",
            self.hub.url(),
            took.as_millis()
        ))?;
        let folder = self.folder.path();
        play::play(&screen, &self.kubeconfig, &mut self.agents, folder).await?;
        if !exits {
            text::look_around(
                &screen,
                self.folder.path(),
                self.gate.metrics,
                &self.managed,
            )?;
        }
        io::stdout().flush()?;
        Ok(())
    }

    async fn clear(self) -> anyhow::Result<()> {
        self.agents.end().await?;
        self.gate.stop().await?;
        self.managed.shutdown().await;
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
