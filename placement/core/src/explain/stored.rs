//! How what is stored of a placement differs from what is computed.

use std::collections::BTreeSet;

use berth_api::{Placement, labels};
use serde::Serialize;

use crate::conditions::ConditionValue;
use crate::inventory::Inventory;
use crate::rules::Rules;

/// The stored decisions and conditions of a placement, and how they differ from what is computed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stored {
    /// The annotation that stops all work on the placement is `true`.
    pub is_paused: bool,
    /// The placement is being deleted.
    pub is_deleting: bool,
    /// The number of clusters that its PlacementDecisions list.
    pub clusters: usize,
    /// Clusters that are computed, and that no PlacementDecision lists.
    pub to_add: Vec<String>,
    /// Clusters that a PlacementDecision lists, and that are not computed.
    pub to_remove: Vec<String>,
    /// Conditions that are absent or have another status, reason or message. Counts that follow the message do not matter.
    pub conditions: Vec<StoredCondition>,
}

/// A stored condition that differs from the computed one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredCondition {
    /// The type.
    pub r#type: String,
    /// The status; absent if the condition is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

// === impl Stored ===

impl Stored {
    pub(super) fn new(
        inventory: &Inventory,
        placement: &Placement,
        rules: &Rules,
        computed: &[ConditionValue],
        selected: &BTreeSet<&str>,
    ) -> Self {
        let annotations = placement.metadata.annotations.as_ref();
        let paused = annotations.and_then(|all| all.get(labels::SCHEDULING_DISABLE));
        let listed: BTreeSet<&str> = inventory
            .decisions_of(rules)
            .flat_map(|(_, it)| it.listed.clusters.iter().map(String::as_str))
            .collect();
        let names = |one: &BTreeSet<&str>, other: &BTreeSet<&str>| {
            let names = one.difference(other);
            names.map(|name| (*name).to_owned()).collect()
        };
        Self {
            is_paused: paused.is_some_and(|it| it == "true"),
            is_deleting: placement.metadata.deletion_timestamp.is_some(),
            clusters: listed.len(),
            to_add: names(selected, &listed),
            to_remove: names(&listed, selected),
            conditions: different(placement, computed),
        }
    }

    /// Returns true if the controller has something to write.
    #[must_use]
    pub fn differs(&self) -> bool {
        !(self.to_add.is_empty() && self.to_remove.is_empty() && self.conditions.is_empty())
    }

    /// Returns true if no controller has reported on the placement yet.
    #[must_use]
    pub fn is_unreported(&self) -> bool {
        !self.conditions.is_empty() && self.conditions.iter().all(|it| it.status.is_none())
    }
}

fn different(placement: &Placement, computed: &[ConditionValue]) -> Vec<StoredCondition> {
    let status = placement.status.as_ref();
    let stored = status.map_or(&[][..], |status| &status.conditions);
    let different = computed.iter().filter_map(|wanted| {
        let found = stored.iter().find(|it| it.type_ == wanted.type_);
        let is_same = found.is_some_and(|it| {
            it.status == wanted.status
                && it.reason == wanted.reason
                && wanted.is_message(&it.message)
        });
        (!is_same).then(|| StoredCondition {
            r#type: wanted.type_.to_owned(),
            status: found.map(|it| it.status.clone()),
            reason: found.map(|it| it.reason.clone()),
            message: found.map(|it| it.message.clone()),
        })
    });
    different.collect()
}
