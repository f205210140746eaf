//! The table of kinds: what is watched, and what is read of it.

use berth_api::GroupVersionResource;
use berth_api::operator::ClusterManager;
use berth_manifests::{HUB_NAMESPACE, files};
use berth_operator_core::names::CREATED_BY;
use berth_operator_core::objects::{self, Stored};
use berth_operator_core::{PULL_SECRET, PullSecret, TlsProfile};
use berth_reconcile::Watched;

use crate::tls;

/// A kind that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// ClusterManagers.
    Manager,
    /// Nodes of the control plane, by the label of this place in [`CONTROL_PLANE`].
    Node(usize),
    /// What the operator writes.
    Object(objects::Kind),
    /// The TLS settings.
    Tls,
    /// The credentials of the registry.
    Pull,
    /// Their copy in the namespace of the hub.
    PullCopy,
}

/// What is read of an object.
pub(super) enum Fact {
    Manager(Box<ClusterManager>),
    Node,
    Object(Box<Stored>),
    Tls(TlsProfile),
    Pull(PullSecret),
}

/// The labels of nodes of the control plane: of today, and of Kubernetes before 1.24.
pub(super) const CONTROL_PLANE: [&str; 2] = [
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
];

const NODES: [&str; 2] = ["control-plane-nodes", "master-nodes"];

/// The table of kinds. Every hub serves them but for ClusterManagers, whose definition may come later, and NetworkPolicies. Without the permission to list
/// nodes, their number is not known. `namespace`: of the operator.
pub(super) fn watched(namespace: &str) -> Vec<(Kind, Watched<Fact>)> {
    let managers = GroupVersionResource::new(
        "operator.open-cluster-management.io",
        "v1",
        "clustermanagers",
    );
    let managers = Watched::new("clustermanagers", managers, |item| {
        Ok(Fact::Manager(Box::new(item.parse()?)))
    });
    let mut rows = vec![
        (Kind::Manager, managers.optional()),
        (Kind::Tls, tls::row(namespace, Fact::Tls)),
        (Kind::Pull, pull_row(namespace)),
    ];
    for (place, (name, label)) in NODES.into_iter().zip(CONTROL_PLANE).enumerate() {
        let nodes = GroupVersionResource::new("", "v1", "nodes");
        let nodes = Watched::new(name, nodes, |_| Ok(Fact::Node));
        rows.push((Kind::Node(place), nodes.labelled(label).optional()));
    }
    let copies = objects_of("pull-secret-copies", objects::Kind::Secret);
    let copies = copies.within(HUB_NAMESPACE).named(PULL_SECRET);
    rows.push((Kind::PullCopy, copies));
    for kind in objects::Kind::ALL {
        let row = objects_of(kind.name(), kind);
        let row = match kind {
            // The operator may read this one only.
            objects::Kind::Secret => row.within(HUB_NAMESPACE).named(&certificates()),
            objects::Kind::NetworkPolicy => row.within(HUB_NAMESPACE).labelled(CREATED_BY),
            _ if kind.is_cluster_scoped() => row.labelled(CREATED_BY),
            _ => row.within(HUB_NAMESPACE).labelled(CREATED_BY),
        };
        rows.push((Kind::Object(kind), row));
    }
    rows
}

fn objects_of(name: &'static str, kind: objects::Kind) -> Watched<Fact> {
    let row = Watched::new(name, kind.resource(), |item| {
        Ok(Fact::Object(Box::new(Stored::read(item.json, CREATED_BY)?)))
    });
    // Optional for the kit: the world says what it waits for.
    row.optional()
}

/// The row of the credentials of the registry. They need not be there, and OCM's roles need not allow them.
fn pull_row(namespace: &str) -> Watched<Fact> {
    let row = Watched::new("pull-secret", objects::Kind::Secret.resource(), |item| {
        Ok(Fact::Pull(PullSecret::read(item.json)?))
    });
    row.within(namespace).named(PULL_SECRET).optional()
}

/// The name of the Secret with the gate's certificates.
fn certificates() -> String {
    let secret = files::CERTIFICATES.documents().into_iter().next();
    let name = secret
        .as_ref()
        .and_then(|it| it["metadata"]["name"].as_str());
    name.unwrap_or_default().to_owned()
}

// === impl Kind ===

impl Kind {
    /// The name of its row.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Manager => "clustermanagers",
            Self::Node(place) => NODES.get(place).copied().unwrap_or_default(),
            Self::Object(kind) => kind.name(),
            Self::Tls => "tls-profile",
            Self::Pull => "pull-secret",
            Self::PullCopy => "pull-secret-copies",
        }
    }
}
