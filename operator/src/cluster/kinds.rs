//! The table of kinds: what is watched, and what is read of it.

use std::sync::LazyLock;

use berth_api::GroupVersionResource;
use berth_api::operator::Klusterlet;
use berth_operator_core::cluster::{AppliedWork, kinds_here, shared};
use berth_operator_core::names::CREATED_BY_KLUSTERLET;
use berth_operator_core::objects::{self, Id, Stored};
use berth_operator_core::{PULL_SECRET, PullSecret, TlsProfile};
use berth_reconcile::Watched;

use super::secrets::SECRETS;
use super::works::{WorkObject, resource_of_works};
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
    /// The credentials of the registry, and their copies.
    Pull,
    /// Namespaces of add-ons.
    Space,
}

/// What is read of an object.
pub(super) enum Fact {
    Klusterlet(Box<Klusterlet>),
    Object(Box<Stored>),
    Work(Box<AppliedWork>),
    Tls(TlsProfile),
    Pull(Box<Stored>, PullSecret),
    /// Whether it is not being deleted.
    Space(bool),
}

/// The label of other namespaces of add-ons than the usual one.
const ADDON_SPACE: &str = "addon.open-cluster-management.io/namespace=true";

/// What all Klusterlets share.
pub(super) static SHARED: LazyLock<Vec<Id>> = LazyLock::new(shared);

/// The names of their rows.
const ROWS: [&str; 6] = [
    "bootstrap-secrets",
    "hub-secrets",
    "managed-secrets",
    "work-agent-secrets",
    "agent-secrets",
    "registration-agent-secrets",
];

/// The table of kinds. Every cluster serves them but for Klusterlets, whose definition may come later.
/// `namespace`: of the operator.
pub(super) fn watched(namespace: &str) -> Vec<(Kind, Watched<Fact>)> {
    let klusterlets =
        GroupVersionResource::new("operator.open-cluster-management.io", "v1", "klusterlets");
    let klusterlets = Watched::new("klusterlets", klusterlets, |item| {
        Ok(Fact::Klusterlet(Box::new(item.parse()?)))
    });
    let mut rows = vec![
        (Kind::Klusterlet, klusterlets.optional()),
        (Kind::Tls, tls::row(namespace, Fact::Tls)),
        (Kind::Pull, pull_secrets()),
        (Kind::Space, spaces()),
    ];
    for (place, (row, name)) in ROWS.into_iter().zip(SECRETS).enumerate() {
        // Without its content, which is read when it is used.
        let secrets = rows_of(row, objects::Kind::Secret).named(name);
        rows.push((Kind::Secret(place), secrets));
    }
    for kind in kinds_here() {
        let row = objects_of(kind).labelled(CREATED_BY_KLUSTERLET);
        rows.push((Kind::Object(kind), row));
    }
    for (place, id) in SHARED.iter().enumerate() {
        rows.push((Kind::Shared(place), objects_of(id.kind).named(&id.name)));
    }
    rows
}

/// The row of the credentials of the registry. They need not be there, and OCM's roles need not allow them.
fn pull_secrets() -> Watched<Fact> {
    let secrets = objects::Kind::Secret.resource();
    let row = Watched::new("pull-secrets", secrets, |item| {
        let stored = Stored::read(item.json, CREATED_BY_KLUSTERLET)?;
        Ok(Fact::Pull(Box::new(stored), PullSecret::read(item.json)?))
    });
    row.named(PULL_SECRET).optional()
}

/// The row of other namespaces of add-ons.
fn spaces() -> Watched<Fact> {
    let namespaces = objects::Kind::Namespace.resource();
    let row = Watched::new("addon-namespaces", namespaces, |item| {
        let space = Stored::read(item.json, CREATED_BY_KLUSTERLET)?;
        Ok(Fact::Space(!space.is_deleting()))
    });
    row.labelled(ADDON_SPACE).optional()
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
            Self::Pull => "pull-secrets",
            Self::Space => "addon-namespaces",
        }
    }
}
