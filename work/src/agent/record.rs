//! The objects that the agent has applied for a ManifestWork, as its AppliedManifestWork lists them; and the deletion of those that left
//! the manifests.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use berth_api::plan::{Action, Target, Write};
use berth_api::work::{AppliedManifestResourceMeta, AppliedManifestWork};
use berth_hub::CallError;
use berth_reconcile::{Handle, WriteOutcome, now};
use berth_work_core::{Listed, Retry, identity, recorded, stale};
use serde_json::{Value, json};

use super::facts::applied_works;
use super::lifecycle::WORK;
use super::objects::{Entry, Known};
use super::progress::{Progress, Target as Of, Wait};
use super::removing::remove_all;
use super::rivals::{self, Part};
use super::targets::Ready;
use super::world::Agent;

/// Records the objects of a work that exist, and deletes those that it does not prescribe any more, if `deletes`. Returns when to look
/// again.
///
/// # Errors
/// The managed cluster does not respond. Objects that could not be deleted stay in the list, which is written first.
pub(crate) async fn record(
    on: &Handle<Agent>,
    name: &str,
    ready: &Ready,
    deletes: bool,
) -> Result<Option<Instant>, CallError> {
    let now = now().instant;
    let metadata = &ready.applied.metadata;
    let (applied_name, uid) = (&metadata.name, metadata.uid.clone().unwrap_or_default());
    let applied_name = applied_name.as_deref().unwrap_or_default();
    let (stored, existing, remove, mut kept, wait, was_undone, contested) = {
        let world = on.world();
        // Manifests that were replaced meanwhile must not delete what the new ones have.
        if !world.is_current(name, ready) {
            return Ok(None);
        }
        let (Some(progress), Some(applied)) =
            (world.progress.get(name), world.applied.get(applied_name))
        else {
            return Ok(None);
        };
        let stored = applied.status.clone().unwrap_or_default().applied_resources;
        let written = world.rivals.last(applied_name, Part::List);
        let was_undone = written.is_some_and(|it| it != rivals::mark_of_list(&stored));
        let contested = world.rivals.is_on(applied_name, Part::List, now);
        let listed: Vec<_> = progress.slots.iter().map(|it| listed(&it.target)).collect();
        let recorded: Vec<_> = with_unlisted(&progress.unlisted, &stored).collect();
        let stale = stale(&recorded, &listed);
        let remove: Vec<_> = stale.remove.into_iter().cloned().collect();
        let mut kept: Vec<_> = stale.held.into_iter().cloned().collect();
        let existing = existing(&world, progress, &stored, &mut kept);
        let wait = progress.stale_wait;
        (stored, existing, remove, kept, wait, was_undone, contested)
    };
    let (mut again, mut failed) = (None, None);
    if was_undone || contested.is_some() {
        // It is not known which objects another agent has listed: they stay, and are listed.
        let over = contested.unwrap_or(now + rivals::KEEP);
        again = (!remove.is_empty()).then_some(over);
        kept.extend(remove);
    } else if !deletes {
        kept.extend(remove);
    } else if remove.is_empty() {
        on.change(|world, _| set_wait(world, name, None));
    } else if let Some(wait) = wait.filter(|it| it.until > now) {
        kept.extend(remove);
        again = Some(wait.until);
    } else {
        let (pending, error) = remove_all(on, &remove, &uid).await;
        // An API server that answers for other objects keeps only these waiting.
        failed = error.filter(|it| it.code() == 0);
        let next = (!pending.is_empty()).then(|| Wait::pending(wait, now));
        again = next.map(|it| it.until);
        kept.extend(pending.into_iter().map(|(object, _)| object));
        on.change(|world, _| set_wait(world, name, next));
    }
    let resources = recorded(existing, kept);
    let is_due = resources != stored;
    if is_due {
        drop(stored);
        // One after the other: as values, thousands of entries take megabytes.
        let resources: Value = resources.into_iter().map(|it| json!(it)).collect();
        let write = on
            .world()
            .applied
            .get(applied_name)
            .map(|applied| status(applied, "appliedResources", resources));
        let outcome = on.carry_out(write.into_iter().collect()).await;
        if matches!(outcome, WriteOutcome::Failed(_)) {
            let wait = on.change(|world, _| {
                let progress = world.progress.get_mut(name)?;
                let wait = Wait::after(progress.list_wait, Retry::Backoff, now);
                progress.list_wait = Some(wait);
                Some(wait.until)
            });
            again = [again, wait].into_iter().flatten().min();
            return failed.map_or(Ok(again), Err);
        }
    }
    if is_due || was_undone {
        wrote(on, applied_name, was_undone);
    }
    on.change(|world, _| {
        if let Some(progress) = world.progress.get_mut(name) {
            progress.unlisted.clear();
            progress.list_wait = None;
        }
    });
    failed.map_or(Ok(again), Err)
}

