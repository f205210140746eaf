//! The command.

use std::io::{self, Write};
use std::process::ExitCode;

use berth_admin::HubArgs;
use berth_admin::answers::{Failure, Hub};
use berth_rules::display::Plain;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::public::{self, PublicArgs};
use crate::served::{Options, Served};

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
///
/// With --serve, the console serves many users, for example in a pod: each signs in with a token of the hub, or at an OpenID provider
/// that the hub trusts, and the hub is called with that user's token.
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
  berth console --as dev --as-group developers

  # Serve many users, who sign in at an OpenID provider
  berth console --serve --public-url https://console.example.com \\
    --oidc-issuer-url https://login.example.com --oidc-client-id berth")]
pub struct ConsoleArgs {
    /// Port on 127.0.0.1; 0 means any free port [default: 0; with --serve 8443, on all addresses]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Refuse all actions, whatever you may do
    #[arg(long)]
    read_only: bool,
    #[command(flatten)]
    public: PublicArgs,
    #[command(flatten)]
    hub: HubArgs,
}

// === impl ConsoleArgs ===

impl ConsoleArgs {
    /// Returns true for a server of many users: [`serve_many`].
    pub fn is_server(&self) -> bool {
        self.public.is_chosen()
    }
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

/// Serves many users until the process is stopped.
///
/// # Errors
/// A flag is wrong, the kubeconfig cannot be used, or a port is taken.
pub async fn serve_many(args: &ConsoleArgs) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let stop = CancellationToken::new();
    let (public, port) = (&args.public, args.port);
    let serving = public::serve(public, &args.hub, port, args.read_only, stop.clone());
    tokio::pin!(serving);
    tokio::select! {
        ended = &mut serving => return ended,
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    stop.cancel();
    serving.await
}

async fn serve(args: &ConsoleArgs) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let failed = |failure: Failure| anyhow::anyhow!(failure.message);
    let hub = Hub::connect(&args.hub).await.map_err(failed)?;
    let options = Options {
        port: args.port.unwrap_or_default(),
        context: args.hub.context().map(str::to_owned),
        read_only: args.read_only,
    };
    let mut served = Served::start(hub, options).await?;
    let server = Plain(served.server());
    writeln!(io::stdout(), "The console of the hub at {server}:")?;
    served.announce()?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        ended = served.announce_at_enter() => ended?,
    }
    served.stop().await
}
