//! The gate's server in the test's process, with the sample hub in files.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use berth_certs::folder::Folder;
use berth_certs::issue::self_signed;
use berth_certs::options::TlsOptions;
use berth_certs::serving::ServingTls;
use berth_review::{FilesAnswerer, HubFiles, Webhook};
use berth_rules::FeatureGates;
use berth_webhooks::{Limits, Metrics, Opening, Server};
use jiff::Timestamp;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use crate::repository;

/// A gate that serves until it is dropped.
pub(crate) struct Gate {
    pub(crate) address: SocketAddr,
    pub(crate) certs: TempDir,
    /// `None` during drop.
    runtime: Option<Runtime>,
}

impl Gate {
    pub(crate) fn start() -> Self {
        let certs = certificates();
        let runtime = runtime();
        let files = HubFiles::read(&[repository("examples/hub")]).unwrap();
        let metrics = Metrics::new();
        let (options, _) = TlsOptions::parse::<&str>("", &[]).unwrap();
        let now = Timestamp::now();
        let source = Folder::new(certs.path());
        let tls = ServingTls::new(source, options, None, metrics.observer(), now).unwrap();
        let webhooks = runtime
            .block_on(TcpListener::bind(("127.0.0.1", 0)))
            .unwrap();
        let address = webhooks.local_addr().unwrap();
        let server = Server {
            gate: berth_review::Gate::new(
                Arc::new(FilesAnswerer::new(files)),
                FeatureGates::default(),
            ),
            webhooks: &Webhook::ALL,
            converts: true,
            opening: Opening::at_once(webhooks, Arc::new(tls)),
            metrics_port: None,
            health_port: None,
            metrics,
            limits: Limits::default(),
            shutdown_delay: Duration::ZERO,
        };
        runtime.spawn(server.run(CancellationToken::new()));
        Self {
            address,
            certs,
            runtime: Some(runtime),
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    pub(crate) fn ca(&self) -> String {
        ca(&self.certs)
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// `ca.crt`, `tls.crt` and `tls.key` for this host.
pub(crate) fn certificates() -> TempDir {
    let certs = TempDir::new().unwrap();
    let pair = self_signed(Duration::from_secs(3600), Timestamp::now()).unwrap();
    pair.write_folder(certs.path()).unwrap();
    certs
}

pub(crate) fn ca(certs: &TempDir) -> String {
    certs.path().join("ca.crt").to_str().unwrap().to_owned()
}

pub(crate) fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
}
