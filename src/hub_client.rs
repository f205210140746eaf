//! How the hub is reached.
//!
//! kube's own stack would sleep on a busy hub's word for as long as that says, and would keep a connection whose peer has
//! vanished without a word until the kernel gives it up after a quarter of an hour. A review has seconds. So here nothing
//! is tried again (who asks knows how long there is), and a silent peer is found out while a review can still be saved.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use berth_review::HubService;
use http::HeaderValue;
use http::header::USER_AGENT;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::ConfigExt;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tower::{BoxError, ServiceBuilder};

/// A peer that acknowledges nothing for so long is gone, and the question is asked over another connection.
const SILENCE: Duration = Duration::from_secs(2);

/// An idle connection is probed after this time, and at this interval then.
const KEEPALIVE: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(1));

/// Shorter than the 90 s after which API servers close idle connections: so that none is taken which is being closed.
const IDLE: Duration = Duration::from_secs(60);

/// The hub's client in two forms, over the same connections.
pub(crate) struct HubClient {
    pub(crate) client: Client,
    /// What `client` stands on; for the gate, whose questions are many.
    pub(crate) service: HubService,
}

/// A client for the hub of this kubeconfig, or for that in whose cluster this runs. `or` completes the sentence that says
/// what to do when this does not run in one.
///
/// # Errors
/// The configuration cannot be read or is none that can be used. Whether the hub answers shows only in use.
pub(crate) async fn connect(kubeconfig: Option<&Path>, or: &str) -> anyhow::Result<HubClient> {
    let (config, named) = match kubeconfig {
        Some(path) => {
            let named = format!("--kubeconfig {}", path.display());
            let kubeconfig = Kubeconfig::read_from(path).context(named.clone())?;
            let options = KubeConfigOptions::default();
            let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
            (config.context(named.clone())?, named)
        }
        None => {
            let config = Config::incluster().with_context(|| {
                format!("this does not run in a cluster: name the hub by --kubeconfig FILE{or}")
            })?;
            (config, "the cluster this runs in".to_owned())
        }
    };
    of(config).with_context(|| format!("{named}: the hub's client cannot be made"))
}

/// A client for the hub of this configuration.
///
/// # Errors
/// It cannot be used.
pub(crate) fn of(mut config: Config) -> anyhow::Result<HubClient> {
    if config.proxy_url.is_some() {
        // Without the URL, which may hold a password.
        anyhow::bail!(
            "a proxy is not supported: name a server that can be reached without one, and take proxy-url out of the \
             kubeconfig or HTTPS_PROXY out of the environment"
        );
    }
    let believes_nobody = config.root_cert.as_ref().is_some_and(Vec::is_empty);
    if believes_nobody && config.cluster_url.scheme_str() == Some("https") {
        anyhow::bail!("certificate-authority holds no certificate: no hub could be believed");
    }
    let agent = concat!("berth/", env!("CARGO_PKG_VERSION"));
    config
        .headers
        .push((USER_AGENT, HeaderValue::from_static(agent)));

    let mut tcp = HttpConnector::new();
    // The TLS layer around it decides by the URL.
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(SILENCE));
    #[cfg(target_os = "linux")]
    tcp.set_tcp_user_timeout(Some(SILENCE));
    let (after, interval) = KEEPALIVE;
    tcp.set_keepalive(Some(after));
    tcp.set_keepalive_interval(Some(interval));
    tcp.set_keepalive_retries(Some(3));
    let tls = config.rustls_https_connector_with_connector(tcp)?;
    let http = legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .build(tls);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http);
    let service = HubService::new(service);
    Ok(HubClient {
        client: Client::new(service.clone(), config.default_namespace),
        service,
    })
}
