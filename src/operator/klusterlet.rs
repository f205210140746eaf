//! `berth operator klusterlet`: the operator of a managed cluster.

use berth_operator::cluster::Settings;

use super::settings::{Installs, Operator};
use crate::common::ignored_flags;
use crate::controller::Selection;
use crate::hub_component::manager::ManagerArgs;

pub(super) const EXAMPLES: &str = "\
Examples:
  # In a pod (the executable is also at /registration-operator, as OCM's)
  berth operator klusterlet

  # Outside of the cluster
  berth operator klusterlet --kubeconfig ~/.kube/c1 --namespace open-cluster-management --image berth:v1 --listen 127.0.0.1:8443

The cluster gets one agent for registration and works, with the image of the operator, unless the Klusterlet names another image than one
of OCM's. Create the Secret bootstrap-hub-kubeconfig in its namespace (key kubeconfig); then a hub admin accepts the cluster: berth accept c1.
Settings without an effect are named in the condition SettingsSupported.

When a Klusterlet is deleted, its agent goes, and what ManifestWorks made stays. With the annotation
operator.berth.open-cluster-management.io/delete-works=true it is deleted, too. The hub is not told.

Of several replicas one is active: the holder of the Lease klusterlet-lock. OCM's operator uses the same Lease.

Signals: the first SIGTERM or SIGINT releases the Lease and stops the process; the second one stops it immediately.
After the loss of the Lease, it exits with code 0.";

#[derive(Debug, clap::Args)]
#[command(
    mut_arg("kubeconfig", |arg| arg.help(
        "Kubeconfig of the cluster [default: the files of $KUBECONFIG, else the cluster that this runs in]",
    )),
    mut_arg("listen", |arg| arg.help(
        "Address of /healthz, /readyz and /metrics, over TLS; the port may be 'auto' for any free port. The certificate comes from \
         /var/run/secrets/serving-cert, or else it is self-signed",
    )),
    mut_arg("namespace", |arg| arg.help(
        "Namespace of the operator, with its Lease and the ConfigMap ocm-tls-profile [default: the namespace that this runs in, else \
         open-cluster-management-hub]",
    )),
)]
pub(super) struct Args {
    #[command(flatten)]
    manager: ManagerArgs,
    /// Image of the agents [default: that of the pod in which this runs]
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    /// Number of replicas of an agent; 0 means 1: Kubernetes replaces a lost one before the hub misses it
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    deployment_replicas: u16,
    /// Copy the labels of a Klusterlet to all objects of its agent
    #[arg(
        long,
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = false,
        hide_default_value = true
    )]
    enable_sync_labels: bool,
    /// Do not make the namespace open-cluster-management-agent-addon, where add-ons run that name no other
    #[arg(
        long,
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = false,
        hide_default_value = true
    )]
    disable_default_addon_namespace: bool,
    #[command(flatten)]
    ignored: NoMeaning,
}

/// Flags of OCM's operator that are accepted and ignored.
#[derive(Debug, clap::Args)]
struct NoMeaning {
    #[arg(long, hide = true)]
    control_plane_node_label_selector: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    skip_placeholder_hub_secret: Option<String>,
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
            installs: Installs::Agent(Settings {
                image: String::new(),
                replicas: replicas.filter(|it| *it > 0),
                sync_labels: self.enable_sync_labels,
                has_addon_namespace: !self.disable_default_addon_namespace,
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
                "skip-placeholder-hub-secret",
                self.skip_placeholder_hub_secret.is_some(),
            ),
        ])
    }
}
