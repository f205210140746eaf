//! A console that is served, for the command and for `berth demo`.

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Context;
use berth_admin::answers::Hub;
use berth_serve::{Limits, Listener, Stop};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::app::{App, Settings};
use crate::cookie::Cookie;
use crate::entry::Entry;
use crate::guard::Guard;
use crate::lines::Lines;
use crate::live::Tasks;
use crate::random::random;
use crate::routes::router;
use crate::server::Server;
use crate::sessions;

/// Upper bound on connections of browsers.
const MOST_CONNECTIONS: usize = 200;

/// What a console serves.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Port on 127.0.0.1; 0 chooses a free one.
    pub port: u16,
    /// The context of the kubeconfig, if one is named: the page shows it.
    pub context: Option<String>,
    /// Refuse all actions.
    pub read_only: bool,
}

/// A console that is served on 127.0.0.1 until [`Served::stop`].
#[derive(Debug)]
pub struct Served {
    server: Arc<Server>,
    hub: Hub,
    tasks: Tasks,
    serving: JoinHandle<()>,
}

// === impl Served ===

impl Served {
    /// Serves a console of this hub.
    ///
    /// # Errors
    /// The port is taken, or the system has no random numbers.
    pub async fn start(hub: Hub, options: Options) -> anyhow::Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port));
        let port = TcpListener::bind(address).await.with_context(|| {
            format!("cannot listen on {address}: choose another --port, or 0 for any free port")
        })?;
        let tasks = Tasks::default();
        let guard = Guard::new(port.local_addr()?);
        let cookie = Cookie::of_port(&random(6)?);
        let settings = Settings {
            context: options.context,
            read_only: options.read_only,
        };
        let user = App::new(hub.clone(), settings, tasks.clone());
        let entry = Entry::Code(user);
        let bounds = sessions::Limits::OF_ONE_USER;
        let server = Server::new(guard, cookie, entry, bounds, tasks.clone());
        let routes = router(Arc::clone(&server));
        let limits = Limits {
            connections: MOST_CONNECTIONS,
            ..Limits::default()
        };
        let listener = Listener::new(port, None, routes, limits);
        let stop = Stop::at_once(tasks.end.clone());
        let serving = tokio::spawn(listener.serve(stop));
        Ok(Self {
            server,
            hub,
            tasks,
            serving,
        })
    }

    /// Returns the URL of the hub's API server.
    pub fn server(&self) -> &str {
        self.hub.server()
    }

    /// Prints a new address that signs one browser in. The address before is worth nothing then.
    ///
    /// # Errors
    /// The system has no random numbers, or standard output is closed.
    pub fn announce(&self) -> anyhow::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "\n  {}\n", self.server.new_address()?)?;
        let how = "It signs one browser in, within 2 minutes. Enter prints another address, Ctrl-C ends the console.";
        writeln!(out, "{how}")?;
        Ok(out.flush()?)
    }

    /// Waits for the next line.
    ///
    /// # Errors
    /// The server has ended.
    pub async fn next_of(&mut self, lines: &mut Lines) -> anyhow::Result<String> {
        tokio::select! {
            line = lines.next() => Ok(line),
            _ = &mut self.serving => anyhow::bail!("the server of the console ended unexpectedly"),
        }
    }

    /// Prints another address at each line of standard input. Never ends, unless the server does.
    ///
    /// # Errors
    /// The server has ended, or [`Served::announce`] fails.
    pub(crate) async fn announce_at_enter(&mut self) -> anyhow::Result<()> {
        let mut lines = Lines::of_stdin();
        loop {
            self.next_of(&mut lines).await?;
            self.announce()?;
        }
    }

    /// Ends sessions, streams and calls, and waits for their end.
    ///
    /// # Errors
    /// The server has panicked.
    pub async fn stop(self) -> anyhow::Result<()> {
        self.tasks.end.cancel();
        self.tasks.tracker.close();
        if !self.serving.is_finished() {
            self.serving.await?;
        }
        self.tasks.tracker.wait().await;
        Ok(())
    }
}
