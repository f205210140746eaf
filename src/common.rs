//! Flags that all long-running commands have.

use std::path::PathBuf;

use berth_admin::ReservedArgs;
use berth_certs::options::TlsOptions;
use berth_hub::{Access, ConnectError, HubApi};
use tokio::runtime::Builder;

use crate::logging::{self, Format};
use crate::open_files;

/// The file with the namespace of a pod.
const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
/// The longest `reportingInstance` an Event may have.
const LONGEST_INSTANCE: usize = 128;
/// The namespace that OCM installs its hub in.
pub(crate) const DEFAULT_NAMESPACE: &str = "open-cluster-management-hub";

/// Returns the name of the pod, if the manifest sets it, cut to the limit of Events.
pub(crate) fn pod_name() -> Option<String> {
    let name = std::env::var("POD_NAME").ok()?;
    let name: String = name.chars().take(LONGEST_INSTANCE).collect();
    (!name.is_empty()).then_some(name)
}

/// Returns the UID of the pod, if the manifest sets it.
pub(crate) fn pod_uid() -> Option<String> {
    std::env::var("POD_UID").ok().filter(|uid| !uid.is_empty())
}

/// Returns the default namespace of the hub's components: the one that this runs in, or OCM's.
pub(crate) fn install_namespace() -> String {
    pod_namespace().unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned())
}

/// Returns the namespace of the pod that this runs in.
pub(crate) fn pod_namespace() -> Option<String> {
    let namespace = std::fs::read_to_string(NAMESPACE_FILE).ok()?;
    Some(namespace.trim().to_owned())
}

#[derive(Debug, clap::Args)]
pub(crate) struct CommonArgs {
    /// Kubeconfig of the hub [default: the files of $KUBECONFIG, else the cluster that this runs in]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    #[command(flatten)]
    tls: TlsArgs,
    #[command(flatten)]
    logs: LogArgs,
    #[command(flatten)]
    pub(crate) reserved: ReservedArgs,
}

/// The flags of a server's TLS.
#[derive(Debug, clap::Args)]
pub(crate) struct TlsArgs {
    /// Minimum TLS version: VersionTLS12 or VersionTLS13
    #[arg(
        long,
        value_name = "VERSION",
        default_value = "",
        hide_default_value = true
    )]
    tls_min_version: String,
    /// Cipher suites of TLS 1.2 by their IANA names, separated by commas [default: all secure ones]
    #[arg(long, value_name = "SUITES")]
    tls_cipher_suites: Vec<String>,
}

/// The flags of the log.
#[derive(Debug, clap::Args)]
pub(crate) struct LogArgs {
    /// Log format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    log_format: Format,
    /// Log verbosity as in klog: 4 or more for debugging
    #[arg(
        short = 'v',
        long = "v",
        value_name = "LEVEL",
        default_value_t = 0,
        hide_default_value = true
    )]
    verbosity: u8,
    #[command(flatten)]
    ignored: Ignored,
}

/// Flags of all components of OCM that are accepted and ignored.
#[derive(Debug, clap::Args)]
struct Ignored {
    #[arg(long, hide = true)]
    log_flush_frequency: Option<String>,
    #[arg(long, hide = true)]
    vmodule: Option<String>,
}

// === impl CommonArgs ===

impl CommonArgs {
    /// Connects to the hub of the flag, of `$KUBECONFIG`, or of the cluster that this runs in.
    ///
    /// # Errors
    /// No kubeconfig was found, or it cannot be used.
    pub(crate) async fn hub(&self) -> Result<HubApi, ConnectError> {
        HubApi::connect(&self.access()).await
    }

    /// The hub of the flag, of `$KUBECONFIG`, or of the cluster that this runs in.
    pub(crate) fn access(&self) -> Access {
        Access::of_server(self.kubeconfig.clone())
    }

    /// Starts logging, and runs a command to its end.
    ///
    /// # Errors
    /// Those of the command.
    pub(crate) fn run(
        &self,
        runtime: Builder,
        command: impl Future<Output = anyhow::Result<()>>,
    ) -> anyhow::Result<()> {
        self.logs.run(runtime, command)
    }

    /// Returns the values of the TLS flags, and warnings for the log.
    ///
    /// # Errors
    /// A value is invalid.
    pub(crate) fn tls(&self) -> anyhow::Result<(TlsOptions, Vec<String>)> {
        self.tls.options()
    }

    /// Returns warnings about ignored flags.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.logs.warnings()
    }
}

// === impl TlsArgs ===

impl TlsArgs {
    /// Returns the values of the flags, and warnings for the log.
    ///
    /// # Errors
    /// A value is invalid.
    pub(crate) fn options(&self) -> anyhow::Result<(TlsOptions, Vec<String>)> {
        Ok(TlsOptions::parse(
            &self.tls_min_version,
            &self.tls_cipher_suites,
        )?)
    }
}

// === impl LogArgs ===

impl LogArgs {
    /// Starts logging, and runs a command to its end.
    ///
    /// # Errors
    /// Those of the command.
    pub(crate) fn run(
        &self,
        mut runtime: Builder,
        command: impl Future<Output = anyhow::Result<()>>,
    ) -> anyhow::Result<()> {
        logging::init(self.log_format, self.verbosity);
        open_files::ask_for_all();
        let runtime = runtime.enable_all().build()?;
        let ended = runtime.block_on(command);
        // Computations on other threads are not waited for.
        runtime.shutdown_background();
        ended
    }

    /// Returns warnings about ignored flags.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let ignored = &self.ignored;
        ignored_flags(&[
            ("log-flush-frequency", ignored.log_flush_frequency.is_some()),
            ("vmodule", ignored.vmodule.is_some()),
        ])
    }
}

/// Returns a warning for each flag that is set.
pub(crate) fn ignored_flags(flags: &[(&str, bool)]) -> Vec<String> {
    let given = flags.iter().filter(|(_, given)| *given);
    given
        .map(|(flag, _)| format!("--{flag} is not supported and is ignored"))
        .collect()
}

/// Returns the value of a flag. An empty value counts as absent, because OCM's operator always sets the flag.
pub(crate) fn given(value: Option<&String>) -> Option<String> {
    value.filter(|it| !it.is_empty()).cloned()
}

/// Returns a name if it is a DNS label. `what`: the kind of the object that has the name.
///
/// # Errors
/// The name is invalid; the message begins with the flag.
pub(crate) fn valid(flag: &str, name: String, what: &str) -> anyhow::Result<String> {
    let problems = berth_api::names::dns1123_label(&name);
    if !problems.is_empty() {
        anyhow::bail!(
            "{flag}: {name:?} is not a valid name of a {what}: {}",
            problems.join("; ")
        );
    }
    Ok(name)
}
