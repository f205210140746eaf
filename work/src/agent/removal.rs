//! AppliedManifestWorks that are deleted, or whose ManifestWork is missing on the hub.
//!
//! A deleted one stays until its objects are gone. One without a ManifestWork is deleted after a grace period, unless the hub looks
//! restored from a backup: then it is held until a user confirms, by the annotation [`CONFIRMED`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_api::Now;
use berth_api::labels::APPLIED_MANIFEST_WORK_CLEANUP;
use berth_api::plan::{Event, Plan, Write};
use berth_api::work::{AppliedManifestResourceMeta, AppliedManifestWork};
use berth_reconcile::queue::Done;
use berth_reconcile::{Reference, Regarding, Work, now};
use berth_work_core::{Eviction, HubView, eviction};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::MANAGED;
use super::facts::{applied_has_finalizer, applied_works};
use super::lifecycle::{HUB_VERSION, delete};
use super::objects::Known;
use super::progress::{Progress, Wait};
use super::record;
use super::removing::remove_all;
use super::world::{Agent, Key};

/// The name of the reconciler in metrics and logs.
const APPLIED: &str = "applied-work";

/// On an AppliedManifestWork: why it stays though its ManifestWork is missing.
pub(crate) const HELD: &str = "berth.open-cluster-management.io/eviction-held";

/// On an AppliedManifestWork, with any value: a user confirms that it may go.
pub(crate) const CONFIRMED: &str = "berth.open-cluster-management.io/eviction-confirmed";

/// Works on an AppliedManifestWork.
pub(crate) async fn work(on: &Work<Agent>, name: &Arc<str>) -> Done {
    let applied = on.world().applied.get(name).cloned();
    let Some(applied) = applied else {
        on.change(|world, _| world.removals.remove(name));
        return settled(None);
    };
    if applied.metadata.deletion_timestamp.is_some() && applied_has_finalizer(&applied) {
        return remove(on, name, &applied).await;
    }
    let held_before = annotation(&applied, HELD).is_some();
    let done = on.settle(&Key::Applied(Arc::clone(name))).await;
    let held = on.world().applied.get(name).cloned();
    if let Some(held) = held.filter(|_| !held_before)
        && let Some(reason) = annotation(&held, HELD)
    {
        tracing::warn!(
            name = &**name,
            reason,
            "the objects of a missing ManifestWork are held"
        );
        let note = format!("{reason}; to delete its objects, set the annotation {CONFIRMED}");
        let event = Event {
            warning: true,
            reason: "EvictionHeld",
            note,
            namespace: None,
        };
        on.tell(MANAGED, &event, &regarding(&held));
    }
    done
}

/// Removes the objects of a deleted AppliedManifestWork, and then its finalizer.
async fn remove(on: &Work<Agent>, name: &Arc<str>, applied: &AppliedManifestWork) -> Done {
    let time = now().instant;
    let wait = on.world().removals.get(name).copied();
    if let Some(wait) = wait.filter(|it| it.until > time) {
        return settled(Some(wait.until));
    }
    let uid = applied.metadata.uid.clone().unwrap_or_default();
    let stored = applied.status.clone().unwrap_or_default().applied_resources;
    // An agent that was killed may not have recorded what it had made.
    let unrecorded = {
        let world = on.world();
        let progress = world.work_of(name).and_then(|it| world.progress.get(it));
        progress.map_or_else(Vec::new, |it| world.unrecorded(it, &stored))
    };
    let all: Vec<_> = stored.iter().cloned().chain(unrecorded).collect();
    let (pending, error) = remove_all(on, &all, &uid).await;
    if let Some(error) = error {
        tracing::debug!(name = &**name, %error, "not all objects could be removed");
        if pending != stored {
            let write = record::status(applied, "appliedResources", json!(pending));
            on.carry_out(vec![write]).await;
        }
        return Done::Failed {
            wait: error.retry_after(),
        };
    }
    let write = if pending.is_empty() {
        without_finalizer(applied)
    } else if pending != stored {
        record::status(applied, "appliedResources", json!(pending))
    } else {
        let wait = Wait::pending(wait, time);
        on.change(|world, _| world.removals.insert(Arc::clone(name), wait));
        return settled(Some(wait.until));
    };
    match on.carry_out(vec![write]).await {
        berth_reconcile::WriteOutcome::Failed(failures) => berth_reconcile::failed(&failures),
        _ if pending.is_empty() => {
            on.change(|world, _| world.removals.remove(name));
            settled(None)
        }
        _ => {
            let wait = Wait::pending(wait, time);
            on.change(|world, _| world.removals.insert(Arc::clone(name), wait));
            settled(Some(wait.until))
        }
    }
}

