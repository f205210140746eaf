//! The table of kinds: which objects are watched, and which of their fields are kept.

use berth_api::cluster_set::Membership;
use berth_api::{
    AddOnPlacementScore, GroupVersionResource, ManagedClusterSet, Placement, PlacementDecision,
    groups, inventory, labels, lenient,
};
use berth_placement_core::{Cluster, Scores, Settings};
use berth_reconcile::{Item, Keep, Watched};
use serde::Deserialize;

use crate::facts::{DecisionFacts, PlacementFacts};
use crate::sig::SliceFacts;
use crate::whole::WholeClusters;

/// The name of SIG-Multicluster's PlacementDecisions in metrics and logs.
const SLICES: &str = "placementdecisions.multicluster.x-k8s.io";

/// A kind that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Placement,
    Decision,
    Cluster,
    Set,
    Binding,
    Scores,
    /// The PlacementDecision of SIG-Multicluster.
    Slice,
}

/// The kept part of an object.
#[derive(Debug)]
pub(crate) enum Fact {
    Placement(Box<PlacementFacts>),
    Decision(DecisionFacts),
    Cluster(Cluster),
    /// Which clusters belong to the set, or the mistakes in its selector.
    Set(Result<Membership, String>),
    Binding,
    Scores(Scores),
    Slice(SliceFacts),
}

// === impl Kind ===

impl Kind {
    /// The kinds that the controller cannot do without.
    pub(crate) const NEEDED: [Self; 6] = [
        Self::Placement,
        Self::Decision,
        Self::Cluster,
        Self::Set,
        Self::Binding,
        Self::Scores,
    ];

    /// Group, version and resource.
    pub(crate) fn resource(self) -> GroupVersionResource {
        let (version, resource) = match self {
            Self::Placement => ("v1beta1", groups::PLACEMENTS),
            Self::Decision => ("v1beta1", groups::PLACEMENT_DECISIONS),
            Self::Cluster => ("v1", groups::MANAGED_CLUSTERS),
            Self::Set => ("v1beta2", groups::MANAGED_CLUSTER_SETS),
            Self::Binding => ("v1beta2", groups::MANAGED_CLUSTER_SET_BINDINGS),
            Self::Scores => ("v1alpha1", groups::ADDON_PLACEMENT_SCORES),
            Self::Slice => {
                let resource = inventory::PLACEMENT_DECISIONS;
                return GroupVersionResource::new(inventory::GROUP, inventory::VERSION, resource);
            }
        };
        GroupVersionResource::new(groups::CLUSTER, version, resource)
    }

    /// The row of this kind. `whole`: whether whole ManagedClusters are kept.
    pub(crate) fn watched(self, settings: Settings, whole: &WholeClusters) -> Watched<Fact> {
        let kind = self.resource();
        let name = match self {
            Self::Placement => groups::PLACEMENTS,
            Self::Decision => groups::PLACEMENT_DECISIONS,
            Self::Cluster => groups::MANAGED_CLUSTERS,
            Self::Set => groups::MANAGED_CLUSTER_SETS,
            Self::Binding => groups::MANAGED_CLUSTER_SET_BINDINGS,
            Self::Scores => groups::ADDON_PLACEMENT_SCORES,
            Self::Slice => SLICES,
        };
        let whole = whole.clone();
        let watched = Watched::new(name, kind, move |item| read(self, item, settings, &whole));
        match self {
            // The hub may get the CRD later.
            Self::Slice => watched.optional(),
            _ => watched,
        }
    }
}

