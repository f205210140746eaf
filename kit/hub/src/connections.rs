//! Connections to one API server, and their renewal when credentials change on disk.
//!
//! Every [`PERIOD`], the next call compares the content of the files that the connections were made of; if it has changed, new
//! connections are made of it. (A connection keeps the client certificate of its handshake, and an API server refuses an
//! expired one on every request.) Requests under way end on the connections that they began on. Files that cannot be used
//! leave the connections as they are.
//!
//! Only credentials are renewed: a kubeconfig that names another server or another current context is for the next start.
//!
//! # One connection for all calls
//! With [`Sharing::All`] calls and watches share one HTTP/2 connection. A call that is late leaves this connection as it is. A dead
//! connection is found by TCP, as with HTTP/1.1, and behind a proxy by pings: after [`PING`] and [`PONG`] at most. Then all calls on
//! it fail, and the next one opens a new connection.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use base64::prelude::{BASE64_STANDARD, Engine};
use http::header::USER_AGENT;
use http::{HeaderValue, Request, Response, Uri};
use hyper::rt::{Read, Write};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::Config;
use kube::client::ConfigExt;
use tokio::time::Instant;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Service, ServiceBuilder, ServiceExt};
use tracing::{info, warn};

use crate::access::{Access, ConnectError, Sharing, Timing, shown};
use crate::answer::ResponseBody;
use crate::call::RequestBody;
use crate::error::{auth_words, causes};
use crate::kubeconfig::{Environment, Loaded, files_of, load, parse};
use crate::tls::tls;
use crate::values::check;

/// How often files are compared.
pub(crate) const PERIOD: Duration = Duration::from_secs(10);

/// An idle connection is probed after this time, and at this interval then.
const KEEPALIVE: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(1));

/// Idle connections are closed before the API server closes them, after 90 s: a request could meet a closing connection.
const IDLE: Duration = Duration::from_secs(60);

/// As [`IDLE`], for [`Sharing::AllBriefly`].
const BRIEFLY: Duration = Duration::from_secs(5);

/// A silent HTTP/2 connection gets a ping after this time, as client-go's do.
const PING: Duration = Duration::from_secs(30);

/// How long the response to a ping may take.
const PONG: Duration = Duration::from_secs(15);

/// Sends requests that have paths only, and does not retry.
pub(crate) type HubService =
    BoxCloneSyncService<Request<RequestBody>, Response<ResponseBody>, BoxError>;

/// Connections that are replaced when their credentials change. Clones share them.
#[derive(Clone)]
pub(crate) struct Connections(Arc<Inner>);

struct Inner {
    current: ArcSwap<Pool>,
    source: Option<Source>,
    opened: Instant,
    /// When to compare the files again: milliseconds after `opened`.
    due: AtomicU64,
    /// The API server did not accept the credentials of an exec plugin, which must be obtained again.
    obtain: AtomicBool,
    files: Mutex<Files>,
}

/// The source of connections, from which they are made again.
struct Source {
    from: From,
    server: Uri,
    manner: Manner,
    has_plugin: bool,
}

/// Properties of connections that no kubeconfig names.
#[derive(Clone, Copy)]
struct Manner {
    timing: Timing,
    sharing: Sharing,
}

enum From {
    Kubeconfig(Box<Access>),
    Config(Box<Config>),
}

/// Files, and their content when the connections were made.
struct Files {
    paths: Vec<PathBuf>,
    used: u64,
    /// Content that could not be used, and was reported.
    refused: Option<u64>,
}

/// Connections with one set of credentials.
pub(crate) struct Pool {
    pub(crate) service: HubService,
    pub(crate) server: String,
}

// === impl Connections ===

impl Connections {
    pub(crate) fn fixed(pool: Pool) -> Self {
        Self::new(pool, None, Vec::new(), 0)
    }

    pub(crate) async fn open(access: &Access) -> Result<Self, ConnectError> {
        let access = access.clone();
        blocking(move || {
            let environment = Environment::of_process();
            let Loaded {
                config,
                context,
                files,
                name,
            } = load(&access, &environment)?;
            let used = digest(&files);
            let manner = Manner {
                timing: access.timing,
                sharing: access.sharing,
            };
            let pool = pool(&config, manner).map_err(|error| named(error, &name))?;
            let source = Source {
                server: config.cluster_url.clone(),
                manner,
                has_plugin: config.auth_info.exec.is_some(),
                from: From::Kubeconfig(Box::new(Access { context, ..access })),
            };
            let source = (!files.is_empty()).then_some(source);
            Ok(Self::new(pool, source, files, used))
        })
        .await
    }

    pub(crate) async fn of(config: Config) -> Result<Self, ConnectError> {
        blocking(move || {
            let files: Vec<_> = files_of(&config).collect();
            let used = digest(&files);
            let manner = Manner::one_each(Timing::SERVER);
            let pool = pool(&config, manner)?;
            let source = Source {
                server: config.cluster_url.clone(),
                manner,
                has_plugin: config.auth_info.exec.is_some(),
                from: From::Config(Box::new(config)),
            };
            let source = (!files.is_empty() || source.has_plugin).then_some(source);
            Ok(Self::new(pool, source, files, used))
        })
        .await
    }

