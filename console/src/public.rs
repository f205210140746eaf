//! A console for many users: in a pod, or wherever a server runs.

mod args;

use std::net::Ipv6Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use axum::Router;
use berth_admin::HubArgs;
use berth_admin::answers::{Failure, Hub};
use berth_certs::client_auth::ClientAuth;
use berth_certs::folder::Folder;
use berth_certs::options::TlsOptions;
use berth_certs::self_signed::SelfSigned;
use berth_certs::serving::{DEFAULT_INTERVAL, ServingTls};
use berth_serve::{Limits, Listener, Stop, Tls, Turns, endpoints, listen};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::app::Settings;
use crate::cookie::Cookie;
use crate::entry::{Entry, Proxy, Users};
use crate::guard::Guard;
use crate::live::Tasks;
use crate::oidc::{CALLBACK, Client, Provider};
use crate::routes::router;
use crate::server::Server;
use crate::sessions;

pub(crate) use args::PublicArgs;

/// Upper bound on connections of browsers for each session: one for a stream of each tab, and some for requests.
const CONNECTIONS_OF_SESSION: usize = 8;

/// A self-signed certificate is valid for weeks.
const SELF_SIGNED_INTERVAL: Duration = Duration::from_secs(3600);

/// Readers of events get this time to end after the last answers.
const DRAIN: Duration = Duration::from_secs(5);

/// Serves until it is stopped.
///
/// # Errors
/// A flag is wrong, or a port is taken.
pub(crate) async fn serve(
    args: &PublicArgs,
    hub: &HubArgs,
    port: Option<u16>,
    read_only: bool,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    args.check()?;
    let tasks = Tasks::default();
    let settings = Settings {
        context: None,
        read_only,
    };
    let entry = entry(args, hub, settings).await?;
    let guard = Guard::public(&args.public_url);
    let cookie = Cookie::of_host(args.public_url.is_https());
    let bounds = sessions::Limits::of_many(args.max_sessions);
    let server = Server::new(guard, cookie, entry, bounds, tasks.clone());

    let address = Ipv6Addr::UNSPECIFIED.into();
    let port = port.unwrap_or(args::PORT);
    let tcp = listen(address, port).await.with_context(|| {
        format!("--port {port}: cannot listen; choose another port, or 0 for any free one")
    })?;
    let tls = tls(args, &tasks)?;
    let routes = router(Arc::clone(&server));
    let limits = Limits {
        connections: args.max_sessions.saturating_mul(CONNECTIONS_OF_SESSION),
        // The code of some OpenID providers has kilobytes.
        http2_headers: 16 * 1024,
        ..Limits::default()
    };
    tracing::info!(
        console = %tcp.local_addr()?,
        url = %args.public_url,
        version = env!("CARGO_PKG_VERSION"),
        "serving"
    );
    let stops = Stop {
        drain: stop.clone(),
        now: tasks.end.clone(),
    };
    let listener = Listener::new(tcp, tls, routes, limits);
    let mut console = tokio::spawn(listener.serve(stops.clone()));
    observe("--health-port", args.health_port, health(), &stops, &tasks).await?;
    berth_hub::register_requests(server.metrics.registry())?;
    let metrics = metrics(Arc::clone(&server));
    observe("--metrics-port", args.metrics_port, metrics, &stops, &tasks).await?;

    tokio::select! {
        () = stop.cancelled() => {}
        ended = &mut console => {
            ended?;
            bail!("the server of the console ended unexpectedly");
        }
    }
    // Streams do not end by themselves.
    let _ = tokio::time::timeout(DRAIN, &mut console).await;
    tasks.end.cancel();
    tasks.tracker.close();
    tasks.tracker.wait().await;
    Ok(())
}

/// How users come in, by the flags.
async fn entry(args: &PublicArgs, hub: &HubArgs, settings: Settings) -> anyhow::Result<Entry> {
    let failed = |failure: Failure| anyhow::anyhow!(failure.message);
    if args.is_behind_a_proxy() {
        let hub = Hub::connect(hub).await.map_err(failed)?;
        return Ok(Entry::Proxy(Proxy::new(hub, settings, args.headers())));
    }
    let hub = Hub::connect_without_credentials(hub).await;
    let hub = hub.map_err(failed)?;
    let url = &args.public_url;
    let provider = args.oidc_issuer_url.as_ref().map(|issuer| {
        let client = Client {
            issuer: issuer.clone(),
            id: args.oidc_client_id.clone().unwrap_or_default(),
            scopes: args.oidc_extra_scope.clone(),
            redirect_uri: format!("{url}{CALLBACK}"),
        };
        let [secret, ca] = [&args.oidc_client_secret_file, &args.oidc_ca_file];
        Provider::new(client, secret.clone(), ca.clone())
    });
    let login = Cookie::of_login(url.is_https());
    let takes_tokens = !args.without_tokens;
    let users = Users::new(hub, takes_tokens, provider, settings, login);
    Ok(Entry::Users(Box::new(users)))
}

/// The TLS configuration, which is reloaded; `None` for plain HTTP.
fn tls(args: &PublicArgs, tasks: &Tasks) -> anyhow::Result<Option<Tls>> {
    if args.insecure_http {
        return Ok(None);
    }
    let client_auth = ClientAuth::new(
        args.requestheader_client_ca_file.clone(),
        args.requestheader_allowed_names.clone(),
    )?;
    let unobserved = |_, _: &_| {};
    let (options, now) = (TlsOptions::default(), Timestamp::now());
    let (tls, interval) = match &args.cert_dir {
        Some(folder) => {
            let folder = Folder::new(folder);
            let tls = ServingTls::new(folder, options, client_auth, unobserved, now)?;
            (tls, DEFAULT_INTERVAL)
        }
        None => {
            let pair = SelfSigned::default();
            let tls = ServingTls::new(pair, options, client_auth, unobserved, now);
            let tls = tls.context("cannot create a certificate")?;
            // The client CA is a file in any case.
            let interval = match args.is_behind_a_proxy() {
                true => DEFAULT_INTERVAL,
                false => SELF_SIGNED_INTERVAL,
            };
            (tls, interval)
        }
    };
    let tls = Arc::new(tls);
    let watched = Arc::clone(&tls).watch(interval, tasks.end.clone());
    tasks.tracker.spawn(watched);
    Ok(Some(tls.into()))
}

/// Serves a port for the kubelet or for Prometheus; 0 for no port.
async fn observe(
    flag: &str,
    port: u16,
    routes: Router,
    stops: &Stop,
    tasks: &Tasks,
) -> anyhow::Result<()> {
    if port == 0 {
        return Ok(());
    }
    let tcp = listen(Ipv6Addr::UNSPECIFIED.into(), port).await;
    let tcp = tcp.with_context(|| format!("{flag} {port}: cannot listen"))?;
    let limits = Limits::default().few();
    let listener = Listener::new(tcp, None, routes, limits);
    tasks.tracker.spawn(listener.serve(stops.clone()));
    Ok(())
}

/// A console is ready while it serves: each user asks the hub as itself, and without the hub the page says so.
fn health() -> Router {
    endpoints::health(Turns::default(), || async {
        [("serving", Ok(String::new()))]
    })
}

fn metrics(server: Arc<Server>) -> Router {
    endpoints::metrics(move || {
        let (sessions, streams) = server.sessions().count(Instant::now());
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        server.metrics.sessions.set(count(sessions));
        server.metrics.streams.set(count(streams));
        berth_serve::metrics::render(server.metrics.registry())
    })
}
