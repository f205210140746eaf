//! The gate and the lifecycle controller of the demo, in this process, each with its account from the manifests. There is one
//! controller, so it needs no leader election.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use berth_api::GroupVersionResource;
use berth_certs::client_auth::ClientAuth;
use berth_certs::folder::Folder;
use berth_certs::issue::Authority;
use berth_certs::options::TlsOptions;
use berth_certs::serving::ServingTls;
use berth_devhub::DevHub;
use berth_hub::HubApi;
use berth_lifecycle_core::config;
use berth_reconcile::{Controller, Ended};
use berth_review::{Gate, HubAnswerer, Webhook};
use berth_rules::Settings;
use berth_webhooks::{Limits, Metrics, Opening, ServeError, Server};
use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::config::{AuthInfo, Kubeconfig, NamedAuthInfo};
use kube::{Api, Client, Config};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::users;

/// The namespace of the manifests.
const NAMESPACE: &str = "open-cluster-management-hub";
const SERVICE: &str = "cluster-manager-registration-webhook";
const GATES_ACCOUNT: &str = "registration-webhook-sa";
const CONTROLLERS_ACCOUNT: &str = "berth-registration-controller-sa";
const PORT: u16 = 9443;

/// Longer than a demo stays up.
const MONTH: Duration = Duration::from_secs(30 * 24 * 3600);

/// The running gate and controller.
pub(super) struct Running {
    /// The address of the metrics.
    pub(super) metrics: SocketAddr,
    shutdown: CancellationToken,
    task: JoinHandle<Result<(), ServeError>>,
    lifecycle: JoinHandle<Result<(), Ended>>,
    placement: JoinHandle<Result<(), Ended>>,
    work: JoinHandle<Result<(), Ended>>,
    add_ons: JoinHandle<Result<(), Ended>>,
}

/// The gate's certificates.
pub(super) struct Certificates {
    pub(super) folder: PathBuf,
    /// PEM
    pub(super) ca: String,
}

/// The Service that the registrations name.
pub(super) fn service() -> (String, String, u16) {
    (NAMESPACE.to_owned(), SERVICE.to_owned(), PORT)
}

/// Creates a certificate for the Service, as cert-manager does.
pub(super) fn certificates(folder: &Path) -> anyhow::Result<Certificates> {
    let now = Timestamp::now();
    let authority = Authority::new("berth demo", MONTH, now)?;
    let name = format!("{SERVICE}.{NAMESPACE}.svc");
    let leaf = authority.leaf(&[&name], &[], MONTH, now)?;
    leaf.write_folder(folder)?;
    Ok(Certificates {
        folder: folder.to_owned(),
        ca: leaf.ca_pem,
    })
}

impl Running {
    /// Serves on `webhooks`, with the permissions of the manifests' service accounts only.
    pub(super) async fn start(
        admin: &Client,
        hub: &DevHub,
        webhooks: TcpListener,
        certificates: PathBuf,
    ) -> anyhow::Result<Self> {
        let metrics_port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = metrics_port.local_addr()?;
        let metrics = Metrics::new();
        let client_auth = ClientAuth::new(None, Vec::new())?;
        let tls = ServingTls::new(
            Folder::new(certificates),
            TlsOptions::default(),
            client_auth,
            metrics.observer(),
            Timestamp::now(),
        )?;
        let gates = HubApi::of(own_config(admin, hub, GATES_ACCOUNT).await?).await?;
        let controllers = HubApi::of(own_config(admin, hub, CONTROLLERS_ACCOUNT).await?).await?;
        let common = berth_reconcile::Metrics::new(metrics.registry())?;
        let placed = berth_placement::Metrics::beside(metrics.registry(), common.clone())?;
        let registered = berth_lifecycle::Metrics::beside(metrics.registry(), common.clone())?;
        let of_add_ons = berth_addons::Metrics::beside(metrics.registry(), common.clone())?;
        let start =
            |controller: Controller| controller.start(controllers.clone(), "demo", None, None);
        let placement = start(berth_placement::controller(Default::default(), placed));
        let work = start(berth_work_hub::controller(Default::default(), common));
        let add_ons = start(berth_addons::controller(Default::default(), of_add_ons));
        let lifecycle = start(berth_lifecycle::controller(lifecycle_config(), registered));
        let server = Server {
            gate: Gate::new(
                Arc::new(HubAnswerer::new(gates.clone())),
                Settings {
                    hub_namespace: NAMESPACE.to_owned(),
                    ..Settings::default()
                },
            ),
            webhooks: &Webhook::ALL,
            converts: true,
            opening: Opening::at_once(webhooks, Arc::new(tls)),
            metrics_port: Some(metrics_port),
            health_port: None,
            metrics,
            limits: Limits::default(),
            // No load balancer has to learn that it stops.
            shutdown_delay: Duration::ZERO,
        };
        let shutdown = CancellationToken::new();
        let task = tokio::spawn(server.run(shutdown.clone()));
        let lifecycle = tokio::spawn(lifecycle.run(shutdown.clone()));
        let placement = tokio::spawn(placement.run(shutdown.clone()));
        let work = tokio::spawn(work.run(shutdown.clone()));
        let add_ons = tokio::spawn(add_ons.run(shutdown.clone()));
        Ok(Self {
            metrics: address,
            shutdown,
            task,
            lifecycle,
            placement,
            work,
            add_ons,
        })
    }

    pub(super) async fn stop(self) -> anyhow::Result<()> {
        self.shutdown.cancel();
        self.lifecycle.await.context("the lifecycle")??;
        self.placement.await.context("the placement controller")??;
        self.work.await.context("the work controller")??;
        self.add_ons.await.context("the controller of add-ons")??;
        self.task.await.context("the gate")??;
        Ok(())
    }
}

/// The configuration of a controller without flags.
fn lifecycle_config() -> config::Config {
    config::Config {
        namespace: NAMESPACE.to_owned(),
        gc_resources: vec![GroupVersionResource {
            group: "work.open-cluster-management.io".to_owned(),
            version: "v1".to_owned(),
            resource: "manifestworks".to_owned(),
        }],
        ..config::Config::default()
    }
}

/// A client configuration with a token of this service account.
async fn own_config(admin: &Client, hub: &DevHub, account: &str) -> anyhow::Result<Config> {
    let accounts: Api<ServiceAccount> = Api::namespaced(admin.clone(), NAMESPACE);
    let request = TokenRequest {
        spec: TokenRequestSpec {
            expiration_seconds: i64::try_from(MONTH.as_secs()).ok(),
            ..TokenRequestSpec::default()
        },
        ..TokenRequest::default()
    };
    let answer = accounts
        .create_token_request(account, &PostParams::default(), &request)
        .await?;
    let token = answer
        .status
        .context("a TokenRequest without status")?
        .token;
    let user = NamedAuthInfo {
        name: account.to_owned(),
        auth_info: Some(AuthInfo {
            token: Some(token.into()),
            ..AuthInfo::default()
        }),
        other: BTreeMap::new(),
    };
    let kubeconfig = Kubeconfig {
        clusters: vec![users::cluster(users::HUB, hub)],
        auth_infos: vec![user],
        contexts: vec![users::context(account, users::HUB)],
        current_context: Some(account.to_owned()),
        ..Kubeconfig::default()
    };
    users::config(&kubeconfig, account).await
}