    /// Connections that are never renewed, with the time limits of a command.
    pub(crate) async fn of_kubeconfig(text: &str, name: &str) -> Result<Self, ConnectError> {
        let config = parse(text, name)?;
        let manner = Manner::one_each(Timing::COMMAND);
        let name = name.to_owned();
        let open = move || pool(&config, manner).map_err(|error| named(error, &name));
        blocking(open).await.map(Self::fixed)
    }

    fn new(pool: Pool, source: Option<Source>, paths: Vec<PathBuf>, used: u64) -> Self {
        Self(Arc::new(Inner {
            current: ArcSwap::from_pointee(pool),
            source,
            opened: Instant::now(),
            due: AtomicU64::new(PERIOD.as_millis() as u64),
            obtain: AtomicBool::new(false),
            files: Mutex::new(Files {
                paths,
                used,
                refused: None,
            }),
        }))
    }

    pub(crate) fn first(&self) -> Arc<Pool> {
        self.0.current.load_full()
    }

    /// The service that sends requests, with the credentials of the files at most a [`PERIOD`] ago.
    pub(crate) async fn service(&self) -> HubService {
        if self.0.is_due() {
            let inner = Arc::clone(&self.0);
            // In a task: a caller may give up while it waits.
            let _ = tokio::task::spawn_blocking(move || inner.renew()).await;
        }
        self.0.current.load().service.clone()
    }

    /// Notes that the API server responded with 401.
    pub(crate) fn not_accepted(&self) {
        if self
            .0
            .source
            .as_ref()
            .is_some_and(|source| source.has_plugin)
        {
            self.0.obtain.store(true, Ordering::Relaxed);
        }
    }
}

// === impl Manner ===

impl Manner {
    const fn one_each(timing: Timing) -> Self {
        Self {
            timing,
            sharing: Sharing::OneEach,
        }
    }
}

// === impl Inner ===

impl Inner {
    /// Returns true if it is time to compare the files, for one caller.
    fn is_due(&self) -> bool {
        if self.source.is_none() {
            return false;
        }
        let now = self.opened.elapsed().as_millis() as u64;
        let due = self.due.load(Ordering::Relaxed);
        let next = now + PERIOD.as_millis() as u64;
        now >= due
            && (self.due)
                .compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    fn renew(&self) {
        let Some(source) = &self.source else { return };
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let found = digest(&files.paths);
        let obtain = self.obtain.swap(false, Ordering::Relaxed);
        if found == files.used && !obtain {
            return;
        }
        match source.pool() {
            Ok((pool, paths)) => {
                info!(
                    server = pool.server,
                    "the credentials have changed: new connections use them"
                );
                self.current.store(Arc::new(pool));
                // The files may be newer than `found`. Then the next comparison finds that.
                files.used = if paths == files.paths {
                    found
                } else {
                    digest(&paths)
                };
                files.paths = paths;
                files.refused = None;
            }
            Err(error) => {
                if files.refused != Some(found) {
                    warn!(%error, "the changed credentials cannot be used; those before stay in use");
                }
                files.refused = Some(found);
            }
        }
    }
}

// === impl Source ===

impl Source {
    fn pool(&self) -> Result<(Pool, Vec<PathBuf>), ConnectError> {
        let (config, files, name) = match &self.from {
            From::Config(config) => {
                let files = files_of(config).collect();
                ((**config).clone(), files, "the configuration".to_owned())
            }
            From::Kubeconfig(access) => {
                let loaded = load(access, &Environment::of_process())?;
                (loaded.config, loaded.files, loaded.name)
            }
        };
        if config.cluster_url != self.server {
            return Err(ConnectError::Unusable {
                server: shown(&config.cluster_url),
                why: format!(
                    "the kubeconfig named {} when this process was started: restart it",
                    shown(&self.server)
                ),
            });
        }
        let pool = pool(&config, self.manner).map_err(|error| named(error, &name))?;
        Ok((pool, files))
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ConnectError> + Send + 'static,
) -> Result<T, ConnectError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| {
        Err(ConnectError::Unusable {
            server: "API server".to_owned(),
            why: error.to_string(),
        })
    })
}

/// The error with the name of the kubeconfig.
fn named(error: ConnectError, name: &str) -> ConnectError {
    match error {
        ConnectError::Unusable { server, why } => ConnectError::Kubeconfig {
            source_name: name.to_owned(),
            why: format!("{server}: {why}"),
        },
        error => error,
    }
}

/// A digest of the content of files. Blocks on them. A missing file differs from an empty one.
fn digest(files: &[PathBuf]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for file in files {
        std::fs::read(file).ok().hash(&mut hasher);
    }
    hasher.finish()
}

