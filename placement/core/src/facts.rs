//! The parts of the hub's objects that placements read.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_api::cluster::{Taint, TaintEffect};
use berth_api::quantity::amount;
use berth_api::{AddOnPlacementScore, ManagedCluster, PlacementDecision, labels};
use jiff::Timestamp;

use crate::object::CelObject;

/// A managed cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cluster {
    /// The cluster's name.
    pub name: String,
    /// The labels.
    pub labels: BTreeMap<String, String>,
    /// `status.clusterClaims`. Of several claims with one name, the last counts.
    pub claims: BTreeMap<String, String>,
    /// `spec.taints`.
    pub taints: Vec<Taint>,
    /// The allocatable CPU; `None` unless allocatable and capacity are both known.
    pub cpu: Option<f64>,
    /// The allocatable memory; `None` unless allocatable and capacity are both known.
    pub memory: Option<f64>,
    /// The cluster is being deleted, so it is not selected.
    pub is_deleting: bool,
    /// The whole object, for CEL expressions. Without it, no expression selects the cluster.
    pub object: Option<Arc<CelObject>>,
}

/// A resource that clusters are scored by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// `cpu`
    Cpu,
    /// `memory`
    Memory,
}

/// Upper bound on the bytes of memory of the taints of an accepted cluster.
const TAINTS: usize = 32 * 1024;

/// Upper bound on the bytes of memory of the taints of a cluster that is not accepted. Whoever has a bootstrap token may create thousands.
const TAINTS_OF_WAITING: usize = 2 * 1024;

/// The hub's own taints count beyond the bound, up to this number.
const TAINTS_OF_HUB: usize = 8;

/// The key of the taint that stands for those beyond the bound: placements that have not selected the cluster yet do not select it.
pub const MORE_TAINTS: &str = "berth.open-cluster-management.io/more-taints";

/// The scores of an AddOnPlacementScore.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scores {
    /// The scores by name.
    pub values: BTreeMap<String, i32>,
    /// Until when they are valid; `None` means for ever.
    pub valid_until: Option<Timestamp>,
}

/// A PlacementDecision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// The namespace.
    pub namespace: String,
    /// The placement that its label names. A decision without the label counts, but belongs to no placement.
    pub placement: Option<String>,
    /// The clusters that it lists.
    pub clusters: Vec<String>,
}

// === impl Cluster ===

impl Cluster {
    /// Returns whether both are the same, apart from their whole objects.
    #[must_use]
    pub fn has_facts_of(&self, other: &Self) -> bool {
        let Self {
            name,
            labels,
            claims,
            taints,
            cpu,
            memory,
            is_deleting,
            object: _,
        } = self;
        *name == other.name
            && *labels == other.labels
            && *claims == other.claims
            && *taints == other.taints
            && *cpu == other.cpu
            && *memory == other.memory
            && *is_deleting == other.is_deleting
    }

    /// The allocatable amount of a resource, if it is known.
    #[must_use]
    pub fn allocatable(&self, resource: Resource) -> Option<f64> {
        match resource {
            Resource::Cpu => self.cpu,
            Resource::Memory => self.memory,
        }
    }
}

/// Without the whole object.
impl From<&ManagedCluster> for Cluster {
    fn from(cluster: &ManagedCluster) -> Self {
        let status = cluster.status.as_ref();
        let allocatable = |resource: &str| {
            let status = status?;
            status.capacity.get(resource)?;
            amount(&status.allocatable.get(resource)?.0)
        };
        let claims = status.map_or(&[][..], |status| &status.cluster_claims);
        let claims = claims
            .iter()
            .map(|claim| (claim.name.clone(), claim.value.clone()));
        Self {
            name: cluster.metadata.name.clone().unwrap_or_default(),
            labels: cluster.metadata.labels.clone().unwrap_or_default(),
            claims: claims.collect(),
            taints: bounded(&cluster.spec.taints, cluster.spec.hub_accepts_client),
            cpu: allocatable("cpu"),
            memory: allocatable("memory"),
            is_deleting: cluster.metadata.deletion_timestamp.is_some(),
            object: None,
        }
    }
}

