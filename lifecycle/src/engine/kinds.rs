//! The table of kinds: what is watched, and what is kept of an object.

use berth_api::groups::{self, RBAC};
use berth_api::{GroupVersionResource, labels};
use berth_reconcile::{Item, Keep, LabelKeys, Watched};
use serde_json::Value;

use super::object::{PartialObject, Renewal};

/// Objects of a cluster, without those of its add-ons.
const OF_CLUSTERS: &str =
    "open-cluster-management.io/cluster-name,!open-cluster-management.io/addon-name";

/// Upper bound on the bytes of a CSR that may be an agent's. An agent's has less than 8 KiB.
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
}

/// What is kept of an object on its way to the view.
#[derive(Debug)]
pub(crate) enum Fact {
    Object(PartialObject),
    Renewal(PartialObject<Renewal>),
}

impl Kind {
    pub(crate) const ALL: [Self; 10] = [
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
    ];

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
        }
    }

    /// Its row. `labels`: the keys of ManagedClusters' labels that selectors name.
    pub(crate) fn watched(self, labels: &LabelKeys) -> Watched<Fact> {
        let (group, version, resource) = self.parts();
        let kind = GroupVersionResource {
            group: group.to_owned(),
            version: version.to_owned(),
            resource: resource.to_owned(),
        };
        let labels = labels.clone();
        let watched = Watched::new(resource, kind, move |item| read(self, item, &labels));
        match self {
            Self::Cluster | Self::Set | Self::Binding => watched,
            // Hubs of older OCM serve the second version only; a hub may be without the kind.
            Self::Addon => watched.or_version("v1alpha1").optional(),
            // CSRs of every signer: OCM's agents count all that have their cluster's label, and file no more when there are ten.
            _ => watched.labelled(OF_CLUSTERS),
        }
    }
}

/// What is kept of an object: what decides.
fn read(kind: Kind, item: &Item<'_>, labels: &LabelKeys) -> Result<Fact, serde_json::Error> {
    const DROPPED: Keep<'_> = Keep::Nothing;
    let meta = &item.meta;
    let keep = match kind {
        Kind::Lease => return item.parse().map(Fact::Renewal),
        Kind::Csr => return csr(item),
        Kind::Cluster => Keep::Fields(&[
            (
                "metadata",
                Keep::But(&[
                    ("managedFields", DROPPED),
                    ("ownerReferences", DROPPED),
                    ("annotations", CLUSTER_ANNOTATIONS),
                    ("labels", Keep::Labels(labels)),
                ]),
            ),
            (
                "spec",
                Keep::But(&[("managedClusterClientConfigs", DROPPED)]),
            ),
            (
                "status",
                Keep::Fields(&[
                    ("conditions", Keep::Whole),
                    ("managedNamespaces", Keep::Whole),
                ]),
            ),
        ]),
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
            ("status", Keep::Fields(&[("conditions", Keep::Whole)])),
        ]),
        Kind::Namespace => Keep::Fields(&[("metadata", OWNED_METADATA)]),
        Kind::ClusterRole | Kind::ClusterRoleBinding | Kind::RoleBinding => {
            Keep::But(&[("metadata", OWNED_METADATA)])
        }
    };
    let value = item.trimmed(&keep)?;
    Ok(Fact::Object(PartialObject::new(meta, value)))
}

/// Annotations of ManagedClusters that decide. Their values are short, whatever a requester writes there.
const CLUSTER_ANNOTATIONS: Keep<'_> = Keep::Fields(&[
    (labels::AUTO_ACCEPTED_ON, Keep::Text(64)),
    (labels::DENIED_ON, Keep::Text(64)),
    (labels::SKIP_CLOCK_SYNC_CHECK, Keep::Text(8)),
    (labels::DENY_NOW, Keep::Text(8)),
]);

/// Of metadata what every object has, and its finalizers.
const BARE_METADATA: Keep<'_> = Keep::But(&[
    ("managedFields", Keep::Nothing),
    ("labels", Keep::Nothing),
    ("annotations", Keep::Nothing),
    ("ownerReferences", Keep::Nothing),
]);

/// The same, with labels: they are compared.
const OWNED_METADATA: Keep<'_> = Keep::But(&[
    ("managedFields", Keep::Nothing),
    ("annotations", Keep::Nothing),
    ("ownerReferences", Keep::Nothing),
]);

/// Of a CSR its metadata are kept as they are: who approves has to give them back. One that is too large to be an agent's
/// loses them, and its request, so that it is refused.
fn csr(item: &Item<'_>) -> Result<Fact, serde_json::Error> {
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
        // Whether there is a certificate counts, and not which.
        (
            "status",
            Keep::Fields(&[("conditions", Keep::Whole), ("certificate", Keep::Text(0))]),
        ),
    ]))?;
    if is_large {
        value["spec"]["request"] = Value::from("A".repeat(REQUEST));
    }
    Ok(Fact::Object(PartialObject::new(&item.meta, value)))
}
