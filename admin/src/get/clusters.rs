//! `berth get clusters`.

#[cfg(test)]
mod tests;

use std::process::ExitCode;

use anyhow::bail;
use berth_api::cluster::Taint;
use berth_api::cluster_set::Membership;
use berth_api::cluster_set::{ManagedClusterSelector, SelectorType};
use berth_api::conditions::condition_of;
use berth_api::conditions::{self, FALSE, TRUE};
use berth_api::{ManagedCluster, ManagedClusterSet, labels, names};
use clap_complete::engine::ArgValueCandidates;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{Resource, ResourceExt};

use super::find::{names_of, no_such};
use super::query::{Query, ShowArgs};
use super::screen::View;
use super::{UNREADABLE, age_of};
use crate::complete;
use crate::hub::{HubArgs, HubConnection, Item};
use crate::print::{Format, Node};

/// Show clusters: acceptance, availability, set, capacity and version
///
/// '-o wide' adds columns: whether the cluster has joined, the reason if it is not accepted or not available, taints, URLs, and
/// age.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "cluster",
    aliases = ["managedclusters", "managedcluster", "mcl", "mcls", "managedclusters.cluster.open-cluster-management.io"],
    after_help = "\
Examples:
  berth get clusters
  berth get clusters cluster1 cluster2 -o wide
  berth get clusters --clusterset prod
  berth get clusters -l env=prod --watch"
)]
pub(super) struct Args {
    /// Only clusters of these names
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(complete::clusters))]
    names: Vec<String>,
    /// Only members of this set, for every type of selector
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with = "names",
        add = ArgValueCandidates::new(complete::sets)
    )]
    clusterset: Option<String>,
    #[command(flatten)]
    show: ShowArgs,
}

/// The view of clusters, of one set or of all.
struct Clusters {
    wide: bool,
    set: Option<(String, Membership)>,
}

pub(super) async fn run(args: &Args, hub: &HubArgs) -> anyhow::Result<ExitCode> {
    let mut query = Query::new(hub, &args.names, &args.show, Format::Table).await?;
    let mut set = None;
    if let Some(name) = &args.clusterset {
        let selector = selector_of(&query.hub, name).await?;
        let members = match Membership::new(name, &selector) {
            Ok(members) => members,
            Err(mistakes) => bail!("the members of set {name:?} are unknown: {mistakes}"),
        };
        // Then the hub sends only these.
        if let Some(label) = exclusive_label(name, &selector) {
            let labels = &mut query.asked.filter.labels;
            let others = labels.take().into_iter();
            *labels = Some(others.chain([label]).collect::<Vec<_>>().join(","));
        }
        set = Some((name.clone(), members));
    }
    let view = Clusters {
        wide: query.format == Format::Wide,
        set,
    };
    query.run(&view).await
}

async fn selector_of(hub: &HubConnection, set: &str) -> anyhow::Result<ManagedClusterSelector> {
    match hub.get::<ManagedClusterSet>(None, set).await? {
        None => {
            let names = names_of::<ManagedClusterSet>(hub, None).await;
            Err(no_such::<ManagedClusterSet>(set, &names).into())
        }
        Some(Item {
            unreadable: Some(why),
            ..
        }) => bail!("the set {set:?} cannot be read: {why}"),
        Some(item) => Ok(item.object.spec.cluster_selector),
    }
}

/// Returns the label selector of a set's members, if the set selects them by the cluster-set label.
fn exclusive_label(set: &str, selector: &ManagedClusterSelector) -> Option<String> {
    let by_label = match &selector.selector_type {
        SelectorType::ExclusiveClusterSetLabel => true,
        SelectorType::LabelSelector => false,
        SelectorType::Other(other) => other.is_empty(),
    };
    (by_label && names::label_value(set).is_empty())
        .then(|| format!("{}={set}", labels::CLUSTER_SET))
}

// === impl Clusters ===

impl View for Clusters {
    type Kind = ManagedCluster;

    fn titles(&self) -> Vec<&'static str> {
        let mut titles = vec![
            "NAME",
            "ACCEPTED",
            "AVAILABLE",
            "CLUSTERSET",
            "CPU",
            "MEMORY",
            "KUBERNETES VERSION",
        ];
        if self.wide {
            titles.extend(["JOINED", "REASON", "TAINTS", "URL", "AGE"]);
        }
        titles
    }

    fn cells(&self, item: &Item<ManagedCluster>, now: Timestamp) -> Vec<String> {
        let shown = Shown::of(item);
        let mut cells = vec![
            item.name(),
            shown.accepted,
            shown.available,
            shown.set,
            shown.cpu,
            shown.memory,
            shown.version,
        ];
        if self.wide {
            let cluster = readable(item);
            let cell = |text: fn(&ManagedCluster) -> String| {
                cluster.map_or_else(|| UNREADABLE.to_owned(), text)
            };
            cells.extend([
                cell(|cluster| status(cluster, conditions::cluster::JOINED)),
                match item.fields.is_empty() {
                    true => cell(|cluster| reason(cluster).unwrap_or_default()),
                    false => conditions::cluster::UNREADABLE_FIELDS.to_owned(),
                },
                cell(taints),
                cell(urls),
                age_of(item.object.meta(), now),
            ]);
        }
        cells
    }

    fn tree(&self, items: &[Item<ManagedCluster>]) -> Node {
        let mut root = Node::new("ManagedCluster");
        for item in items {
            let shown = Shown::of(item);
            let capacity = Node::new("Capacity")
                .with(Node::leaf("Cpu", shown.cpu))
                .with(Node::leaf("Memory", shown.memory));
            root.push(
                Node::new(item.name())
                    .with(Node::leaf("Accepted", shown.accepted))
                    .with(Node::leaf("Available", shown.available))
                    .with(Node::leaf("ClusterSet", shown.set))
                    .with(Node::leaf("KubernetesVersion", shown.version))
                    .with(capacity),
            );
        }
        root
    }

    fn none(&self) -> String {
        match &self.set {
            None => "No clusters found.".to_owned(),
            Some((set, _)) => format!("No clusters found in set {set:?}."),
        }
    }

    fn includes(&self, item: &Item<ManagedCluster>) -> bool {
        let mut set = self.set.iter();
        set.all(|(_, members)| members.matches(item.object.labels()))
    }
}

