//! `berth webhook-server`: serves the gate.

use std::fs::Permissions;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use berth_api::crds::CONVERSION_PATH;
use berth_certs::client_auth::ClientAuth;
use berth_certs::folder::Folder;
use berth_certs::issue::write_self_signed;
use berth_certs::options::TlsOptions;
use berth_certs::serving::{PairSource, ServingTls};
use berth_hub::ConnectError;
use berth_keeper::{Managed, certificate_metrics};
use berth_review::{Answerer, FilesAnswerer, Gate, HubAnswerer, HubFiles, Webhook};
use berth_rules::{FeatureGates, MANIFEST_LIMIT, Settings};
use berth_webhooks::{Limits, Metrics, Open, Opening, Server, shipped};
use jiff::{SignedDuration, Timestamp};
use prometheus::Registry;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use crate::certificates::{KeeperArgs, OnHub, SecretArgs, Source, SourceArgs};
use crate::common::{CommonArgs, install_namespace};
use crate::feature_gates::{self, Of};
use crate::leading::Elections;
use crate::open_files;
use crate::ports::Port;
use crate::signals;

/// The webhooks of the work API, which OCM's operator runs apart from the others.
static WORK_WEBHOOKS: [Webhook; 2] = [Webhook::ValidateWork, Webhook::ValidateReplicaSet];

/// Lifetime of a certificate of `--self-signed`.
const SELF_SIGNED_VALIDITY: Duration = Duration::from_secs(30 * 24 * 3600);

const EXAMPLES: &str = "\
Examples:
  # Without a hub: RBAC objects from files, and a self-signed certificate
  berth webhook-server --hub-files examples/hub --self-signed --bind-address 127.0.0.1

  # In a pod, as OCM's operator starts it
  berth webhook-server --port=9443 --feature-gates=DefaultClusterSet=true

  # In a pod, with the certificate that 'berth controller --keep-certificates' creates, renews and publishes
  berth webhook-server --certificate-source=secret

  # Outside of the hub's cluster
  berth webhook-server --kubeconfig ~/.kube/hub --certdir /etc/berth/tls

Signals: the first SIGTERM or SIGINT drains connections and stops the process; the second one stops it immediately.";

/// Serve the admission webhooks
///
/// Serves the webhooks over TLS, and health and metrics over plain HTTP on other ports. Permissions are checked by the hub of --kubeconfig or $KUBECONFIG, by the hub that this runs in, or with the files of --hub-files.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    gate: GateArgs,
    /// YAML or JSON file, or folder of such files, with the RBAC objects, Namespaces, ManagedClusters, sets and bindings
    /// to use instead of a hub (repeatable)
    #[arg(long, value_name = "PATH", conflicts_with = "kubeconfig")]
    hub_files: Vec<PathBuf>,
    /// Feature gates, as Gate=true,Gate=false: DefaultClusterSet (on), GuardedSelectors (on),
    /// NilExecutorValidating (off), UnguardedDenial (off)
    #[arg(long, value_name = "GATES")]
    feature_gates: Vec<String>,
}

