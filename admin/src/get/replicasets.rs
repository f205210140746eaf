//! `berth get replicasets`.

use std::process::ExitCode;

use berth_api::conditions::condition_of;
use berth_api::conditions::manifest_work_replica_set::{
    PAUSED, PLACEMENT_ROLLED_OUT, PLACEMENT_VERIFIED,
};
use berth_api::work::ManifestWorkReplicaSet;
use berth_work_replicas::pause_reason;
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

/// Show ManifestWorkReplicaSets: how far their rollouts are
///
/// Shows those of all namespaces, unless -n names one. 'berth get works -l work.open-cluster-management.io/manifestworkreplicaset=NAMESPACE.NAME'
/// shows the ManifestWorks of one.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "replicaset",
    aliases = [
        "mwrs",
        "manifestworkreplicasets",
        "manifestworkreplicaset",
        "manifestworkreplicasets.work.open-cluster-management.io",
    ],
    after_help = "\
Examples:
  berth get replicasets
  berth get replicasets -n team-a -o wide
  berth get replicasets web -n team-a -o tree"
)]
pub(super) struct Args {
    /// Only ManifestWorkReplicaSets of these names
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(complete::replica_sets))]
    names: Vec<String>,
    #[command(flatten)]
    namespaced: NamespacedArgs,
    #[command(flatten)]
    show: ShowArgs,
}

/// The view of ManifestWorkReplicaSets, of one namespace or of all.
struct ReplicaSets {
    wide: bool,
    namespaces: Namespaces,
}

pub(super) async fn run(args: &Args, hub: &HubArgs) -> anyhow::Result<ExitCode> {
    let mut query = Query::new(hub, &args.names, &args.show, Format::Table).await?;
    let namespaces = args.namespaced.narrow(&mut query.asked);
    let view = ReplicaSets {
        wide: query.format == Format::Wide,
        namespaces,
    };
    query.run(&view).await
}

// === impl ReplicaSets ===

impl View for ReplicaSets {
    type Kind = ManifestWorkReplicaSet;

    fn titles(&self) -> Vec<&'static str> {
        let titles = [
            "NAME",
            "PLACEMENTS",
            "WORKS",
            "APPLIED",
            "AVAILABLE",
            "ROLLED OUT",
            "REASON",
            "AGE",
        ];
        let mut titles = self.namespaces.titles("NAMESPACE", &titles);
        if self.wide {
            titles.extend(["PROGRESSING", "DEGRADED", "MESSAGE"]);
        }
        titles
    }

    fn cells(&self, item: &Item<ManifestWorkReplicaSet>, now: Timestamp) -> Vec<String> {
        let cell = |text: fn(&ManifestWorkReplicaSet) -> String| cell(item, text);
        let mut cells = self.namespaces.first_cells(item);
        cells.extend([
            cell(placements),
            cell(|it| summary(it, |of| of.total)),
            cell(|it| summary(it, |of| of.applied)),
            cell(|it| summary(it, |of| of.available)),
            cell(|it| said(it).map_or_else(String::new, |it| it.status.clone())),
            cell(reason),
            age_of(item.object.meta(), now),
        ]);
        if self.wide {
            cells.extend([
                cell(|it| summary(it, |of| of.progressing)),
                cell(|it| summary(it, |of| of.degraded)),
                cell(|it| said(it).map_or_else(String::new, |it| it.message.clone())),
            ]);
        }
        cells
    }

    fn tree(&self, items: &[Item<ManifestWorkReplicaSet>]) -> Node {
        let mut root = Node::new("ManifestWorkReplicaSet");
        for item in items {
            let namespace = item.object.namespace().unwrap_or_default();
            let mut node = Node::new(item.name()).with(Node::leaf("Namespace", namespace));
            if item.unreadable.is_some() {
                root.push(node.with(Node::leaf("Status", UNREADABLE)));
                continue;
            }
            let set = &item.object;
            if let Some(condition) = said(set) {
                let words = format!("{} ({})", condition.status, condition.reason);
                node.push(Node::leaf("Rolled out", words));
            }
            if let Some(reason) = pause_reason(set.meta().annotations.as_ref()) {
                let reason = match &*reason {
                    "" => "no reason is given".to_owned(),
                    reason => reason.to_owned(),
                };
                node.push(Node::leaf("Paused", reason));
            }
            let mut placements = Node::new("Placements");
            for placement in set.status.iter().flat_map(|it| &it.placement_summary) {
                let of = &placement.summary;
                let words = format!(
                    "{} works, {} applied, {} available",
                    of.total, of.applied, of.available
                );
                placements.push(Node::leaf(placement.name.clone(), words));
            }
            root.push(node.with(placements));
        }
        root
    }

    fn none(&self) -> String {
        self.namespaces.none("ManifestWorkReplicaSets")
    }
}

/// The names of the Placements.
fn placements(set: &ManifestWorkReplicaSet) -> String {
    let names = set.spec.placement_refs.iter().map(|it| it.name.as_str());
    names.collect::<Vec<_>>().join(",")
}