/// What is due for an AppliedManifestWork that is not deleted.
pub(crate) fn plan(world: &Agent, name: &str, now: Now) -> Plan {
    let Some(applied) = world.applied.get(name) else {
        return Plan::default();
    };
    if applied.metadata.deletion_timestamp.is_some() {
        return Plan::default();
    }
    let work_exists = world.has_work(name);
    let confirmed = annotation(applied, CONFIRMED).is_some();
    let hub = world.hub_view(confirmed);
    let grace = SignedDuration::try_from(world.settings.eviction_grace);
    let grace = grace.unwrap_or(SignedDuration::MAX);
    let mut eviction = eviction(applied, work_exists, &hub, grace, now.wall);
    let held = annotation(applied, HELD);
    // The hub's resourceVersion grows past the one that was seen, and other works come back: a hold stays until it is confirmed.
    if held.is_some() && !confirmed && !matches!(eviction, Eviction::Keep | Eviction::Foreign) {
        eviction = match eviction {
            Eviction::Hold(hold) => Eviction::Hold(hold),
            _ => return without_start(applied),
        };
    }
    match eviction {
        Eviction::Foreign => Plan::default(),
        Eviction::Keep if held.is_some() => annotate(applied, HELD, None).into(),
        Eviction::Keep => without_start(applied),
        Eviction::Hold(hold) if held.is_none() => {
            annotate(applied, HELD, Some(&hold.to_string())).into()
        }
        Eviction::Hold(_) => without_start(applied),
        Eviction::Start => record::status(applied, "evictionStartTime", json!(now.wall)).into(),
        Eviction::Wait(until) => {
            let left = Duration::try_from(until.duration_since(now.wall)).unwrap_or_default();
            Plan {
                again: Some(now.instant + left),
                ..Plan::default()
            }
        }
        Eviction::Evict => delete(applied, "its ManifestWork is missing on the hub").into(),
    }
}

/// Removes the time since when the ManifestWork is missing.
fn without_start(applied: &AppliedManifestWork) -> Plan {
    let started = applied.status.as_ref().map(|it| &it.eviction_start_time);
    if started.is_none_or(Option::is_none) {
        return Plan::default();
    }
    record::status(applied, "evictionStartTime", Value::Null).into()
}

fn without_finalizer(applied: &AppliedManifestWork) -> Write {
    let metadata = &applied.metadata;
    let mut finalizers = metadata.finalizers.clone().unwrap_or_default();
    finalizers.retain(|it| it != APPLIED_MANIFEST_WORK_CLEANUP);
    patch(applied, json!({"finalizers": finalizers}))
}

fn annotate(applied: &AppliedManifestWork, key: &str, value: Option<&str>) -> Write {
    patch(applied, json!({"annotations": {key: value}}))
}

/// A patch of metadata.
fn patch(applied: &AppliedManifestWork, mut changes: serde_json::Value) -> Write {
    let metadata = &applied.metadata;
    changes["uid"] = json!(metadata.uid);
    changes["resourceVersion"] = json!(metadata.resource_version);
    let name = metadata.name.clone().unwrap_or_default();
    Write::patch(APPLIED, applied_works(), name, json!({"metadata": changes}))
}

fn annotation<'a>(applied: &'a AppliedManifestWork, key: &str) -> Option<&'a str> {
    let annotations = applied.metadata.annotations.as_ref()?;
    annotations.get(key).map(String::as_str)
}

fn regarding(applied: &AppliedManifestWork) -> Regarding {
    let metadata = &applied.metadata;
    Regarding {
        api_version: "work.open-cluster-management.io/v1".to_owned(),
        kind: "AppliedManifestWork".to_owned(),
        metadata: Reference {
            name: metadata.name.clone().unwrap_or_default(),
            uid: metadata.uid.clone(),
            ..Reference::default()
        },
    }
}

fn settled(again: Option<Instant>) -> Done {
    Done::Settled { again, pause: None }
}

// === impl Agent ===

impl Agent {
    /// Returns true if the hub has the ManifestWork of this AppliedManifestWork.
    fn has_work(&self, applied: &str) -> bool {
        let work = self.work_of(applied);
        work.is_some_and(|it| self.works.contains_key(it))
    }

    /// The AppliedManifestWorks of this hub and this agent that stay, as the hub looks restored.
    pub(crate) fn held(&self) -> usize {
        let applied = self.applied.iter();
        let held =
            applied.filter(|(name, it)| annotation(it, HELD).is_some() && !self.has_work(name));
        held.count()
    }

    fn hub_view(&self, confirmed: bool) -> HubView {
        let (hash, agent) = (&self.connection.hub_hash, &self.connection.agent_id);
        let ours = (self.applied.iter())
            .filter(|(name, it)| it.spec.agent_id == *agent && self.work_of(name).is_some());
        let mut view = HubView {
            hub_hash: hash.clone(),
            agent_id: agent.clone(),
            seen: self.hub_versions.map(|(highest, _)| highest),
            now: self.hub_versions.map(|(_, listed)| listed),
            applied: 0,
            missing: 0,
            confirmed,
        };
        for (name, applied) in ours {
            view.applied += 1;
            view.missing += usize::from(!self.has_work(name));
            let seen = annotation(applied, HUB_VERSION).and_then(|it| it.parse().ok());
            view.seen = view.seen.max(seen);
        }
        view
    }

    /// Objects of a work that exist and are not in the list, those of former manifests first.
    pub(crate) fn unrecorded(
        &self,
        progress: &Progress,
        stored: &[AppliedManifestResourceMeta],
    ) -> Vec<AppliedManifestResourceMeta> {
        let existing = progress
            .entries()
            .filter_map(|entry| match self.known(entry) {
                Known::Present(arrived) => Some(record::meta(entry, &arrived.uid)),
                Known::Unknown | Known::Missing => None,
            });
        let all = progress.unlisted.iter().cloned().chain(existing);
        all.filter(|it| !stored.contains(it)).collect()
    }
}
