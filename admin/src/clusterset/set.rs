//! `berth clusterset set`.

use std::process::ExitCode;

use berth_api::{ManagedCluster, ManagedClusterSet, labels};
use clap::ArgGroup;
use clap_complete::engine::ArgValueCandidates;
use serde_json::{Value, json};

use super::selectors::Selects;
use super::{distinct, existing, name};
use crate::cluster_change::{Due, change_each};
use crate::complete;
use crate::failure::CommandError;
use crate::hub::{DryRun, Filter, HubConnection, Item};
use crate::outcomes::{Outcomes, WriteArgs};
use crate::retry::deciding_again;

const EXAMPLES: &str = "\
Examples:
  berth clusterset set prod --clusters cluster1,cluster2

  # Move all clusters of another set
  berth clusterset set prod -l cluster.open-cluster-management.io/clusterset=staging

  # Manage a namespace on all clusters of the set
  berth clusterset set prod --namespaces monitoring";

/// Add clusters to a set
///
/// A cluster can be in one such set only, so it leaves its current set. This needs the permission to join both sets.
#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    group = ArgGroup::new("what").args(["clusters", "selector", "namespaces"]).required(true).multiple(true)
)]
pub(super) struct Args {
    /// Name of the set
    #[arg(value_parser = name, add = ArgValueCandidates::new(complete::sets))]
    name: String,
    /// Names of clusters
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        value_parser = name,
        add = ArgValueCandidates::new(complete::clusters)
    )]
    clusters: Vec<String>,
    /// All clusters with these labels
    #[arg(short = 'l', long, conflicts_with = "clusters")]
    selector: Option<String>,
    /// Namespaces to add to the managed namespaces of the set
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = name)]
    namespaces: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// The set does not exist, the hub cannot be used, or the output cannot be written.
pub(super) async fn run(
    hub: &HubConnection,
    args: &Args,
    write: &WriteArgs,
) -> anyhow::Result<ExitCode> {
    let set = existing(hub, &args.name).await?;
    let mut outcomes = Outcomes::new(write);
    if args.selector.is_some() || !args.clusters.is_empty() {
        match unfit(&set) {
            Some(why) => outcomes.failed(&args.name, why)?,
            None => clusters(hub, args, write.dry_run.mode, &mut outcomes).await?,
        }
    }
    let names = distinct(&args.namespaces);
    if !names.is_empty() {
        match namespaces(hub, &args.name, &names, write.dry_run.mode).await {
            Err(failure) => outcomes.failed(&args.name, failure)?,
            Ok(added) => {
                for name in names {
                    if added.iter().any(|it| it == name) {
                        let line = format!(
                            "Managed namespace {name} is added to Clusterset {}",
                            args.name
                        );
                        outcomes.done(name, line)?;
                    } else {
                        let line = format!(
                            "Managed namespace {name} already exists in Clusterset {}",
                            args.name
                        );
                        outcomes.unchanged(name, line)?;
                    }
                }
            }
        }
    }
    Ok(outcomes.end()?)
}

/// Returns the reason why clusters cannot be added to the set, or None.
pub(crate) fn unfit(set: &Item<ManagedClusterSet>) -> Option<String> {
    let name = set.name();
    if let Some(why) = &set.unreadable {
        return Some(format!("Clusterset {name} cannot be read: {why}"));
    }
    match Selects::of(&set.object.spec.cluster_selector) {
        Selects::ByName => None,
        selects => Some(format!(
            "clusters cannot be added to Clusterset {name}: it {}",
            selects.words()
        )),
    }
}

async fn clusters(
    hub: &HubConnection,
    args: &Args,
    dry_run: DryRun,
    outcomes: &mut Outcomes,
) -> anyhow::Result<()> {
    let mut all: Vec<(String, Option<Item<ManagedCluster>>)> = Vec::new();
    match &args.selector {
        None => all.extend(
            distinct(&args.clusters)
                .into_iter()
                .map(|it| (it.to_owned(), None)),
        ),
        Some(selector) => {
            let found = hub
                .list::<ManagedCluster>(None, &Filter::labels(selector))
                .await?;
            all.extend(found.into_iter().map(|it| (it.name(), Some(it))));
            if all.is_empty() {
                outcomes.progress("No clusters found.");
            }
        }
    }
    change_each(hub, all, dry_run, outcomes, |name, cluster| {
        Ok(due(name, cluster, &args.name))
    })
    .await?;
    Ok(())
}

