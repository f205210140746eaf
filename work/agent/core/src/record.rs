//! The objects that the agent has applied for a ManifestWork, as its AppliedManifestWork lists them; and those that left the manifests.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use berth_api::plan::{self, Action, Write};
use berth_api::work::{AppliedManifestResourceMeta, AppliedManifestWork};
use berth_work_core::{Listed, Retry, identity, stale};
use serde_json::{Value, json};

use super::facts::applied_works;
use super::objects::{Entry, Known};
use super::progress::{Progress, Target};
use super::ready::Ready;
use super::rivals::{self, Part};
use super::view::View;
use super::wait::Wait;

/// The name of the reconciler in metrics and logs.
pub(crate) const WORK: &str = "work";

/// What is to be recorded of a work.
#[derive(Debug)]
pub struct Record {
    /// The list, as it is stored.
    pub stored: Vec<AppliedManifestResourceMeta>,
    /// The entries of the objects that exist.
    pub existing: Vec<AppliedManifestResourceMeta>,
    /// Objects that are not prescribed any more, to be deleted.
    pub remove: Vec<AppliedManifestResourceMeta>,
    /// Entries that stay.
    pub kept: Vec<AppliedManifestResourceMeta>,
    /// When to look again, if objects stay that are not prescribed any more.
    pub again: Option<Instant>,
    /// Another agent has changed the list.
    pub was_undone: bool,
    /// The wait for objects that are not gone yet.
    wait: Option<Wait>,
}

impl View {
    /// What is to be recorded of a work; its objects that are not prescribed any more are to be deleted if `deletes`. `None`: its manifests
    /// were replaced meanwhile. They must not delete what the new ones have.
    pub(crate) fn record(
        &mut self,
        name: &str,
        ready: &Ready,
        deletes: bool,
        now: Instant,
    ) -> Option<Record> {
        if !self.is_current(name, ready) {
            return None;
        }
        let applied_name = ready.applied.metadata.name.as_deref().unwrap_or_default();
        let (progress, applied) = (self.progress.get(name)?, self.applied.get(applied_name)?);
        let stored = applied.status.clone().unwrap_or_default().applied_resources;
        let was_undone = self.rivals.has_changed(applied_name, &stored);
        let contested = self.rivals.is_on(applied_name, Part::List, now);
        let listed: Vec<_> = progress.slots.iter().map(|it| listed(&it.target)).collect();
        let recorded: Vec<_> = with_unlisted(&progress.unlisted, &stored).collect();
        let stale = stale(&recorded, &listed);
        let remove = stale.remove.into_iter().cloned().collect();
        let mut kept: Vec<_> = stale.held.into_iter().cloned().collect();
        let existing = existing(self, progress, &recorded, &mut kept);
        let mut record = Record {
            stored,
            existing,
            remove,
            kept,
            again: None,
            was_undone,
            wait: progress.stale_wait,
        };
        if was_undone || contested.is_some() {
            // It is not known which objects another agent has listed: they stay, and are listed.
            let over = contested.unwrap_or(now + rivals::KEEP);
            record.stay((!record.remove.is_empty()).then_some(over));
        } else if !deletes {
            record.stay(None);
        } else if record.remove.is_empty() {
            self.set_wait(name, None);
        } else if let Some(wait) = record.wait.filter(|it| it.until > now) {
            record.stay(Some(wait.until));
        }
        Some(record)
    }

    /// Notes which of the objects that were to be deleted are not gone yet.
    pub fn removed(
        &mut self,
        name: &str,
        record: &mut Record,
        pending: Vec<AppliedManifestResourceMeta>,
        now: Instant,
    ) {
        let next = (!pending.is_empty()).then(|| Wait::pending(record.wait, now));
        record.again = next.map(|it| it.until);
        record.kept.extend(pending);
        self.set_wait(name, next);
    }

