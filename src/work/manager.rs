//! `berth work manager`: the controller of ManifestWorkReplicaSets, with the name and the flags of OCM's work manager.

use std::process::ExitCode;

use anyhow::bail;

use crate::common::ignored_flags;
use crate::controller::Selection;
use crate::feature_gates::{self, Of};
use crate::hub_component::manager::ManagerArgs;

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
pub(super) struct Args {
    #[command(flatten)]
    manager: ManagerArgs,
    /// Feature gates, as Gate=true,Gate=false: ManifestWorkReplicaSet (on: ManifestWorks of ManifestWorkReplicaSets are made),
    /// CleanUpCompletedManifestWork (off: ManifestWorks with the condition Complete are deleted after
    /// spec.deleteOption.ttlSecondsAfterFinished)
    #[arg(long, value_name = "GATES")]
    feature_gates: Vec<String>,
    /// How ManifestWorks reach the clusters; only kube is supported
    #[arg(long, value_name = "DRIVER", default_value = KUBE)]
    work_driver: String,
    #[command(flatten)]
    ignored: NoMeaning,
}

/// Flags of OCM's work manager alone that are accepted and ignored.
#[derive(Debug, clap::Args)]
struct NoMeaning {
    #[arg(long, hide = true)]
    cloudevents_client_id: Option<String>,
    #[arg(long, hide = true)]
    work_driver_config: Option<String>,
}

/// Runs until a signal, or until another replica takes over.
pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let gates = feature_gates::parse(&args.feature_gates, Of::Work)?;
    let settings = gates.work;
    if !settings.any() {
        bail!("--feature-gates: all gates of the work manager are off, so it has nothing to do");
    }
    args.check_driver()?;
    let selection = Selection {
        work: Some(settings),
        ..Selection::default()
    };
    let warnings = [gates.warnings, args.ignored.warnings()];
    args.manager.run(selection, warnings.concat())?;
    Ok(ExitCode::SUCCESS)
}

// === impl Args ===

impl Args {
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
            ("work-driver-config", self.work_driver_config.is_some()),
        ])
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::hub_component::manager::tests::{FLAGS, assert_taken};

    /// The command as it is in [`crate::cli`].
    #[derive(Debug, Parser)]
    #[command(args_override_self = true)]
    struct Command {
        #[command(flatten)]
        args: Args,
    }

    fn args(flags: &[&str]) -> Args {
        let words = ["manager"].iter().chain(flags);
        Command::try_parse_from(words).unwrap().args
    }

    #[test]
    fn flags_of_ocms_work_manager_are_accepted() {
        let own = [
            "--feature-gates=ManifestWorkReplicaSet=true",
            "--work-driver=kube",
            "--work-driver-config=/c",
            "--cloudevents-client-id=id",
        ];
        let args = args(&[&FLAGS[..], &own].concat());
        assert_taken(&args.manager, "work-manager-lock");
        assert_eq!(berth_work_hub::NAMES.lease, "work-manager-lock");
        assert!(args.check_driver().is_ok());
        assert_eq!(
            args.ignored.warnings(),
            [
                "--cloudevents-client-id is not supported and is ignored",
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
