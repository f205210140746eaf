//! `berth get addons`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use berth_api::addon::ManagedClusterAddOn;
use berth_api::conditions::addon::{AVAILABLE, DEGRADED, PROGRESSING};
use berth_api::conditions::condition_of;
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

/// Show add-ons (ManagedClusterAddOns): whether they work on their clusters
///
/// Shows the add-ons of all clusters, unless -n names one. The hub must serve addon.open-cluster-management.io/v1beta1, as hubs with OCM's
/// add-on manager do. With -o wide, the column MESSAGE has the words of the first condition that is not as it should be.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "addon",
    aliases = [
        "mca",
        "mcas",
        "managedclusteraddons",
        "managedclusteraddon",
        "managedclusteraddons.addon.open-cluster-management.io",
    ],
    mut_arg("namespace", |arg| {
        arg.help("Only add-ons of this cluster: the cluster's namespace on the hub")
            .value_name("CLUSTER")
            .visible_alias("cluster")
            .add(ArgValueCandidates::new(complete::clusters))
    }),
    mut_arg("all_namespaces", |arg| arg.help("Add-ons of all clusters; this is the default")),
    after_help = "\
Examples:
  berth get addons
  berth get addons -n cluster1 -o wide

  # One add-on on all clusters that have it
  berth get addons cluster-proxy

  # As a tree: each add-on with its clusters
  berth get addons -o tree"
)]
pub(super) struct Args {
    /// Only add-ons of these names
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(complete::addons))]
    names: Vec<String>,
    #[command(flatten)]
    namespaced: NamespacedArgs,
    #[command(flatten)]
    show: ShowArgs,
}

/// The view of add-ons, of one cluster or of all.
struct Addons {
    wide: bool,
    namespaces: Namespaces,
}

pub(super) async fn run(args: &Args, hub: &HubArgs) -> anyhow::Result<ExitCode> {
    let mut query = Query::new(hub, &args.names, &args.show, Format::Table).await?;
    let namespaces = args.namespaced.narrow(&mut query.asked);
    let view = Addons {
        wide: query.format == Format::Wide,
        namespaces,
    };
    query.run(&view).await
}

// === impl Addons ===

impl View for Addons {
    type Kind = ManagedClusterAddOn;

    fn titles(&self) -> Vec<&'static str> {
        let mut titles = vec!["NAME", "AVAILABLE", "DEGRADED", "PROGRESSING", "AGE"];
        if self.wide {
            titles.extend(["AGENT NAMESPACE", "MESSAGE"]);
        }
        self.namespaces.titles("CLUSTER", &titles)
    }

    fn cells(&self, item: &Item<ManagedClusterAddOn>, now: Timestamp) -> Vec<String> {
        let mut cells = self.namespaces.first_cells(item);
        let state = |of: &'static str| cell(item, |it| status(it, of));
        cells.extend([AVAILABLE, DEGRADED, PROGRESSING].map(state));
        cells.push(age_of(item.object.meta(), now));
        if self.wide {
            cells.push(cell(item, |it| {
                let status = it.status.as_ref();
                status.map_or_else(String::new, |it| it.namespace.clone())
            }));
            cells.push(cell(item, trouble));
        }
        cells
    }

    fn tree(&self, items: &[Item<ManagedClusterAddOn>]) -> Node {
        let mut by_name: BTreeMap<String, Node> = BTreeMap::new();
        for item in items {
            let cluster = item.object.namespace().unwrap_or_default();
            let state = match item.unreadable {
                None => status(&item.object, AVAILABLE),
                Some(_) => UNREADABLE.to_owned(),
            };
            let state = if state.is_empty() {
                "not reported".to_owned()
            } else {
                format!("{AVAILABLE}={state}")
            };
            let addon = by_name
                .entry(item.name())
                .or_insert_with(|| Node::new(item.name()));
            addon.push(Node::leaf(&cluster, state));
        }
        let mut root = Node::new("ManagedClusterAddOn");
        for addon in by_name.into_values() {
            root.push(addon);
        }
        root
    }

    fn none(&self) -> String {
        self.namespaces.none("add-ons")
    }
}

fn condition<'a>(addon: &'a ManagedClusterAddOn, of: &str) -> Option<&'a Condition> {
    condition_of(&addon.status.as_ref()?.conditions, of)
}

fn status(addon: &ManagedClusterAddOn, of: &str) -> String {
    condition(addon, of).map_or_else(String::new, |it| it.status.clone())
}

/// The message of the first condition that is not as it should be.
fn trouble(addon: &ManagedClusterAddOn) -> String {
    let wrong = [(AVAILABLE, "True"), (DEGRADED, "False")]
        .into_iter()
        .filter_map(|(of, right)| condition(addon, of).filter(|it| it.status != right))
        .next();
    wrong.map_or_else(String::new, |it| it.message.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn addon(
        cluster: &str,
        name: &str,
        conditions: &[(&str, &str, &str)],
    ) -> Item<ManagedClusterAddOn> {
        let conditions: Vec<Value> = conditions
            .iter()
            .map(|(of, status, message)| {
                json!({
                    "type": of, "status": status, "reason": "a", "message": message, "lastTransitionTime": "1970-01-01T00:00:00Z",
                })
            })
            .collect();
        Item::of(json!({
            "metadata": {"namespace": cluster, "name": name, "creationTimestamp": "1969-12-31T23:55:00Z"},
            "status": {"conditions": conditions, "namespace": "open-cluster-management-agent-addon"},
        }))
    }

    #[test]
    fn a_row_says_how_the_add_on_is() {
        let view = Addons {
            wide: true,
            namespaces: Namespaces(None),
        };
        let conditions = [
            ("Available", "Unknown", "no lease"),
            ("Progressing", "False", "completed"),
            ("Degraded", "True", "no image"),
        ];
        let row = [
            "c1",
            "proxy",
            "Unknown",
            "True",
            "False",
            "5m",
            "open-cluster-management-agent-addon",
            "no lease",
        ];
        let item = addon("c1", "proxy", &conditions);
        assert_eq!(view.cells(&item, Timestamp::UNIX_EPOCH), row);
        assert_eq!(view.titles().len(), row.len());
        let right = addon(
            "c1",
            "proxy",
            &[
                ("Available", "True", "all is well"),
                ("Degraded", "False", "fine"),
            ],
        );
        assert_eq!(trouble(&right.object), "");
        let broken = addon(
            "c1",
            "proxy",
            &[("Available", "True", ""), ("Degraded", "True", "no image")],
        );
        assert_eq!(trouble(&broken.object), "no image");
        let empty = Item::of(json!({"metadata": {"name": "a", "namespace": "c1"}}));
        assert_eq!(
            view.cells(&empty, Timestamp::UNIX_EPOCH)[2..5],
            ["", "", ""]
        );
    }

    #[test]
    fn the_tree_has_the_clusters_of_each_add_on() {
        let view = Addons {
            wide: false,
            namespaces: Namespaces(None),
        };
        let tree = view.tree(&[
            addon("c1", "proxy", &[("Available", "True", "")]),
            addon("c1", "other", &[]),
            addon("c2", "proxy", &[("Available", "False", "")]),
        ]);
        let mut shown = Vec::new();
        tree.write(&mut shown).unwrap();
        let shown = String::from_utf8(shown).unwrap();
        let expected = "\
<ManagedClusterAddOn>
├── <other>
│   └── <c1> not reported
└── <proxy>
    ├── <c1> Available=True
    └── <c2> Available=False
";
        assert_eq!(shown, expected);
    }
}
