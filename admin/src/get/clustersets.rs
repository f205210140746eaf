//! `berth get clustersets`.
//!
//! A set does not list its bindings and members, so bindings and clusters are read as well, once for all sets. A user who may
//! not read them gets the other columns.

mod facts;
#[cfg(test)]
mod tests;
mod watch;

use std::process::ExitCode;

use berth_api::conditions::cluster_set::EMPTY;
use berth_api::conditions::condition_of;
use berth_api::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding};
use clap_complete::engine::ArgValueCandidates;
use futures::future::OptionFuture;
use jiff::Timestamp;
use kube::Resource;

use super::find::warn;
use super::query::{Query, ShowArgs};
use super::screen::View;
use super::{UNREADABLE, age_of};
use crate::complete;
use crate::hub::{Filter, HubArgs, HubConnection, Item};
use crate::print::{Format, Node};
use facts::Facts;

/// Show cluster sets: bound namespaces, clusters, and managed namespaces
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "clusterset",
    aliases = [
        "managedclustersets",
        "managedclusterset",
        "mclsets",
        "mclset",
        "managedclustersets.cluster.open-cluster-management.io",
    ],
    mut_arg("output", |arg| {
        arg.help("Output format: table, wide, tree, json, yaml or name [default: tree; with --watch: table]")
    }),
    after_help = "\
Examples:
  berth get clustersets
  berth get clustersets prod -o wide
  berth get clustersets -o name"
)]
pub(super) struct Args {
    /// Only sets of these names
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(complete::sets))]
    names: Vec<String>,
    #[command(flatten)]
    show: ShowArgs,
}

/// The view of sets, with the facts from bindings and clusters.
struct Sets {
    wide: bool,
    facts: Facts,
}

/// The resourceVersions at which the watches start. None: the objects were not read.
#[derive(Debug, Default)]
struct ReadAt {
    bindings: Option<String>,
    clusters: Option<String>,
}

pub(super) async fn run(args: &Args, hub: &HubArgs) -> anyhow::Result<ExitCode> {
    let query = Query::new(hub, &args.names, &args.show, Format::Tree).await?;
    let sets = query.find::<ManagedClusterSet>();
    let (found, (facts, at)) = futures::join!(sets, read(&query.hub, query.format));
    let found = found?;
    let view = Sets {
        wide: query.format == Format::Wide,
        facts,
    };
    let mut screen = query.screen();
    let code = query.show(&mut screen, &view, &found)?;
    if query.goes_on(&found) {
        watch::watch(&query.hub, &query.asked, view, screen, found, at).await?;
    }
    Ok(code)
}

/// Reads the bindings and clusters that this format needs.
async fn read(hub: &HubConnection, format: Format) -> (Facts, ReadAt) {
    let all = Filter::default();
    let bindings = matches!(format, Format::Table | Format::Wide | Format::Tree);
    let clusters = matches!(format, Format::Wide | Format::Tree);
    let bindings = bindings.then(|| hub.list_at::<ManagedClusterSetBinding>(None, &all));
    let clusters = clusters.then(|| hub.list_at::<ManagedCluster>(None, &all));
    let (bindings, clusters) =
        futures::join!(OptionFuture::from(bindings), OptionFuture::from(clusters));
    let (mut facts, mut at) = (Facts::default(), ReadAt::default());
    match bindings {
        None => {}
        Some(Err(why)) => warn("bound namespaces", &why),
        Some(Ok((items, version))) => {
            facts.bindings_are(&items);
            at.bindings = Some(version);
        }
    }
    match clusters {
        None => {}
        Some(Err(why)) => warn("clusters of sets", &why),
        Some(Ok((items, version))) => {
            facts.clusters_are(&items);
            at.clusters = Some(version);
        }
    }
    (facts, at)
}

// === impl Sets ===

impl View for Sets {
    type Kind = ManagedClusterSet;

    fn titles(&self) -> Vec<&'static str> {
        let mut titles = vec!["NAME", "BOUND NAMESPACES", "STATUS", "MANAGED NAMESPACES"];
        if self.wide {
            titles.extend(["SELECTOR", "CLUSTERS", "AGE"]);
        }
        titles
    }

    fn cells(&self, item: &Item<ManagedClusterSet>, now: Timestamp) -> Vec<String> {
        let mut cells = vec![
            item.name(),
            self.bound(item),
            status(item),
            managed_namespaces(item).map_or(UNREADABLE.to_owned(), |it| it.join(",")),
        ];
        if self.wide {
            let clusters = self.facts.clusters_of(item).map(|it| facts::first(&it));
            cells.extend([
                facts::selector(item),
                clusters.unwrap_or_else(str::to_owned),
                age_of(item.object.meta(), now),
            ]);
        }
        cells
    }

    fn tree(&self, items: &[Item<ManagedClusterSet>]) -> Node {
        let mut root = Node::new("ManagedClusterSet");
        let list = |names: &[&str]| format!("[{}]", names.join(" "));
        for item in items {
            let clusters = self.facts.clusters_of(item).map(|it| list(&it));
            let namespaces = managed_namespaces(item).map(|it| list(&it));
            root.push(
                Node::new(item.name())
                    .with(Node::leaf("BoundNamespace", self.bound(item)))
                    .with(Node::leaf("Status", status(item)))
                    .with(Node::leaf(
                        "Clusters",
                        clusters.unwrap_or_else(str::to_owned),
                    ))
                    .with(Node::leaf(
                        "ManagedNamespaces",
                        namespaces.unwrap_or_else(|| UNREADABLE.to_owned()),
                    )),
            );
        }
        root
    }

    fn none(&self) -> String {
        "No clustersets found.".to_owned()
    }
}

impl Sets {
    fn bound(&self, item: &Item<ManagedClusterSet>) -> String {
        let bound = self.facts.bound(&item.name());
        bound.map_or(UNREADABLE.to_owned(), |it| it.join(","))
    }
}

/// Returns the message of the set's condition.
fn status(item: &Item<ManagedClusterSet>) -> String {
    if item.unreadable.is_some() {
        return UNREADABLE.to_owned();
    }
    let status = item.object.status.as_ref();
    let condition = status.and_then(|status| condition_of(&status.conditions, EMPTY));
    condition.map_or_else(String::new, |condition| condition.message.clone())
}

fn managed_namespaces(item: &Item<ManagedClusterSet>) -> Option<Vec<&str>> {
    if item.unreadable.is_some() {
        return None;
    }
    let namespaces = item.object.spec.managed_namespaces.iter();
    Some(namespaces.map(|it| it.name.as_str()).collect())
}
