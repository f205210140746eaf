//! What the hub's health depends on and is cheap to follow: the Leases and the Deployments in the namespace of its components, and the
//! registrations of webhooks.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

use berth_admin::answers::{HUB_NAMESPACE, Hub, LEADERS, Leader};
use berth_reconcile::{Item, Watched};
use serde::Deserialize;
use serde_json::Value;

use super::lease::{LEASES, leases};
use super::{Fact, Kind, Objects, Open, Tasks, watched};
use crate::answers::Connection;

/// Upper bound on the objects of each kind that are kept. Changes of further ones are not seen.
const MOST_PARTS: usize = 200;

/// The kinds.
#[derive(Debug)]
pub(crate) struct Parts {
    leases: Kind<Objects<LeaseOfLeader>>,
    deployments: Kind<Objects<Revision<Deployments>>>,
    validating: Kind<Objects<Revision<Validating>>>,
    mutating: Kind<Objects<Revision<Mutating>>>,
}

/// The kinds, followed for as long as this lives.
#[derive(Debug)]
pub(crate) struct OpenParts {
    pub(crate) leases: Open<Objects<LeaseOfLeader>>,
    deployments: Open<Objects<Revision<Deployments>>>,
    validating: Open<Objects<Revision<Validating>>>,
    mutating: Open<Objects<Revision<Mutating>>>,
}

/// The Lease of a controller's election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeaseOfLeader(pub(crate) Leader);

/// What tells whether an object has changed.
#[derive(Debug)]
pub(crate) struct Revision<K> {
    name: String,
    generation: i64,
    available: i64,
    kind: PhantomData<K>,
}

/// The generation and the available replicas, by kind and name.
pub(crate) type Revisions = BTreeMap<(&'static str, String), (i64, i64)>;

/// A kind whose changes are followed.
pub(crate) trait Followed: Send + Sync + 'static {
    const RESOURCE: &'static str;
    const GROUP: &'static str;
    const NAME: &'static str;
    const NAMESPACE: &'static str;
}

#[derive(Debug)]
pub(crate) enum Deployments {}
#[derive(Debug)]
pub(crate) enum Validating {}
#[derive(Debug)]
pub(crate) enum Mutating {}

// === impl Followed ===

impl Followed for Deployments {
    const RESOURCE: &'static str = "deployments.apps";
    const GROUP: &'static str = "apps";
    const NAME: &'static str = "deployments";
    const NAMESPACE: &'static str = HUB_NAMESPACE;
}

impl Followed for Validating {
    const RESOURCE: &'static str = "validatingwebhookconfigurations.admissionregistration.k8s.io";
    const GROUP: &'static str = "admissionregistration.k8s.io";
    const NAME: &'static str = "validatingwebhookconfigurations";
    const NAMESPACE: &'static str = "";
}

impl Followed for Mutating {
    const RESOURCE: &'static str = "mutatingwebhookconfigurations.admissionregistration.k8s.io";
    const GROUP: &'static str = "admissionregistration.k8s.io";
    const NAME: &'static str = "mutatingwebhookconfigurations";
    const NAMESPACE: &'static str = "";
}

/// Those of a namespace; of all, if it is empty.
fn within(watched: Watched<()>, namespace: &str) -> Watched<()> {
    match namespace {
        "" => watched,
        namespace => watched.within(namespace),
    }
}

// === impl Revision ===

impl<K: Followed> Fact for Revision<K> {
    const RESOURCE: &'static str = K::RESOURCE;

    fn most() -> usize {
        MOST_PARTS
    }

    fn watched() -> Watched<()> {
        within(watched(K::NAME, (K::GROUP, "v1", K::NAME)), K::NAMESPACE)
    }

