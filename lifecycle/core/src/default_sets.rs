//! Creates the sets `default` and `global`, and keeps their selectors, unless an admin turned that off.
//!
//! Follows OCM's default and global ManagedClusterSet controllers. Only the selector is kept: managed namespaces, labels and
//! annotations are the admin's. A deleted set is created again when it is gone.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use berth_api::cluster_set::{ManagedClusterSelector, SelectorType};
use berth_api::{groups, labels};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::{Value, json};

use crate::config::Config;
use crate::facts::ClusterSet;
use crate::sets;
use berth_api::plan::{Action, Event, Plan, Write};

/// The reconciler's name, in metrics and logs.
pub const NAME: &str = "default_sets";

/// One of the two sets.
struct Kept {
    name: &'static str,
    /// Its name in Events.
    kind: &'static str,
    created: &'static str,
    rolled_back: &'static str,
    is_right: fn(&ManagedClusterSelector) -> bool,
    /// spec.clusterSelector
    selector: fn() -> Value,
    /// A merge patch that turns any selector into this one.
    correction: fn() -> Value,
}

const DEFAULT: Kept = Kept {
    name: labels::DEFAULT_SET,
    kind: "DefaultManagedClusterSet",
    created: "DefaultManagedClusterSetCreated",
    rolled_back: "DefaultManagedClusterSetSpecRollbacked",
    is_right: |selector| is_by_label(&selector.selector_type) && selector.label_selector.is_none(),
    selector: || json!({"selectorType": "ExclusiveClusterSetLabel"}),
    correction: || json!({"selectorType": "ExclusiveClusterSetLabel", "labelSelector": null}),
};

const GLOBAL: Kept = Kept {
    name: labels::GLOBAL_SET,
    kind: "GlobalManagedClusterSet",
    created: "GlobalManagedClusterSetCreated",
    rolled_back: "GlobalManagedClusterSetSpecRollbacked",
    is_right: |selector| {
        // An empty selector selects all clusters, a missing one selects no cluster.
        selector.selector_type == SelectorType::LabelSelector
            && selector.label_selector.as_ref().is_some_and(is_empty)
    },
    selector: || json!({"selectorType": "LabelSelector", "labelSelector": {}}),
    // A merge with an empty object would change nothing.
    correction: || {
        json!({
            "selectorType": "LabelSelector",
            "labelSelector": {"matchLabels": null, "matchExpressions": null},
        })
    },
};

/// Plans the writes for both sets.
///
/// None means that the set does not exist. Do not pass None for a set that exists but cannot be read.
pub fn decide(config: &Config, default: Option<&ClusterSet>, global: Option<&ClusterSet>) -> Plan {
    let mut plan = Plan::default();
    if config.gates.default_cluster_set {
        plan.writes.extend(DEFAULT.keep(default));
        plan.writes.extend(GLOBAL.keep(global));
    }
    plan
}

// === impl Kept ===

impl Kept {
    fn keep(&self, set: Option<&ClusterSet>) -> Option<Write> {
        let (action, reason, note) = match set {
            None => (
                Action::Create {
                    body: json!({
                        "apiVersion": format!("{}/v1beta2", groups::CLUSTER),
                        "kind": "ManagedClusterSet",
                        "metadata": {"name": self.name},
                        "spec": {"clusterSelector": (self.selector)()},
                    }),
                },
                self.created,
                format!(
                    "Set the {} name to {}. spec.clusterSelector to {}",
                    self.kind,
                    self.name,
                    (self.selector)()
                ),
            ),
            Some(set) if set.deleting || set.keeps_selector || (self.is_right)(&set.selector) => {
                return None;
            }
            Some(set) => (
                Action::Patch {
                    subresource: None,
                    body: json!({
                        "metadata": {"uid": set.uid, "resourceVersion": set.resource_version},
                        "spec": {"clusterSelector": (self.correction)()},
                    }),
                },
                self.rolled_back,
                format!(
                    "Rollback the {}Spec.clusterSelector to {}; to prevent this, set the annotation {}=false on the set",
                    self.kind,
                    (self.selector)(),
                    labels::AUTO_UPDATE_SET
                ),
            ),
        };
        Some(Write {
            target: sets::target(self.name),
            action,
            reconciler: NAME,
            events: vec![Event {
                warning: false,
                reason,
                note,
                namespace: None,
            }],
        })
    }
}

/// An empty type has the same meaning: the CRD's default.
fn is_by_label(selector: &SelectorType) -> bool {
    match selector {
        SelectorType::ExclusiveClusterSetLabel => true,
        SelectorType::LabelSelector => false,
        SelectorType::Other(other) => other.is_empty(),
    }
}

fn is_empty(selector: &LabelSelector) -> bool {
    selector
        .match_labels
        .as_ref()
        .is_none_or(BTreeMap::is_empty)
        && selector
            .match_expressions
            .as_ref()
            .is_none_or(Vec::is_empty)
}