/// Notes that the list is as it should be now.
fn wrote(on: &Handle<Agent>, applied: &str, was_undone: bool) {
    let contested = on.change(|world, _| {
        let (name, it) = world.applied.get_key_value(applied)?;
        let (name, it) = (Arc::clone(name), Arc::clone(it));
        let list = it.status.as_ref().map(|it| &*it.applied_resources);
        let mark = rivals::mark_of_list(list.unwrap_or_default());
        let is_news = (world.rivals).wrote(&name, Part::List, mark, was_undone, now().instant);
        is_news.then_some(it)
    });
    if let Some(applied) = contested {
        rivals::tell(on, &applied);
    }
}

/// The stored list with the objects that it lacks. Of one object, the entry that was not stored yet counts: it has the newer UID.
fn with_unlisted<'a>(
    unlisted: &'a [AppliedManifestResourceMeta],
    stored: &'a [AppliedManifestResourceMeta],
) -> impl Iterator<Item = AppliedManifestResourceMeta> + 'a {
    let newer: HashSet<_> = unlisted.iter().map(identity).collect();
    let stored = stored
        .iter()
        .filter(move |it| !newer.contains(&identity(it)));
    unlisted.iter().chain(stored).cloned()
}

/// The entries of the manifests whose objects exist. What is not known of an object changes nothing in its stored entry.
fn existing(
    world: &Agent,
    progress: &Progress,
    stored: &[AppliedManifestResourceMeta],
    kept: &mut Vec<AppliedManifestResourceMeta>,
) -> Vec<AppliedManifestResourceMeta> {
    let mut existing = Vec::new();
    // Of several entries of one object the first counts.
    let stored: HashMap<_, _> = stored.iter().rev().map(|it| (identity(it), it)).collect();
    for entry in progress.entries() {
        match world.known(entry) {
            Known::Present(arrived) => existing.push(meta(entry, &arrived.uid)),
            Known::Missing => {}
            Known::Unknown => {
                let of = meta(entry, "");
                kept.extend(stored.get(&identity(&of)).copied().cloned());
            }
        }
    }
    existing
}

fn listed(target: &Of) -> Listed {
    match target {
        Of::Object(entry) => Listed::Object(meta(entry, "")),
        Of::Unmapped(meta) => Listed::Unmapped {
            group: meta.group.clone(),
            namespace: meta.namespace.clone(),
            name: meta.name.clone(),
        },
        Of::Unusable(_) => Listed::Unknown,
    }
}

fn set_wait(world: &mut Agent, name: &str, wait: Option<Wait>) {
    if let Some(progress) = world.progress.get_mut(name) {
        progress.stale_wait = wait;
    }
}

/// The entry of an object in the list.
pub(crate) fn meta(entry: &Entry, uid: &str) -> AppliedManifestResourceMeta {
    let resource = &entry.served.resource;
    AppliedManifestResourceMeta {
        group: resource.group.clone(),
        name: entry.object.name().to_owned(),
        namespace: entry.object.namespace().to_owned(),
        resource: resource.resource.clone(),
        uid: uid.to_owned(),
        version: resource.version.clone(),
    }
}

/// A patch of a field of the status of an AppliedManifestWork.
pub(crate) fn status(applied: &AppliedManifestWork, field: &str, value: Value) -> Write {
    let metadata = &applied.metadata;
    let mut body = json!({
        "metadata": {"uid": metadata.uid, "resourceVersion": metadata.resource_version},
        "status": {},
    });
    // `json!` would copy the value, which may have megabytes.
    body["status"][field] = value;
    Write {
        target: Target {
            resource: applied_works(),
            namespace: None,
            name: metadata.name.clone().unwrap_or_default(),
        },
        action: Action::Patch {
            subresource: Some("status"),
            body,
        },
        reconciler: WORK,
        events: Vec::new(),
    }
}
