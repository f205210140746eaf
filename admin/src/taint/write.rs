//! Writes the taints of a cluster.

use std::io;

use berth_api::ManagedCluster;
use serde_json::{Value, json};

use crate::cluster_change::{self, change, change_each};
use crate::failure::CommandError;
use crate::hub::{DryRun, HubConnection, Item};
use crate::outcomes::Outcomes;

/// What is to be done with the taints of a cluster.
pub(crate) enum Due {
    /// They stay. The line says why.
    Nothing(String),
    /// These replace them. The line says what happened.
    Write { taints: Vec<Value>, line: String },
}

/// As [`change`], of what `decide` makes of the taints of a cluster.
pub(crate) async fn write(
    hub: &HubConnection,
    name: &str,
    read: Option<Item<ManagedCluster>>,
    dry_run: DryRun,
    decide: impl Fn(&[Value]) -> Result<Due, CommandError>,
) -> Result<(bool, String), CommandError> {
    let decide = |cluster: &Value| Ok(patch(decide(stored(name, cluster)?)?));
    change(hub, name, read, dry_run, decide).await
}

/// As [`change_each`], of what `decide` makes of the name and the taints of each cluster.
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
    let decide = |name: &str, cluster: &Value| Ok(patch(decide(name, stored(name, cluster)?)?));
    change_each(hub, clusters, dry_run, outcomes, decide).await
}

fn patch(due: Due) -> cluster_change::Due {
    match due {
        Due::Nothing(line) => cluster_change::Due::Nothing(line),
        Due::Write { taints, line } => {
            // A merge patch without taints removes the field.
            let taints = if taints.is_empty() {
                Value::Null
            } else {
                Value::Array(taints)
            };
            let patch = json!({"spec": {"taints": taints}});
            cluster_change::Due::Patch { patch, line }
        }
    }
}

/// Returns the taints as the hub sent them.
fn stored<'a>(name: &str, cluster: &'a Value) -> Result<&'a [Value], CommandError> {
    match &cluster["spec"]["taints"] {
        Value::Null => Ok(&[]),
        Value::Array(taints) => Ok(taints),
        _ => Err(CommandError::Unreadable(format!(
            "spec.taints of ManagedCluster {name} is not a list"
        ))),
    }
}
