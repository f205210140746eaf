//! `berth addon manager`: the controller of add-ons, with the name and the flags of OCM's add-on manager.

use std::path::PathBuf;

use berth_hub::Access;
use tokio::runtime::Builder;

use crate::common::{LogArgs, TlsArgs, ignored_flags};
use crate::controller::{Process, Selection};
use crate::hub_component::HubComponentArgs;

pub(super) const EXAMPLES: &str = "\
Examples:
  # In a pod, as OCM's operator starts it (the executable is also at /addon)
  berth addon manager

  # Outside of the hub's cluster
  berth addon manager --kubeconfig ~/.kube/hub --listen 127.0.0.1:8443

A ClusterManagementAddOn whose install strategy has the type Placements names Placements. Each cluster that they select gets a
ManagedClusterAddOn. One that this manager made is deleted when no placement selects its cluster any more.

Of several replicas one is active: the holder of the Lease manager-lock. OCM's add-on manager uses the same Lease.

Signals: the first SIGTERM or SIGINT releases the Lease and stops the process; the second one stops it immediately.
After the loss of the Lease, it exits with code 0.";

#[derive(Debug, clap::Args)]
pub(super) struct ManagerArgs {
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

/// Flags of OCM's add-on manager that are accepted and ignored.
#[derive(Debug, clap::Args)]
struct NoMeaning {
    #[arg(long, hide = true)]
    config: Option<String>,
    #[arg(long, hide = true)]
    terminate_on_files: Vec<String>,
}

/// Runs until a signal, or until another replica takes over.
pub(super) fn run(args: &ManagerArgs) -> anyhow::Result<()> {
    // It mostly waits for the hub: one thread is enough.
    args.logs.run(Builder::new_current_thread(), manage(args))
}

async fn manage(args: &ManagerArgs) -> anyhow::Result<()> {
    let component = args.component.settings()?;
    let (tls, tls_warnings) = args.tls.options()?;
    let warnings = [args.logs.warnings(), tls_warnings, args.ignored.warnings()];
    let process = Process {
        access: Access::of_server(args.kubeconfig.clone()),
        selection: Selection {
            addon: Some(berth_addons::Settings::default()),
            ..Selection::default()
        },
        component,
        tls,
        keeper: None,
        warnings: warnings.concat(),
    };
    process.run().await
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

    #[test]
    fn flags_of_ocms_add_on_manager_are_accepted() {
        let flags = [
            "manager",
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
            "-v=4",
        ];
        let args = Command::try_parse_from(flags).unwrap().args;
        let settings = args.component.settings().unwrap();
        let lease = settings.election(berth_addons::NAMES.lease).unwrap();
        assert_eq!((&*lease.namespace, &*lease.name), ("hub", "manager-lock"));
        assert_eq!(
            args.ignored.warnings(),
            [
                "--config is not supported and is ignored",
                "--terminate-on-files is not supported and is ignored",
            ]
        );
    }
}
