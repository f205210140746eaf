//! `berth controller`: the controllers of the hub, with the name and the flags of OCM's registration controller.

mod args;
mod component;
mod components;
mod lists;
mod process;
#[cfg(test)]
mod tests;

use args::LifecycleArgs;
use berth_api::reserved::ReservedPrefixes;
use components::SelectionArgs;
use tokio::runtime::Builder;

pub(crate) use berth_lease::WhenLost;
pub(crate) use components::{Components, Selection};
pub(crate) use process::Process;

use crate::certificates::{KeeperArgs, SecretArgs};
use crate::common::CommonArgs;
use crate::feature_gates::{self, Of, Parsed};
use crate::hub_component::{HubComponent, HubComponentArgs};
use crate::placement::PlacementArgs;

const EXAMPLES: &str = "\
Examples:
  # In a pod, as OCM's operator starts it
  berth controller --feature-gates=ManagedClusterAutoApproval=true --auto-approved-csr-users=alice

  # In a pod, beside gates that run with --certificate-source=secret
  berth controller --keep-certificates

  # Without placements, for example on a hub where OCM's placement controller stays
  berth controller --controllers=*,-placement

  # Outside of the hub's cluster
  berth controller --kubeconfig ~/.kube/hub --listen 127.0.0.1:8443

Of several replicas one is active for each controller: the holder of the Lease registration-controller-lock, that of
placement-lock, that of work-manager-lock, and that of manager-lock. OCM's controllers use the same Leases. Started under the name registration, it runs the controller registration only.

Signals: the first SIGTERM or SIGINT releases the Leases and stops the process; the second one stops it immediately.
After the loss of a Lease, it exits with code 0.";

/// Run the controllers of the hub
///
/// Does the work of OCM's registration controller: sets up accepted clusters, approves certificates of their agents, checks their heartbeats, maintains sets and bindings, and cleans up after deleted clusters. Does the work of OCM's placement controller, too: selects clusters for each Placement. That of OCM's work manager: makes the ManifestWorks of each ManifestWorkReplicaSet. And that of OCM's add-on manager: installs add-ons where placements select clusters, rolls out their configs, and deploys those that a template defines.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub(crate) struct Args {
    #[command(flatten)]
    common: CommonArgs,
    /// Feature gates, as Gate=true,Gate=false: CleanUpCompletedManifestWork (off), ClusterProfile (off), DefaultClusterSet (on),
    /// ManagedClusterAutoApproval (off), ManagedClusterAutoRebootstrap (off), ManifestWorkReplicaSet (on), PlacementPreferNoSelect
    /// (off), PlacementScores (off), PlacementSortBy (off), PlacementSpreadPolicy (off), ResourceCleanup (on), SIGPlacementDecision
    /// (off)
    #[arg(long, value_name = "GATES")]
    feature_gates: Vec<String>,
    #[command(flatten)]
    controllers: ControllersArgs,
    /// Manage the gate's certificates: create and renew them in the Secret, and publish their authority in the registrations
    #[arg(long)]
    keep_certificates: bool,
    #[command(flatten)]
    secret: SecretArgs,
    #[command(flatten)]
    keeper: KeeperArgs,
}

/// The flags of all controllers of the hub.
#[derive(Debug, clap::Args)]
pub(crate) struct ControllersArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    component: HubComponentArgs,
    #[command(flatten)]
    lifecycle: LifecycleArgs,
    #[command(flatten)]
    placement: PlacementArgs,
}

/// The controllers that the flags select, and the settings that they share.
pub(crate) struct Controllers {
    pub(crate) selection: Selection,
    pub(crate) component: HubComponent,
    /// Warnings about the lifecycle, for the log.
    pub(crate) warnings: Vec<String>,
}

// === impl ControllersArgs ===

impl ControllersArgs {
    /// Returns the selected controllers, with their settings.
    ///
    /// # Errors
    /// A flag has an invalid value; the message names it.
    pub(crate) fn select(
        &self,
        gates: &Parsed,
        reserved_prefixes: ReservedPrefixes,
    ) -> anyhow::Result<Controllers> {
        let component = self.component.settings()?;
        let lifecycle =
            self.lifecycle
                .settings(&component.namespace, gates.lifecycle, reserved_prefixes)?;
        let selection = self.selection.select(Selection {
            registration: Some(lifecycle.config),
            placement: Some(self.placement.settings(gates)),
            work: Some(gates.work),
            addon: Some(berth_addons::Settings::default()),
            operator: None,
        })?;
        Ok(Controllers {
            selection,
            component,
            warnings: lifecycle.warnings,
        })
    }
}

/// Runs until a signal, or until another replica takes over.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    // It mostly waits for the hub: one thread is enough for ten thousand clusters, and avoids wakeups of other threads. Leader elections,
    // health and CEL expressions of placements have threads of their own.
    args.common.run(Builder::new_current_thread(), work(args))
}

async fn work(args: &Args) -> anyhow::Result<()> {
    let gates = feature_gates::parse(&args.feature_gates, Of::Controller)?;
    let (tls, tls_warnings) = args.common.tls()?;
    let controllers = (args.controllers).select(&gates, args.common.reserved.prefixes())?;
    let warnings = [
        gates.warnings,
        tls_warnings,
        args.common.warnings(),
        controllers.warnings,
    ];
    let process = Process {
        access: args.common.access(),
        selection: controllers.selection,
        component: controllers.component,
        tls,
        keeper: args
            .keep_certificates
            .then_some((&args.keeper, &args.secret)),
        warnings: warnings.concat(),
    };
    process.run().await
}
