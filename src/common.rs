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
/// The namespace that OCM installs its hub in.
pub(crate) const DEFAULT_NAMESPACE: &str = "open-cluster-management-hub";

/// Returns the default namespace of the hub's components: the one that this runs in, or OCM's.
pub(crate) fn install_namespace() -> String {
    match std::fs::read_to_string(NAMESPACE_FILE) {
        Ok(namespace) => namespace.trim().to_owned(),
        Err(_) => DEFAULT_NAMESPACE.to_owned(),
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct CommonArgs {
    /// Kubeconfig of the hub [default: the files of $KUBECONFIG, else the cluster that this runs in]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
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
    pub(crate) reserved: ReservedArgs,
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
        HubApi::connect(&Access::of_server(self.kubeconfig.clone())).await
    }

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
        runtime.enable_all().build()?.block_on(command)
    }

    /// Returns the values of the TLS flags, and warnings for the log.
    ///
    /// # Errors
    /// A value is invalid.
    pub(crate) fn tls(&self) -> anyhow::Result<(TlsOptions, Vec<String>)> {
        Ok(TlsOptions::parse(
            &self.tls_min_version,
            &self.tls_cipher_suites,
        )?)
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