/// A count of the summary. Empty before the controller has seen the set.
fn summary(
    set: &ManifestWorkReplicaSet,
    of: fn(&berth_api::work::ManifestWorkReplicaSetSummary) -> i64,
) -> String {
    let status = set.status.as_ref();
    status.map_or_else(String::new, |status| of(&status.summary).to_string())
}

/// The reason of that condition. A set that is paused has this word, too, as a cordoned node in `kubectl get nodes`.
fn reason(set: &ManifestWorkReplicaSet) -> String {
    let reason = said(set).map_or("", |it| &*it.reason);
    if reason == PAUSED || pause_reason(set.meta().annotations.as_ref()).is_none() {
        return reason.to_owned();
    }
    match reason {
        "" => PAUSED.to_owned(),
        reason => format!("{reason},{PAUSED}"),
    }
}

/// The condition that says most: whether a placement cannot be used, or else how far the rollout is.
fn said(set: &ManifestWorkReplicaSet) -> Option<&Condition> {
    let conditions = &set.status.as_ref()?.conditions;
    let verified = condition_of(conditions, PLACEMENT_VERIFIED);
    let unusable = verified.filter(|it| it.status == berth_api::conditions::FALSE);
    unusable.or_else(|| condition_of(conditions, PLACEMENT_ROLLED_OUT))
}

#[cfg(test)]
mod tests {
    use berth_api::labels::ROLLOUT_PAUSED;
    use serde_json::json;

    use super::*;

    fn set(conditions: &serde_json::Value) -> Item<ManifestWorkReplicaSet> {
        Item::of(json!({
            "metadata": {"namespace": "team-a", "name": "web", "creationTimestamp": "1969-12-31T23:55:00Z"},
            "spec": {"placementRefs": [{"name": "p"}, {"name": "q"}], "manifestWorkTemplate": {}},
            "status": {
                "conditions": conditions,
                "summary": {"total": 4, "available": 1, "applied": 3, "progressing": 2, "degraded": 0},
                "placementSummary": [{"name": "p", "availableDecisionGroups": "1", "summary": {"total": 4, "applied": 3}}],
            },
        }))
    }

    fn condition(type_: &str, status: &str, reason: &str) -> serde_json::Value {
        json!({
            "type": type_, "status": status, "reason": reason, "message": "why",
            "lastTransitionTime": "1970-01-01T00:00:00Z",
        })
    }

    #[test]
    fn a_row_says_how_far_the_rollout_is() {
        let view = ReplicaSets {
            wide: true,
            namespaces: Namespaces(None),
        };
        let rolling = set(&json!([
            condition(PLACEMENT_VERIFIED, "True", "AsExpected"),
            condition(PLACEMENT_ROLLED_OUT, "False", "Progressing"),
        ]));
        let cells = view.cells(&rolling, Timestamp::UNIX_EPOCH);
        let row = [
            "team-a",
            "web",
            "p,q",
            "4",
            "3",
            "1",
            "False",
            "Progressing",
            "5m",
            "2",
            "0",
            "why",
        ];
        assert_eq!(cells, row);
        assert_eq!(view.titles().len(), row.len());
        let unusable = set(&json!([
            condition(PLACEMENT_VERIFIED, "False", "PlacementDecisionEmpty"),
            condition(PLACEMENT_ROLLED_OUT, "True", "Complete"),
        ]));
        let view = ReplicaSets {
            wide: false,
            namespaces: Namespaces(Some("team-a".to_owned())),
        };
        let cells = view.cells(&unusable, Timestamp::UNIX_EPOCH);
        assert_eq!(cells[5..7], ["False", "PlacementDecisionEmpty"]);
        assert_eq!(cells.len(), view.titles().len());
    }

    #[test]
    fn a_paused_set_says_so_whatever_the_controller_has_reported() {
        let view = ReplicaSets {
            wide: false,
            namespaces: Namespaces(Some("team-a".to_owned())),
        };
        for (reported, expected) in [
            (Some("Paused"), "Paused"),
            (Some("Progressing"), "Progressing,Paused"),
            (Some("Complete"), "Complete,Paused"),
            (None, "Paused"),
        ] {
            let conditions = reported.map(|it| condition(PLACEMENT_ROLLED_OUT, "False", it));
            let mut item = set(&json!(conditions.into_iter().collect::<Vec<_>>()));
            let annotations = &mut item.object.metadata.annotations;
            annotations
                .get_or_insert_default()
                .insert(ROLLOUT_PAUSED.to_owned(), "disks".to_owned());
            assert_eq!(view.cells(&item, Timestamp::UNIX_EPOCH)[6], expected);
            let tree = format!("{:?}", view.tree(&[item]));
            assert!(tree.contains("disks"), "{tree}");
        }
    }

    #[test]
    fn what_cannot_be_read_says_so() {
        let broken = Item::<ManifestWorkReplicaSet>::of(
            json!({"metadata": {"name": "a"}, "spec": {"placementRefs": 7}}),
        );
        let view = ReplicaSets {
            wide: false,
            namespaces: Namespaces(None),
        };
        assert_eq!(view.cells(&broken, Timestamp::UNIX_EPOCH)[2], UNREADABLE);
    }
}