/// Returns the change that puts a cluster into the set.
pub(crate) fn due(name: &str, cluster: &Value, set: &str) -> Due {
    let line = match cluster["metadata"]["labels"][labels::CLUSTER_SET].as_str() {
        Some(old) if old == set => {
            return Due::Nothing(format!("Cluster {name} is already in Clusterset {set}"));
        }
        None | Some("") => format!("Cluster {name} is set to Clusterset {set}"),
        Some(old) => format!("Cluster {name} is set, from ClusterSet {old} to Clusterset {set}"),
    };
    let patch = json!({"metadata": {"labels": {labels::CLUSTER_SET: set}}});
    Due::Patch { patch, line }
}

/// Adds managed namespaces to the set. Returns those that it did not have before.
async fn namespaces(
    hub: &HubConnection,
    set: &str,
    names: &[&str],
    dry_run: DryRun,
) -> Result<Vec<String>, CommandError> {
    deciding_again(async || {
        let set_now = existing(hub, set).await?;
        let (patch, added) = managed(&set_now.value, names);
        if !added.is_empty() {
            hub.merge::<ManagedClusterSet>(None, set, None, patch, dry_run)
                .await?;
        }
        Ok(added)
    })
    .await
}

/// Returns a merge patch that adds managed namespaces to a set, and the names that it adds. Existing entries stay unchanged.
fn managed(set: &Value, names: &[&str]) -> (Value, Vec<String>) {
    let there = set["spec"]["managedNamespaces"].as_array();
    let mut all = there.cloned().unwrap_or_default();
    let mut added = Vec::new();
    for name in names {
        if !all.iter().any(|it| it["name"] == *name) {
            all.push(json!({"name": name}));
            added.push((*name).to_owned());
        }
    }
    let patch = json!({
        "metadata": {"resourceVersion": set["metadata"]["resourceVersion"]},
        "spec": {"managedNamespaces": all},
    });
    (patch, added)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_moved_and_what_it_leaves_is_told() {
        let cluster = |set: Option<&str>| {
            let mut value =
                json!({"metadata": {"name": "c1", "resourceVersion": "7", "labels": {"a": "b"}}});
            if let Some(set) = set {
                value["metadata"]["labels"][labels::CLUSTER_SET] = set.into();
            }
            value
        };
        let moved = |line: &str| Due::Patch {
            patch: json!({"metadata": {"labels": {labels::CLUSTER_SET: "prod"}}}),
            line: line.to_owned(),
        };
        for (sentence, old, expected) in [
            (
                "it was in none",
                None,
                moved("Cluster c1 is set to Clusterset prod"),
            ),
            (
                "an empty label is none",
                Some(""),
                moved("Cluster c1 is set to Clusterset prod"),
            ),
            (
                "it was in another",
                Some("default"),
                moved("Cluster c1 is set, from ClusterSet default to Clusterset prod"),
            ),
            (
                "it is there",
                Some("prod"),
                Due::Nothing("Cluster c1 is already in Clusterset prod".to_owned()),
            ),
        ] {
            assert_eq!(due("c1", &cluster(old), "prod"), expected, "{sentence}");
        }
    }

    #[test]
    fn namespaces_are_added_to_those_that_are_there() {
        let set = json!({"metadata": {"resourceVersion": "7"}, "spec": {"managedNamespaces": [{"name": "a", "later": 1}]}});
        let (patch, added) = managed(&set, &["b", "a"]);
        assert_eq!(added, ["b"]);
        assert_eq!(
            patch,
            json!({
                "metadata": {"resourceVersion": "7"},
                "spec": {"managedNamespaces": [{"name": "a", "later": 1}, {"name": "b"}]},
            })
        );
        assert_eq!(managed(&json!({}), &["a"]).1, ["a"]);
        assert!(managed(&set, &["a"]).1.is_empty());
    }

    #[test]
    fn nothing_is_put_into_a_set_that_takes_clusters_by_labels() {
        let set = |spec: Value| {
            Item::of(json!({"metadata": {"name": "gpu"}, "spec": {"clusterSelector": spec}}))
        };
        assert_eq!(
            unfit(&set(json!({"selectorType": "ExclusiveClusterSetLabel"}))),
            None
        );
        assert_eq!(unfit(&set(json!({}))), None);
        let selector = json!({"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"gpu": "a100"}}});
        assert_eq!(
            unfit(&set(selector)).as_deref(),
            Some(
                "clusters cannot be added to Clusterset gpu: it selects the clusters with gpu=a100"
            )
        );
        let why = unfit(&set(json!({"labelSelector": 7}))).unwrap();
        assert!(why.starts_with("Clusterset gpu cannot be read: "), "{why}");
    }
}