/// Reads the fields that decisions need.
fn read(
    kind: Kind,
    item: &Item<'_>,
    settings: Settings,
    whole: &WholeClusters,
) -> Result<Fact, serde_json::Error> {
    let keep = match kind {
        Kind::Binding => return Ok(Fact::Binding),
        Kind::Placement => PLACEMENT,
        Kind::Decision => DECISION,
        Kind::Cluster => CLUSTER,
        Kind::Set => SET,
        Kind::Scores => SCORES,
        Kind::Slice => SLICE,
    };
    let value = item.trimmed(&keep)?;
    Ok(match kind {
        Kind::Placement => {
            let read = lenient::with_conditions::<Placement>(&value)?;
            Fact::Placement(Box::new(PlacementFacts::new(read.object, settings)))
        }
        Kind::Decision => {
            let decision = PlacementDecision::deserialize(&value)?;
            Fact::Decision(DecisionFacts::new(decision, settings.gates.scores))
        }
        Kind::Cluster => Fact::Cluster(Cluster {
            object: whole.object(item),
            ..Cluster::from(&lenient::cluster(&value).object)
        }),
        Kind::Set => {
            // What is no selector selects unknown clusters. The former selector must not stay in effect.
            let set = ManagedClusterSet::deserialize(&value).map_err(|error| error.to_string());
            Fact::Set(
                set.and_then(|set| Membership::new(&item.meta.name, &set.spec.cluster_selector)),
            )
        }
        Kind::Scores => Fact::Scores(Scores::from(&AddOnPlacementScore::deserialize(&value)?)),
        Kind::Slice => Fact::Slice(inventory::PlacementDecision::deserialize(&value)?.into()),
        Kind::Binding => Fact::Binding,
    })
}

const PLACEMENT: Keep<'_> = Keep::But(&[(
    "metadata",
    Keep::Fields(&[
        ("name", Keep::Whole),
        ("namespace", Keep::Whole),
        ("uid", Keep::Whole),
        ("resourceVersion", Keep::Whole),
        ("generation", Keep::Whole),
        ("deletionTimestamp", Keep::Whole),
        (
            "annotations",
            Keep::Fields(&[(labels::SCHEDULING_DISABLE, Keep::Text(8))]),
        ),
    ]),
)]);

const DECISION: Keep<'_> = Keep::But(&[(
    "metadata",
    Keep::Fields(&[
        ("name", Keep::Whole),
        ("namespace", Keep::Whole),
        ("uid", Keep::Whole),
        ("resourceVersion", Keep::Whole),
        ("deletionTimestamp", Keep::Whole),
        ("ownerReferences", Keep::Whole),
        (
            "labels",
            Keep::Fields(&[
                (labels::PLACEMENT, Keep::Whole),
                (labels::DECISION_GROUP_INDEX, Keep::Whole),
                (labels::DECISION_GROUP_NAME, Keep::Whole),
            ]),
        ),
    ]),
)]);

const SLICE: Keep<'_> = Keep::But(&[(
    "metadata",
    Keep::Fields(&[
        ("name", Keep::Whole),
        ("namespace", Keep::Whole),
        ("uid", Keep::Whole),
        ("resourceVersion", Keep::Whole),
        ("deletionTimestamp", Keep::Whole),
        ("ownerReferences", Keep::Whole),
        (
            "labels",
            Keep::Fields(&[
                (inventory::MANAGER, Keep::Whole),
                (inventory::PLACEMENT_KEY, Keep::Whole),
                (inventory::DECISION_KEY, Keep::Whole),
                (inventory::DECISION_INDEX, Keep::Whole),
            ]),
        ),
    ]),
)]);

const CLUSTER: Keep<'_> = Keep::Fields(&[
    (
        "metadata",
        Keep::Fields(&[
            ("name", Keep::Whole),
            ("labels", Keep::Whole),
            ("deletionTimestamp", Keep::Whole),
        ]),
    ),
    ("spec", Keep::Fields(&[("taints", Keep::Whole)])),
    (
        "status",
        Keep::Fields(&[
            ("allocatable", Keep::Whole),
            ("capacity", Keep::Whole),
            ("clusterClaims", Keep::Whole),
        ]),
    ),
]);

const SET: Keep<'_> = Keep::Fields(&[("spec", Keep::Fields(&[("clusterSelector", Keep::Whole)]))]);

const SCORES: Keep<'_> = Keep::Fields(&[("status", Keep::Whole)]);
