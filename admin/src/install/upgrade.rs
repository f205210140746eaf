//! `berth upgrade`: another version of Berth on a hub.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use berth_manifests::{Hub, Mode};
use k8s_openapi::api::apps::v1::Deployment;
use serde_json::Value;

use super::keep::is_ours;
use super::steps::Installation;
use super::values::{self, Given};
use crate::ask::{can_ask, confirmed};
use crate::doctor::{CONTROLLER, WEBHOOK};
use crate::failure::CommandError;
use crate::flags::DryRunArgs;
use crate::hub::{DryRun, HubArgs, HubConnection, Wait, wait};

/// Upgrade Berth on a hub to the version of this program
///
/// It finds out in which mode Berth is installed, shows the fields that change, and asks. Then it applies CustomResourceDefinitions, roles,
/// controller and gate, in this order, and waits for each; while the gate is replaced, its old replicas go on answering. The
/// CustomResourceDefinitions of ClusterManagementAddOns and ManagedClusterAddOns come after the gate, which converts these objects. A
/// CustomResourceDefinition that is newer than ours stays, and a version in which objects are stored is never dropped. Arguments, resources
/// and replicas that somebody has set in a Deployment stay, and so do the values of 'berth init --values'.
///
/// To go back, run 'berth upgrade' of the older version.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Show what would change
  berth upgrade --dry-run=server

  # Upgrade without a question
  berth upgrade --yes

  # Only another image
  berth upgrade --image registry.example.com/berth:v2")]
pub struct Args {
    /// Image of gate and controller [default: the image of this release]
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    /// Values of the chart berth-hub, instead of those of the last 'berth init --values'; '-' is standard input. Can be repeated
    #[arg(long, value_name = "FILE")]
    values: Vec<PathBuf>,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Timeout of the whole wait, such as 300 (seconds) or 5m; 0 means no timeout
    #[arg(long, value_name = "DURATION", value_parser = wait, default_value = "5m")]
    timeout: Wait,
    /// Take over fields that another client has set
    #[arg(long)]
    force_conflicts: bool,
    #[command(flatten)]
    dry_run: DryRunArgs,
    #[command(flatten)]
    hub: HubArgs,
}

/// Runs the command.
///
/// # Errors
/// Berth is not installed, something is in the way, an object is refused, or the time is over.
pub(crate) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let dry_run = args.dry_run.mode;
    let asks = !args.yes && dry_run == DryRun::None;
    if asks && !can_ask() {
        let why = "Error: without a terminal to confirm the changes on, add --yes; --dry-run=server shows them";
        writeln!(io::stderr(), "{why}")?;
        return Ok(ExitCode::from(2));
    }
    let given = values::read(&args.values)?;
    let hub = HubConnection::of(&args.hub).await?;
    let mode = installed(&hub).await?;
    let (chosen, before) =
        values::choose(&hub, given, Given::new(), Some(mode), args.image.as_deref()).await?;
    let installation = Installation {
        hub: &hub,
        chosen: &chosen,
        before: before.as_ref(),
        dry_run,
        force: args.force_conflicts,
        // It is a hub already.
        on_managed_cluster: true,
        wait: Some(args.timeout.0),
    };
    let plan = installation.plan().await?;
    let changes = plan.iter().any(|planned| planned.change.writes());
    if dry_run != DryRun::None {
        installation.show(&plan)?;
        writeln!(io::stderr(), "Nothing was changed.")?;
        return Ok(ExitCode::SUCCESS);
    }
    if asks && changes {
        for planned in plan.iter().filter(|it| it.change.writes()) {
            installation.show(std::slice::from_ref(planned))?;
        }
        if !confirmed("Go on?")? {
            writeln!(io::stderr(), "Nothing was changed.")?;
            return Ok(ExitCode::FAILURE);
        }
    }
    installation.carry_out(&plan).await?;
    writeln!(io::stdout(), "The hub runs {}.", chosen.image())?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the mode in which Berth is installed.
///
/// # Errors
/// It is not installed.
async fn installed(hub: &HubConnection) -> Result<Mode, CommandError> {
    let within = Some(berth_manifests::HUB_NAMESPACE);
    let gate = hub.get_value::<Deployment>(within, WEBHOOK).await?;
    let controller = hub.get_value::<Deployment>(within, CONTROLLER).await?;
    let policies = match Hub::of(Mode::Policies, "").guards.first() {
        Some(policy) => hub.is_there(policy).await?,
        None => false,
    };
    mode_of(gate.as_ref(), controller.as_ref(), policies).ok_or_else(|| {
        CommandError::Refused(format!(
            "Berth is not installed on the hub at {}: berth init",
            hub.server()
        ))
    })
}

fn mode_of(gate: Option<&Value>, controller: Option<&Value>, policies: bool) -> Option<Mode> {
    let gate = gate.filter(|it| is_ours(it));
    let args = gate.map(|it| &it["spec"]["template"]["spec"]["containers"][0]["args"][0]);
    match (gate, controller.filter(|it| is_ours(it)), policies) {
        (Some(_), ..) if args.is_some_and(|it| it == "hub") => Some(Mode::Hub),
        (Some(_), _, true) => Some(Mode::PoliciesWithWebhook),
        (Some(_), _, false) => Some(Mode::Webhooks),
        (None, Some(_), true) => Some(Mode::Policies),
        // An interrupted installation: the gate comes after the controller.
        (None, Some(_), false) => Some(Mode::Webhooks),
        (None, None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_mode_is_read_from_what_is_installed() {
        for mode in Mode::ALL {
            let hub = Hub::of(mode, "x");
            let named = |name: &str| {
                let mut all = hub.workloads.iter();
                all.find(|it| it["metadata"]["name"] == name)
            };
            let found = mode_of(named(WEBHOOK), named(CONTROLLER), mode.has_policies());
            assert_eq!(found, Some(mode));
        }
        assert_eq!(mode_of(None, None, true), None);
        let ocms = json!({"spec": {"template": {"spec": {"containers": [{"command": ["/registration"]}]}}}});
        assert_eq!(mode_of(Some(&ocms), None, false), None);
    }
}