    fn read(item: &Item<'_>) -> Option<Self> {
        #[derive(Deserialize)]
        struct Object {
            metadata: Metadata,
            status: Option<Status>,
        }
        #[derive(Deserialize)]
        struct Metadata {
            generation: Option<i64>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Status {
            available_replicas: Option<i64>,
        }
        let object: Object = item.parse().ok()?;
        Some(Self {
            name: item.meta.name.clone(),
            generation: object.metadata.generation.unwrap_or(0),
            available: object
                .status
                .and_then(|it| it.available_replicas)
                .unwrap_or(0),
            kind: PhantomData,
        })
    }
}

// === impl LeaseOfLeader ===

impl Fact for LeaseOfLeader {
    const RESOURCE: &'static str = LEASES;

    fn most() -> usize {
        MOST_PARTS
    }

    fn watched() -> Watched<()> {
        leases().within(HUB_NAMESPACE)
    }

    fn read(item: &Item<'_>) -> Option<Self> {
        let name = item.meta.name.as_str();
        let is_leaders = LEADERS.iter().any(|(lease, _)| *lease == name);
        let lease: Value = is_leaders.then(|| item.parse().ok())??;
        Leader::read(name, &lease).map(Self)
    }
}

// === impl Parts ===

impl Parts {
    pub(crate) fn new(hub: &Hub, tasks: &Tasks) -> Self {
        Self {
            leases: Kind::new(hub.clone(), tasks.clone()),
            deployments: Kind::new(hub.clone(), tasks.clone()),
            validating: Kind::new(hub.clone(), tasks.clone()),
            mutating: Kind::new(hub.clone(), tasks.clone()),
        }
    }

    /// Follows the kinds for as long as the result lives.
    pub(crate) fn open(&self) -> OpenParts {
        OpenParts {
            leases: self.leases.open(),
            deployments: self.deployments.open(),
            validating: self.validating.open(),
            mutating: self.mutating.open(),
        }
    }
}

// === impl OpenParts ===

impl OpenParts {
    /// Tells changes of all kinds.
    pub(crate) fn changes(&self) -> [tokio::sync::watch::Receiver<u64>; 4] {
        [
            self.leases.changes(),
            self.deployments.changes(),
            self.validating.changes(),
            self.mutating.changes(),
        ]
    }

    /// The leaders; None unless the Leases are followed.
    pub(crate) fn leaders(&self) -> Option<Vec<Arc<LeaseOfLeader>>> {
        self.leases.with(|leases, connection| {
            let is_known = connection.state == Connection::Connected;
            is_known.then(|| leases.iter().cloned().collect())
        })
    }

    /// The revisions of all Deployments and registrations; None unless all three kinds are followed.
    pub(crate) fn revisions(&self) -> Option<Revisions> {
        let mut revisions = Revisions::new();
        let all = add(&self.deployments, &mut revisions)
            && add(&self.validating, &mut revisions)
            && add(&self.mutating, &mut revisions);
        all.then_some(revisions)
    }
}

/// Adds the revisions of a kind. Returns false if it is not followed.
fn add<K: Followed>(open: &Open<Objects<Revision<K>>>, revisions: &mut Revisions) -> bool {
    open.with(|objects, connection| {
        let each = objects.iter().map(|it| {
            let key = (K::NAME, it.name.clone());
            (key, (it.generation, it.available))
        });
        revisions.extend(each);
        connection.state == Connection::Connected
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_counts_for_the_checks_is_kept() {
        let text = json!({
            "metadata": {"name": "d", "generation": 3, "resourceVersion": "9"},
            "status": {"availableReplicas": 2, "observedGeneration": 3},
        });
        let text = text.to_string();
        let item = Item::read(text.as_bytes()).unwrap();
        let read = Revision::<Deployments>::read(&item).unwrap();
        assert_eq!(
            (read.name.as_str(), read.generation, read.available),
            ("d", 3, 2)
        );
        let lease = |name: &str| {
            let text = json!({"metadata": {"name": name}, "spec": {"holderIdentity": "a"}});
            let text = text.to_string();
            LeaseOfLeader::read(&Item::read(text.as_bytes()).unwrap())
        };
        assert_eq!(lease("placement-lock").unwrap().0.holder, "a");
        assert_eq!(lease("another"), None);
    }
}
