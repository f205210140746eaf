//! ManagedClusterSets: their members, and the condition `ClusterSetEmpty`.
//!
//! Follows OCM's ManagedClusterSetController, except for a set with an invalid selector. In OCM one such set blocks the status
//! of all sets; here it affects that set only, and its condition names the mistake. The set then has no members, but
//! `ClusterSetEmpty` is `Unknown`: a user who waits for an empty set before deleting it, or for its first member, must not
//! act on an invalid selector.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use berth_api::cluster_set::{ManagedClusterSelector, SelectorType};
use berth_api::conditions::cluster_set as conditions;
use berth_api::conditions::{FALSE, TRUE, UNKNOWN};
use berth_api::selector::Selector;
use berth_api::{groups, labels};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::json;

use crate::facts::{ClusterSet, Now};
use berth_api::GroupVersionResource;
use berth_api::plan::{Action, Plan, Target, Write};

/// The reconciler's name, in metrics and logs.
pub const NAME: &str = "set_status";

/// Upper bound on the mistakes that a message lists; it counts the others.
const MISTAKES_TOLD: usize = 5;

/// The rule by which clusters belong to a set.
#[derive(Clone, Debug)]
pub struct Membership(Rule);

#[derive(Clone, Debug)]
enum Rule {
    /// Clusters whose cluster-set label has this value.
    Label(Box<str>),
    /// Clusters that match the selector.
    Selector(Selector),
    /// No cluster: the type asks for a label selector, and the set has none.
    Nobody,
}

// === impl Membership ===

impl Membership {
    /// The selector of the set of this name, ready to match.
    ///
    /// # Errors
    /// The mistakes in the selector, as text for users.
    pub fn new(set: &str, selector: &ManagedClusterSelector) -> Result<Self, String> {
        let rule = match &selector.selector_type {
            SelectorType::ExclusiveClusterSetLabel => Rule::Label(set.into()),
            SelectorType::Other(other) if other.is_empty() => Rule::Label(set.into()),
            SelectorType::LabelSelector => match &selector.label_selector {
                None => Rule::Nobody,
                Some(selector) => {
                    Rule::Selector(Selector::parse(selector).map_err(|mistakes| {
                        let mut words = String::new();
                        for (index, mistake) in mistakes.iter().take(MISTAKES_TOLD).enumerate() {
                            let separator = if index == 0 { "" } else { "; " };
                            // Writing to a string does not fail.
                            let _ = write!(
                                words,
                                "{separator}spec.clusterSelector.labelSelector.{mistake}"
                            );
                        }
                        if let Some(more @ 1..) = mistakes.len().checked_sub(MISTAKES_TOLD) {
                            let _ = write!(words, "; and {more} more");
                        }
                        words
                    })?)
                }
            },
            SelectorType::Other(other) => {
                let shown: String = other.chars().take(100).collect();
                return Err(format!(
                    "spec.clusterSelector.selectorType: Unsupported value: {shown:?}: supported values: \
                     \"ExclusiveClusterSetLabel\", \"LabelSelector\""
                ));
            }
        };
        Ok(Self(rule))
    }

    /// A label (key and value) that every member has, if one exists.
    pub fn required(&self) -> Option<(&str, &str)> {
        match &self.0 {
            Rule::Label(set) => Some((labels::CLUSTER_SET, set)),
            Rule::Selector(selector) => selector.required(),
            Rule::Nobody => None,
        }
    }

    /// The keys of the labels that the rule reads; a key may be repeated.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        let (own, selector) = match &self.0 {
            Rule::Label(_) => (Some(labels::CLUSTER_SET), None),
            Rule::Selector(selector) => (None, Some(selector.keys())),
            Rule::Nobody => (None, None),
        };
        own.into_iter().chain(selector.into_iter().flatten())
    }

    /// Returns true if a cluster with these labels belongs to the set.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        match &self.0 {
            Rule::Label(set) => labels
                .get(labels::CLUSTER_SET)
                .is_some_and(|label| **label == **set),
            Rule::Selector(selector) => selector.matches(labels),
            Rule::Nobody => false,
        }
    }
}

/// Plans the status of a set with this number of members (0 if its selector is invalid).
pub fn decide(set: &ClusterSet, members: usize, now: Now) -> Plan {
    let mut plan = Plan::default();
    if set.deleting {
        return plan;
    }
    let (status, reason, message) = match &set.membership {
        Err(mistakes) => (UNKNOWN, conditions::INVALID_SELECTOR, mistakes.clone()),
        Ok(_) if members == 0 => (
            TRUE,
            conditions::NO_CLUSTER_MATCHED,
            "No ManagedCluster selected".to_owned(),
        ),
        Ok(_) => (
            FALSE,
            conditions::CLUSTERS_SELECTED,
            format!("{members} ManagedClusters selected"),
        ),
    };
    let condition = Condition {
        type_: conditions::EMPTY.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message,
        last_transition_time: Time(now.wall),
        observed_generation: None,
    };
    if let Some(conditions) = berth_api::conditions::with_condition(&set.conditions, condition) {
        plan.writes.push(Write {
            target: target(&set.name),
            action: Action::Patch {
                subresource: Some("status"),
                // The CRD declares a plain list, so the patch repeats the conditions of other writers.
                body: json!({
                    "metadata": {"uid": set.uid, "resourceVersion": set.resource_version},
                    "status": {"conditions": conditions},
                }),
            },
            reconciler: NAME,
            events: Vec::new(),
        });
    }
    plan
}

/// The set of this name.
pub(crate) fn target(name: &str) -> Target {
    Target {
        resource: GroupVersionResource {
            group: groups::CLUSTER.to_owned(),
            version: "v1beta2".to_owned(),
            resource: groups::MANAGED_CLUSTER_SETS.to_owned(),
        },
        namespace: None,
        name: name.to_owned(),
    }
}
