//! `berth webhook-server`: the gate, served.

use std::fs::Permissions;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use berth_certs::client_auth::ClientAuth;
use berth_certs::folder::Folder;
use berth_certs::issue::write_self_signed;
use berth_certs::serving::{PairSource, ServingTls};
use berth_rules::FeatureGates;
use berth_webhooks::review::{Answerer, FilesAnswerer, Gate, HubAnswerer, HubFiles, Webhook};
use berth_webhooks::server::{Limits, Metrics, Server};
use jiff::{SignedDuration, Timestamp};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use crate::common::CommonArgs;
use crate::feature_gates::{self, Of};
use crate::hub_client;
use crate::open_files;
use crate::ports::Port;
use crate::signals;

/// How long a certificate of `--self-signed` is valid.
const SELF_SIGNED_VALIDITY: Duration = Duration::from_secs(30 * 24 * 3600);

const EXAMPLES: &str = "\
Examples:
  # Without a hub: rules from files, a certificate of its own
  berth webhook-server --hub-files examples/hub --self-signed --bind-address 127.0.0.1

  # In a pod, as OCM's operator starts it
  berth webhook-server --port=9443 --feature-gates=DefaultClusterSet=true

  # Outside of the hub's cluster
  berth webhook-server --kubeconfig ~/.kube/hub --certdir /etc/berth/tls

Signals: SIGTERM and SIGINT drain and end it, the second one at once.";

/// Serve the admission webhooks
///
/// Serves them over TLS, and health and metrics in plain HTTP beside them. Who may do what is asked of the hub it runs in, of the hub of --kubeconfig, or of the files of --hub-files.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    gate: GateArgs,
    /// YAML or JSON file, or folder of such files, with the RBAC objects, Namespaces, ManagedClusters, sets and bindings
    /// to decide by instead of a hub's (repeatable)
    #[arg(long, value_name = "PATH", conflicts_with = "kubeconfig")]
    hub_files: Vec<PathBuf>,
    /// Feature gates, as Gate=true,Gate=false: DefaultClusterSet (on), UnguardedDenial (off)
    #[arg(long, value_name = "GATES")]
    feature_gates: Vec<String>,
}

/// The flags of the gate, wherever it runs.
#[derive(Debug, clap::Args)]
pub(crate) struct GateArgs {
    /// Port of the webhooks; 0 means 9443, 'auto' any free one
    #[arg(long, default_value = "9443", allow_negative_numbers = true)]
    port: Port,
    /// Port of /metrics, in plain HTTP; 0 for none, 'auto' for any free one
    #[arg(long, default_value = "8080", allow_negative_numbers = true)]
    metrics_port: Port,
    /// Port of /healthz and /readyz of the webhooks, in plain HTTP; 0 for none, 'auto' for any free one
    #[arg(long, default_value = "8000", allow_negative_numbers = true)]
    health_probe_port: Port,
    /// Address that these ports are opened on; by default every address of the host
    #[arg(long, value_name = "IP", default_value_t = IpAddr::V6(Ipv6Addr::UNSPECIFIED), hide_default_value = true)]
    bind_address: IpAddr,
    /// Folder with tls.crt and tls.key, reloaded when they change
    /// [default: k8s-webhook-server/serving-certs in the system's folder for temporary files]
    #[arg(long, value_name = "DIR")]
    certdir: Option<PathBuf>,
    /// Make a CA and a certificate for localhost, 127.0.0.1 and ::1, in --certdir or a new folder, and print how to use
    /// it. A valid certificate that is there already is used on
    #[arg(long)]
    self_signed: bool,
    /// CA certificates (PEM): clients must present a certificate of one of these
    #[arg(long, value_name = "FILE")]
    client_ca_file: Option<PathBuf>,
    /// Names that clients' certificates may have, as common name or DNS name; needs --client-ca-file
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    client_names: Vec<String>,
    /// How long to serve on, not ready, after being told to stop, such as 10s or 1m
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    shutdown_delay: SignedDuration,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// Serves until a signal, and returns when everything has drained.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    args.gate
        .common
        .run(Builder::new_multi_thread(), serve(args))
}

async fn serve(args: &Args) -> anyhow::Result<()> {
    let gates = feature_gates::parse(&args.feature_gates, Of::Webhooks)?;
    for warning in &gates.warnings {
        tracing::warn!("{warning}");
    }
    let answerer = async || answerer(args).await;
    let prepared = Prepared::new(&args.gate, gates.webhooks, answerer).await?;
    prepared.tell_addresses(None)?;
    let shutdown = CancellationToken::new();
    let told_twice = signals::told_twice(shutdown.clone())?;
    tokio::select! {
        served = prepared.server.run(shutdown) => Ok(served?),
        () = told_twice => anyhow::bail!("told to stop a second time: stopped at once, without draining"),
    }
}

/// A gate, ready to serve: what can fail at start has been done.
pub(crate) struct Prepared {
    pub(crate) server: Server,
    certificates: Certificates,
    self_signed: bool,
}

