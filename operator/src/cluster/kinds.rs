//! The table of kinds: what is watched, and what is read of it.

use std::sync::LazyLock;

use berth_api::GroupVersionResource;
use berth_api::operator::Klusterlet;
use berth_operator_core::TlsProfile;
use berth_operator_core::cluster::{
    AGENT_SECRETS, AppliedWork, HUB_SECRET, MANAGED_SECRET, shared,
};
use berth_operator_core::names::CREATED_BY_KLUSTERLET;
use berth_operator_core::objects::{self, Id, Stored};
use berth_reconcile::{RowOf, Watched};
use serde::Deserialize;

use super::world::Operator;
use crate::tls;

/// A kind that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// Klusterlets.
    Klusterlet,
    /// What the operator writes for one of them.
    Object(objects::Kind),
    /// What they share, by its place in [`SHARED`].
    Shared(usize),
    /// The Secrets with credentials, by their place in [`SECRETS`].
    Secret(usize),
    /// AppliedManifestWorks, while a Klusterlet is being deleted.
    Work,
    /// The TLS settings.
    Tls,
}

/// What is read of an object.
pub(super) enum Fact {
    Klusterlet(Box<Klusterlet>),
    Object(Box<Stored>),
    Work(Box<AppliedWork>),
    Tls(TlsProfile),
}

/// The kinds of what is written for one Klusterlet.
pub(super) const OWN: [objects::Kind; 7] = [
    objects::Kind::Namespace,
    objects::Kind::Account,
    objects::Kind::ClusterRole,
    objects::Kind::ClusterRoleBinding,
    objects::Kind::Role,
    objects::Kind::RoleBinding,
    objects::Kind::Deployment,
];

/// What all Klusterlets share.
pub(super) static SHARED: LazyLock<Vec<Id>> = LazyLock::new(shared);

/// The Secrets with credentials: for the hub, and for a managed cluster that is not the one of its agent.
pub(super) const SECRETS: [&str; 5] = [
    BOOTSTRAP_SECRET,
    HUB_SECRET,
    MANAGED_SECRET,
    AGENT_SECRETS[0],
    AGENT_SECRETS[1],
];

/// The Secret with the credentials of the first request to the hub.
pub(super) const BOOTSTRAP_SECRET: &str = "bootstrap-hub-kubeconfig";

/// The names of their rows.
const ROWS: [&str; 5] = [
    "bootstrap-secrets",
    "hub-secrets",
    "managed-secrets",
    "work-agent-secrets",
    "agent-secrets",
];

/// The table of kinds. Every cluster serves them but for Klusterlets, whose definition may come later.
/// `namespace`: of the operator.
pub(super) fn watched(namespace: &str) -> Vec<RowOf<Operator>> {
    let klusterlets =
        GroupVersionResource::new("operator.open-cluster-management.io", "v1", "klusterlets");
    let klusterlets = Watched::new("klusterlets", klusterlets, |item| {
        Ok(Fact::Klusterlet(Box::new(item.parse()?)))
    });
    let mut rows = vec![
        (Kind::Klusterlet, klusterlets.optional()),
        (Kind::Tls, tls::row(namespace, Fact::Tls)),
    ];
    for (place, (row, name)) in ROWS.into_iter().zip(SECRETS).enumerate() {
        // Without its content, which is read when it is used.
        let secrets = rows_of(row, objects::Kind::Secret).named(name);
        rows.push((Kind::Secret(place), secrets));
    }
    for kind in OWN {
        let row = objects_of(kind).labelled(CREATED_BY_KLUSTERLET);
        rows.push((Kind::Object(kind), row));
    }
    for (place, id) in SHARED.iter().enumerate() {
        rows.push((Kind::Shared(place), objects_of(id.kind).named(&id.name)));
    }
    rows
}

fn objects_of(kind: objects::Kind) -> Watched<Fact> {
    rows_of(kind.name(), kind)
}

fn rows_of(name: &'static str, kind: objects::Kind) -> Watched<Fact> {
    let row = Watched::new(name, kind.resource(), |item| {
        Ok(Fact::Object(Box::new(Stored::read(
            item.json,
            CREATED_BY_KLUSTERLET,
        )?)))
    });
    // Optional for the kit: the world says what it waits for.
    row.optional()
}

/// The row of AppliedManifestWorks, which a cluster need not serve.
pub(super) fn works() -> Watched<Fact> {
    let works = Watched::new("appliedmanifestworks", resource_of_works(), |item| {
        let work: WorkObject = serde_json::from_str(item.json)?;
        Ok(Fact::Work(Box::new(work.into())))
    });
    works.optional()
}

/// AppliedManifestWorks.
pub(super) fn resource_of_works() -> GroupVersionResource {
    GroupVersionResource::new(
        "work.open-cluster-management.io",
        "v1",
        "appliedmanifestworks",
    )
}

/// What is read of an AppliedManifestWork.
#[derive(Deserialize)]
pub(super) struct WorkObject {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    uid: String,
    resource_version: String,
    finalizers: Option<Vec<String>>,
    deletion_timestamp: Option<String>,
}

#[derive(Default, Deserialize)]
struct Spec {
    #[serde(rename = "agentID", default)]
    agent: String,
}

impl From<WorkObject> for AppliedWork {
    fn from(WorkObject { metadata, spec }: WorkObject) -> Self {
        Self {
            uid: metadata.uid,
            resource_version: metadata.resource_version,
            finalizers: metadata.finalizers.unwrap_or_default(),
            is_deleting: metadata.deletion_timestamp.is_some(),
            agent: spec.agent,
        }
    }
}

// === impl Kind ===

impl Kind {
    /// The name of its row.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Klusterlet => "klusterlets",
            Self::Object(kind) => kind.name(),
            Self::Shared(place) => SHARED.get(place).map_or("", |it| it.kind.name()),
            Self::Secret(place) => ROWS.get(place).copied().unwrap_or_default(),
            Self::Work => "appliedmanifestworks",
            Self::Tls => "tls-profile",
        }
    }
}
