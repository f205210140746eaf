//! `berth work manager`: the controller of ManifestWorkReplicaSets, with the name and the flags of OCM's work manager.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use berth_hub::Access;
use tokio::runtime::Builder;

use crate::common::{LogArgs, TlsArgs, ignored_flags};
use crate::controller::{Process, Selection};
use crate::feature_gates::{self, Of};
use crate::hub_component::HubComponentArgs;

pub(super) const EXAMPLES: &str = "\
Examples:
  # In a pod, as OCM's operator starts it (the executable is also at /work)
  berth work manager

  # Delete ManifestWorks that are complete, after spec.deleteOption.ttlSecondsAfterFinished
  berth work manager --feature-gates=CleanUpCompletedManifestWork=true

  # Outside of the hub's cluster
  berth work manager --kubeconfig ~/.kube/hub --listen 127.0.0.1:8443

A ManifestWorkReplicaSet names Placements of its namespace. Each cluster that they select gets a ManifestWork, with the spec of the
template. The ManifestWorks have the label work.open-cluster-management.io/manifestworkreplicaset=NAMESPACE.NAME.

Of several replicas one is active: the holder of the Lease work-manager-lock. OCM's work manager uses the same Lease.

Signals: the first SIGTERM or SIGINT releases the Lease and stops the process; the second one stops it immediately.
After the loss of the Lease, it exits with code 0.";

/// The driver of hubs that are an API server.
const KUBE: &str = "kube";

#[derive(Debug, clap::Args)]
pub(super) struct ManagerArgs {
    /// Kubeconfig of the hub [default: the files of $KUBECONFIG, else the cluster that this runs in]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    #[command(flatten)]
    component: HubComponentArgs,
    /// Feature gates, as Gate=true,Gate=false: ManifestWorkReplicaSet (on: ManifestWorks of ManifestWorkReplicaSets are made),
    /// CleanUpCompletedManifestWork (off: ManifestWorks with the condition Complete are deleted after
    /// spec.deleteOption.ttlSecondsAfterFinished)
    #[arg(long, value_name = "GATES")]
    feature_gates: Vec<String>,
    /// How ManifestWorks reach the clusters; only kube is supported
    #[arg(long, value_name = "DRIVER", default_value = KUBE)]
    work_driver: String,
    #[command(flatten)]
    tls: TlsArgs,
    #[command(flatten)]
    logs: LogArgs,
    #[command(flatten)]
    ignored: NoMeaning,
}

/// Flags of OCM's work manager that are accepted and ignored.
#[derive(Debug, clap::Args)]
struct NoMeaning {
    #[arg(long, hide = true)]
    cloudevents_client_id: Option<String>,
    #[arg(long, hide = true)]
    config: Option<String>,
    #[arg(long, hide = true)]
    terminate_on_files: Vec<String>,
    #[arg(long, hide = true)]
    work_driver_config: Option<String>,
}

/// Runs until a signal, or until another replica takes over.
pub(super) fn run(args: &ManagerArgs) -> anyhow::Result<ExitCode> {
    // It mostly waits for the hub: one thread is enough.
    args.logs.run(Builder::new_current_thread(), work(args))?;
    Ok(ExitCode::SUCCESS)
}

async fn work(args: &ManagerArgs) -> anyhow::Result<()> {
    let gates = feature_gates::parse(&args.feature_gates, Of::Work)?;
    let settings = gates.work;
    if !settings.any() {
        bail!("--feature-gates: all gates of the work manager are off, so it has nothing to do");
    }
    args.check_driver()?;
    let component = args.component.settings()?;
    let (tls, tls_warnings) = args.tls.options()?;
    let warnings = [
        gates.warnings,
        args.logs.warnings(),
        tls_warnings,
        args.ignored.warnings(),
    ];
    let process = Process {
        access: Access::of_server(args.kubeconfig.clone()),
        selection: Selection {
            work: Some(settings),
            ..Selection::default()
        },
        component,
        tls,
        keeper: None,
        warnings: warnings.concat(),
    };
    process.run().await
}

// === impl ManagerArgs ===

impl ManagerArgs {
    fn check_driver(&self) -> anyhow::Result<()> {
        if self.work_driver != KUBE {
            bail!(
                "--work-driver: {:?} is not supported; only {KUBE} is",
                self.work_driver
            );
        }
        Ok(())
    }
}

// === impl NoMeaning ===

impl NoMeaning {
    fn warnings(&self) -> Vec<String> {
        ignored_flags(&[
            (
                "cloudevents-client-id",
                self.cloudevents_client_id.is_some(),
            ),
            ("config", self.config.is_some()),
            ("terminate-on-files", !self.terminate_on_files.is_empty()),
            ("work-driver-config", self.work_driver_config.is_some()),
        ])
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    /// The command as it is in [`crate::cli`].
    #[derive(Debug, Parser)]
    #[command(args_override_self = true)]
    struct Command {
        #[command(flatten)]
        args: ManagerArgs,
    }

    fn args(flags: &[&str]) -> ManagerArgs {
        let words = ["manager"].iter().chain(flags);
        Command::try_parse_from(words).unwrap().args
    }

    #[test]
    fn flags_of_ocms_work_manager_are_accepted() {
        let args = args(&[
            "--namespace=hub",
            "--kubeconfig=/k",
            "--kube-api-qps=50",
            "--kube-api-burst=100",
            "--leader-election-lease-duration=137s",
            "--leader-election-renew-deadline=107s",
            "--leader-election-retry-period=26s",
            "--tls-min-version=VersionTLS12",
            "--listen=0.0.0.0:8443",
            "--feature-gates=ManifestWorkReplicaSet=true",
            "--work-driver=kube",
            "--work-driver-config=/c",
            "--cloudevents-client-id=id",
            "--config=/c",
            "--terminate-on-files=/a",
            "--terminate-on-files=/b",
            "-v=4",
        ]);
        let lease = args
            .component
            .settings()
            .unwrap()
            .election(berth_work_hub::NAMES.lease)
            .unwrap();
        assert_eq!(
            (
                &*lease.namespace,
                &*lease.name,
                lease.lease_duration.as_secs()
            ),
            ("hub", "work-manager-lock", 137)
        );
        assert!(args.check_driver().is_ok());
        assert_eq!(
            args.ignored.warnings(),
            [
                "--cloudevents-client-id is not supported and is ignored",
                "--config is not supported and is ignored",
                "--terminate-on-files is not supported and is ignored",
                "--work-driver-config is not supported and is ignored",
            ]
        );
    }

    #[test]
    fn another_driver_is_refused() {
        let error = args(&["--work-driver=mqtt"]).check_driver().unwrap_err();
        assert_eq!(
            error.to_string(),
            "--work-driver: \"mqtt\" is not supported; only kube is"
        );
    }
}