    /// Notes that there is no response to the write of a list with this mark. Returns when to try again.
    pub(crate) fn not_recorded(
        &mut self,
        name: &str,
        ready: &Ready,
        mark: Option<u64>,
        now: Instant,
    ) -> Option<Instant> {
        let spread = self.spread();
        let applied = ready.applied.metadata.name.as_deref().unwrap_or_default();
        if let (Some(mark), Some((name, _))) = (mark, self.applied.get_key_value(applied)) {
            // It may be carried out: then the list is not one of another agent.
            self.rivals.unanswered(name, mark);
        }
        let progress = self.progress.get_mut(name)?;
        let wait = Wait::after(progress.list_wait, Retry::Backoff, now, spread);
        progress.list_wait = Some(wait);
        Some(wait.until)
    }

    /// Notes that the list is as it should be. `is_written`: it was written now, or is contested.
    pub(crate) fn recorded(
        &mut self,
        name: &str,
        ready: &Ready,
        record: (bool, bool),
        now: Instant,
    ) {
        let (is_written, was_undone) = record;
        let applied = ready.applied.metadata.name.as_deref().unwrap_or_default();
        if is_written && let Some((name, it)) = self.applied.get_key_value(applied) {
            let list = it.status.as_ref().map(|it| &*it.applied_resources);
            let mark = rivals::mark_of_list(list.unwrap_or_default());
            let (name, it) = (name.clone(), it.clone());
            self.rival_write(&name, it, (Part::List, mark), was_undone, now);
        }
        if let Some(progress) = self.progress.get_mut(name) {
            progress.unlisted.clear();
            progress.list_wait = None;
        }
    }

    fn set_wait(&mut self, name: &str, wait: Option<Wait>) {
        if let Some(progress) = self.progress.get_mut(name) {
            progress.stale_wait = wait;
        }
    }
}

impl Record {
    /// Nothing is deleted; when to look again.
    fn stay(&mut self, again: Option<Instant>) {
        self.kept.append(&mut self.remove);
        self.again = again;
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

/// The entries of the manifests whose objects exist. What is not known of an object changes nothing in its entry, stored
/// or not yet.
fn existing(
    view: &View,
    progress: &Progress,
    listed: &[AppliedManifestResourceMeta],
    kept: &mut Vec<AppliedManifestResourceMeta>,
) -> Vec<AppliedManifestResourceMeta> {
    let mut existing = Vec::new();
    // Of several entries of one object the first counts.
    let listed: HashMap<_, _> = listed.iter().rev().map(|it| (identity(it), it)).collect();
    for entry in progress.entries() {
        match view.known(entry) {
            Known::Present(arrived) => existing.push(meta(entry, &arrived.uid)),
            Known::Missing => {}
            Known::Unknown => {
                let of = meta(entry, "");
                kept.extend(listed.get(&identity(&of)).copied().cloned());
            }
        }
    }
    existing
}

fn listed(target: &Target) -> Listed {
    match target {
        Target::Object(entry) => Listed::Object(meta(entry, "")),
        Target::Unmapped(meta) => Listed::Unmapped {
            group: meta.group.clone(),
            namespace: meta.namespace.clone(),
            name: meta.name.clone(),
        },
        Target::Unusable(_) => Listed::Unknown,
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
        target: plan::Target {
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

/// Objects of a work that exist and are not in the list, those of former manifests first.
pub(crate) fn unrecorded(
    view: &View,
    progress: &Progress,
    stored: &[AppliedManifestResourceMeta],
) -> Vec<AppliedManifestResourceMeta> {
    let existing = progress
        .entries()
        .filter_map(|entry| match view.known(entry) {
            Known::Present(arrived) => Some(meta(entry, &arrived.uid)),
            Known::Unknown | Known::Missing => None,
        });
    let existing: Vec<_> = existing.collect();
    // An object may have been made anew since.
    let present: HashSet<_> = existing.iter().map(identity).collect();
    let former = progress.unlisted.iter();
    let former = former.filter(|it| !present.contains(&identity(it)));
    let all: Vec<_> = former.chain(&existing).cloned().collect();
    let stored: HashSet<_> = stored.iter().collect();
    let all = all.into_iter();
    all.filter(|it| !stored.contains(it)).collect()
}
