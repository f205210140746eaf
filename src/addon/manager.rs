//! `berth addon manager`: the controller of add-ons, with the name and the flags of OCM's add-on manager.

use crate::controller::Selection;
use crate::hub_component::manager::ManagerArgs;

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

/// Runs until a signal, or until another replica takes over.
pub(super) fn run(args: &ManagerArgs) -> anyhow::Result<()> {
    let selection = Selection {
        addon: Some(berth_addons::Settings::default()),
        ..Selection::default()
    };
    args.run(selection, Vec::new())
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
        args: ManagerArgs,
    }

    #[test]
    fn flags_of_ocms_add_on_manager_are_accepted() {
        let words = ["manager"].iter().chain(&FLAGS);
        let args = Command::try_parse_from(words).unwrap().args;
        assert_taken(&args, "manager-lock");
        assert_eq!(berth_addons::NAMES.lease, "manager-lock");
    }
}
