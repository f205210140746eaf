//! Writes with an unknown outcome: without a response, or with one of a server that gave up, a write may still be carried out later.
//!
//! A write that removes clusters from a PlacementDecision, or deletes it, leaves a doubt on them: although the object still lists them, they
//! count as listed there only once the object has changed (then a late write is refused, for its resourceVersion), or after the longest
//! time that an API server works on a write. Until then another PlacementDecision that lists them keeps them.

use std::collections::HashSet;

use berth_api::plan::{Action, Write, WriteFailure};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::facts::Doubt;
use crate::kinds::Kind;
use crate::sig;

/// The longest time that an API server works on a write: its `--request-timeout`, 60 s by default, and some more.
const LONGEST: SignedDuration = SignedDuration::from_secs(75);

/// A write that may remove clusters from a PlacementDecision.
#[derive(Clone, Debug)]
pub(crate) struct Removal {
    /// The kind: OCM's PlacementDecision, or that of SIG-Multicluster.
    pub(crate) kind: Kind,
    /// The name of the PlacementDecision.
    pub(crate) decision: String,
    /// The clusters that it leaves there.
    pub(crate) left: HashSet<String>,
}

// === impl Removal ===

impl Removal {
    /// The removal by a write, if it writes the clusters of a PlacementDecision.
    pub(crate) fn of(write: &Write) -> Option<Self> {
        let kinds = [Kind::Decision, Kind::Slice];
        let mut kinds = kinds.into_iter();
        let kind = kinds.find(|it| write.target.resource == it.resource())?;
        let left = match &write.action {
            Action::Delete { .. } => HashSet::new(),
            Action::Patch { body, .. } if kind == Kind::Slice => sig::clusters_in(body)?,
            Action::Patch { body, .. } => {
                body["status"]["decisions"].as_array()?;
                listed(body).map(str::to_owned).collect()
            }
            _ => return None,
        };
        Some(Self {
            kind,
            decision: write.target.name.clone(),
            left,
        })
    }

    /// Returns whether this write failed with an unknown outcome.
    pub(crate) fn is_uncertain<'a>(
        &self,
        mut failures: impl Iterator<Item = &'a WriteFailure>,
    ) -> bool {
        failures.any(|it| {
            it.target.resource == self.kind.resource()
                && it.target.name == self.decision
                && matches!(it.code, 0 | 500..)
        })
    }
}

/// The clusters that a PlacementDecision lists after a patch of its status.
pub(crate) fn listed(body: &Value) -> impl Iterator<Item = &str> {
    let listed = body["status"]["decisions"].as_array().into_iter().flatten();
    listed.filter_map(|it| it["clusterName"].as_str())
}

// === impl Doubt ===

impl Doubt {
    /// The doubt on the clusters that an object lists, after a removal whose outcome was not known at this time.
    pub(crate) fn new(listed: &[String], removal: &Removal, now: Timestamp) -> Self {
        let removed = listed.iter().filter(|it| !removal.left.contains(*it));
        Self {
            clusters: removed.cloned().collect(),
            until: now.checked_add(LONGEST).unwrap_or(Timestamp::MAX),
        }
    }
}
