//! `berth get clustermanagers` and `berth get klusterlets`.

use std::process::ExitCode;

use berth_api::conditions::condition_of;
use berth_api::conditions::operator::{
    APPLIED, AVAILABLE, PROGRESSING, SETTINGS_SUPPORTED, VALID_FEATURE_GATES,
};
use berth_api::operator::{ClusterManager, Klusterlet};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Resource;

use super::age_of;
use super::namespaced::cell;
use super::query::{Query, ShowArgs};
use super::screen::View;
use crate::hub::{HubArgs, Item};
use crate::print::{Format, Node};

/// The end of the types of conditions that are true if something does not work.
const DEGRADED: &str = "Degraded";

/// The namespace of the agents, if none is named.
const AGENT_NAMESPACE: &str = "open-cluster-management-agent";

/// Show ClusterManagers: the declared components of the hub, and whether they work
///
/// The operator keeps them. A hub that was installed without the operator has none. With -o wide, the column MESSAGE has the words of the
/// first condition that is not as it should be.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "clustermanager",
    aliases = ["clustermanagers.operator.open-cluster-management.io"],
    after_help = "\
Examples:
  berth get clustermanagers -o wide"
)]
pub(super) struct ClusterManagerArgs {
    /// Only ClusterManagers of these names
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    show: ShowArgs,
}

/// Show Klusterlets: the declared agents of a managed cluster, and whether they work
///
/// They are on the managed cluster, not on the hub: use a kubeconfig or a context of that cluster. The operator keeps them. With -o wide,
/// the column MESSAGE has the words of the first condition that is not as it should be.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "klusterlet",
    aliases = ["klusterlets.operator.open-cluster-management.io"],
    after_help = "\
Examples:
  berth get klusterlets --context cluster1 -o wide"
)]
pub(super) struct KlusterletArgs {
    /// Only Klusterlets of these names
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    show: ShowArgs,
}

/// The view of ClusterManagers.
struct ClusterManagers {
    wide: bool,
}

/// The view of Klusterlets.
struct Klusterlets {
    wide: bool,
}

pub(super) async fn cluster_managers(
    args: &ClusterManagerArgs,
    hub: &HubArgs,
) -> anyhow::Result<ExitCode> {
    let query = Query::new(hub, &args.names, &args.show, Format::Table).await?;
    let wide = query.format == Format::Wide;
    query.run(&ClusterManagers { wide }).await
}

pub(super) async fn klusterlets(args: &KlusterletArgs, hub: &HubArgs) -> anyhow::Result<ExitCode> {
    let query = Query::new(hub, &args.names, &args.show, Format::Table).await?;
    let wide = query.format == Format::Wide;
    query.run(&Klusterlets { wide }).await
}

// === impl ClusterManagers ===

impl View for ClusterManagers {
    type Kind = ClusterManager;

    fn titles(&self) -> Vec<&'static str> {
        let mut titles = vec!["NAME", "MODE", "APPLIED", "PROGRESSING", "DEGRADED", "AGE"];
        if self.wide {
            titles.push("MESSAGE");
        }
        titles
    }

    fn cells(&self, item: &Item<ClusterManager>, now: Timestamp) -> Vec<String> {
        let conditions = conditions_of_manager(&item.object);
        let mut cells = vec![
            item.name(),
            cell(item, |it| it.spec.deploy_option.mode.as_str().to_owned()),
            cell(item, |_| status(conditions, APPLIED)),
            cell(item, |_| status(conditions, PROGRESSING)),
            cell(item, |_| degraded(conditions)),
            age_of(item.object.meta(), now),
        ];
        if self.wide {
            cells.push(cell(item, |_| trouble(conditions)));
        }
        cells
    }

    fn tree(&self, items: &[Item<ClusterManager>]) -> Node {
        let mut root = Node::new("ClusterManager");
        for item in items {
            let node = Node::new(item.name());
            root.push(with_conditions(node, conditions_of_manager(&item.object)));
        }
        root
    }

    fn none(&self) -> String {
        "No ClusterManagers found.".to_owned()
    }
}

// === impl Klusterlets ===

impl View for Klusterlets {
    type Kind = Klusterlet;

