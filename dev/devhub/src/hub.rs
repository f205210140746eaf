//! A running hub.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use berth_certs::issue::{Authority, IssueError, Issued};
use berth_serve::Stop;
use jiff::Timestamp;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::User;
use crate::admission::Admission;
use crate::authentication::{Authenticator, AuthenticatorError, client_verifier};
use crate::authorization::{self, Authorizer};
use crate::object::{Object, time};
use crate::protocol::{self, App};
use crate::resources::custom;
use crate::resources::{Registry, Resource};
use crate::storage::{self, Store};
use crate::{Options, World, background};

/// Validity of a hub's certificates: longer than a hub for development runs.
const VALIDITY: Duration = Duration::from_secs(365 * 24 * 3600);

/// Validity of users' certificates.
const USER_VALIDITY: Duration = Duration::from_secs(24 * 3600);

/// Names in the serving certificate, besides the addresses: those that clients within a cluster use.
const NAMES: [&str; 5] = [
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

/// The namespaces of every new hub.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// A hub that serves until it is shut down or dropped.
#[derive(Debug)]
pub struct DevHub {
    world: Arc<World>,
    address: SocketAddr,
    ca_pem: String,
    tls: ServerConfig,
    options: Options,
    stop: CancellationToken,
    listener: JoinHandle<()>,
    background: JoinHandle<()>,
    /// Ends the listener and the controllers when the hub is dropped.
    _end: DropGuard,
}

/// The content of a hub at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot(storage::Snapshot);

/// The reason why a hub did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is in use, or is not an address of this host.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A certificate could not be created.
    #[error(transparent)]
    Certificate(#[from] IssueError),
    /// Clients cannot be authenticated.
    #[error(transparent)]
    Authenticator(#[from] AuthenticatorError),
    /// TLS does not accept the certificates.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
}

impl DevHub {
    /// Starts a hub, which is ready when this returns. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`StartError`]
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let now = Timestamp::now();
        let (tcp, address) = open(options.bind)?;
        let authority = Authority::new("devhub", VALIDITY, now)?;
        let serving = authority.leaf(&NAMES, &addresses(address.ip()), VALIDITY, now)?;
        let ca_pem = authority.certificate_pem().to_owned();
        let clients = match &options.client_authority {
            Some(clients) => Arc::clone(clients),
            None => Arc::new(Authority::new("devhub clients", VALIDITY, now)?),
        };
        let authenticator = Authenticator::new(clients, ca_pem.as_str(), &options.tokens)?;
        let tls = tls(&serving, authenticator.client_ca())?;
        let world = Arc::new(World {
            store: Arc::new(Store::new(options.history)),
            registry: Registry::new(),
            authenticator: Arc::new(authenticator),
            authorizer: Authorizer::default(),
            admission: Admission::new(options.services.clone()),
        });
        furnish(&world, now);
        Ok(Self::run(tcp, address, world, ca_pem, tls, options))
    }

    /// The content of the hub now, as in a snapshot of etcd.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(self.world.store.snapshot())
    }

    /// Restarts the hub with what it had stored at the snapshot, as a kube-apiserver whose etcd was restored: at the same address, with
    /// the same certificates and keys, and with revisions that go on from there.
    ///
    /// # Errors
    /// [`StartError::Bind`]
    pub async fn restore(self, snapshot: Snapshot) -> Result<Self, StartError> {
        let authenticator = Arc::clone(&self.world.authenticator);
        let (address, ca_pem) = (self.address, self.ca_pem.clone());
        let (tls, options) = (self.tls.clone(), self.options.clone());
        self.shutdown().await;
        let (tcp, address) = open(address)?;
        let store = Store::restored(options.history, snapshot.0);
        let registry = Registry::new();
        custom::serve_stored(&store, &registry);
        let world = Arc::new(World {
            store: Arc::new(store),
            registry,
            authenticator,
            authorizer: Authorizer::default(),
            admission: Admission::new(options.services.clone()),
        });
        Ok(Self::run(tcp, address, world, ca_pem, tls, options))
    }

    fn run(
        tcp: TcpListener,
        address: SocketAddr,
        world: Arc<World>,
        ca_pem: String,
        tls: ServerConfig,
        options: Options,
    ) -> Self {
        let end = CancellationToken::new();
        let stop = end.child_token();
        let app = App::new(Arc::clone(&world), stop.clone());
        let stopping = Stop {
            drain: stop.clone(),
            now: end.clone(),
        };
        let listener = protocol::serve(tcp, tls.clone(), app, stopping);
        let validities = options.first_validities.clone();
        let background = background::run(Arc::clone(&world), validities, stop.clone());
        let (end_background, stopped) = (end.clone(), stop.clone());
        let background = tokio::spawn(async move {
            let ended = end_background.run_until_cancelled_owned(background).await;
            if ended.is_some() && !stopped.is_cancelled() {
                tracing::error!("the controllers ended before the hub");
            }
        });
        Self {
            world,
            address,
            ca_pem,
            tls,
            options,
            stop,
            listener: tokio::spawn(listener),
            background,
            _end: end.drop_guard(),
        }
    }

    /// `https://127.0.0.1:PORT`
    pub fn url(&self) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(match address.ip() {
                IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
            });
        }
        format!("https://{address}")
    }

    /// The CA of the hub's serving certificate, as PEM.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// From now on, this bearer token is that of a user: what an OpenID provider would vouch for at a real hub.
    pub fn accept_token(&self, token: &str, user: User) {
        self.world.authenticator.accept(token, user);
    }

    /// The CA of client certificates.
    pub fn client_ca(&self) -> &Authority {
        self.world.authenticator.client_ca()
    }

    /// A client certificate for a user with groups, valid for a day.
    ///
    /// # Errors
    /// The names do not fit into a certificate.
    pub fn client_certificate(&self, user: &str, groups: &[&str]) -> Result<Issued, IssueError> {
        self.client_ca()
            .client(user, groups, &[], USER_VALIDITY, Timestamp::now())
    }

    /// A kubeconfig (YAML) for a user with groups, with a client certificate that is valid for a day.
    ///
    /// # Errors
    /// The names do not fit into a certificate.
    pub fn kubeconfig(&self, user: &str, groups: &[&str]) -> Result<String, IssueError> {
        let issued = self.client_certificate(user, groups)?;
        let encode = |pem: &str| BASE64_STANDARD.encode(pem);
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{
                "name": "devhub",
                "cluster": {
                    "server": self.url(),
                    "certificate-authority-data": encode(&self.ca_pem),
                },
            }],
            "users": [{
                "name": user,
                "user": {
                    "client-certificate-data": encode(&issued.certificate_pem),
                    "client-key-data": encode(&issued.key_pem),
                },
            }],
            "contexts": [{"name": "devhub", "context": {"cluster": "devhub", "user": user}}],
            "current-context": "devhub",
        });
        // Strings in maps and lists can always be written as YAML.
        Ok(serde_saphyr::to_string(&config).unwrap_or_default())
    }

    /// Stops serving: watches end, requests under way are answered, connections close, and the controllers stop.
    pub async fn shutdown(self) {
        self.stop.cancel();
        for (what, task) in [
            ("the listener", self.listener),
            ("the controllers", self.background),
        ] {
            if let Err(error) = task.await {
                tracing::error!(%error, "{what} failed");
            }
        }
    }
}