/// The flags of the gate, in `berth webhook-server` and `berth hub`.
#[derive(Debug, clap::Args)]
pub(crate) struct GateArgs {
    /// Port of the webhooks; 0 means 9443, 'auto' any free port
    #[arg(long, default_value = "9443", allow_negative_numbers = true)]
    port: Port,
    /// Port of /metrics, over plain HTTP; 0 for no port, 'auto' for any free port
    #[arg(long, default_value = "8080", allow_negative_numbers = true)]
    metrics_port: Port,
    /// Port of /healthz and /readyz of the webhooks, over plain HTTP; 0 for no port, 'auto' for any free port
    #[arg(long, default_value = "8000", allow_negative_numbers = true)]
    health_probe_port: Port,
    /// Address of these ports; by default all addresses of the host
    #[arg(long, value_name = "IP", default_value_t = IpAddr::V6(Ipv6Addr::UNSPECIFIED), hide_default_value = true)]
    bind_address: IpAddr,
    /// Folder with tls.crt and tls.key, which are reloaded when they change
    /// [default: k8s-webhook-server/serving-certs in the system's temporary folder]
    #[arg(long, value_name = "DIR")]
    certdir: Option<PathBuf>,
    /// Create a CA and a certificate for localhost, 127.0.0.1 and ::1, in --certdir or a temporary folder, and print how to
    /// use them. An existing valid certificate is kept
    #[arg(long)]
    self_signed: bool,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    secret: SecretArgs,
    /// Maximum size of all manifests of a ManifestWork, in bytes
    #[arg(long = "manifestLimit", alias = "manifest-limit", value_name = "BYTES", default_value_t = MANIFEST_LIMIT)]
    manifest_limit: usize,
    /// CA certificates (PEM); clients must present a certificate that one of them signed
    #[arg(long, value_name = "FILE")]
    client_ca_file: Option<PathBuf>,
    /// Allowed names of client certificates, as common name or DNS name; requires --client-ca-file
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    client_names: Vec<String>,
    /// How long to keep serving, but not ready, after the first signal, such as 10s or 1m
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    shutdown_delay: SignedDuration,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// Serves until a signal, and returns after connections have drained.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    args.gate
        .common
        .run(Builder::new_multi_thread(), serve(args, Of::Webhooks))
}

/// As [`run`], with the webhooks of the work API alone.
pub(crate) fn run_for_work(args: &Args) -> anyhow::Result<()> {
    args.gate
        .common
        .run(Builder::new_multi_thread(), serve(args, Of::WorkWebhooks))
}

/// Serves the conversion of add-ons alone, which asks no hub.
pub(crate) fn run_for_addons(args: &GateArgs) -> anyhow::Result<()> {
    args.common.run(Builder::new_multi_thread(), async {
        let decides = async || converts(args).await;
        let prepared = Prepared::new(args, FeatureGates::default(), None, decides).await?;
        let prepared = prepared.converting();
        signals::stop_orderly(", without draining", async |stop| {
            prepared.run(None, stop).await
        })
        .await
    })
}

async fn serve(args: &Args, of: Of) -> anyhow::Result<()> {
    let gates = feature_gates::parse(&args.feature_gates, of)?;
    for warning in &gates.warnings {
        tracing::warn!("{warning}");
    }
    let decides = async || decides(args).await;
    let prepared = Prepared::new(&args.gate, gates.webhooks, None, decides).await?;
    let prepared = match of {
        Of::WorkWebhooks => prepared.with(&WORK_WEBHOOKS),
        _ => prepared,
    };
    signals::stop_orderly(", without draining", async |stop| {
        prepared.run(None, stop).await
    })
    .await
}

/// The answerer of the gate, and the hub, if it has one.
pub(crate) type Decides = (Arc<dyn Answerer>, Option<OnHub>);

/// A gate that is ready to serve. Everything that can fail at the start is done.
pub(crate) struct Prepared {
    gate: Gate,
    webhooks: &'static [Webhook],
    converts: bool,
    metrics_port: Option<TcpListener>,
    health_port: Option<TcpListener>,
    metrics: Metrics,
    limits: Limits,
    shutdown_delay: Duration,
    door: Door,
}

/// The certificate and the port of the webhooks.
enum Door {
    /// The certificate of a folder, and an open port.
    Folder {
        open: Open,
        certificates: Certificates,
        self_signed: bool,
    },
    /// The certificate of a Secret, which may not exist yet. The port is opened later.
    Secret {
        managed: Box<Managed>,
        port: Port,
        address: IpAddr,
        tls: Serving,
    },
}

/// The TLS options for any certificate.
struct Serving {
    options: TlsOptions,
    client_auth: Option<ClientAuth>,
    metrics: Metrics,
}

