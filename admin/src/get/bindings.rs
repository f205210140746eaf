//! `berth get bindings`.

#[cfg(test)]
mod tests;

use std::process::ExitCode;

use berth_api::ManagedClusterSetBinding;
use berth_api::conditions::cluster_set_binding::BOUND;
use berth_api::conditions::condition_of;
use berth_api::conditions::{FALSE, TRUE};
use clap_complete::engine::ArgValueCandidates;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{Resource, ResourceExt};

use super::namespaced::{NamespacedArgs, Namespaces, cell};
use super::query::{Query, ShowArgs};
use super::screen::View;
use super::{UNREADABLE, age_of};
use crate::complete;
use crate::hub::{HubArgs, Item};
use crate::print::{Format, Node};

/// Show bindings: which namespaces can place workloads on which sets
///
/// Shows the bindings of all namespaces, unless -n names one.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "binding",
    aliases = [
        "managedclustersetbindings",
        "managedclustersetbinding",
        "clustersetbindings",
        "clustersetbinding",
        "mclsetbindings",
        "mclsetbinding",
        "managedclustersetbindings.cluster.open-cluster-management.io",
    ],
    after_help = "\
Examples:
  berth get bindings
  berth get bindings prod
  berth get bindings -n team-a -o tree"
)]
pub(super) struct Args {
    /// Only bindings of these names; a binding has the name of its set
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(complete::sets))]
    names: Vec<String>,
    #[command(flatten)]
    namespaced: NamespacedArgs,
    #[command(flatten)]
    show: ShowArgs,
}

/// The view of bindings, of one namespace or of all.
struct Bindings {
    wide: bool,
    namespaces: Namespaces,
}

pub(super) async fn run(args: &Args, hub: &HubArgs) -> anyhow::Result<ExitCode> {
    let mut query = Query::new(hub, &args.names, &args.show, Format::Table).await?;
    let namespaces = args.namespaced.narrow(&mut query.asked);
    let view = Bindings {
        wide: query.format == Format::Wide,
        namespaces,
    };
    query.run(&view).await
}

// === impl Bindings ===

impl View for Bindings {
    type Kind = ManagedClusterSetBinding;

    fn titles(&self) -> Vec<&'static str> {
        let titles = ["NAME", "CLUSTERSET", "BOUND", "REASON", "AGE"];
        let mut titles = self.namespaces.titles("NAMESPACE", &titles);
        if self.wide {
            titles.push("MESSAGE");
        }
        titles
    }

    fn cells(&self, item: &Item<ManagedClusterSetBinding>, now: Timestamp) -> Vec<String> {
        let cell =
            |text: fn(&ManagedClusterSetBinding) -> &str| cell(item, |it| text(it).to_owned());
        let mut cells = self.namespaces.first_cells(item);
        cells.extend([
            cell(|binding| &binding.spec.cluster_set),
            cell(|binding| bound(binding).map_or("", |it| &it.status)),
            cell(|binding| bound(binding).map_or("", |it| &it.reason)),
            age_of(item.object.meta(), now),
        ]);
        if self.wide {
            cells.push(cell(|binding| bound(binding).map_or("", |it| &it.message)));
        }
        cells
    }

    /// Groups bindings by namespace.
    fn tree(&self, items: &[Item<ManagedClusterSetBinding>]) -> Node {
        let mut root = Node::new("ManagedClusterSetBinding");
        let mut items = Vec::from_iter(items);
        items.sort_by_cached_key(|item| item.object.namespace());
        for here in items.chunk_by(|a, b| a.object.namespace() == b.object.namespace()) {
            let mut namespace = Node::new(here[0].object.namespace().unwrap_or_default());
            for item in here {
                namespace.push(Node::leaf(item.name(), state(item)));
            }
            root.push(namespace);
        }
        root
    }

    fn none(&self) -> String {
        self.namespaces.none("bindings")
    }
}

fn bound(binding: &ManagedClusterSetBinding) -> Option<&Condition> {
    condition_of(&binding.status.as_ref()?.conditions, BOUND)
}

/// Describes whether a binding is effective; empty if the hub has not reported it.
fn state(item: &Item<ManagedClusterSetBinding>) -> String {
    if item.unreadable.is_some() {
        return UNREADABLE.to_owned();
    }
    match bound(&item.object) {
        None => String::new(),
        Some(condition) if condition.status == TRUE => "Bound".to_owned(),
        Some(condition) => format!("not bound ({})", condition.reason),
    }
}

/// Returns true if the hub reports that a binding is not effective.
pub(super) fn is_not_bound(binding: &ManagedClusterSetBinding) -> bool {
    bound(binding).is_some_and(|condition| condition.status == FALSE)
}