/// The values that tables and trees show of a cluster.
struct Shown {
    accepted: String,
    available: String,
    set: String,
    cpu: String,
    memory: String,
    version: String,
}

// === impl Shown ===

impl Shown {
    fn of(item: &Item<ManagedCluster>) -> Self {
        let label = item.object.labels().get(labels::CLUSTER_SET);
        let set = label.cloned().unwrap_or_default();
        let Some(cluster) = readable(item) else {
            let unreadable = || UNREADABLE.to_owned();
            return Self {
                accepted: unreadable(),
                available: unreadable(),
                set,
                cpu: unreadable(),
                memory: unreadable(),
                version: unreadable(),
            };
        };
        let reported = cluster.status.as_ref();
        let capacity = |resource: &str| {
            let quantity = reported.and_then(|status| status.capacity.get(resource));
            quantity.map_or_else(String::new, |quantity| quantity.0.clone())
        };
        Self {
            accepted: cluster.spec.hub_accepts_client.to_string(),
            available: status(cluster, conditions::cluster::AVAILABLE),
            set,
            cpu: capacity("cpu"),
            memory: capacity("memory"),
            version: reported
                .and_then(|status| status.version.as_ref())
                .map_or_else(String::new, |version| version.kubernetes.clone()),
        }
    }
}

fn readable(item: &Item<ManagedCluster>) -> Option<&ManagedCluster> {
    item.unreadable.is_none().then_some(&item.object)
}

fn conditions_of(cluster: &ManagedCluster) -> &[Condition] {
    let status = cluster.status.as_ref();
    status.map_or(&[], |status| &status.conditions)
}

/// Returns the status of a condition; empty if the cluster has no such condition.
fn status(cluster: &ManagedCluster, type_: &str) -> String {
    let condition = condition_of(conditions_of(cluster), type_);
    condition.map_or_else(String::new, |condition| condition.status.clone())
}

/// Returns the reason why the cluster is not in service: the first step, from acceptance on, that is missing. None: it is in
/// service.
fn reason(cluster: &ManagedCluster) -> Option<String> {
    let find = |type_| condition_of(conditions_of(cluster), type_);
    let unless_true = |type_, absent: &str| match find(type_) {
        None => Some(absent.to_owned()),
        Some(condition) if condition.status == TRUE => None,
        Some(condition) => Some(condition.reason.clone()),
    };
    if cluster.meta().deletion_timestamp.is_some() {
        let left = find(conditions::cluster::DELETING).filter(|it| it.status == FALSE);
        return Some(left.map_or("Deleting".to_owned(), |it| it.reason.clone()));
    }
    if !cluster.spec.hub_accepts_client {
        // A true condition is of an earlier acceptance, and not the reason.
        let denied = find(conditions::cluster::HUB_ACCEPTED).filter(|it| it.status == FALSE);
        return Some(denied.map_or("NotAccepted".to_owned(), |it| it.reason.clone()));
    }
    unless_true(conditions::cluster::HUB_ACCEPTED, "AcceptancePending")
        .or_else(|| unless_true(conditions::cluster::JOINED, "NotJoined"))
        .or_else(|| unless_true(conditions::cluster::AVAILABLE, "NotReported"))
        .or_else(|| {
            find(conditions::cluster::CLOCK_SYNCED)
                .filter(|it| it.status == FALSE)
                .map(|it| it.reason.clone())
        })
}

/// Formats taints as `key=value:effect`, as kubectl does.
fn taints(cluster: &ManagedCluster) -> String {
    let taints = cluster.spec.taints.iter().map(|taint| {
        let Taint { key, value, .. } = taint;
        let equals = if value.is_empty() { "" } else { "=" };
        format!("{key}{equals}{value}:{}", taint.effect.as_str())
    });
    taints.collect::<Vec<_>>().join(",")
}

fn urls(cluster: &ManagedCluster) -> String {
    let configs = cluster.spec.managed_cluster_client_configs.iter();
    let urls = configs.map(|config| config.url.as_str());
    urls.collect::<Vec<_>>().join(",")
}
