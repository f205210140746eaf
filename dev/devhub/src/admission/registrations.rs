//! The registered webhooks, read from the store again whenever a registration has changed.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use k8s_openapi::api::admissionregistration::v1::MutatingWebhook;

use super::hook::Hook;
use crate::storage::{StorageId, Store};

static MUTATING: LazyLock<StorageId> =
    LazyLock::new(|| storage("mutatingwebhookconfigurations.admissionregistration.k8s.io"));
static VALIDATING: LazyLock<StorageId> =
    LazyLock::new(|| storage("validatingwebhookconfigurations.admissionregistration.k8s.io"));

fn storage(name: &str) -> StorageId {
    StorageId(Arc::from(name))
}

/// All webhooks, in the order in which they are called: registrations by name, then as they stand in there.
#[derive(Debug, Default)]
pub(super) struct Hooks {
    pub(super) mutating: Vec<Hook>,
    pub(super) validating: Vec<Hook>,
    /// Why a registration could not be read. Writes check registrations, so that this should not happen.
    pub(super) broken: Option<String>,
    /// The revisions of both kinds.
    read_at: (u64, u64),
}

/// Keeps the webhooks until a registration changes.
#[derive(Debug, Default)]
pub(super) struct Registrations {
    kept: Mutex<Arc<Hooks>>,
}

impl Registrations {
    /// The webhooks as of this moment, and whether they are others than at the last call. A write that comes after one of a
    /// registration sees it.
    pub(super) fn current(&self, store: &Store) -> (Arc<Hooks>, bool) {
        let now = (store.revision_of(&MUTATING), store.revision_of(&VALIDATING));
        // Held while reading, so that many requests after a change read once.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.read_at == now {
            return (Arc::clone(&kept), false);
        }
        let mut broken = None;
        let mutating = read(store, &MUTATING, &mut broken);
        let validating = read(store, &VALIDATING, &mut broken);
        // Revisions were asked for first: what changed in between is read again.
        *kept = Arc::new(Hooks {
            mutating,
            validating,
            broken,
            read_at: now,
        });
        (Arc::clone(&kept), true)
    }
}

fn read(store: &Store, storage: &StorageId, broken: &mut Option<String>) -> Vec<Hook> {
    let mut all = Vec::new();
    for stored in store.all(storage, None).items {
        let webhooks = stored.object.at(&["webhooks"]).cloned().unwrap_or_default();
        match serde_json::from_value::<Option<Vec<MutatingWebhook>>>(webhooks) {
            Ok(webhooks) => all.extend(webhooks.into_iter().flatten().map(Hook::from)),
            Err(error) => {
                let name = stored.object.name();
                tracing::error!(registration = name, storage = &*storage.0, %error, "a webhook registration cannot be read");
                *broken = Some(format!("{} {name:?} cannot be read: {error}", storage.0));
            }
        }
    }
    all
}
