//! `berth uninstall`: removes Berth from a hub, and keeps the fleet.

use std::io::{self, Write};
use std::process::ExitCode;

use berth_api::ManagedCluster;
use berth_manifests::{HUB_NAMESPACE, Hub, Manifest, Mode, files};
use berth_rules::display::{Lines, first_of};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Namespace;
use serde_json::Value;

use super::facts::cluster_manager;
use super::keep::{is_ours, is_run_by_helm};
use crate::ask::{can_ask, confirmed};
use crate::doctor::{CONTROLLER, WEBHOOK};
use crate::failure::CommandError;
use crate::flags::DryRunArgs;
use crate::hub::{DryRun, HubArgs, HubConnection, title};

/// Remove Berth from a hub, and keep the clusters
///
/// It removes the webhook registrations and policies first, since the API server would refuse writes without a gate that answers; then the
/// Deployments, accounts, roles, and the namespace open-cluster-management-hub, unless something else runs in it.
///
/// The CustomResourceDefinitions stay, and with them every ManagedCluster, set, placement and work; so do the namespaces and rights of the
/// clusters, and the account of bootstrap tokens. Agents keep working, and find the hub as it was when Berth or OCM is installed again.
/// Nothing here deletes a cluster: 'berth delete cluster' does.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Show what would be removed, and what stays
  berth uninstall --dry-run

  # Remove without a question
  berth uninstall --yes")]
pub struct Args {
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    // Flags of clusteradm's 'clean': there is one hub, and no operator.
    #[arg(long, hide = true)]
    name: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    purge_operator: Option<bool>,
    #[command(flatten)]
    dry_run: DryRunArgs,
    #[command(flatten)]
    hub: HubArgs,
}

/// Runs the command.
///
/// # Errors
/// The hub cannot be used, what runs there is not of this command, or an object cannot be deleted.
pub(crate) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let dry_run = args.dry_run.mode;
    let asks = !args.yes && dry_run == DryRun::None;
    if asks && !can_ask() {
        let why = "Error: without a terminal to confirm the removal on, add --yes; --dry-run shows what it removes";
        writeln!(io::stderr(), "{why}")?;
        return Ok(ExitCode::from(2));
    }
    let hub = HubConnection::of(&args.hub).await?;
    check(&hub).await?;
    let clusters = count(hub.names::<ManagedCluster>(None).await)?;
    let mut there = Vec::new();
    for object in parts(clusters > 0) {
        match hub.exists(&object).await {
            Ok(true) => there.push(object),
            // A kind that the API server does not serve.
            Ok(false) | Err(CommandError::NoHub { .. }) => {}
            Err(failure) => return Err(failure.into()),
        }
    }
    if there.is_empty() {
        writeln!(io::stdout(), "Berth is not installed: nothing was removed")?;
        return Ok(ExitCode::SUCCESS);
    }
    if asks {
        let question = format!(
            "Remove Berth ({} objects) from the hub at {}? Its {clusters} clusters stay.",
            there.len(),
            hub.server()
        );
        if !confirmed(&question)? {
            writeln!(io::stderr(), "Nothing was changed.")?;
            return Ok(ExitCode::FAILURE);
        }
    }
    for object in &there {
        if dry_run != DryRun::None || hub.remove(object).await? {
            writeln!(
                io::stdout(),
                "{} deleted{}",
                title(object),
                dry_run.suffix()
            )?;
        }
    }
    remove_namespace(&hub, dry_run).await?;
    if dry_run != DryRun::None {
        writeln!(io::stderr(), "Nothing was changed.")?;
    }
    writeln!(io::stdout(), "{}", what_stays(clusters))?;
    Ok(ExitCode::SUCCESS)
}

/// # Errors
/// What runs on the hub is not of `berth init`.
async fn check(hub: &HubConnection) -> Result<(), CommandError> {
    if let Some(name) = cluster_manager(hub).await? {
        return Err(CommandError::Refused(format!(
            "OCM's operator runs this hub (ClusterManager {name}): clusteradm clean removes it"
        )));
    }
    for name in [WEBHOOK, CONTROLLER] {
        let deployment = hub
            .get_value::<Deployment>(Some(HUB_NAMESPACE), name)
            .await?;
        let Some(deployment) = deployment else {
            continue;
        };
        if is_run_by_helm(&deployment) {
            return Err(CommandError::Refused(format!(
                "Deployment {name} belongs to a release of Helm: helm uninstall"
            )));
        }
        if !is_ours(&deployment) {
            return Err(CommandError::Refused(format!(
                "Deployment {name} does not run Berth, so its objects are not removed"
            )));
        }
    }
    Ok(())
}

