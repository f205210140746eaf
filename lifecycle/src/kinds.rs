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

/// The table of kinds: those that are watched with these gates. `labels`: the keys of ManagedClusters' labels that selectors read.
pub(crate) fn watched(labels: &LabelKeys, gates: Gates) -> Vec<(Kind, Watched<Fact>)> {
    let labels = labels.clone();
    let mut rows = vec![
        (
            Kind::Cluster,
            all(
                (groups::CLUSTER, "v1", groups::MANAGED_CLUSTERS),
                move |item| bounded_cluster(item, &labels, gates).map(Fact::Object),
            ),
        ),
        (
            Kind::Set,
            all(
                (groups::CLUSTER, "v1beta2", groups::MANAGED_CLUSTER_SETS),
                |item| kept(item, &SET),
            ),
        ),
        (
            Kind::Binding,
            all(
                (
                    groups::CLUSTER,
                    "v1beta2",
                    groups::MANAGED_CLUSTER_SET_BINDINGS,
                ),
                |item| kept(item, &BINDING),
            ),
        ),
        (
            Kind::Addon,
            // Hubs with an older OCM serve only the second version. A hub without add-ons does not have the kind.
            all(
                (
                    "addon.open-cluster-management.io",
                    "v1beta1",
                    "managedclusteraddons",
                ),
                addon,
            )
            .or_version("v1alpha1")
            .optional(),
        ),
        (
            Kind::Namespace,
            of_clusters(("", "v1", "namespaces"), |item| kept(item, &NAMESPACE)),
        ),
        (
            Kind::ClusterRole,
            of_clusters((RBAC, "v1", "clusterroles"), |item| kept(item, &RIGHTS)),
        ),
        (
            Kind::ClusterRoleBinding,
            of_clusters((RBAC, "v1", "clusterrolebindings"), |item| {
                kept(item, &RIGHTS)
            }),
        ),
        (
            Kind::RoleBinding,
            of_clusters((RBAC, "v1", "rolebindings"), |item| kept(item, &RIGHTS)),
        ),
        (
            Kind::Lease,
            of_clusters(("coordination.k8s.io", "v1", "leases"), |item| {
                item.parse().map(Fact::Renewal)
            }),
        ),
        (
            Kind::Csr,
            // CSRs of every signer: OCM's agents count all with their cluster's label, and stop at ten.
            of_clusters(
                ("certificates.k8s.io", "v1", "certificatesigningrequests"),
                |item| csr(item).map(Fact::Object),
            ),
        ),
    ];
    if gates.cluster_profile {
        // The hub may get the CRD later. Those of other managers count, because they have names, too.
        let profiles = all(
            (
                inventory::GROUP,
                inventory::VERSION,
                inventory::CLUSTER_PROFILES,
            ),
            |item| kept(item, &PROFILE),
        );
        rows.push((Kind::Profile, profiles.optional()));
    }
    rows
}

/// All objects of a kind, by group, preferred version and resource. `read`: what is kept of an object.
fn all(
    (group, version, resource): (&'static str, &'static str, &'static str),
    read: impl Fn(&Item<'_>) -> Result<Fact, serde_json::Error> + Send + Sync + 'static,
) -> Watched<Fact> {
    let kind = GroupVersionResource::new(group, version, resource);
    Watched::new(resource, kind, read)
}

fn of_clusters(
    kind: (&'static str, &'static str, &'static str),
    read: fn(&Item<'_>) -> Result<Fact, serde_json::Error>,
) -> Watched<Fact> {
    all(kind, read).labelled(OF_CLUSTERS)
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
