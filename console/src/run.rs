//! The command.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use berth_admin::HubArgs;
use berth_admin::answers::{Failure, Hub};
use berth_rules::display::Plain;
use berth_serve::{Limits, Listener, Peer, Stop};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{self, error::TrySendError};

use crate::app::{App, Settings};
use crate::live::Tasks;
use crate::routes::router;

/// Upper bound on connections of browsers.
const MOST_CONNECTIONS: usize = 200;

/// Look at a hub in the browser: clusters, what each waits for, and requests to accept
///
/// Serves a page on 127.0.0.1, and prints its address. The page shows what you may see, and does what you may do: the hub is called as the
/// user of the kubeconfig. An action is first tried as a dry run of the hub, whose result is shown; if you may not do it, the page says
/// which permission is missing, as 'berth can-i' does.
///
/// The printed address has a code that signs one browser in, once, within 2 minutes. Press Enter for another address. The code is not
/// passed to a browser by the command, since other users of the machine see the arguments of processes. The session ends when you sign
/// out, after 12 hours without use, or with this command.
///
/// Other users of the machine, and pages of other sites, get nothing from the port without the code.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Open the console of the current context
  berth console

  # On a fixed port, for a port that is forwarded
  berth console --port 8090

  # Only look
  berth console --read-only

  # Look as another user
  berth console --as dev --as-group developers")]
pub struct ConsoleArgs {
    /// Port on 127.0.0.1; 0 means any free port
    #[arg(long, value_name = "PORT", default_value = "0")]
    port: u16,
    /// Refuse all actions, whatever you may do
    #[arg(long)]
    read_only: bool,
    #[command(flatten)]
    hub: HubArgs,
}

/// Runs `berth console` until it is stopped.
///
/// # Errors
/// The kubeconfig cannot be used, or the port is taken.
pub fn run(args: &ConsoleArgs) -> anyhow::Result<ExitCode> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let served = runtime.block_on(serve(args));
    // A read of the terminal cannot be ended.
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}

async fn serve(args: &ConsoleArgs) -> anyhow::Result<()> {
    let failed = |failure: Failure| anyhow::anyhow!(failure.message);
    let hub = Hub::connect(&args.hub).await.map_err(failed)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let port = TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen on {address}: choose another --port, or 0 for any free port")
    })?;
    let tasks = Tasks::default();
    let settings = Settings {
        address: port.local_addr()?,
        context: args.hub.context().map(str::to_owned),
        read_only: args.read_only,
    };
    let app = App::new(hub, settings, tasks.clone())?;
    let routes = router(Arc::clone(&app));
    let limits = Limits {
        connections: MOST_CONNECTIONS,
        ..Limits::default()
    };
    let listener = Listener::new(port, None, move |_: &Peer| routes.clone(), limits);
    let stop = Stop::at_once(tasks.end.clone());
    let mut serving = tokio::spawn(listener.serve(stop));
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut enters = enters();
    let server = app.hub.server();
    writeln!(io::stdout(), "The console of the hub at {}:", Plain(server))?;
    announce(&app)?;
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            Some(()) = enters.recv() => announce(&app)?,
            _ = &mut serving => anyhow::bail!("the server ended unexpectedly"),
        }
    }
    tasks.end.cancel();
    tasks.tracker.close();
    serving.await?;
    tasks.tracker.wait().await;
    Ok(())
}

/// Prints an address that signs a browser in.
fn announce(app: &App) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "\n  {}\n", app.new_address()?)?;
    let how = "It signs one browser in, within 2 minutes. Enter prints another address, Ctrl-C ends the console.";
    writeln!(out, "{how}")?;
    Ok(out.flush()?)
}

/// Tells each line of standard input, until it ends. A thread reads, since a read of a terminal cannot be ended.
fn enters() -> mpsc::Receiver<()> {
    let (told, enters) = mpsc::channel(1);
    std::thread::spawn(move || {
        for byte in io::stdin().lock().bytes() {
            match byte {
                // Enter pressed again before the last one was seen counts once.
                Ok(b'\n') => match told.try_send(()) {
                    Err(TrySendError::Closed(())) => return,
                    Ok(()) | Err(TrySendError::Full(())) => {}
                },
                Ok(_) => {}
                Err(_) => return,
            }
        }
    });
    enters
}
