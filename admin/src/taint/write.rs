//! Writes the taints of a cluster: reads them, decides, and writes unless the cluster has changed since.

use std::io;

use berth_api::ManagedCluster;
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::accept::target::no_such;
use crate::failure::CommandError;
use crate::hub::{DryRun, HubConnection, Item};
use crate::outcomes::Outcomes;
use crate::retry::deciding_again;

/// What is to be done with the taints of a cluster.
pub(crate) enum Due {
    /// They stay. The line says why.
    Nothing(String),
    /// These replace them. The line says what happened.
    Write { taints: Vec<Value>, line: String },
}

/// Writes what `decide` makes of the taints of a cluster, and returns its line, and whether something was written. `read` is the cluster if it was
/// read already.
pub(crate) async fn write(
    hub: &HubConnection,
    name: &str,
    mut read: Option<Item<ManagedCluster>>,
    dry_run: DryRun,
    decide: impl Fn(&[Value]) -> Result<Due, CommandError>,
) -> Result<(bool, String), CommandError> {
    deciding_again(async || {
        let item = match read.take() {
            Some(item) => item,
            None => match hub.get::<ManagedCluster>(None, name).await? {
                Some(item) => item,
                None => return Err(no_such(hub, name).await),
            },
        };
        match decide(stored(&item)?)? {
            Due::Nothing(line) => Ok((false, line)),
            Due::Write { taints, line } => {
                // A merge patch without taints removes the field.
                let taints = if taints.is_empty() {
                    Value::Null
                } else {
                    Value::Array(taints)
                };
                let patch = json!({
                    "metadata": {"resourceVersion": item.object.resource_version()},
                    "spec": {"taints": taints},
                });
                hub.merge::<ManagedCluster>(None, name, None, patch, dry_run)
                    .await?;
                Ok((true, line))
            }
        }
    })
    .await
}

/// Writes what `decide` makes of the name and the taints of each cluster, and reports each.
///
/// # Errors
/// Those of the output.
pub(crate) async fn write_each(
    hub: &HubConnection,
    clusters: Vec<(String, Option<Item<ManagedCluster>>)>,
    dry_run: DryRun,
    outcomes: &mut Outcomes,
    decide: impl Fn(&str, &[Value]) -> Result<Due, CommandError>,
) -> io::Result<()> {
    for (name, read) in clusters {
        let written = write(hub, &name, read, dry_run, |taints| decide(&name, taints));
        match written.await {
            Ok((true, line)) => outcomes.done(&name, line)?,
            Ok((false, line)) => outcomes.unchanged(&name, line)?,
            Err(failure) => outcomes.failed(&name, failure)?,
        }
    }
    Ok(())
}

/// Returns the taints as the hub sent them.
fn stored(item: &Item<ManagedCluster>) -> Result<&[Value], CommandError> {
    match &item.value["spec"]["taints"] {
        Value::Null => Ok(&[]),
        Value::Array(taints) => Ok(taints),
        _ => Err(CommandError::Unreadable(format!(
            "spec.taints of ManagedCluster {} is not a list",
            item.name()
        ))),
    }
}
