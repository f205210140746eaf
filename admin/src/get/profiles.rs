//! `berth get profiles`.

use std::process::ExitCode;

use berth_api::conditions::condition_of;
use berth_api::inventory::ClusterProfile;
use jiff::Timestamp;
use kube::{Resource, ResourceExt};

use super::age_of;
use super::namespaced::{NamespacedArgs, Namespaces, cell};
use super::query::{Query, ShowArgs};
use super::screen::View;
use crate::hub::{HubArgs, Item};
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
    #[command(flatten)]
    namespaced: NamespacedArgs,
    #[command(flatten)]
    show: ShowArgs,
}

/// The view of ClusterProfiles, of one namespace or of all.
struct Profiles {
    namespaces: Namespaces,
}

pub(super) async fn run(args: &Args, hub: &HubArgs) -> anyhow::Result<ExitCode> {
    let mut query = Query::new(hub, &args.names, &args.show, Format::Table).await?;
    let namespaces = args.namespaced.narrow(&mut query.asked);
    let view = Profiles { namespaces };
    query.run(&view).await
}

// === impl Profiles ===

impl View for Profiles {
    type Kind = ClusterProfile;

    fn titles(&self) -> Vec<&'static str> {
        let titles = [
            "NAME",
            "DISPLAY NAME",
            "MANAGER",
            "HEALTHY",
            "KUBERNETES VERSION",
            "AGE",
        ];
        self.namespaces.titles("NAMESPACE", &titles)
    }

    fn cells(&self, item: &Item<ClusterProfile>, now: Timestamp) -> Vec<String> {
        let cell = |text: fn(&ClusterProfile) -> String| cell(item, text);
        let mut cells = self.namespaces.first_cells(item);
        cells.extend([
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
        self.namespaces.none("ClusterProfiles")
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
        let view = Profiles {
            namespaces: Namespaces(None),
        };
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