impl Prepared {
    /// Reads the flags and opens the ports. Sentences for the log are told.
    ///
    /// # Errors
    /// Names the flag, and what is wrong with its value.
    pub(crate) async fn new(
        args: &GateArgs,
        gates: FeatureGates,
        answerer: impl AsyncFnOnce() -> anyhow::Result<Arc<dyn Answerer>>,
    ) -> anyhow::Result<Self> {
        let (tls_options, tls_warnings) = args.common.tls()?;
        for warning in tls_warnings.into_iter().chain(args.common.warnings()) {
            tracing::warn!("{warning}");
        }
        let shutdown_delay = Duration::try_from(args.shutdown_delay)
            .context("--shutdown-delay: cannot be negative")?;
        let client_auth = ClientAuth::new(args.client_ca_file.clone(), args.client_names.clone())?;

        let metrics = Metrics::new();
        let now = Timestamp::now();
        let certificates = certificates(args, now)?;
        let tls = ServingTls::new(
            Folder::new(&certificates.folder),
            tls_options,
            client_auth,
            metrics.observer(),
            now,
        )?;
        let answerer = answerer().await?;

        let address = args.bind_address;
        let webhooks = args
            .port
            .or(9443)
            .open("--port", address)
            .await?
            .context("--port: there must be one")?;
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
            server: Server {
                gate: Gate::new(answerer, gates),
                webhooks,
                tls: Arc::new(tls),
                metrics_port,
                health_port,
                metrics,
                limits,
                shutdown_delay,
            },
            certificates,
            self_signed: args.self_signed,
        })
    }

    /// One line for the log; and how to use it, if it is a trial. `controller`: the address of what runs beside it.
    ///
    /// # Errors
    /// A port without an address.
    pub(crate) fn tell_addresses(&self, controller: Option<SocketAddr>) -> anyhow::Result<()> {
        let Server {
            webhooks,
            metrics_port,
            health_port,
            ..
        } = &self.server;
        let folder = &self.certificates.folder;
        tracing::info!(
            webhooks = %webhooks.local_addr()?,
            metrics = local(metrics_port.as_ref()),
            health = local(health_port.as_ref()),
            controller = controller.map(tracing::field::display),
            certificates = %folder.display(),
            version = env!("CARGO_PKG_VERSION"),
            "serving",
        );
        if self.self_signed {
            // A trial goes on when nobody reads how it could be used.
            let _ = tell_how_to_use(folder, webhooks.local_addr()?.port(), metrics_port.as_ref());
        }
        Ok(())
    }
}

/// Where certificates are.
struct Certificates {
    folder: PathBuf,
    /// Removed in the end, if nobody named a folder.
    _temporary: Option<TempDir>,
}

fn certificates(args: &GateArgs, now: Timestamp) -> anyhow::Result<Certificates> {
    let folder = match (&args.certdir, args.self_signed) {
        (Some(folder), _) => folder.clone(),
        (None, false) => std::env::temp_dir()
            .join("k8s-webhook-server")
            .join("serving-certs"),
        (None, true) => {
            // Nobody guesses its name, and nobody else may enter it.
            let temporary = tempfile::Builder::new()
                .prefix("berth-")
                .permissions(Permissions::from_mode(0o700))
                .tempdir()
                .context("a folder for certificates cannot be made; name one by --certdir")?;
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
                "{}: holds a tls.crt that --self-signed did not make and that cannot be served; name another --certdir",
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

async fn answerer(args: &Args) -> anyhow::Result<Arc<dyn Answerer>> {
    if args.hub_files.is_empty() {
        let or = ", or decide without one by --hub-files PATH";
        let client = hub_client::connect(args.gate.common.kubeconfig.as_deref(), or).await?;
        return Ok(Arc::new(HubAnswerer::new(client)));
    }
    let files = HubFiles::read(&args.hub_files)?;
    let passed_over: usize = files.passed_over().values().sum();
    tracing::info!(
        objects = files.len(),
        passed_over,
        "deciding by files, without a hub"
    );
    Ok(Arc::new(FilesAnswerer::new(files)))
}

fn local(listener: Option<&TcpListener>) -> String {
    listener
        .and_then(|listener| listener.local_addr().ok())
        .map_or("none".to_owned(), |address| address.to_string())
}

fn tell_how_to_use(folder: &Path, port: u16, metrics: Option<&TcpListener>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "The gate is open. Its certificate authority: {}/ca.crt",
        folder.display()
    )?;
    writeln!(out, "Send it an AdmissionReview:\n")?;
    for webhook in Webhook::ALL {
        let path = webhook.path();
        writeln!(
            out,
            "  # {} {}",
            if webhook.mutates() {
                "defaults of a"
            } else {
                "may this be written: a"
            },
            webhook.kind()
        )?;
        writeln!(
            out,
            "  curl --cacert {}/ca.crt -H 'Content-Type: application/json' \\",
            folder.display()
        )?;
        writeln!(
            out,
            "    --data @REVIEW.json https://127.0.0.1:{port}{path}"
        )?;
    }
    if let Some(address) = metrics.and_then(|metrics| metrics.local_addr().ok()) {
        writeln!(
            out,
            "\nMetrics: curl http://127.0.0.1:{}/metrics",
            address.port()
        )?;
    }
    writeln!(out)?;
    out.flush()
}
