//! `berth operator hub`: the operator of a hub.

use berth_operator::hub::Settings;

use super::settings::{Installs, Operator};
use crate::common::ignored_flags;
use crate::controller::Selection;
use crate::hub_component::manager::ManagerArgs;

pub(super) const EXAMPLES: &str = "\
Examples:
  # In a pod (the executable is also at /registration-operator, as OCM's)
  berth operator hub

  # Outside of the hub's cluster
  berth operator hub --kubeconfig ~/.kube/hub --namespace open-cluster-management --image berth:v1 --listen 127.0.0.1:8443

The hub gets one controller and one gate, with the image of the operator, unless spec.registrationImagePullSpec names another image than
one of OCM's. They do the work of all of OCM's Deployments, which go when the others run. Settings without an effect are named in the
condition SettingsSupported.

When a ClusterManager is deleted, its hub goes, and the clusters stay, with the CustomResourceDefinitions. With the annotation
operator.berth.open-cluster-management.io/purge=true they are deleted, too.

Of several replicas one is active: the holder of the Lease clustermanager-lock. OCM's operator uses the same Lease.

Signals: the first SIGTERM or SIGINT releases the Lease and stops the process; the second one stops it immediately.
After the loss of the Lease, it exits with code 0.";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    manager: ManagerArgs,
    /// Image of the hub's components [default: that of the pod in which this runs]
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    /// Number of replicas of each Deployment; 0 means 1 on a hub with one node of the control plane, and otherwise 2 controllers
    /// and 3 gates
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    deployment_replicas: u16,
    /// Copy the labels of a ClusterManager to all objects of its hub
    #[arg(
        long,
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = false,
        hide_default_value = true
    )]
    enable_sync_labels: bool,
    /// Keep the CustomResourceDefinitions, and with them all clusters, when a ClusterManager is deleted. With false they are
    /// deleted, as OCM's operator does by default
    #[arg(
        long,
        value_name = "BOOL",
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        action = clap::ArgAction::Set
    )]
    skip_remove_crds: bool,
    #[command(flatten)]
    ignored: NoMeaning,
}

/// Flags of OCM's operator that are accepted and ignored.
#[derive(Debug, clap::Args)]
struct NoMeaning {
    #[arg(long, hide = true)]
    control_plane_node_label_selector: Option<String>,
    #[arg(long, hide = true)]
    image_pull_secret_name: Option<String>,
}

/// Runs until a signal, or until another replica takes over.
pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let selection = Selection {
        operator: Some(args.operator()),
        ..Selection::default()
    };
    args.manager.run(selection, args.ignored.warnings())
}

// === impl Args ===

impl Args {
    fn operator(&self) -> Operator {
        let replicas = Some(self.deployment_replicas);
        Operator {
            image: self.image.clone(),
            installs: Installs::Hub(Settings {
                image: String::new(),
                replicas: replicas.filter(|it| *it > 0),
                sync_labels: self.enable_sync_labels,
                purge: !self.skip_remove_crds,
                tls: None,
                pull: None,
            }),
        }
    }
}

// === impl NoMeaning ===

impl NoMeaning {
    fn warnings(&self) -> Vec<String> {
        ignored_flags(&[
            (
                "control-plane-node-label-selector",
                self.control_plane_node_label_selector.is_some(),
            ),
            (
                "image-pull-secret-name",
                self.image_pull_secret_name.is_some(),
            ),
        ])
    }
}
