//! `berth get works`.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::bail;
use berth_api::conditions::manifest_work;
use berth_api::conditions::{TRUE, condition_of};
use berth_api::labels;
use berth_api::work::{ManifestResourceMeta, ManifestWork, ManifestWorkExecutor};
use clap_complete::engine::ArgValueCandidates;
use jiff::Timestamp;
use kube::{Resource, ResourceExt};

use super::namespaced::{NamespacedArgs, Namespaces, cell};
use super::query::{Query, ShowArgs};
use super::screen::View;
use super::{UNREADABLE, age_of};
use crate::complete;
use crate::hub::{HubArgs, Item, namespace};
use crate::print::{Format, Node};

/// The cell of a condition that the agent reported for an earlier version of the ManifestWork.
const OUTDATED: &str = "Outdated";

/// Show ManifestWorks: whether their objects are applied and exist on the clusters
///
/// Shows the ManifestWorks of all clusters, unless -n names one. 'berth work diff' says what is not as prescribed.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "work",
    aliases = ["manifestworks", "manifestwork", "manifestworks.work.open-cluster-management.io"],
    mut_arg("namespace", |arg| {
        arg.help("Only ManifestWorks of this cluster: the cluster's namespace on the hub")
            .value_name("CLUSTER")
            .visible_alias("cluster")
            .add(ArgValueCandidates::new(complete::clusters))
    }),
    mut_arg("all_namespaces", |arg| arg.help("ManifestWorks of all clusters; this is the default")),
    after_help = "\
Examples:
  berth get works
  berth get works web -o wide
  berth get works -n cluster1 -o tree

  # One ManifestWork on all clusters that have it, and what is wrong
  berth get works web --clusters -o wide

  # On some clusters
  berth get works web --clusters cluster1,cluster2

  # Those of a ManifestWorkReplicaSet
  berth get works -l work.open-cluster-management.io/manifestworkreplicaset=team-a.web

A condition is Outdated if the agent reported it for an earlier version of the ManifestWork."
)]
pub(super) struct Args {
    /// Only ManifestWorks of these names
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(complete::works))]
    names: Vec<String>,
    #[command(flatten)]
    namespaced: NamespacedArgs,
    /// Only ManifestWorks of these clusters; without a name, of all clusters
    #[arg(
        long,
        value_name = "CLUSTER,...",
        num_args = 0..=1,
        value_delimiter = ',',
        conflicts_with_all = ["namespace", "all_namespaces"],
        value_parser = namespace,
        add = ArgValueCandidates::new(complete::clusters)
    )]
    clusters: Option<Vec<String>>,
    #[command(flatten)]
    show: ShowArgs,
}

/// The view of ManifestWorks, of one cluster or of all.
struct Works {
    wide: bool,
    namespaces: Namespaces,
}

pub(super) async fn run(args: &Args, hub: &HubArgs) -> anyhow::Result<ExitCode> {
    let mut query = Query::new(hub, &args.names, &args.show, Format::Table).await?;
    let namespaces = args.namespaced.narrow(&mut query.asked);
    let clusters = args.clusters.iter().flatten();
    let clusters: BTreeSet<_> = clusters.filter(|it| !it.is_empty()).cloned().collect();
    if !clusters.is_empty() && args.show.is_watch() {
        bail!("--watch shows one cluster or all: omit --clusters, or use -n CLUSTER");
    }
    query.asked.among = clusters.into_iter().collect();
    let view = Works {
        wide: query.format == Format::Wide,
        namespaces,
    };
    query.run(&view).await
}

// === impl Works ===

impl View for Works {
    type Kind = ManifestWork;