impl Prepared {
    /// Reads the flags, logs their warnings, and opens the ports. With `keeper`, this process also manages the certificates of the
    /// Secret.
    ///
    /// # Errors
    /// A flag has an invalid value, or a port cannot be opened; the message names the flag.
    pub(crate) async fn new(
        args: &GateArgs,
        gates: FeatureGates,
        keeper: Option<(&KeeperArgs, &Elections)>,
        decides: impl AsyncFnOnce() -> anyhow::Result<Decides>,
    ) -> anyhow::Result<Self> {
        let (options, tls_warnings) = args.common.tls()?;
        for warning in tls_warnings.into_iter().chain(args.common.warnings()) {
            tracing::warn!("{warning}");
        }
        let shutdown_delay = Duration::try_from(args.shutdown_delay)
            .context("--shutdown-delay: cannot be negative")?;
        let metrics = Metrics::new();
        berth_hub::register_requests(metrics.registry())?;
        let tls = Serving {
            options,
            client_auth: ClientAuth::new(args.client_ca_file.clone(), args.client_names.clone())?,
            metrics: metrics.clone(),
        };
        let source = args.source.source();
        let mut folder = None;
        if source == Source::Folder {
            let certificates = certificates(args, Timestamp::now())?;
            let from = Folder::new(&certificates.folder);
            folder = Some((tls.with(from)?, certificates));
        } else if args.certdir.is_some() || args.self_signed {
            anyhow::bail!(
                "--certificate-source=secret: cannot be combined with --certdir or --self-signed"
            );
        }
        let (answerer, hub) = decides().await?;
        let settings = Settings {
            gates,
            hub_namespace: hub
                .as_ref()
                .map_or_else(install_namespace, |hub| hub.namespace.clone()),
            reserved_prefixes: args.common.reserved.prefixes(),
            manifest_limit: args.manifest_limit,
        };
        let address = args.bind_address;
        let door = match folder {
            Some((tls, certificates)) => Door::Folder {
                open: Open {
                    webhooks: open(args.port, address).await?,
                    tls: Arc::new(tls),
                },
                certificates,
                self_signed: args.self_signed,
            },
            None => {
                let hub = hub.context(
                    "--certificate-source=secret: requires a hub; cannot be combined with --hub-files",
                )?;
                let observer = certificate_metrics(metrics.registry());
                let managed = match keeper {
                    Some((keeper, elections)) => {
                        keeper.keep(&args.secret, hub, elections, observer)?
                    }
                    None => args.secret.read(hub, observer)?,
                };
                Door::Secret {
                    managed: Box::new(managed),
                    port: args.port,
                    address,
                    tls,
                }
            }
        };
        let metrics_port = args.metrics_port.open("--metrics-port", address).await?;
        let health_port = args
            .health_probe_port
            .open("--health-probe-port", address)
            .await?;
        let limits = Limits::default();
        let limits = Limits {
            connections: open_files::connections(limits.connections),
            ..limits
        };
        Ok(Self {
            gate: Gate::new(answerer, settings),
            webhooks: &Webhook::ALL,
            converts: true,
            metrics_port,
            health_port,
            metrics,
            limits,
            shutdown_delay,
            door,
        })
    }

    /// Serves these webhooks alone.
    fn with(self, webhooks: &'static [Webhook]) -> Self {
        Self {
            webhooks,
            converts: false,
            ..self
        }
    }

    /// Serves the conversion of add-ons alone.
    fn converting(self) -> Self {
        Self {
            webhooks: &[],
            ..self
        }
    }

    /// Returns the registry of the metrics.
    pub(crate) fn registry(&self) -> &Registry {
        self.metrics.registry()
    }

