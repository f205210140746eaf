//! `berth demo`: a hub in this process, gate and lifecycle on it, and the story of a cluster played there.

mod act;
mod gate;
mod install;
mod people;
mod play;
mod request;
mod steps;
mod text;

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use berth_devhub::{Hub, Options};
use kube::config::Kubeconfig;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::logging::{self, Format};
use crate::ports::Port;
use crate::signals;
use text::Screen;

const EXAMPLES: &str = "\
Examples:
  # The play, then a hub to look around on, until Ctrl-C
  berth demo

  # The play alone; exits with 1 if the hub does anything else than it should
  berth demo --exit

Nothing is left behind: the hub lives in this process, and its kubeconfig in a folder for temporary
files, which is removed in the end.";

/// Show what Berth does, on a hub in this process
///
/// Starts a Kubernetes-compatible hub for development, the gate and the lifecycle, installs the manifests, creates three people and an agent, and plays how a cluster is let in, put into a set, bound, falls silent, is turned out and leaves. Then it stays up and says how to look around with kubectl. Needs no cluster.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// End after the play
    #[arg(long)]
    exit: bool,
    /// Port of the hub on 127.0.0.1; 'auto' for any free one
    #[arg(long, default_value = "auto")]
    port: Port,
    /// Log what hub and gate do: 1 for denials and the like, 4 and more for debugging
    #[arg(
        short = 'v',
        long = "v",
        value_name = "LEVEL",
        num_args = 0..=1,
        default_missing_value = "1",
        default_value_t = 0,
        hide_default_value = true
    )]
    verbosity: u8,
}

/// Plays, and stays up until a signal.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match args.verbosity {
        0 => logging::init_quiet(Format::Text),
        verbosity => logging::init(Format::Text, verbosity),
    }
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(demo(args))
}

async fn demo(args: &Args) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let shutdown = CancellationToken::new();
    let told_twice = signals::told_twice(shutdown.clone())?;
    let played = async {
        let folder = folder()?;
        let stage = Stage::set(args, folder, started).await?;
        let played = tokio::select! {
            played = stage.play(args.exit) => played,
            () = shutdown.cancelled() => Ok(()),
        };
        if played.is_ok() && !args.exit {
            shutdown.cancelled().await;
        }
        stage.clear().await?;
        played
    };
    tokio::select! {
        played = played => played.map(|()| ExitCode::SUCCESS),
        () = told_twice => anyhow::bail!("told to stop a second time: stopped at once"),
    }
}

/// Everything that the play needs.
struct Stage {
    hub: Hub,
    gate: gate::Running,
    folder: TempDir,
    kubeconfig: Kubeconfig,
    started: Instant,
}

impl Stage {
    async fn set(args: &Args, folder: TempDir, started: Instant) -> anyhow::Result<Self> {
        let gate_port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = gate_port.local_addr()?;
        let port = match args.port {
            Port::Number(number) => number,
            Port::Auto | Port::Unset => 0,
        };
        let hub = Hub::start(Options {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            // Where a cluster's network would lead to.
            services: [(gate::service(), address)].into(),
            ..Options::default()
        })
        .await
        .context("--port")?;
        let kubeconfig = people::kubeconfig(&hub)?;
        let path = folder.path().join("kubeconfig");
        fs::write(&path, serde_saphyr::to_string(&kubeconfig)?)
            .with_context(|| format!("{} cannot be written", path.display()))?;

        let admin = people::client(&kubeconfig, people::ROOT).await?;
        let certificates = gate::certificates(&folder.path().join("gate"))?;
        install::before_the_gate(&admin).await?;
        let gate = gate::Running::start(&admin, &hub, gate_port, certificates.folder).await?;
        install::registrations(&admin, &certificates.ca).await?;
        install::people(&admin).await?;
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
            "A hub is up at {}, looked after by Berth, after {} ms.\n",
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

/// Nobody guesses its name, and nobody else may enter it: the kubeconfig in it holds keys.
fn folder() -> anyhow::Result<TempDir> {
    tempfile::Builder::new()
        .prefix("berth-demo-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
        .context("a folder for the kubeconfig cannot be made")
}