/// Returns how many there are. A hub without the kind has none.
fn count(names: Result<Vec<String>, CommandError>) -> Result<usize, CommandError> {
    match names {
        Ok(names) => Ok(names.len()),
        Err(CommandError::NoHub { .. }) => Ok(0),
        Err(failure) => Err(failure),
    }
}

/// The objects of all modes, in the order of their removal, without the namespace. `fleet`: there are clusters, whose agents need the two
/// shared roles.
fn parts(fleet: bool) -> Vec<Value> {
    let hubs = Mode::ALL.map(|mode| Hub::of(mode, ""));
    let shared = files::AGENT_ROLES.documents();
    let mut parts: Vec<Value> = Vec::new();
    let guards = hubs.iter().flat_map(|hub| &hub.guards);
    let workloads = hubs.iter().flat_map(|hub| &hub.workloads);
    let foundation = hubs.iter().flat_map(|hub| hub.foundation.iter().rev());
    let overlays = [
        &files::AUTO_APPROVAL_ROLE,
        &files::CLUSTER_PROFILES_ROLE,
        &files::SIG_PLACEMENT_DECISIONS_ROLE,
    ];
    let overlays: Vec<Value> = overlays
        .iter()
        .flat_map(|it| Manifest::documents(it))
        .collect();
    for object in guards.chain(workloads).chain(&overlays).chain(foundation) {
        let is_kept = object["kind"] == "Namespace" || fleet && shared.contains(object);
        let key = |it: &Value| (it["kind"].clone(), it["metadata"].clone());
        if !is_kept && !parts.iter().any(|it| key(it) == key(object)) {
            parts.push(object.clone());
        }
    }
    parts
}

/// Removes the namespace, if nothing else runs in it.
async fn remove_namespace(hub: &HubConnection, dry_run: DryRun) -> anyhow::Result<()> {
    let namespace = hub.get_value::<Namespace>(None, HUB_NAMESPACE).await?;
    let Some(namespace) = namespace.filter(|it| it["metadata"]["deletionTimestamp"].is_null())
    else {
        return Ok(());
    };
    let others = hub.names::<Deployment>(Some(HUB_NAMESPACE)).await?;
    let ours = [WEBHOOK, CONTROLLER];
    let others: Vec<&String> = others
        .iter()
        .filter(|it| !ours.contains(&it.as_str()))
        .collect();
    if !others.is_empty() {
        writeln!(
            io::stderr(),
            "Note: namespace {HUB_NAMESPACE} stays: it has other Deployments: {}",
            Lines(&first_of(others, ", "))
        )?;
        return Ok(());
    }
    let object = files::NAMESPACE.documents().swap_remove(0);
    if dry_run != DryRun::None || hub.remove(&object).await? {
        writeln!(
            io::stdout(),
            "{} deleted{}",
            title(&namespace),
            dry_run.suffix()
        )?;
    }
    Ok(())
}

fn what_stays(clusters: usize) -> String {
    format!(
        "These stay: {clusters} ManagedClusters with their namespaces and rights, the CustomResourceDefinitions, and the account of \
         bootstrap tokens (namespace open-cluster-management)."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registrations_go_first_and_the_fleet_keeps_what_it_needs() {
        let titles = |fleet| -> Vec<String> { parts(fleet).iter().map(title).collect() };
        let all = titles(false);
        let last = |is: fn(&String) -> bool| all.iter().rposition(is).unwrap();
        let first = |is: fn(&String) -> bool| all.iter().position(is).unwrap();
        let is_guard = |it: &String| it.contains("webhookconfiguration/") || it.contains("policy");
        assert!(last(is_guard) < first(|it| it.starts_with("deployment/")));
        assert!(
            last(|it| it.starts_with("deployment/"))
                < first(|it| it.starts_with("serviceaccount/"))
        );
        let shared = "clusterrole/open-cluster-management:managedcluster:work".to_owned();
        assert!(all.contains(&shared) && !titles(true).contains(&shared));
        for title in &all {
            assert!(!title.starts_with("customresourcedefinition/"), "{title}");
            assert!(!title.starts_with("namespace/"), "{title}");
        }
        for mode in Mode::ALL {
            for object in Hub::of(mode, "").objects() {
                let title = title(object);
                let stays = title.starts_with("customresourcedefinition/")
                    || title.starts_with("namespace/");
                assert!(stays || all.contains(&title), "{title}");
            }
        }
    }
}