    /// Serves until `shutdown` is cancelled and connections have drained. `controller` is the address of the controller in the same
    /// process, for the log.
    ///
    /// # Errors
    /// A task that should run forever ended, or no certificate could be loaded.
    pub(crate) async fn run(
        self,
        controller: Option<SocketAddr>,
        shutdown: CancellationToken,
    ) -> anyhow::Result<()> {
        let addresses = Addresses {
            metrics: address(self.metrics_port.as_ref()),
            health: address(self.health_port.as_ref()),
            controller,
        };
        let (opening, managed, _certificates) = match self.door {
            Door::Folder {
                open,
                certificates,
                self_signed,
            } => {
                let folder = certificates.folder.clone();
                addresses.serving(&open, &folder.display().to_string())?;
                if self_signed {
                    let port = open.webhooks.local_addr()?.port();
                    // An error of standard output does not stop the gate.
                    let served = (self.webhooks, self.converts);
                    let _ = tell_how_to_use(&folder, port, addresses.metrics, served);
                }
                let opening = Opening::at_once(open.webhooks, open.tls);
                (opening, None, Some(certificates))
            }
            Door::Secret {
                managed,
                port,
                address,
                tls,
            } => {
                let pair = managed.pair();
                let secret = managed.secret();
                let open = async move {
                    pair.is_there().await;
                    let open = Open {
                        webhooks: open(port, address).await?,
                        tls: Arc::new(tls.with(pair)?),
                    };
                    addresses.serving(&open, &secret)?;
                    Ok::<_, anyhow::Error>(open)
                };
                let opening = Opening::when(async {
                    open.await.map_err(|error| format!("{error:#}").into())
                });
                (opening, Some(managed), None)
            }
        };
        let server = Server {
            gate: self.gate,
            webhooks: self.webhooks,
            converts: self.converts,
            opening,
            metrics_port: self.metrics_port,
            health_port: self.health_port,
            metrics: self.metrics,
            limits: self.limits,
            shutdown_delay: self.shutdown_delay,
        };
        let Some(managed) = managed else {
            return Ok(server.run(shutdown).await?);
        };
        // If one of the two ends, the other one is stopped.
        let stop = shutdown.child_token();
        let server = async {
            let ended = server.run(stop.clone()).await;
            stop.cancel();
            ended
        };
        let managed = async {
            let ended = managed.run(stop.clone()).await;
            stop.cancel();
            ended
        };
        let (server, managed) = tokio::join!(server, managed);
        server?;
        Ok(managed?)
    }
}

// === impl Serving ===

impl Serving {
    /// Returns the TLS configuration with this certificate.
    fn with(&self, source: impl PairSource + 'static) -> anyhow::Result<ServingTls> {
        Ok(ServingTls::new(
            source,
            self.options.clone(),
            self.client_auth.clone(),
            self.metrics.observer(),
            Timestamp::now(),
        )?)
    }
}

/// The addresses for the log.
#[derive(Clone, Copy)]
struct Addresses {
    metrics: Option<SocketAddr>,
    health: Option<SocketAddr>,
    controller: Option<SocketAddr>,
}

impl Addresses {
    /// Logs that the gate serves.
    fn serving(&self, open: &Open, certificates: &str) -> anyhow::Result<()> {
        let or_none = |address: Option<SocketAddr>| {
            address.map_or("none".to_owned(), |address| address.to_string())
        };
        tracing::info!(
            webhooks = %open.webhooks.local_addr()?,
            metrics = or_none(self.metrics),
            health = or_none(self.health),
            controller = self.controller.map(tracing::field::display),
            certificates,
            version = env!("CARGO_PKG_VERSION"),
            "serving",
        );
        Ok(())
    }
}

/// Opens the port of the webhooks.
async fn open(port: Port, address: IpAddr) -> anyhow::Result<TcpListener> {
    let listener = port.or(9443).open("--port", address).await?;
    listener.context("--port: a port is required")
}

fn address(listener: Option<&TcpListener>) -> Option<SocketAddr> {
    listener.and_then(|listener| listener.local_addr().ok())
}

/// The folder of the certificates.
struct Certificates {
    folder: PathBuf,
    /// The temporary folder, if no flag names a folder. It is removed at the end.
    _temporary: Option<TempDir>,
}

