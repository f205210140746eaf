//! `berth get placements`.
//!
//! The tree shows the selected clusters, so PlacementDecisions are read for it.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::process::ExitCode;

use berth_api::conditions::condition_of;
use berth_api::conditions::{self, TRUE};
use berth_api::{Placement, PlacementDecision, labels};
use clap_complete::engine::ArgValueCandidates;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{Resource, ResourceExt};

use super::find::warn;
use super::namespaced::{NamespacedArgs, Namespaces, cell};
use super::query::{Query, ShowArgs};
use super::screen::View;
use super::{UNREADABLE, age_of};
use crate::complete;
use crate::hub::{Filter, HubArgs, HubConnection, Item};
use crate::print::{Format, Node};

/// Show placements: whether they are satisfied, and how many clusters they select
///
/// Shows the placements of all namespaces, unless -n names one. 'berth placement explain NAME' says why.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "placement",
    aliases = ["placements.cluster.open-cluster-management.io"],
    after_help = "\
Examples:
  berth get placements
  berth get placements app -n team-a -o wide
  berth get placements -n team-a -o tree"
)]
pub(super) struct Args {
    /// Only placements of these names
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(complete::placements))]
    names: Vec<String>,
    #[command(flatten)]
    namespaced: NamespacedArgs,
    #[command(flatten)]
    show: ShowArgs,
}

/// The view of placements, of one namespace or of all.
struct Placements {
    wide: bool,
    namespaces: Namespaces,
    /// The selected clusters by namespace and placement. None: not read.
    selected: Option<BTreeMap<(String, String), Vec<String>>>,
}

pub(super) async fn run(args: &Args, hub: &HubArgs) -> anyhow::Result<ExitCode> {
    let mut query = Query::new(hub, &args.names, &args.show, Format::Table).await?;
    let namespaces = args.namespaced.narrow(&mut query.asked);
    let selected = match query.format {
        Format::Tree => selected(&query.hub, args.namespaced.namespace.as_deref()).await,
        _ => None,
    };
    let view = Placements {
        wide: query.format == Format::Wide,
        namespaces,
        selected,
    };
    query.run(&view).await
}

/// Reads the selected clusters.
async fn selected(
    hub: &HubConnection,
    namespace: Option<&str>,
) -> Option<BTreeMap<(String, String), Vec<String>>> {
    let filter = Filter::labels(labels::PLACEMENT);
    match hub.list::<PlacementDecision>(namespace, &filter).await {
        Ok(decisions) => Some(by_placement(&decisions)),
        Err(why) => {
            warn("selected clusters", &why);
            None
        }
    }
}

fn by_placement(decisions: &[Item<PlacementDecision>]) -> BTreeMap<(String, String), Vec<String>> {
    let mut selected: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for decision in decisions {
        let Some(placement) = decision.object.labels().get(labels::PLACEMENT) else {
            continue;
        };
        let namespace = decision.object.namespace().unwrap_or_default();
        let listed = decision.object.status.iter().flat_map(|it| &it.decisions);
        let clusters = selected.entry((namespace, placement.clone())).or_default();
        clusters.extend(listed.map(|it| it.cluster_name.clone()));
    }
    for clusters in selected.values_mut() {
        clusters.sort_unstable();
        clusters.dedup();
    }
    selected
}

// === impl Placements ===

impl View for Placements {
    type Kind = Placement;

    fn titles(&self) -> Vec<&'static str> {
        let titles = ["NAME", "SATISFIED", "REASON", "SELECTED", "GROUPS", "AGE"];
        let mut titles = self.namespaces.titles("NAMESPACE", &titles);
        if self.wide {
            titles.extend(["SETS", "NUMBER", "MISCONFIGURED"]);
        }
        titles
    }

    fn cells(&self, item: &Item<Placement>, now: Timestamp) -> Vec<String> {
        let cell = |text: fn(&Placement) -> String| cell(item, text);
        let mut cells = self.namespaces.first_cells(item);
        cells.extend([
            cell(|it| {
                of(it, conditions::placement::SATISFIED)
                    .map_or_else(String::new, |it| it.status.clone())
            }),
            cell(|it| {
                // A mistake in the spec counts more than what the evaluation without it ended with.
                let mistake =
                    of(it, conditions::placement::MISCONFIGURED).filter(|it| it.status == TRUE);
                let reason = mistake.or_else(|| of(it, conditions::placement::SATISFIED));
                reason.map_or_else(String::new, |it| it.reason.clone())
            }),
            cell(|it| {
                let status = it.status.as_ref();
                status.map_or_else(String::new, |it| it.number_of_selected_clusters.to_string())
            }),
            cell(|it| {
                let status = it.status.as_ref();
                status.map_or_else(String::new, |it| it.decision_groups.len().to_string())
            }),
            age_of(item.object.meta(), now),
        ]);
        if self.wide {
            cells.extend([
                cell(sets),
                cell(|it| {
                    let number = it.spec.number_of_clusters;
                    number.map_or_else(|| "<all>".to_owned(), |it| it.to_string())
                }),
                cell(misconfigured),
            ]);
        }
        cells
    }

    fn tree(&self, items: &[Item<Placement>]) -> Node {
        let mut root = Node::new("Placement");
        for item in items {
            let namespace = item.object.namespace().unwrap_or_default();
            let name = item.name();
            let mut node =
                Node::new(name.as_str()).with(Node::leaf("Namespace", namespace.as_str()));
            if item.unreadable.is_some() {
                root.push(node.with(Node::leaf("Status", UNREADABLE)));
                continue;
            }
            let status = item.object.status.clone().unwrap_or_default();
            let satisfied = of(&item.object, conditions::placement::SATISFIED);
            let satisfied = satisfied.map_or_else(String::new, |it| match it.reason.as_str() {
                "" => it.status.clone(),
                reason => format!("{} ({reason})", it.status),
            });
            node.push(Node::leaf("ClusterSet", sets(&item.object)));
            node.push(Node::leaf(
                "NumberOfSelectedClusters",
                status.number_of_selected_clusters.to_string(),
            ));
            node.push(Node::leaf("Satisfied", satisfied));
            node.push(Node::leaf("Misconfigured", misconfigured(&item.object)));
            let listed = match &self.selected {
                None => UNREADABLE.to_owned(),
                Some(selected) => {
                    let listed = selected.get(&(namespace, name));
                    format!("[{}]", listed.map_or_else(String::new, |it| it.join(" ")))
                }
            };
            node.push(Node::leaf("PlacementDecision", listed));
            root.push(node);
        }
        root
    }

    fn none(&self) -> String {
        self.namespaces.none("placements")
    }
}

fn of<'a>(placement: &'a Placement, type_: &str) -> Option<&'a Condition> {
    condition_of(&placement.status.as_ref()?.conditions, type_)
}

fn sets(placement: &Placement) -> String {
    match &placement.spec.cluster_sets[..] {
        [] => "<bound>".to_owned(),
        names => names.join(","),
    }
}

/// The status of the condition, with the mistake if the spec has one.
fn misconfigured(placement: &Placement) -> String {
    match of(placement, conditions::placement::MISCONFIGURED) {
        None => String::new(),
        Some(it) if it.status == TRUE => format!("{}: {}", it.status, it.message),
        Some(it) => it.status.clone(),
    }
}