    fn titles(&self) -> Vec<&'static str> {
        let mut titles = vec![
            "NAME",
            "MODE",
            "CLUSTER",
            "APPLIED",
            "AVAILABLE",
            "DEGRADED",
            "AGE",
        ];
        if self.wide {
            titles.extend(["NAMESPACE", "MESSAGE"]);
        }
        titles
    }

    fn cells(&self, item: &Item<Klusterlet>, now: Timestamp) -> Vec<String> {
        let conditions = conditions_of_klusterlet(&item.object);
        let mode = |it: &Klusterlet| {
            let option = it.spec.deploy_option.as_ref();
            let mode = option.map(|it| it.mode.clone()).unwrap_or_default();
            mode.as_str().to_owned()
        };
        let mut cells = vec![
            item.name(),
            cell(item, mode),
            cell(item, |it| it.spec.cluster_name.clone()),
            cell(item, |_| status(conditions, APPLIED)),
            cell(item, |_| status(conditions, AVAILABLE)),
            cell(item, |_| degraded(conditions)),
            age_of(item.object.meta(), now),
        ];
        if self.wide {
            cells.push(cell(item, |it| match &*it.spec.namespace {
                "" => AGENT_NAMESPACE.to_owned(),
                namespace => namespace.to_owned(),
            }));
            cells.push(cell(item, |_| trouble(conditions)));
        }
        cells
    }

    fn tree(&self, items: &[Item<Klusterlet>]) -> Node {
        let mut root = Node::new("Klusterlet");
        for item in items {
            let node = Node::new(item.name());
            let node = node.with(Node::leaf("Cluster", item.object.spec.cluster_name.clone()));
            root.push(with_conditions(
                node,
                conditions_of_klusterlet(&item.object),
            ));
        }
        root
    }

    fn none(&self) -> String {
        "No Klusterlets found. They are on managed clusters, not on the hub.".to_owned()
    }
}

fn conditions_of_manager(manager: &ClusterManager) -> &[Condition] {
    manager.status.as_ref().map_or(&[], |it| &it.conditions)
}

fn conditions_of_klusterlet(klusterlet: &Klusterlet) -> &[Condition] {
    klusterlet.status.as_ref().map_or(&[], |it| &it.conditions)
}

fn with_conditions(mut node: Node, conditions: &[Condition]) -> Node {
    for it in conditions {
        node.push(Node::leaf(
            &it.type_,
            format!("{} ({})", it.status, it.reason),
        ));
    }
    node
}

fn status(conditions: &[Condition], of: &str) -> String {
    condition_of(conditions, of).map_or_else(String::new, |it| it.status.clone())
}

/// True if a part is degraded, False if all that is reported works.
fn degraded(conditions: &[Condition]) -> String {
    let all = conditions.iter().filter(|it| it.type_.ends_with(DEGRADED));
    let statuses: Vec<_> = all.map(|it| it.status.as_str()).collect();
    let worst = ["True", "Unknown", "False"];
    let worst = worst.into_iter().find(|it| statuses.contains(it));
    worst.unwrap_or_default().to_owned()
}

/// The message of the first condition that is not as it should be.
fn trouble(conditions: &[Condition]) -> String {
    let is_wrong = |it: &&Condition| match &*it.type_ {
        APPLIED | AVAILABLE | VALID_FEATURE_GATES | SETTINGS_SUPPORTED => it.status != "True",
        PROGRESSING => it.status != "False",
        type_ if type_.ends_with(DEGRADED) => it.status != "False",
        _ => false,
    };
    let wrong = conditions.iter().find(is_wrong);
    wrong.map_or_else(String::new, |it| it.message.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn conditions(all: &[(&str, &str, &str)]) -> Value {
        let all = all.iter().map(|(type_, status, message)| {
            json!({
                "type": type_, "status": status, "reason": "a", "message": message, "lastTransitionTime": "1970-01-01T00:00:00Z",
            })
        });
        json!({"conditions": all.collect::<Vec<_>>()})
    }

    #[test]
    fn a_row_says_whether_the_hub_works() {
        let view = ClusterManagers { wide: true };
        let manager = Item::of(json!({
            "metadata": {"name": "cluster-manager", "creationTimestamp": "1969-12-31T23:55:00Z"},
            "spec": {},
            "status": conditions(&[
                ("Applied", "True", "all is well"), ("Progressing", "False", "up to date"), ("HubRegistrationDegraded", "False", "fine"),
                ("HubPlacementDegraded", "True", "no pod"),
            ]),
        }));
        let row = [
            "cluster-manager",
            "Default",
            "True",
            "False",
            "True",
            "5m",
            "no pod",
        ];
        assert_eq!(view.cells(&manager, Timestamp::UNIX_EPOCH), row);
        assert_eq!(view.titles().len(), row.len());
        let empty = Item::of(json!({"metadata": {"name": "x"}}));
        assert_eq!(
            view.cells(&empty, Timestamp::UNIX_EPOCH)[2..5],
            ["", "", ""]
        );
    }

    #[test]
    fn a_row_says_whether_the_agents_work() {
        let view = Klusterlets { wide: true };
        let klusterlet = Item::of(json!({
            "metadata": {"name": "klusterlet", "creationTimestamp": "1969-12-31T23:55:00Z"},
            "spec": {"clusterName": "c1", "deployOption": {"mode": "Singleton"}},
            "status": conditions(&[
                ("Applied", "True", ""), ("Available", "True", ""), ("HubConnectionDegraded", "True", "the bootstrap secret is missing"),
            ]),
        }));
        let row = [
            "klusterlet",
            "Singleton",
            "c1",
            "True",
            "True",
            "True",
            "5m",
            AGENT_NAMESPACE,
            "the bootstrap secret is missing",
        ];
        assert_eq!(view.cells(&klusterlet, Timestamp::UNIX_EPOCH), row);
        assert_eq!(view.titles().len(), row.len());
    }
}