fn certificates(args: &GateArgs, now: Timestamp) -> anyhow::Result<Certificates> {
    let folder = match (&args.certdir, args.self_signed) {
        (Some(folder), _) => folder.clone(),
        (None, false) => std::env::temp_dir()
            .join("k8s-webhook-server")
            .join("serving-certs"),
        (None, true) => {
            // The name is random, and only this user may enter the folder.
            let temporary = tempfile::Builder::new()
                .prefix("berth-")
                .permissions(Permissions::from_mode(0o700))
                .tempdir()
                .context("cannot create a temporary folder for certificates; name a folder with --certdir")?;
            write_self_signed(temporary.path(), SELF_SIGNED_VALIDITY, now)?;
            return Ok(Certificates {
                folder: temporary.path().to_owned(),
                _temporary: Some(temporary),
            });
        }
    };
    if args.self_signed && Folder::new(&folder).load(now).is_err() {
        if folder.join("tls.crt").exists() && !folder.join("ca.crt").exists() {
            anyhow::bail!(
                "{}: contains an invalid tls.crt that --self-signed did not create; name another --certdir",
                folder.display()
            );
        }
        write_self_signed(&folder, SELF_SIGNED_VALIDITY, now)?;
    }
    Ok(Certificates {
        folder,
        _temporary: None,
    })
}

async fn decides(args: &Args) -> anyhow::Result<Decides> {
    if args.hub_files.is_empty() {
        let api = match args.gate.common.hub().await {
            Err(error @ ConnectError::NoKubeconfig { .. }) => {
                anyhow::bail!("{error}, or decide without a hub with --hub-files PATH")
            }
            api => api?,
        };
        let answerer = Arc::new(HubAnswerer::new(api.clone()));
        let namespace = install_namespace();
        return Ok((answerer, Some(OnHub { api, namespace })));
    }
    let files = HubFiles::read(&args.hub_files)?;
    let passed_over: usize = files.passed_over().values().sum();
    tracing::info!(
        objects = files.len(),
        passed_over,
        "deciding by files, without a hub"
    );
    Ok((Arc::new(FilesAnswerer::new(files)), None))
}

/// Only the certificate of a Secret needs a hub.
async fn converts(args: &GateArgs) -> anyhow::Result<Decides> {
    let answerer = Arc::new(FilesAnswerer::new(HubFiles::default()));
    let hub = match args.source.source() {
        Source::Folder => None,
        Source::Secret => Some(OnHub {
            api: args.common.hub().await?,
            namespace: install_namespace(),
        }),
    };
    Ok((answerer, hub))
}

fn tell_how_to_use(
    folder: &Path,
    port: u16,
    metrics: Option<SocketAddr>,
    (webhooks, converts): (&[Webhook], bool),
) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "The gate is serving. Its certificate authority: {}/ca.crt",
        folder.display()
    )?;
    if !webhooks.is_empty() {
        writeln!(out, "Send it an AdmissionReview:\n")?;
    }
    let mut tell = |purpose: &str, path: &str| {
        writeln!(out, "  # {purpose}")?;
        writeln!(
            out,
            "  curl --cacert {}/ca.crt -H 'Content-Type: application/json' \\",
            folder.display()
        )?;
        writeln!(
            out,
            "    --data @REVIEW.json https://127.0.0.1:{port}{path}"
        )
    };
    for webhook in webhooks.iter().map(|it| shipped(*it)) {
        let purpose = if webhook.mutates {
            "defaults of a"
        } else {
            "may this be written: a"
        };
        tell(&format!("{purpose} {}", webhook.kind), webhook.path)?;
    }
    if converts {
        tell(
            "add-ons in another version (a ConversionReview)",
            CONVERSION_PATH,
        )?;
    }
    if let Some(address) = metrics {
        writeln!(
            out,
            "\nMetrics: curl http://127.0.0.1:{}/metrics",
            address.port()
        )?;
    }
    writeln!(out)?;
    out.flush()
}
