//! Commands that write annotations of ManifestWorkReplicaSets.

pub(crate) mod approve;
pub(crate) mod pause;

use berth_api::names::is_dns1123_subdomain;
use berth_api::work::ManifestWorkReplicaSet;
use berth_work_replicas::ApprovalOffer;
use clap_complete::engine::ArgValueCandidates;
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::complete;
use crate::failure::CommandError;
use crate::hub::{DryRun, HubArgs, HubConnection, Item, NamespaceArgs};
use crate::targets::distinct;

/// Names of ManifestWorkReplicaSets in a namespace.
#[derive(Debug, clap::Args)]
struct SetNames {
    /// Names of the ManifestWorkReplicaSets
    #[arg(
        value_name = "NAME",
        required = true,
        value_parser = set_name,
        add = ArgValueCandidates::new(complete::replica_sets)
    )]
    names: Vec<String>,
    #[command(flatten)]
    namespace: NamespaceArgs,
}

/// What is to be done with the annotations of a ManifestWorkReplicaSet.
enum Due {
    /// They stay. The line says why.
    Nothing(String),
    /// The annotation gets this value; `None` removes it. The line says what happened.
    Write {
        key: &'static str,
        value: Option<String>,
        line: String,
    },
}

/// A change of the rollouts of a ManifestWorkReplicaSet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change<'a> {
    Pause,
    Resume,
    /// Approves the step that was shown; without one, whichever waits.
    Approve(Option<&'a str>),
}

/// What became of a change.
#[derive(Debug)]
pub(crate) struct Changed {
    /// Something was written.
    pub(crate) written: bool,
    pub(crate) line: String,
    /// What the user should know: which clusters wait for an approval.
    pub(crate) note: Option<String>,
    /// The step that is approved.
    pub(crate) offer: Option<String>,
}

/// Makes a change, as its command does.
///
/// # Errors
/// The ManifestWorkReplicaSet does not exist, there is nothing to approve, or the hub refuses.
pub(crate) async fn change(
    hub: &HubConnection,
    namespace: &str,
    name: &str,
    change: Change<'_>,
    dry_run: DryRun,
) -> Result<Changed, CommandError> {
    let item = read(hub, namespace, name).await?;
    let (due, note, offer) = match change {
        Change::Pause => (pause::paused(&item, None), None, None),
        Change::Resume => (pause::resumed(&item), None, None),
        Change::Approve(shown) => {
            let step = approve::step(&item)?;
            step.is_shown(shown)?;
            let offer = step.value.clone();
            let note = ApprovalOffer::who_waits(&step.message).to_owned();
            (step.due(name), Some(note), offer)
        }
    };
    let (written, line) = write(hub, &item, dry_run, due).await?;
    Ok(Changed {
        written,
        line,
        note,
        offer,
    })
}

// === impl SetNames ===

impl SetNames {
    /// Returns each name once, in the given order, and the namespace.
    fn each(&self, hub: &HubArgs) -> (Vec<&str>, String) {
        (distinct(&self.names), self.namespace.of(hub))
    }
}

/// Returns the ManifestWorkReplicaSet.
///
/// # Errors
/// It does not exist, or cannot be read.
async fn read(
    hub: &HubConnection,
    namespace: &str,
    name: &str,
) -> Result<Item<ManifestWorkReplicaSet>, CommandError> {
    let set = hub.get::<ManifestWorkReplicaSet>(Some(namespace), name);
    match set.await? {
        Some(item) => Ok(item),
        None => {
            // Without a list of names, the error suggests none.
            let names = hub.names::<ManifestWorkReplicaSet>(Some(namespace)).await;
            let names = names.unwrap_or_default();
            Err(CommandError::no_such(
                "manifestworkreplicasets.work.open-cluster-management.io",
                name,
                names.iter().map(String::as_str),
            ))
        }
    }
}

/// Writes the annotation that is due, and returns the line, and whether something was written.
async fn write(
    hub: &HubConnection,
    item: &Item<ManifestWorkReplicaSet>,
    dry_run: DryRun,
    due: Due,
) -> Result<(bool, String), CommandError> {
    let (key, value, line) = match due {
        Due::Nothing(line) => return Ok((false, line)),
        Due::Write { key, value, line } => (key, value, line),
    };
    let value = value.map_or(Value::Null, Value::String);
    // The uid makes it a conflict if another set has got the name since. The resourceVersion is left out: the controller writes the
    // status at any time, and no other writer decides about this one annotation.
    let patch = json!({
        "metadata": {"uid": item.object.uid(), "annotations": {key: value}},
    });
    let namespace = item.object.namespace();
    hub.merge::<ManifestWorkReplicaSet>(namespace.as_deref(), &item.name(), None, patch, dry_run)
        .await?;
    Ok((true, line))
}

/// Parses a name. Names become part of URLs, so a name that no object can have is an error.
fn set_name(text: &str) -> Result<String, String> {
    if is_dns1123_subdomain(text) {
        Ok(text.to_owned())
    } else {
        Err("no ManifestWorkReplicaSet can have this name".to_owned())
    }
}
