//! Changes ManagedClusters one by one: reads each, decides, and writes unless the cluster has changed since.

use std::io;

use berth_api::ManagedCluster;
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::accept::target::no_such;
use crate::failure::CommandError;
use crate::hub::{DryRun, HubConnection, Item};
use crate::outcomes::Outcomes;
use crate::retry::deciding_again;

/// What is to be done with a cluster.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// It stays as it is. The line says why.
    Nothing(String),
    /// This JSON merge patch changes it; the resourceVersion is added. The line says what happened.
    Patch { patch: Value, line: String },
}

/// Writes what `decide` makes of a cluster as the hub sent it, and returns its line, and whether something was written. `read` is the
/// cluster if it was read already.
///
/// # Errors
/// Those of `decide` and of the hub. A cluster that has changed meanwhile is read and decided again, a few times.
pub(crate) async fn change(
    hub: &HubConnection,
    name: &str,
    mut read: Option<Item<ManagedCluster>>,
    dry_run: DryRun,
    decide: impl Fn(&Value) -> Result<Due, CommandError>,
) -> Result<(bool, String), CommandError> {
    deciding_again(async || {
        let item = match read.take() {
            Some(item) => item,
            None => match hub.get::<ManagedCluster>(None, name).await? {
                Some(item) => item,
                None => return Err(no_such(hub, name).await),
            },
        };
        match decide(&item.value)? {
            Due::Nothing(line) => Ok((false, line)),
            Due::Patch { mut patch, line } => {
                patch["metadata"]["resourceVersion"] = json!(item.object.resource_version());
                hub.merge::<ManagedCluster>(None, name, None, patch, dry_run)
                    .await?;
                Ok((true, line))
            }
        }
    })
    .await
}

/// Writes what `decide` makes of the name and the object of each cluster, and reports each.
///
/// # Errors
/// Those of the output.
pub(crate) async fn change_each(
    hub: &HubConnection,
    clusters: Vec<(String, Option<Item<ManagedCluster>>)>,
    dry_run: DryRun,
    outcomes: &mut Outcomes,
    decide: impl Fn(&str, &Value) -> Result<Due, CommandError>,
) -> io::Result<()> {
    for (name, read) in clusters {
        let changed = change(hub, &name, read, dry_run, |cluster| decide(&name, cluster));
        match changed.await {
            Ok((true, line)) => outcomes.done(&name, line)?,
            Ok((false, line)) => outcomes.unchanged(&name, line)?,
            Err(failure) => outcomes.failed(&name, failure)?,
        }
    }
    Ok(())
}
