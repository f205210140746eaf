//! The table of kinds: which objects are watched, and which of their fields are kept.

use berth_api::conditions::cluster as conditions;
use berth_api::groups::{self, RBAC};
use berth_api::inventory;
use berth_api::{GroupVersionResource, labels};
use berth_reconcile::{First, Item, Keep, LabelKeys, Watched};
use serde_json::Value;

use super::object::{PartialObject, Renewal};
use berth_lifecycle_core::addons;
use berth_lifecycle_core::config::Gates;
use berth_lifecycle_core::facts::LeftOut;

/// Selects the objects of clusters, without those of add-ons.
const OF_CLUSTERS: &str =
    "open-cluster-management.io/cluster-name,!open-cluster-management.io/addon-name";

/// Upper bound on the bytes of a CSR that is read. An agent's has less than 8 KiB.
const LARGEST_CSR: usize = 64 * 1024;

/// Characters of spec.request that are read: base64 of a little more than the decider validates.
const REQUEST: usize = 21_852;

/// A kind that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Cluster,
    Set,
    Binding,
    Addon,
    Namespace,
    ClusterRole,
    ClusterRoleBinding,
    RoleBinding,
    Lease,
    Csr,
    Profile,
}

/// The kept part of an object.
#[derive(Debug)]
pub(crate) enum Fact {
    Object(PartialObject),
    Renewal(PartialObject<Renewal>),
}

impl Kind {
    pub(crate) const ALL: [Self; 11] = [
        Self::Cluster,
        Self::Set,
        Self::Binding,
        Self::Addon,
        Self::Namespace,
        Self::ClusterRole,
        Self::ClusterRoleBinding,
        Self::RoleBinding,
        Self::Lease,
        Self::Csr,
        Self::Profile,
    ];

    /// The kinds that are watched with these gates.
    pub(crate) fn needed(gates: Gates) -> impl Iterator<Item = Self> {
        let needs = move |kind: &Self| gates.cluster_profile || *kind != Self::Profile;
        Self::ALL.into_iter().filter(needs)
    }

    /// Group, preferred version, and resource.
    fn parts(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Cluster => (groups::CLUSTER, "v1", groups::MANAGED_CLUSTERS),
            Self::Set => (groups::CLUSTER, "v1beta2", groups::MANAGED_CLUSTER_SETS),
            Self::Binding => (
                groups::CLUSTER,
                "v1beta2",
                groups::MANAGED_CLUSTER_SET_BINDINGS,
            ),
            Self::Addon => (
                "addon.open-cluster-management.io",
                "v1beta1",
                "managedclusteraddons",
            ),
            Self::Namespace => ("", "v1", "namespaces"),
            Self::ClusterRole => (RBAC, "v1", "clusterroles"),
            Self::ClusterRoleBinding => (RBAC, "v1", "clusterrolebindings"),
            Self::RoleBinding => (RBAC, "v1", "rolebindings"),
            Self::Lease => ("coordination.k8s.io", "v1", "leases"),
            Self::Csr => ("certificates.k8s.io", "v1", "certificatesigningrequests"),
            Self::Profile => (
                inventory::GROUP,
                inventory::VERSION,
                inventory::CLUSTER_PROFILES,
            ),
        }
    }

    /// The row of this kind. `labels`: the keys of ManagedClusters' labels that selectors read.
    pub(crate) fn watched(self, labels: &LabelKeys, gates: Gates) -> Watched<Fact> {
        let (group, version, resource) = self.parts();
        let kind = GroupVersionResource {
            group: group.to_owned(),
            version: version.to_owned(),
            resource: resource.to_owned(),
        };
        let labels = labels.clone();
        let watched = Watched::new(resource, kind, move |item| read(self, item, &labels, gates));
        match self {
            Self::Cluster | Self::Set | Self::Binding => watched,
            // Hubs with an older OCM serve only the second version. A hub without add-ons does not have the kind.
            Self::Addon => watched.or_version("v1alpha1").optional(),
            // The hub may get the CRD later. Those of other managers count, because they have names, too.
            Self::Profile => watched.optional(),
            // CSRs of every signer: OCM's agents count all with their cluster's label, and stop at ten.
            _ => watched.labelled(OF_CLUSTERS),
        }
    }
}

