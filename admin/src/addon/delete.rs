//! `berth addon delete`.

use std::io::{self, Write};
use std::process::ExitCode;

use berth_addons_core::works::Place;
use berth_addons_core::works::hooks::without_hooks;
use berth_api::ManifestWork;
use berth_api::addon::ManagedClusterAddOn;
use berth_rules::display::Lines;
use clap_complete::engine::ArgValueCandidates;
use serde_json::{Value, json};

use super::{addon_name, no_such};
use crate::ask::{can_ask, confirmed};
use crate::complete;
use crate::failure::CommandError;
use crate::hub::{DryRun, HubArgs, HubConnection, namespace};
use crate::outcomes::{Outcomes, WriteArgs};
use crate::retry::deciding_again;

/// Delete an add-on from a cluster
///
/// On a terminal the command asks first. Elsewhere it needs --yes.
///
/// The ManagedClusterAddOn is deleted, and with it what the add-on deployed on the cluster. Hooks, Jobs and Pods of the add-on that clean up, run before that. If a hook cannot complete, for example because the cluster is gone, --skip-hooks removes the finalizers that wait for it.
///
/// An add-on that placements install comes back while a placement selects the cluster.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Delete an add-on. Its hooks run first
  berth addon delete cluster-proxy --cluster cluster1

  # Show which hooks would be skipped
  berth addon delete cluster-proxy --cluster cluster1 --skip-hooks --dry-run

  # Let an add-on go whose hook never completes
  berth addon delete cluster-proxy --cluster cluster1 --skip-hooks")]
pub struct Args {
    /// Name of the add-on
    #[arg(value_name = "NAME", value_parser = addon_name, add = ArgValueCandidates::new(complete::addons))]
    name: String,
    /// The cluster of the add-on
    #[arg(
        short,
        long,
        value_name = "CLUSTER",
        value_parser = namespace,
        add = ArgValueCandidates::new(complete::clusters)
    )]
    cluster: String,
    /// Remove the finalizers that wait for hooks: what the hooks clean up stays
    #[arg(long)]
    skip_hooks: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    hub: HubArgs,
}

/// Runs the command.
///
/// # Errors
/// The add-on does not exist on the cluster, the hub cannot be used, or the output cannot be written.
pub(super) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let Args { name, cluster, .. } = args;
    let dry_run = args.write.dry_run.mode;
    let asks = !args.yes && dry_run == DryRun::None;
    if asks && !can_ask() {
        let why = "Error: a deletion removes what the add-on deployed on the cluster; without a terminal to confirm it on, add --yes";
        writeln!(io::stderr(), "{why}")?;
        return Ok(ExitCode::from(2));
    }
    let hub = HubConnection::of(&args.hub).await?;
    let Some(item) = hub.get::<ManagedClusterAddOn>(Some(cluster), name).await? else {
        return Err(no_such(&hub, name, cluster).await.into());
    };
    let mut outcomes = Outcomes::new(&args.write);
    let finalizers = item.object.metadata.finalizers.unwrap_or_default();
    let mut effects = Vec::new();
    match without_hooks(&finalizers) {
        None if args.skip_hooks => effects.push(format!(
            "{name}: no finalizer waits for hooks, so there is nothing to skip"
        )),
        Some(_) if args.skip_hooks => effects.extend(skipped(&hub, args, &item.value).await),
        Some(_) => effects.push(format!(
            "{name}: its hooks run on the cluster first; 'berth addon explain {name} --cluster {cluster}' shows how far they are"
        )),
        None => {}
    }
    for line in &effects {
        if asks {
            // The user has to know this before the question.
            writeln!(io::stderr(), "{}", Lines(line))?;
        } else {
            outcomes.progress(line);
        }
    }
    let without = if args.skip_hooks {
        " without its hooks"
    } else {
        ""
    };
    if asks
        && !confirmed(&format!(
            "Delete add-on {name} of cluster {cluster}{without}?"
        ))?
    {
        writeln!(io::stderr(), "Nothing was changed.")?;
        return Ok(ExitCode::FAILURE);
    }
    let uid = item.object.metadata.uid;
    match delete(&hub, args, uid).await {
        Ok(()) => {
            let line = format!("add-on {name} of cluster {cluster} is being deleted{without}");
            outcomes.done(name, line)?;
        }
        Err(failure) => outcomes.failed(name, failure)?,
    }
    Ok(outcomes.end()?)
}

/// Deletes the add-on, and then lets its hooks go: the API server takes no new finalizer on an object that is being deleted.
async fn delete(hub: &HubConnection, args: &Args, uid: Option<String>) -> Result<(), CommandError> {
    let Args { name, cluster, .. } = args;
    let dry_run = args.write.dry_run.mode;
    hub.delete::<ManagedClusterAddOn>(Some(cluster), name, uid.clone(), dry_run)
        .await?;
    if !args.skip_hooks || dry_run != DryRun::None {
        return Ok(());
    }
    deciding_again(async || {
        let stored = hub.get::<ManagedClusterAddOn>(Some(cluster), name).await?;
        let Some(stored) = stored.filter(|it| it.object.metadata.uid == uid) else {
            return Ok(());
        };
        let metadata = stored.object.metadata;
        let finalizers = metadata.finalizers.unwrap_or_default();
        let Some(finalizers) = without_hooks(&finalizers) else {
            return Ok(());
        };
        let patch = json!({"metadata": {
            "resourceVersion": metadata.resource_version, "finalizers": finalizers,
        }});
        let patched = hub
            .merge::<ManagedClusterAddOn>(Some(cluster), name, None, patch, dry_run)
            .await;
        match patched {
            Ok(_) | Err(CommandError::NotFound { .. }) => Ok(()),
            Err(failure) => Err(failure),
        }
    })
    .await
}

/// The hooks that would have run, one line each.
async fn skipped(hub: &HubConnection, args: &Args, on: &Value) -> Vec<String> {
    let Args { name, cluster, .. } = args;
    let hosting = on["metadata"]["annotations"][berth_api::labels::ADDON_HOSTING_CLUSTER].as_str();
    let hosted = Place::HostedHook {
        addon_namespace: cluster,
    };
    let places = [
        Some((cluster.as_str(), Place::Hook)),
        hosting.map(|it| (it, hosted)),
    ];
    let mut lines = Vec::new();
    for (namespace, place) in places.into_iter().flatten() {
        let work = place.name(name, 0);
        match hub.get::<ManifestWork>(Some(namespace), &work).await {
            Ok(Some(item)) => {
                let manifests = item.object.spec.workload.manifests.iter();
                let hooks = manifests.filter_map(|it| it.read::<Value>().ok());
                lines.extend(hooks.map(|it| {
                    format!(
                        "{name}: skips the hook {} {}/{} of ManifestWork {namespace}/{work}",
                        text(&it["kind"]),
                        text(&it["metadata"]["namespace"]),
                        text(&it["metadata"]["name"])
                    )
                }));
            }
            Ok(None) => {}
            Err(failure) => lines.push(format!(
                "{name}: its hooks in namespace {namespace} cannot be read: {failure}"
            )),
        }
    }
    if lines.is_empty() {
        lines.push(format!(
            "{name}: skips its hooks, none of which has begun to run"
        ));
    }
    lines
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