/// The taints up to the bound, those of the hub, and [`MORE_TAINTS`] for the others.
fn bounded(taints: &[Taint], is_accepted: bool) -> Vec<Taint> {
    let most = if is_accepted {
        TAINTS
    } else {
        TAINTS_OF_WAITING
    };
    let (mut bytes, mut of_hub) = (0, 0);
    let mut kept = Vec::with_capacity(taints.len().min(16));
    let mut are_more = false;
    for taint in taints {
        bytes += size_of::<Taint>() + taint.key.len() + taint.value.len();
        if bytes > most && labels::is_taint_of_hub(&taint.key) && of_hub < TAINTS_OF_HUB {
            of_hub += 1;
        } else if bytes > most {
            are_more = true;
            continue;
        }
        kept.push(taint.clone());
    }
    if are_more {
        kept.push(Taint {
            effect: TaintEffect::NoSelectIfNew,
            key: MORE_TAINTS.to_owned(),
            time_added: None,
            value: String::new(),
        });
    }
    kept
}

// === impl Scores ===

impl Scores {
    /// Returns true if the scores are not valid any more.
    pub(crate) fn is_expired(&self, now: Timestamp) -> bool {
        self.valid_until.is_some_and(|until| now > until)
    }
}

impl From<&AddOnPlacementScore> for Scores {
    fn from(object: &AddOnPlacementScore) -> Self {
        let Some(status) = &object.status else {
            return Self::default();
        };
        let values = status.scores.iter();
        let values = values.map(|score| (score.name.clone(), score.value));
        Self {
            values: values.collect(),
            valid_until: status.valid_until.as_ref().map(|until| until.0),
        }
    }
}

// === impl Decision ===

impl Decision {
    /// Returns whether the decision belongs to this placement.
    #[must_use]
    pub fn is_of(&self, namespace: &str, placement: &str) -> bool {
        self.namespace == namespace && self.placement.as_deref() == Some(placement)
    }
}

impl From<&PlacementDecision> for Decision {
    fn from(object: &PlacementDecision) -> Self {
        let placement = object.metadata.labels.as_ref();
        let placement = placement.and_then(|all| all.get(labels::PLACEMENT));
        let listed = object.status.iter().flat_map(|status| &status.decisions);
        Self {
            namespace: object.metadata.namespace.clone().unwrap_or_default(),
            placement: placement.cloned(),
            clusters: listed.map(|it| it.cluster_name.clone()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taint(key: &str, value: usize) -> Taint {
        Taint {
            effect: TaintEffect::NoSelect,
            key: key.to_owned(),
            time_added: None,
            value: "x".repeat(value),
        }
    }

    #[test]
    fn one_taint_stands_for_those_beyond_the_bound() {
        let numbered = |number, value| -> Vec<_> {
            let taints = 0..number;
            taints.map(|it| taint(&format!("t{it}"), value)).collect()
        };
        let of_hub = || std::iter::once(taint(labels::TAINT_UNREACHABLE, 0));
        let many_of_hub = vec![taint(labels::TAINT_UNREACHABLE, 1000); 900];
        for (sentence, taints, is_accepted, kept, are_more) in [
            ("none", Vec::new(), false, 0, false),
            ("a few", numbered(10, 20), false, 10, false),
            (
                "many of an accepted cluster",
                numbered(200, 20),
                true,
                200,
                false,
            ),
            ("many of another", numbered(200, 20), false, 40, true),
            ("900 of a kilobyte", numbered(900, 1000), false, 3, true),
            (
                "those of the hub count always",
                numbered(900, 1000).into_iter().chain(of_hub()).collect(),
                false,
                4,
                true,
            ),
            ("but not all", many_of_hub, false, 11, true),
        ] {
            let bounded = bounded(&taints, is_accepted);
            let more: Vec<_> = bounded.iter().filter(|it| it.key == MORE_TAINTS).collect();
            assert_eq!(!more.is_empty(), are_more, "{sentence}");
            let others = bounded.len() - more.len();
            assert!(
                others <= kept && (are_more || others == kept),
                "{sentence}: {others}"
            );
            let of_hub = |taint: &&Taint| taint.key == labels::TAINT_UNREACHABLE;
            let has_one = |taints: &[Taint]| taints.iter().any(|it| of_hub(&it));
            assert_eq!(has_one(&bounded), has_one(&taints), "{sentence}");
            let keeps_selected = |it: &&Taint| it.effect == TaintEffect::NoSelectIfNew;
            assert!(more.iter().all(keeps_selected), "{sentence}");
        }
    }
}