/// Keeps the fields that decisions need.
fn read(
    kind: Kind,
    item: &Item<'_>,
    labels: &LabelKeys,
    gates: Gates,
) -> Result<Fact, serde_json::Error> {
    const DROPPED: Keep<'_> = Keep::Nothing;
    let meta = &item.meta;
    let condition = Keep::But(&[("message", Keep::Text(MESSAGE))]);
    let of_addon = First::new(Lists::BOUNDED.conditions, condition, |condition| {
        condition["type"] == addons::AVAILABLE
    });
    let keep = match kind {
        Kind::Lease => return item.parse().map(Fact::Renewal),
        Kind::Csr => return csr(item).map(Fact::Object),
        Kind::Cluster => return bounded_cluster(item, labels, gates).map(Fact::Object),
        Kind::Set => Keep::But(&[(
            "metadata",
            Keep::But(&[
                ("managedFields", DROPPED),
                ("labels", DROPPED),
                ("ownerReferences", DROPPED),
                (
                    "annotations",
                    Keep::Fields(&[(labels::AUTO_UPDATE_SET, Keep::Text(8))]),
                ),
            ]),
        )]),
        Kind::Binding => Keep::But(&[("metadata", BARE_METADATA)]),
        Kind::Addon => Keep::Fields(&[
            ("apiVersion", Keep::Whole),
            ("metadata", BARE_METADATA),
            (
                "status",
                Keep::Fields(&[("conditions", Keep::First(&of_addon))]),
            ),
        ]),
        Kind::Profile => PROFILE,
        Kind::Namespace => Keep::Fields(&[("metadata", OWNED_METADATA)]),
        Kind::ClusterRole | Kind::ClusterRoleBinding | Kind::RoleBinding => Keep::Fields(&[
            ("metadata", OWNED_METADATA),
            ("rules", Keep::Whole),
            ("subjects", Keep::Whole),
            ("roleRef", Keep::Whole),
        ]),
    };
    let value = item.trimmed(&keep)?;
    Ok(Fact::Object(PartialObject::new(meta, value)))
}

/// Upper bounds on the bytes of memory of the lists of a ManagedCluster. Whoever registers a cluster or runs its agent writes them, and
/// the hub may have thousands of clusters.
pub(crate) struct Lists {
    finalizers: usize,
    taints: usize,
    conditions: usize,
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

/// Bytes of a message of a condition: one more than the hub writes, so that a longer one differs.
const MESSAGE: usize = 2001;

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
    conditions::HUB_ACCEPTED,
    conditions::JOINED,
    conditions::AVAILABLE,
    conditions::CLOCK_SYNCED,
    conditions::DELETING,
    conditions::READABLE,
];

/// The annotations of ManagedClusters that decisions need, cut to the length of a valid value.
const CLUSTER_ANNOTATIONS: Keep<'_> = Keep::Fields(&[
    (labels::AUTO_ACCEPTED_ON, Keep::Text(64)),
    (labels::DENIED_ON, Keep::Text(64)),
    (labels::SKIP_CLOCK_SYNC_CHECK, Keep::Text(8)),
    (labels::DENY_NOW, Keep::Text(8)),
]);

/// Keeps metadata without labels, annotations, owners and managed fields.
const BARE_METADATA: Keep<'_> = Keep::But(&[
    ("managedFields", Keep::Nothing),
    ("labels", Keep::Nothing),
    ("annotations", Keep::Nothing),
    ("ownerReferences", Keep::Nothing),
]);

/// Keeps the metadata that is compared, and the fields of a deletion.
const OWNED_METADATA: Keep<'_> = Keep::Fields(&[
    ("name", Keep::Whole),
    ("labels", Keep::Whole),
    ("finalizers", Keep::Whole),
    ("deletionTimestamp", Keep::Whole),
]);

/// Keeps what the hub writes of a ClusterProfile, and who owns it.
const PROFILE: Keep<'_> = Keep::Fields(&[
    (
        "metadata",
        Keep::Fields(&[
            ("uid", Keep::Whole),
            ("resourceVersion", Keep::Whole),
            ("deletionTimestamp", Keep::Whole),
            ("managedFields", Keep::Whole),
            (
                "labels",
                Keep::Fields(&[
                    (inventory::MANAGER, Keep::Whole),
                    (inventory::CLUSTER_SET, Keep::Whole),
                    (labels::CLUSTER_NAME, Keep::Whole),
                ]),
            ),
        ]),
    ),
    ("spec", Keep::Fields(&[("clusterManager", Keep::Whole)])),
    (
        "status",
        Keep::Fields(&[
            ("version", Keep::Whole),
            ("properties", Keep::Whole),
            ("conditions", Keep::Whole),
        ]),
    ),
]);

/// Reads a CSR with all its metadata, because an approval repeats them. One that is too large for an agent's is read without
/// them, and with an invalid request, so that it is not approved.
pub(crate) fn csr(item: &Item<'_>) -> Result<PartialObject, serde_json::Error> {
    let is_large = item.json.len() > LARGEST_CSR;
    let kept_labels = Keep::Fields(&[
        (labels::CLUSTER_NAME, Keep::Text(253)),
        (labels::ADDON_NAME, Keep::Text(253)),
    ]);
    let (few_labels, annotations) = if is_large {
        (kept_labels, Keep::Nothing)
    } else {
        (Keep::Whole, Keep::Whole)
    };
    let mut value = item.trimmed(&Keep::But(&[
        (
            "metadata",
            Keep::But(&[
                ("managedFields", Keep::Nothing),
                ("labels", few_labels),
                ("annotations", annotations),
                ("ownerReferences", annotations),
                ("finalizers", annotations),
            ]),
        ),
        ("spec", Keep::But(&[("request", Keep::Text(REQUEST))])),
        // Only the existence of a certificate matters.
        (
            "status",
            Keep::Fields(&[("conditions", Keep::Whole), ("certificate", Keep::Text(0))]),
        ),
    ]))?;
    if is_large {
        value["spec"]["request"] = Value::from("A".repeat(REQUEST));
    }
    Ok(PartialObject::new(&item.meta, value))
}
