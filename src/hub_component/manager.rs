//! The flags of OCM's managers of the hub, each of which runs one controller: placement, works, add-ons.

use std::path::PathBuf;

use berth_hub::Access;
use tokio::runtime::Builder;

use super::HubComponentArgs;
use crate::common::{LogArgs, TlsArgs, ignored_flags};
use crate::controller::{Process, Selection};

/// The flags that OCM's managers share.
#[derive(Debug, clap::Args)]
pub(crate) struct ManagerArgs {
    /// Kubeconfig of the hub [default: the files of $KUBECONFIG, else the cluster that this runs in]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    #[command(flatten)]
    component: HubComponentArgs,
    #[command(flatten)]
    tls: TlsArgs,
    #[command(flatten)]
    logs: LogArgs,
    #[command(flatten)]
    ignored: NoMeaning,
}

/// Flags of OCM's managers that are accepted and ignored.
#[derive(Debug, clap::Args)]
struct NoMeaning {
    #[arg(long, hide = true)]
    config: Option<String>,
    #[arg(long, hide = true)]
    terminate_on_files: Vec<String>,
}

// === impl ManagerArgs ===

impl ManagerArgs {
    /// Runs these controllers until a signal, or until another replica takes over. `warnings`: about the other flags, for the log.
    ///
    /// # Errors
    /// A flag has an invalid value, and those of [`Process::run`].
    pub(crate) fn run(&self, selection: Selection, warnings: Vec<String>) -> anyhow::Result<()> {
        // Writes wait for the hub, a decision takes a millisecond or two, and CEL expressions have threads of their own: one thread is
        // enough.
        self.logs.run(Builder::new_current_thread(), async {
            self.process(selection, warnings)?.run().await
        })
    }

    fn process(
        &self,
        selection: Selection,
        warnings: Vec<String>,
    ) -> anyhow::Result<Process<'static>> {
        let component = self.component.settings()?;
        let (tls, tls_warnings) = self.tls.options()?;
        let warnings = [
            warnings,
            self.logs.warnings(),
            tls_warnings,
            self.ignored.warnings(),
        ];
        Ok(Process {
            access: Access::of_server(self.kubeconfig.clone()),
            selection,
            component,
            tls,
            keeper: None,
            warnings: warnings.concat(),
        })
    }
}

// === impl NoMeaning ===

impl NoMeaning {
    fn warnings(&self) -> Vec<String> {
        ignored_flags(&[
            ("config", self.config.is_some()),
            ("terminate-on-files", !self.terminate_on_files.is_empty()),
        ])
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use super::*;
    use crate::hub_component::HubComponent;

    /// Flags that all of OCM's managers have.
    pub(crate) const FLAGS: [&str; 13] = [
        "--namespace=hub",
        "--kubeconfig=/k",
        "--kube-api-qps=50",
        "--kube-api-burst=100",
        "--leader-election-lease-duration=137s",
        "--leader-election-renew-deadline=107s",
        "--leader-election-retry-period=26s",
        "--tls-min-version=VersionTLS12",
        "--listen=0.0.0.0:8443",
        "--config=/c",
        "--terminate-on-files=/a",
        "--terminate-on-files=/b",
        "-v=4",
    ];

    /// The values of the flags of the component.
    pub(crate) fn component(args: &ManagerArgs) -> Result<HubComponent, String> {
        let settings = args.component.settings();
        settings.map_err(|error| format!("{error:#}"))
    }

    /// Asserts that a command took [`FLAGS`], and warns of those without a meaning.
    pub(crate) fn assert_taken(args: &ManagerArgs, lease: &str) {
        let component = component(args).unwrap();
        let election = component.election(lease).unwrap();
        assert_eq!(
            (
                &*election.namespace,
                &*election.name,
                election.lease_duration
            ),
            ("hub", lease, Duration::from_secs(137))
        );
        assert!(component.limit().is_some());
        let process = args.process(Selection::default(), Vec::new()).unwrap();
        assert_eq!(
            process.warnings,
            [
                "--config is not supported and is ignored",
                "--terminate-on-files is not supported and is ignored",
            ]
        );
    }
}
