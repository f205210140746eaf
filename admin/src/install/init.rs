//! `berth init`: installs Berth on a hub.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use berth_hub::{ServerAddress, server_address};
use berth_manifests::values::Console;
use berth_manifests::{HUB_NAMESPACE, Mode};
use berth_rules::display::Lines;
use serde_json::json;

use super::ModeFlag;
use super::operator::{self, Operator};
use super::steps::Installation;
use super::values::{self, Chosen};
use crate::bootstrap::{self, Wanted};
use crate::failure::CommandError;
use crate::files;
use crate::flags::DryRunArgs;
use crate::hub::{DryRun, HubArgs, HubConnection, Wait, wait};
use crate::image;
use crate::join::hub::checked_url;
use crate::join::objects::yaml;

/// Install Berth on a hub, and print how a cluster joins it
///
/// It checks the hub first: its version, what is installed there, and, by a dry run, whether the API server takes each object from you.
/// If anything is in the way, it names all of it, and changes nothing. Then it installs the CustomResourceDefinitions, the namespace
/// open-cluster-management-hub with accounts and roles, and the Deployments; waits until they are available; and installs the webhook
/// registrations last. The CustomResourceDefinitions of ClusterManagementAddOns and ManagedClusterAddOns come after the Deployments, too:
/// the gate converts these objects, so it has to answer first. At the end it creates a bootstrap token, and prints the two commands with
/// which a cluster joins.
///
/// It can be run again, also after an interruption. Objects that are as they should be stay unchanged. CustomResourceDefinitions that
/// have more fields than ours stay, and so do arguments, resources and replicas that somebody has set in a Deployment.
///
/// A file of --values has the values of the chart berth-hub (charts/berth-hub/README.md), and what is installed is what the chart renders
/// with them. They are kept in ConfigMap berth-values in the hub's namespace, for the next 'berth init' without --values, and for
/// 'berth upgrade'. With other values, what only the former ones installed is deleted; CustomResourceDefinitions and namespaces stay.
///
/// The command line of 'clusteradm init' works, except for flags of what Berth does not have; these are refused by name.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Check the hub of the current context, and show what would be installed
  berth init --dry-run=server

  # Install
  berth init

  # An image of your own, for a hub that clusters reach at another address than you
  berth init --image registry.example.com/berth:v1 --hub-apiserver https://hub.example.com:6443

  # A small hub: one process instead of two Deployments
  berth init --mode hub

  # With the console in a pod, for users with a token of the hub
  berth init --console

  # With values of the chart: replicas, resources, images of a mirror, feature gates
  berth init --values values.yaml

  # By an operator, and a ClusterManager
  berth init --operator

  # For a GitOps tool: nothing is installed
  berth init --output-manifests > berth.yaml")]