fn open(bind: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let failed = |source| StartError::Bind {
        address: bind,
        source,
    };
    let tcp = protocol::open(bind).map_err(failed)?;
    let address = tcp.local_addr().map_err(failed)?;
    Ok((tcp, address))
}

/// The addresses in the serving certificate.
fn addresses(bound: IpAddr) -> Vec<IpAddr> {
    let mut addresses = vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    if !bound.is_unspecified() && !addresses.contains(&bound) {
        addresses.push(bound);
    }
    addresses
}

fn tls(serving: &Issued, clients: &Authority) -> Result<ServerConfig, StartError> {
    let verifier =
        client_verifier(clients.certificate_pem()).map_err(AuthenticatorError::ClientCa)?;
    let broken = |_| rustls::Error::General("the certificate just made cannot be read".to_owned());
    let certificate =
        CertificateDer::from_pem_slice(serving.certificate_pem.as_bytes()).map_err(broken)?;
    let key = PrivateKeyDer::from_pem_slice(serving.key_pem.as_bytes()).map_err(broken)?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![certificate], key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Creates the objects of a new hub in an empty store.
fn furnish(world: &World, now: Timestamp) {
    let namespaces = NAMESPACES.iter().map(|name| {
        let mut object = Object::default();
        object.set_type("v1", "Namespace");
        object.set(&["metadata", "name"], *name);
        object.set(
            &["metadata", "labels"],
            json!({"kubernetes.io/metadata.name": name}),
        );
        object.set(&["spec", "finalizers"], json!(["kubernetes"]));
        object.set(&["status", "phase"], "Active");
        object
    });
    let configuration = authentication_configuration(world);
    let objects = namespaces.chain([configuration]);
    for mut object in objects.chain(authorization::bootstrap::objects()) {
        let resource = world
            .registry
            .find_kind(object.api_version(), object.kind());
        let resource: Arc<Resource> = resource.expect("these kinds are built in");
        object.set(&["metadata", "uid"], uuid::Uuid::new_v4().to_string());
        object.set(&["metadata", "creationTimestamp"], time(now));
        let key = resource.key(object.namespace(), object.name());
        // The objects of a new hub have different names.
        let created = world.store.create(&key, object);
        debug_assert!(created.is_ok(), "{key:?} twice");
    }
}

/// The ConfigMap in which servers find the CA of client certificates. It has no entries for request headers, which devhub does
/// not support.
fn authentication_configuration(world: &World) -> Object {
    let ca = world.authenticator.client_ca().certificate_pem();
    let mut object = Object::default();
    object.set_type("v1", "ConfigMap");
    object.set(&["metadata", "name"], "extension-apiserver-authentication");
    object.set(&["metadata", "namespace"], "kube-system");
    object.set(&["data"], json!({"client-ca-file": ca}));
    object
}
