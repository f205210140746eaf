//! The table of kinds: which objects are watched, and which of their fields are kept.

mod managed_cluster;

use berth_api::groups::{self, RBAC};
use berth_api::inventory;
use berth_api::{GroupVersionResource, labels};
use berth_reconcile::{First, Item, Keep, LabelKeys, Watched};
use serde_json::Value;

use super::object::{PartialObject, Renewal};
use berth_lifecycle_core::addons;
use berth_lifecycle_core::config::Gates;

pub(crate) use managed_cluster::{Lists, bounded_cluster, cluster};

/// Selects the objects of clusters, without those of add-ons.
const OF_CLUSTERS: &str =
    "open-cluster-management.io/cluster-name,!open-cluster-management.io/addon-name";

/// Upper bound on the bytes of a CSR that is read. An agent's has less than 8 KiB.
const LARGEST_CSR: usize = 64 * 1024;

/// Characters of spec.request that are read: base64 of a little more than the decider validates.
const REQUEST: usize = 21_852;

/// Bytes of a message of a condition: one more than the hub writes, so that a longer one differs.
const MESSAGE: usize = 2001;

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

/// A row of the table of kinds.
struct Row {
    kind: Kind,
    /// Group, preferred version, and resource.
    resource: (&'static str, &'static str, &'static str),
    /// Whether it is watched with these gates.
    is_needed: fn(Gates) -> bool,
    /// Which of its objects are watched.
    which: fn(Watched<Fact>) -> Watched<Fact>,
    /// What is kept of an object.
    read: fn(&Item<'_>, &LabelKeys, Gates) -> Result<Fact, serde_json::Error>,
}

/// Every kind that is watched.
const KINDS: [Row; 11] = [
    Row {
        kind: Kind::Cluster,
        resource: (groups::CLUSTER, "v1", groups::MANAGED_CLUSTERS),
        is_needed: always,
        which: all,
        read: |item, labels, gates| bounded_cluster(item, labels, gates).map(Fact::Object),
    },
    Row {
        kind: Kind::Set,
        resource: (groups::CLUSTER, "v1beta2", groups::MANAGED_CLUSTER_SETS),
        is_needed: always,
        which: all,
        read: |item, _, _| kept(item, &SET),
    },
    Row {
        kind: Kind::Binding,
        resource: (
            groups::CLUSTER,
            "v1beta2",
            groups::MANAGED_CLUSTER_SET_BINDINGS,
        ),
        is_needed: always,
        which: all,
        read: |item, _, _| kept(item, &BINDING),
    },
    Row {
        kind: Kind::Addon,
        resource: (
            "addon.open-cluster-management.io",
            "v1beta1",
            "managedclusteraddons",
        ),
        is_needed: always,
        // Hubs with an older OCM serve only the second version. A hub without add-ons does not have the kind.
        which: |addons| addons.or_version("v1alpha1").optional(),
        read: |item, _, _| addon(item),
    },
    Row {
        kind: Kind::Namespace,
        resource: ("", "v1", "namespaces"),
        is_needed: always,
        which: of_clusters,
        read: |item, _, _| kept(item, &NAMESPACE),
    },
    Row {
        kind: Kind::ClusterRole,
        resource: (RBAC, "v1", "clusterroles"),
        is_needed: always,
        which: of_clusters,
        read: |item, _, _| kept(item, &RIGHTS),
    },
    Row {
        kind: Kind::ClusterRoleBinding,
        resource: (RBAC, "v1", "clusterrolebindings"),
        is_needed: always,
        which: of_clusters,
        read: |item, _, _| kept(item, &RIGHTS),
    },
    Row {
        kind: Kind::RoleBinding,
        resource: (RBAC, "v1", "rolebindings"),
        is_needed: always,
        which: of_clusters,
        read: |item, _, _| kept(item, &RIGHTS),
    },
    Row {
        kind: Kind::Lease,
        resource: ("coordination.k8s.io", "v1", "leases"),
        is_needed: always,
        which: of_clusters,
        read: |item, _, _| item.parse().map(Fact::Renewal),
    },
    Row {
        kind: Kind::Csr,
        resource: ("certificates.k8s.io", "v1", "certificatesigningrequests"),
        is_needed: always,
        // CSRs of every signer: OCM's agents count all with their cluster's label, and stop at ten.
        which: of_clusters,
        read: |item, _, _| csr(item).map(Fact::Object),
    },
    Row {
        kind: Kind::Profile,
        resource: (
            inventory::GROUP,
            inventory::VERSION,
            inventory::CLUSTER_PROFILES,
        ),
        is_needed: |gates| gates.cluster_profile,
        // The hub may get the CRD later. Those of other managers count, because they have names, too.
        which: Watched::optional,
        read: |item, _, _| kept(item, &PROFILE),
    },
];

/// The kinds that are watched with these gates. `labels`: the keys of ManagedClusters' labels that selectors read.
pub(crate) fn watched(labels: &LabelKeys, gates: Gates) -> Vec<(Kind, Watched<Fact>)> {
    let needed = KINDS.iter().filter(|row| (row.is_needed)(gates));
    let rows = needed.map(|row| {
        let (group, version, resource) = row.resource;
        let (labels, read) = (labels.clone(), row.read);
        let all = Watched::new(
            resource,
            GroupVersionResource::new(group, version, resource),
            move |item| read(item, &labels, gates),
        );
        (row.kind, (row.which)(all))
    });
    rows.collect()
}

fn always(_: Gates) -> bool {
    true
}

fn all(objects: Watched<Fact>) -> Watched<Fact> {
    objects
}

fn of_clusters(objects: Watched<Fact>) -> Watched<Fact> {
    objects.labelled(OF_CLUSTERS)
}

fn kept(item: &Item<'_>, keep: &Keep<'_>) -> Result<Fact, serde_json::Error> {
    let value = item.trimmed(keep)?;
    Ok(Fact::Object(PartialObject::new(&item.meta, value)))
}

fn addon(item: &Item<'_>) -> Result<Fact, serde_json::Error> {
    let condition = Keep::But(&[("message", Keep::Text(MESSAGE))]);
    let available = First::new(Lists::BOUNDED.conditions, condition, |condition| {
        condition["type"] == addons::AVAILABLE
    });
    let keep = Keep::Fields(&[
        ("apiVersion", Keep::Whole),
        ("metadata", BARE_METADATA),
        (
            "status",
            Keep::Fields(&[("conditions", Keep::First(&available))]),
        ),
    ]);
    kept(item, &keep)
}

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

/// Keeps a ManagedClusterSet, with the one annotation that decisions need.
const SET: Keep<'_> = Keep::But(&[(
    "metadata",
    Keep::But(&[
        ("managedFields", Keep::Nothing),
        ("labels", Keep::Nothing),
        ("ownerReferences", Keep::Nothing),
        (
            "annotations",
            Keep::Fields(&[(labels::AUTO_UPDATE_SET, Keep::Text(8))]),
        ),
    ]),
)]);

/// Keeps a ManagedClusterSetBinding.
const BINDING: Keep<'_> = Keep::But(&[("metadata", BARE_METADATA)]);

/// Keeps a Namespace.
const NAMESPACE: Keep<'_> = Keep::Fields(&[("metadata", OWNED_METADATA)]);

/// Keeps the rights of a role or a binding.
const RIGHTS: Keep<'_> = Keep::Fields(&[
    ("metadata", OWNED_METADATA),
    ("rules", Keep::Whole),
    ("subjects", Keep::Whole),
    ("roleRef", Keep::Whole),
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