pub struct Args {
    /// What carries the gate's rules: 'webhooks', 'policies', 'policies-with-webhook' (both need Kubernetes 1.36), or 'hub' (webhooks, with
    /// gate and controller in one process)
    /// [default: webhooks]
    #[arg(long, value_name = "MODE", value_enum, hide_possible_values = true)]
    mode: Option<ModeFlag>,
    /// Image of gate and controller [default: the image of this release]
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    /// Values of the chart berth-hub; '-' is standard input. Can be repeated: what a later file sets wins. An empty file sets nothing
    #[arg(long, value_name = "FILE")]
    values: Vec<PathBuf>,
    /// Install the console in a pod, too: console.enabled of --values
    #[arg(long)]
    console: bool,
    /// Install an operator (manifests/operator), and a ClusterManager by which it installs the hub and keeps it: for GitOps and tools that read
    /// ClusterManagers. What differs from the defaults is set in the ClusterManager
    #[arg(long, conflicts_with_all = ["mode", "values", "console"])]
    operator: bool,
    /// Wait until everything is available, and the gate decides; --wait=false waits for nothing
    #[arg(long, value_name = "true|false", num_args = 0..=1, require_equals = true, default_value = "true", default_missing_value = "true", hide_default_value = true, hide_possible_values = true)]
    wait: bool,
    /// Timeout of the whole wait, such as 300 (seconds) or 5m; 0 means no timeout
    #[arg(long, value_name = "DURATION", value_parser = wait, default_value = "5m")]
    timeout: Wait,
    /// Print the manifests, and install nothing. No hub is contacted
    #[arg(long, conflicts_with = "dry_run")]
    output_manifests: bool,
    /// Take over fields that another client has set
    #[arg(long)]
    force_conflicts: bool,
    /// Install a hub on a cluster that is managed by another hub
    #[arg(long)]
    on_managed_cluster: bool,
    /// The hub's address in the printed command, as managed clusters reach it [default: the address in the kubeconfig]
    #[arg(long, value_name = "URL", value_parser = checked_url)]
    hub_apiserver: Option<String>,
    /// Create a bootstrap token (a Secret in kube-system) instead of a token of the service account
    #[arg(long)]
    use_bootstrap_token: bool,
    /// Create no token, and print no command
    #[arg(long, conflicts_with_all = ["hub_apiserver", "use_bootstrap_token", "output_join_command_file"])]
    no_token: bool,
    /// Also write the command of the managed cluster to a file that only you can read
    #[arg(long, value_name = "FILE")]
    output_join_command_file: Option<PathBuf>,
    #[command(flatten)]
    foreign: super::clusteradm::ForeignFlags,
    #[command(flatten)]
    dry_run: DryRunArgs,
    #[command(flatten)]
    hub: HubArgs,
}