/// Makes the connections of a configuration. Blocks: reads files, and runs exec plugins.
fn pool(config: &Config, manner: Manner) -> Result<Pool, ConnectError> {
    let unusable = |why: String| ConnectError::Unusable {
        server: shown(&config.cluster_url),
        why,
    };
    check(config).map_err(|fault| unusable(fault.to_string()))?;
    let believes_nobody = config.root_cert.as_ref().is_some_and(Vec::is_empty);
    if believes_nobody && config.cluster_url.scheme_str() == Some("https") {
        return Err(unusable(
            "certificate-authority holds no certificate: no server could be trusted".to_owned(),
        ));
    }
    let failed = |error: &kube::Error| {
        unusable(match error {
            kube::Error::Auth(error) => auth_words(error),
            error => causes(error),
        })
    };
    let service = service(config, manner).map_err(|error| match error.downcast_ref() {
        Some(error) => failed(error),
        None => unusable(causes(&*error)),
    })?;
    Ok(Pool {
        service,
        server: shown(&config.cluster_url),
    })
}

fn service(config: &Config, manner: Manner) -> Result<HubService, BoxError> {
    let mut tcp = HttpConnector::new();
    // The TLS layer around it decides by the URL.
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(manner.timing.connect));
    #[cfg(target_os = "linux")]
    tcp.set_tcp_user_timeout(Some(manner.timing.silence));
    let (after, interval) = KEEPALIVE;
    tcp.set_keepalive(Some(after));
    tcp.set_keepalive_interval(Some(interval));
    tcp.set_keepalive_retries(Some(3));
    let Some(proxy) = &config.proxy_url else {
        return over(config, manner.sharing, tcp);
    };
    match proxy.scheme_str() {
        Some("http") => over(config, manner.sharing, tunnel(proxy, tcp)?),
        Some("https") => {
            let tls = tls(config, Sharing::OneEach, tcp)?;
            over(config, manner.sharing, tunnel(proxy, tls)?)
        }
        scheme => Err(format!(
            "proxy-url, or else HTTPS_PROXY: a proxy of scheme {} is not supported: name an HTTP proxy",
            scheme.unwrap_or("none")
        )
        .into()),
    }
}

fn tunnel<C>(proxy: &Uri, connector: C) -> Result<Tunnel<C>, BoxError> {
    let tunnel = Tunnel::new(proxy.clone(), connector);
    let authority = proxy.authority().map_or("", |authority| authority.as_str());
    let Some((user, _)) = authority.rsplit_once('@') else {
        return Ok(tunnel);
    };
    let user = BASE64_STANDARD.encode(percent_decoded(user));
    Ok(tunnel.with_auth(HeaderValue::from_str(&format!("Basic {user}"))?))
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).and_then(|two| {
            let two = std::str::from_utf8(two).ok()?;
            let is_hex = two.bytes().all(|byte| byte.is_ascii_hexdigit());
            u8::from_str_radix(two, 16).ok().filter(|_| is_hex)
        });
        match digits {
            Some(byte) if *first == b'%' => {
                decoded.push(byte);
                rest = &after[2..];
            }
            _ => {
                decoded.push(*first);
                rest = after;
            }
        }
    }
    decoded
}

fn over<C>(config: &Config, sharing: Sharing, connector: C) -> Result<HubService, BoxError>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Connection + Read + Write + Send + Unpin + 'static,
    C::Future: Send + 'static,
    C::Error: Into<BoxError> + 'static,
{
    let mut http = legacy::Client::builder(TokioExecutor::new());
    http.pool_timer(TokioTimer::new());
    match sharing {
        Sharing::OneEach => http.pool_idle_timeout(IDLE),
        // A connection with a watch is not idle, though no call begins: it stays for the next call.
        Sharing::All => http.pool_idle_timeout(None),
        Sharing::AllBriefly => http.pool_idle_timeout(BRIEFLY),
    };
    // Of HTTP/2 only.
    http.timer(TokioTimer::new())
        .http2_keep_alive_interval(PING)
        .http2_keep_alive_timeout(PONG);
    let http = http.build(tls(config, sharing, connector)?);
    let mut named = config.clone();
    let agent = concat!("berth/", env!("CARGO_PKG_VERSION"));
    (named.headers).push((USER_AGENT, HeaderValue::from_static(agent)));
    // kube panics on a token of an exec plugin that no header can have.
    let auth = catch_unwind(AssertUnwindSafe(|| config.auth_layer()));
    let auth = auth.map_err(|_| {
        "the token of the kubeconfig's exec plugin or auth provider has a line end or another control character"
    })?;
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(auth?)
        .layer(named.extra_headers_layer()?)
        .map_response(|response: Response<_>| response.map(ResponseBody::Incoming))
        .map_err(BoxError::from)
        .service(http);
    Ok(HubService::new(service.map_err(Into::into)))
}

#[cfg(test)]
mod tests;
