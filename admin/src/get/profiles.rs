//! `berth get profiles`.

use std::process::ExitCode;

use berth_api::conditions::condition_of;
use berth_api::inventory::ClusterProfile;
use clap_complete::engine::ArgValueCandidates;
use jiff::Timestamp;
use kube::{Resource, ResourceExt};

use super::query::{Query, ShowArgs};
use super::screen::View;
use super::{UNREADABLE, age_of};
use crate::complete;
use crate::hub::{HubArgs, Item, namespace};
use crate::print::{Format, Node};

/// The condition of SIG-Multicluster that says whether the control plane of the cluster works.
const CONTROL_PLANE_HEALTHY: &str = "ControlPlaneHealthy";

/// Show ClusterProfiles: the clusters that a namespace may use, as SIG-Multicluster describes them
///
/// The controller keeps them with the feature gate ClusterProfile, in each namespace that a set is bound to. Shows those of all namespaces,
/// unless -n names one.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "profile",
    aliases = ["clusterprofiles", "clusterprofile", "clusterprofiles.multicluster.x-k8s.io"],
    after_help = "\
Examples:
  berth get profiles
  berth get profiles -n team-a"
)]
pub(super) struct Args {
    /// Only ClusterProfiles of these names
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Only ClusterProfiles of this namespace
    #[arg(
        short,
        long,
        value_name = "NAME",
        conflicts_with = "all_namespaces",
        value_parser = namespace,
        add = ArgValueCandidates::new(complete::namespaces)
    )]
    namespace: Option<String>,
    /// ClusterProfiles of all namespaces; this is the default
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    #[command(flatten)]
    show: ShowArgs,
}

/// The view of ClusterProfiles, of one namespace or of all.
struct Profiles {
    namespace: Option<String>,
}

pub(super) async fn run(args: &Args, hub: &HubArgs) -> anyhow::Result<ExitCode> {
    let mut query = Query::new(hub, &args.names, &args.show, Format::Table).await?;
    query.asked.namespace.clone_from(&args.namespace);
    query.asked.everywhere = args.namespace.is_none();
    let view = Profiles {
        namespace: args.namespace.clone(),
    };
    query.run(&view).await
}

// === impl Profiles ===

impl View for Profiles {
    type Kind = ClusterProfile;

    fn titles(&self) -> Vec<&'static str> {
        let mut titles = Vec::new();
        if self.namespace.is_none() {
            titles.push("NAMESPACE");
        }
        titles.extend([
            "NAME",
            "DISPLAY NAME",
            "MANAGER",
            "HEALTHY",
            "KUBERNETES VERSION",
            "AGE",
        ]);
        titles
    }

    fn cells(&self, item: &Item<ClusterProfile>, now: Timestamp) -> Vec<String> {
        let cell = |text: fn(&ClusterProfile) -> String| match item.unreadable {
            None => text(&item.object),
            Some(_) => UNREADABLE.to_owned(),
        };
        let mut cells = Vec::new();
        if self.namespace.is_none() {
            cells.push(item.object.namespace().unwrap_or_default());
        }
        cells.extend([
            item.name(),
            cell(|it| it.spec.display_name.clone()),
            cell(|it| it.spec.cluster_manager.name.clone()),
            cell(healthy),
            cell(version),
            age_of(item.object.meta(), now),
        ]);
        cells
    }

    fn tree(&self, items: &[Item<ClusterProfile>]) -> Node {
        let mut root = Node::new("ClusterProfile");
        for item in items {
            let namespace = item.object.namespace().unwrap_or_default();
            root.push(
                Node::new(item.name())
                    .with(Node::leaf("Namespace", namespace))
                    .with(Node::leaf("Healthy", healthy(&item.object)))
                    .with(Node::leaf("Version", version(&item.object))),
            );
        }
        root
    }

    fn none(&self) -> String {
        let of =
            (self.namespace.as_ref()).map_or_else(String::new, |it| format!(" in namespace {it}"));
        format!("No ClusterProfile{of}.")
    }
}

fn healthy(profile: &ClusterProfile) -> String {
    let status = profile.status.as_ref();
    let condition = status.and_then(|it| condition_of(&it.conditions, CONTROL_PLANE_HEALTHY));
    condition.map_or_else(String::new, |it| it.status.clone())
}

fn version(profile: &ClusterProfile) -> String {
    let version = profile.status.as_ref().and_then(|it| it.version.as_ref());
    version.map_or_else(String::new, |it| it.kubernetes.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_says_what_the_cluster_is() {
        let view = Profiles { namespace: None };
        let profile = Item::of(json!({
            "metadata": {"namespace": "team-a", "name": "c1", "creationTimestamp": "1969-12-31T23:55:00Z"},
            "spec": {"displayName": "One", "clusterManager": {"name": "open-cluster-management"}},
            "status": {
                "conditions": [{
                    "type": "ControlPlaneHealthy", "status": "True", "reason": "a", "message": "",
                    "lastTransitionTime": "1970-01-01T00:00:00Z",
                }],
                "version": {"kubernetes": "v1.36.2"},
            },
        }));
        let row = [
            "team-a",
            "c1",
            "One",
            "open-cluster-management",
            "True",
            "v1.36.2",
            "5m",
        ];
        assert_eq!(view.cells(&profile, Timestamp::UNIX_EPOCH), row);
        assert_eq!(view.titles().len(), row.len());
        let empty = Item::of(json!({"metadata": {"name": "c2"}}));
        assert_eq!(view.cells(&empty, Timestamp::UNIX_EPOCH)[4..6], ["", ""]);
    }
}