    fn titles(&self) -> Vec<&'static str> {
        let titles = ["NAME", "MANIFESTS", "APPLIED", "AVAILABLE", "AGE"];
        let mut titles = self.namespaces.titles("CLUSTER", &titles);
        if self.wide {
            titles.extend([
                "PROGRESSING",
                "DEGRADED",
                "DRIFTED",
                "REPLICASET",
                "EXECUTOR",
                "MESSAGE",
            ]);
        }
        titles
    }

    fn cells(&self, item: &Item<ManifestWork>, now: Timestamp) -> Vec<String> {
        let cell = |text: fn(&ManifestWork) -> String| cell(item, text);
        let mut cells = self.namespaces.first_cells(item);
        cells.extend([
            cell(|it| it.spec.workload.manifests.len().to_string()),
            cell(|it| status(it, manifest_work::APPLIED)),
            cell(|it| status(it, manifest_work::AVAILABLE)),
            age_of(item.object.meta(), now),
        ]);
        if self.wide {
            cells.extend([
                cell(|it| status(it, manifest_work::PROGRESSING)),
                cell(|it| status(it, manifest_work::DEGRADED)),
                cell(|it| status(it, manifest_work::DRIFTED)),
                cell(|it| {
                    let set = it.labels().get(labels::REPLICA_SET).cloned();
                    set.unwrap_or_default()
                }),
                cell(|it| it.spec.executor.as_ref().map_or_else(String::new, executor)),
                cell(message),
            ]);
        }
        cells
    }

    fn tree(&self, items: &[Item<ManifestWork>]) -> Node {
        let mut root = Node::new("ManifestWork");
        for item in items {
            let cluster = item.object.namespace().unwrap_or_default();
            let mut node = Node::new(item.name()).with(Node::leaf("Cluster", cluster));
            if item.unreadable.is_some() {
                root.push(node.with(Node::leaf("Status", UNREADABLE)));
                continue;
            }
            let work = &item.object;
            let manifests = work.spec.workload.manifests.len();
            node.push(Node::leaf("Number of Manifests", manifests.to_string()));
            node.push(Node::leaf("Applied", status(work, manifest_work::APPLIED)));
            node.push(Node::leaf(
                "Available",
                status(work, manifest_work::AVAILABLE),
            ));
            let message = message(work);
            if !message.is_empty() {
                node.push(Node::leaf("Message", message));
            }
            let mut objects = Node::new("Resources");
            let reported = work.status.iter();
            for manifest in reported.flat_map(|it| &it.resource_status.manifests) {
                let title = object(&manifest.resource_meta);
                let said = [manifest_work::APPLIED, manifest_work::AVAILABLE].map(|type_| {
                    let found = condition_of(&manifest.conditions, type_);
                    let status = found.map_or("Unknown", |it| &it.status);
                    format!("{type_} {status}")
                });
                objects.push(Node::leaf(title, said.join(", ")));
            }
            root.push(node.with(objects));
        }
        root
    }

    fn none(&self) -> String {
        match &self.namespaces.0 {
            None => "No works found.".to_owned(),
            Some(cluster) => format!("No works found of cluster {cluster:?}."),
        }
    }
}

/// The status of a condition; empty without the condition.
pub(crate) fn status(work: &ManifestWork, type_: &str) -> String {
    let conditions = work.status.as_ref().map_or(&[][..], |it| &it.conditions);
    let Some(found) = condition_of(conditions, type_) else {
        return String::new();
    };
    let generation = work.metadata.generation;
    if found.observed_generation.is_some() && found.observed_generation < generation {
        return OUTDATED.to_owned();
    }
    found.status.clone()
}

/// What is wrong, or what a deletion waits for; else empty. The first object of which a condition says so, or else the condition of the work.
pub(crate) fn message(work: &ManifestWork) -> String {
    let Some(stored) = &work.status else {
        return String::new();
    };
    if work.metadata.deletion_timestamp.is_some() {
        let found = condition_of(&stored.conditions, manifest_work::DELETING);
        return found.map_or_else(String::new, |it| it.message.clone());
    }
    for (type_, good) in [
        (manifest_work::APPLIED, true),
        (manifest_work::AVAILABLE, true),
        (manifest_work::DEGRADED, false),
        (manifest_work::DRIFTED, false),
    ] {
        let Some(of_work) = condition_of(&stored.conditions, type_) else {
            continue;
        };
        if (of_work.status == TRUE) == good {
            continue;
        }
        let states = stored.resource_status.manifests.iter();
        let mut of_objects = states.filter_map(|it| {
            let found = condition_of(&it.conditions, type_)?;
            let is_bad = (found.status == TRUE) != good && !found.message.is_empty();
            is_bad.then(|| format!("{}: {}", object(&it.resource_meta), found.message))
        });
        return of_objects.next().unwrap_or_else(|| of_work.message.clone());
    }
    String::new()
}

/// Kind, namespace and name.
fn object(meta: &ManifestResourceMeta) -> String {
    match &*meta.namespace {
        "" => format!("{}/{}", meta.kind, meta.name),
        namespace => format!("{}/{namespace}/{}", meta.kind, meta.name),
    }
}

/// The identity of an executor, as in `berth create work --executor`.
fn executor(executor: &ManifestWorkExecutor) -> String {
    let subject = executor.subject.as_ref();
    let account = subject.and_then(|it| it.service_account.as_ref());
    account.map_or_else(
        || "<invalid>".to_owned(),
        |it| format!("{}/{}", it.namespace, it.name),
    )
}