/// Runs the command.
///
/// # Errors
/// The hub cannot be used, something is in the way of the installation, an object is refused, or the time is over.
pub(crate) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    for warning in args.foreign.judge()? {
        writeln!(io::stderr(), "Warning: {warning}")?;
    }
    let flag = args.foreign.image(args.image.as_deref());
    if args.operator {
        return with_operator(args, flag.as_deref()).await;
    }
    let mode = args.mode.map(Mode::from);
    let given = values::read(&args.values)?;
    if flag.is_some() && given.as_ref().is_some_and(values::name_an_image) {
        bail!(CommandError::Config(
            "--image contradicts the values, which name an image, too: name it once".to_owned()
        ));
    }
    let mut flags = args.foreign.values()?;
    if args.console {
        flags.insert("console".to_owned(), json!({"enabled": true}));
    }
    if args.output_manifests {
        let mut given = given.unwrap_or_default();
        values::merge_all(&mut given, flags);
        let chosen = Chosen::of(given, mode, flag.as_deref())?;
        io::stdout().write_all(yaml(&chosen.objects())?.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let address = server_address(&args.hub.access())
        .map_err(|error| CommandError::Config(error.to_string()))?;
    let hub = HubConnection::of(&args.hub).await?;
    let (chosen, before) = values::choose(&hub, given, flags, mode, flag.as_deref()).await?;
    let installation = Installation {
        hub: &hub,
        chosen: &chosen,
        before: before.as_ref(),
        dry_run: args.dry_run.mode,
        force: args.force_conflicts,
        on_managed_cluster: args.on_managed_cluster,
        wait: args.wait.then_some(args.timeout.0),
    };
    let plan = installation.plan().await?;
    if args.dry_run.mode != DryRun::None {
        installation.show(&plan)?;
        writeln!(io::stderr(), "Nothing was changed.")?;
        return Ok(ExitCode::SUCCESS);
    }
    installation.carry_out(&plan).await?;
    let state = match args.wait {
        true => "The hub is ready.",
        false => "Everything is applied. 'berth doctor' says when the hub is ready.",
    };
    writeln!(io::stdout(), "{state}")?;
    if let Some(console) = chosen.console() {
        writeln!(io::stdout(), "\n{}", Lines(&how_to_open(console)))?;
    }
    how_to_join(args, &hub, &address, chosen.named_image()).await
}

/// Installs an operator, and the hub by it.
async fn with_operator(args: &Args, flag: Option<&str>) -> anyhow::Result<ExitCode> {
    if !args.foreign.values()?.is_empty() {
        bail!(CommandError::Config(
            "--operator: set feature gates and who is accepted automatically in the ClusterManager (docs/operator.md)".to_owned()
        ));
    }
    if args.output_manifests {
        let objects = operator::objects(&image::of(flag)?);
        io::stdout().write_all(yaml(&objects)?.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let address = server_address(&args.hub.access())
        .map_err(|error| CommandError::Config(error.to_string()))?;
    let hub = HubConnection::of(&args.hub).await?;
    let installed = Operator {
        hub: &hub,
        force: args.force_conflicts,
    };
    installed.check().await?;
    // That of an operator that runs already is kept.
    let image = match flag {
        Some(image) => image.to_owned(),
        None => image::of(installed.image().await?.as_deref())?,
    };
    let objects = operator::objects(&image);
    if args.dry_run.mode != DryRun::None {
        installed.show(&objects, args.dry_run.mode).await?;
        writeln!(io::stderr(), "Nothing was changed.")?;
        return Ok(ExitCode::SUCCESS);
    }
    installed.apply(&objects).await?;
    let state = match args.wait {
        true => {
            installed.wait(args.timeout.0).await?;
            "The hub is ready."
        }
        false => "Everything is applied. 'berth get clustermanagers' says how far the operator is.",
    };
    writeln!(io::stdout(), "{state}")?;
    let named = (Some(image.as_str()) != image::OF_THIS_RELEASE).then_some(&*image);
    how_to_join(args, &hub, &address, named).await
}

/// Creates a token, and prints how a cluster joins. `image`: if it is not that of this release.
async fn how_to_join(
    args: &Args,
    hub: &HubConnection,
    address: &ServerAddress,
    image: Option<&str>,
) -> anyhow::Result<ExitCode> {
    if args.no_token {
        return Ok(ExitCode::SUCCESS);
    }
    let wanted = Wanted {
        use_bootstrap_token: args.use_bootstrap_token,
        hub_apiserver: args.hub_apiserver.as_deref(),
        image,
        ..Wanted::default()
    };
    bootstrap::create_account(hub, DryRun::None).await?;
    let (command, expires) = bootstrap::issue(hub, address, wanted).await?;
    if let Some(path) = &args.output_join_command_file {
        files::write_private("--output-join-command-file", path, &command.line())?;
    }
    writeln!(
        io::stdout(),
        "\nAt the cluster to be managed, run:\n  {}\nThen run here:\n  berth accept <cluster_name>",
        command.line()
    )?;
    if let Some(expires) = expires {
        writeln!(
            io::stderr(),
            "Note: the token expires at {}",
            Lines(&expires)
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// How a user reaches the console.
fn how_to_open(console: &Console) -> String {
    let url = &console.public_url;
    match console.local_port() {
        Some(port) => format!(
            "To open the console, run this, and open {url}:\n  kubectl -n {HUB_NAMESPACE} port-forward service/berth-console {port}:443"
        ),
        None => format!(
            "The console answers at {url}: lead that address to service/berth-console in namespace {HUB_NAMESPACE}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_console_is_opened_through_a_forwarded_port_or_at_its_own_address() {
        let words = |url: &str| {
            how_to_open(&Console {
                public_url: url.to_owned(),
                ..Console::default()
            })
        };
        let forwarded = |port: &str| {
            format!(
                "  kubectl -n open-cluster-management-hub port-forward service/berth-console {port}:443"
            )
        };
        for (url, port) in [
            ("https://localhost:8443", "8443"),
            ("https://localhost/", "443"),
            ("http://127.0.0.1:8090", "8090"),
            ("http://[::1]", "80"),
        ] {
            let words = words(url);
            assert!(words.ends_with(&forwarded(port)), "{words}");
            assert!(words.contains(&format!("open {url}:")), "{words}");
        }
        for url in [
            "https://console.example.com",
            "https://localhost.example.com:8443",
        ] {
            let words = words(url);
            assert!(
                words.starts_with(&format!("The console answers at {url}: ")),
                "{words}"
            );
        }
    }
}
