//! What is kept of a ManagedCluster: what decisions read always, and of its lists up to a bound.

use berth_api::conditions;
use berth_api::labels;
use berth_lifecycle_core::config::Gates;
use berth_lifecycle_core::facts::LeftOut;
use berth_reconcile::{First, Item, Keep, LabelKeys};
use serde_json::Value;

use super::MESSAGE;
use crate::object::PartialObject;

/// Upper bounds on the bytes of memory of the lists of a ManagedCluster. Whoever registers a cluster or runs its agent writes them, and
/// the hub may have thousands of clusters.
pub(crate) struct Lists {
    finalizers: usize,
    taints: usize,
    pub(super) conditions: usize,
    managed_namespaces: usize,
    claims: usize,
}

impl Lists {
    /// For all clusters of the hub.
    pub(crate) const BOUNDED: Self = Self {
        finalizers: 4 * 1024,
        taints: 4 * 1024,
        conditions: 8 * 1024,
        managed_namespaces: 16 * 1024,
        claims: 32 * 1024,
    };

    /// For clusters that are not accepted: a bootstrap token can create any number of them.
    const WAITING: Self = Self {
        finalizers: 1024,
        taints: 1024,
        ..Self::BOUNDED
    };

    /// For one cluster, while it is worked on.
    pub(crate) const WHOLE: Self = Self {
        finalizers: usize::MAX,
        taints: usize::MAX,
        managed_namespaces: usize::MAX,
        ..Self::BOUNDED
    };
}

/// A ManagedCluster with more bytes of JSON waits for others of its size.
const LARGE: usize = 64 * 1024;

/// All labels of a cluster that is not accepted are kept up to this many bytes of memory.
const FEW_LABELS: usize = 2 * 1024;

/// Reads a ManagedCluster that is watched.
pub(crate) fn bounded_cluster(
    item: &Item<'_>,
    labels: &LabelKeys,
    gates: Gates,
) -> Result<PartialObject, serde_json::Error> {
    let read = cluster(item, labels, gates, Lists::BOUNDED)?;
    if read.value["spec"]["hubAcceptsClient"] == true {
        return Ok(read);
    }
    cluster(item, labels, gates, Lists::WAITING)
}

/// Reads a ManagedCluster. Of its lists, what decisions read is always kept.
pub(crate) fn cluster(
    item: &Item<'_>,
    labels: &LabelKeys,
    gates: Gates,
    most: Lists,
) -> Result<PartialObject, serde_json::Error> {
    let never = |_: &Value| false;
    let is_of_hub = |taint: &Value| taint["key"].as_str().is_some_and(labels::is_taint_of_hub);
    let is_ours = |finalizer: &Value| {
        [labels::API_RESOURCE_CLEANUP, labels::RESOURCE_CLEANUP]
            .iter()
            .any(|ours| finalizer == ours)
    };
    let is_known = |condition: &Value| CONDITIONS.iter().any(|it| condition["type"] == *it);
    let condition = Keep::But(&[("message", Keep::Text(MESSAGE))]);
    let finalizers = First::new(most.finalizers, Keep::Whole, is_ours);
    let taints = First::new(most.taints, Keep::Whole, is_of_hub);
    let conditions = First::new(most.conditions, condition, is_known);
    let managed_namespaces = First::new(most.managed_namespaces, Keep::Whole, never);
    let claims = First::new(most.claims, Keep::Whole, never);
    let (version, claims) = match gates.cluster_profile {
        true => (Keep::Whole, Keep::First(&claims)),
        false => (Keep::Nothing, Keep::Nothing),
    };
    let mut value = item.trimmed(&Keep::Fields(&[
        (
            "metadata",
            Keep::But(&[
                ("managedFields", Keep::Nothing),
                ("ownerReferences", Keep::Nothing),
                ("annotations", CLUSTER_ANNOTATIONS),
                ("labels", Keep::Labels(labels)),
                ("finalizers", Keep::First(&finalizers)),
            ]),
        ),
        (
            "spec",
            Keep::But(&[
                ("managedClusterClientConfigs", Keep::Nothing),
                ("taints", Keep::First(&taints)),
            ]),
        ),
        (
            "status",
            Keep::Fields(&[
                ("conditions", Keep::First(&conditions)),
                ("managedNamespaces", Keep::First(&managed_namespaces)),
                ("version", version),
                ("clusterClaims", claims),
            ]),
        ),
    ]))?;
    if value["spec"]["hubAcceptsClient"] != true
        && let Some(all) = value.pointer_mut("/metadata/labels")
    {
        labels.cut(all, FEW_LABELS);
    }
    let left_out = LeftOut {
        finalizers: finalizers.left_out(),
        taints: taints.left_out(),
        managed_namespaces: managed_namespaces.left_out(),
    };
    Ok(PartialObject {
        left_out,
        is_large: item.json.len() > LARGE || left_out != LeftOut::default(),
        ..PartialObject::new(&item.meta, value)
    })
}

/// The conditions of ManagedClusters that decisions read.
const CONDITIONS: [&str; 6] = [
    conditions::cluster::HUB_ACCEPTED,
    conditions::cluster::JOINED,
    conditions::cluster::AVAILABLE,
    conditions::cluster::CLOCK_SYNCED,
    conditions::cluster::DELETING,
    conditions::cluster::READABLE,
];

/// The annotations of ManagedClusters that decisions need, cut to the length of a valid value.
const CLUSTER_ANNOTATIONS: Keep<'_> = Keep::Fields(&[
    (labels::AUTO_ACCEPTED_ON, Keep::Text(64)),
    (labels::DENIED_ON, Keep::Text(64)),
    (labels::SKIP_CLOCK_SYNC_CHECK, Keep::Text(8)),
    (labels::DENY_NOW, Keep::Text(8)),
]);
