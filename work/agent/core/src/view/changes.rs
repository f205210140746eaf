//! What changes on the hub and on the cluster, and the keys that a change concerns.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use berth_api::labels::HOLD;
use berth_api::work::{AppliedManifestWork, ManifestWork};
use berth_work_core::{budget, report};

use super::{Key, Notice, View, Wakes};
use crate::eviction::annotation;
use crate::facts::{Definition, has_finalizer};
use crate::hold::HELD_AT;
use crate::objects::{Arrived, Entry, Judged, Known, ObjectId};
use crate::progress::{Progress, Target, complete_objects, is_complete};
use crate::rivals::Part;
use crate::rows::{RowId, Sight};

impl View {
    /// The first list of a row will show its objects, if they exist. Those that another row has shown may have been deleted since.
    pub fn awaits(&mut self, row: RowId) {
        let rows = &self.rows;
        let objects = (self.objects.iter()).filter(|(_, it)| !matches!(it, Known::Missing));
        let of_row = objects.filter(|(id, _)| {
            let of = rows.row_of(id.kind, id.namespace());
            of.is_some_and(|(of, _)| of == row)
        });
        let awaited = of_row.map(|(id, _)| id.clone()).collect();
        self.awaited.insert(row, awaited);
    }

    /// A row is watched no more.
    pub fn forgets(&mut self, row: RowId) {
        self.awaited.remove(&row);
    }

    /// Notes what is now known of an object. Wake the works that it concerns.
    pub(crate) fn sees(&mut self, id: &ObjectId, known: Known, wakes: &mut Wakes) {
        let Some(before) = self.objects.get_mut(id) else {
            return;
        };
        let former = std::mem::replace(before, known);
        let entries = self.prescriptions.of(id);
        for entry in &entries {
            let now = self.known(entry);
            let (now_is, was) = (now.judged(entry), former.judged(entry));
            let same_uid = match (&former, now) {
                (Known::Present(a), Known::Present(b)) => a.uid == b.uid,
                (Known::Missing, Known::Missing) => true,
                _ => false,
            };
            if same_uid && now_is == was {
                continue;
            }
            let differs = |it: Option<&Judged>| it.map(|it| it.verdict.clone());
            let (is_due, is_other) = (
                !same_uid || now_is.is_none_or(|it| it.verdict.write),
                !same_uid || differs(now_is) != differs(was),
            );
            if is_other {
                self.object_changed(entry);
            }
            if is_due {
                wakes.wake(Key::Work(Arc::clone(&entry.work)));
            }
            if !same_uid {
                // Its deletion may have been waited for.
                let applied: Arc<str> = entry.owner.name.as_str().into();
                if self.removals.remove(&applied).is_some() {
                    wakes.wake(Key::Applied(applied));
                }
            }
            wakes.wake(Key::Status(Arc::clone(&entry.work)));
        }
    }

    /// Ends a wait for a change of the object.
    fn object_changed(&mut self, entry: &Arc<Entry>) {
        let Some(progress) = self.progress.get_mut(&entry.work) else {
            return;
        };
        let slot = progress.slot_of(entry);
        if let Some(slot) = slot.filter(|it| it.wait.is_some_and(|wait| wait.ends_with_change)) {
            slot.wait = None;
        }
    }

    /// The names of the works with manifests in a row.
    fn works_in(&self, row: RowId) -> HashSet<Arc<str>> {
        let works = self.progress.iter();
        let has = |progress: &Progress| {
            (progress.entries()).any(|entry| self.row(&entry.object) == Some(row))
        };
        let works = works.filter(|(_, progress)| has(progress));
        works.map(|(name, _)| Arc::clone(name)).collect()
    }

    /// Forgets the manifests of a work.
    pub(crate) fn strip(&mut self, name: &str) {
        if let Some(work) = self.works.get_mut(name) {
            *work = Arc::new(budget::stripped(work));
        }
    }

    /// Keeps the name and the cost of a refused work only, if its status says so, and nothing was done for it: there may be very many.
    pub(crate) fn forget_refused(&mut self, name: &str) {
        let Some(work) = self.works.get_mut(name) else {
            return;
        };
        let Some(excess) = self.room.refuses(name) else {
            return;
        };
        let is_new = work.metadata.deletion_timestamp.is_none() && !has_finalizer(work);
        let message = budget::message(excess, self.room.budget());
        if is_new && report::is_refused(work, &message) {
            *work = Arc::clone(&self.of_refused);
        }
    }

    /// Returns true if nothing but the name and the cost of the work is kept.
    pub(crate) fn is_forgotten(&self, work: &Arc<ManifestWork>) -> bool {
        Arc::ptr_eq(work, &self.of_refused)
    }

    /// Notes a work as it is on the hub.
    pub fn work_changed(
        &mut self,
        name: &str,
        version: Option<u64>,
        mut work: Arc<ManifestWork>,
        wakes: &mut Wakes,
    ) {
        let name: Arc<str> = name.into();
        let had = self.room.has(&name);
        if !self.room.arrives(&name, &work) {
            work = Arc::new(budget::stripped(&work));
        } else if had && let Some(known) = self.works.get(&name) {
            share(known, &mut work);
        }
        let former = self.works.insert(Arc::clone(&name), Arc::clone(&work));
        self.note_complete(&name, &work);
        if let Some(version) = version {
            let (highest, last) = self.hub_versions.get_or_insert((version, version));
            *highest = (*highest).max(version);
            *last = (*last).max(version);
        }
        let same = former.as_ref().is_some_and(|it| {
            let (a, b) = (&it.metadata, &work.metadata);
            (&a.uid, a.generation, &a.labels) == (&b.uid, b.generation, &b.labels)
                && a.deletion_timestamp.is_some() == b.deletion_timestamp.is_some()
                && has_finalizer(it) == has_finalizer(&work)
                && is_complete(it) == is_complete(&work)
                && complete_objects(it).eq(complete_objects(&work))
        });
        if !same || had != self.room.has(&name) {
            wakes.wake(Key::Work(Arc::clone(&name)));
        }
        if former.is_none() {
            wakes.wake(Key::Applied(self.applied_name(&name).into()));
        }
        if !same && self.hold(&name).is_some() {
            // There is no pass, after which the status would be looked at.
            wakes.wake(Key::Status(Arc::clone(&name)));
        }
        if former.is_none_or(|it| it.status != work.status) {
            wakes.wake(Key::Status(Arc::clone(&name)));
        }
        self.forget_refused(&name);
    }

    /// Notes an AppliedManifestWork as it is on the cluster.
    pub fn applied_changed(
        &mut self,
        name: &str,
        applied: Arc<AppliedManifestWork>,
        wakes: &mut Wakes,
    ) {
        let name: Arc<str> = name.into();
        let former = self.applied.insert(Arc::clone(&name), Arc::clone(&applied));
        // This one makes none without a ManifestWork.
        if former.is_none() && self.are_applied_listed && !self.has_work(&name) {
            self.rivals.made(Arc::clone(&name));
        }
        let is_hold_changed = [HOLD, HELD_AT].iter().any(|key| {
            let before = former.as_ref().and_then(|it| annotation(it, key));
            before != annotation(&applied, key)
        });
        let same = former.is_some_and(|it| {
            let (a, b) = (&it.metadata, &applied.metadata);
            (&a.uid, a.generation, &a.finalizers) == (&b.uid, b.generation, &b.finalizers)
                && (&a.labels, &a.annotations) == (&b.labels, &b.annotations)
                && a.deletion_timestamp.is_some() == b.deletion_timestamp.is_some()
                && it.status == applied.status
        });
        if !same {
            if let Some(work) = self.work_of(&name) {
                wakes.wake(Key::Work(work.into()));
                if is_hold_changed {
                    wakes.wake(Key::Status(work.into()));
                }
            }
            wakes.wake(Key::Applied(name));
        }
    }

    /// Notes a CustomResourceDefinition; `None`: it is gone.
    pub fn definition_changed(
        &mut self,
        name: &str,
        definition: Option<Definition>,
        wakes: &mut Wakes,
    ) {
        let former = match &definition {
            Some(it) => self.definitions.insert(name.into(), it.clone()),
            None => self.definitions.remove(name),
        };
        if former == definition {
            return;
        }
        let Some(group) = definition.or(former).map(|it| it.group) else {
            return;
        };
        self.mapping.forget(&group);
        for (name, progress) in &mut self.progress {
            let concerns = (progress.slots.iter()).any(|slot| match &slot.target {
                Target::Unmapped(meta) => *meta.group == *group,
                Target::Object(_) | Target::Unusable(_) => false,
            });
            if concerns {
                for slot in &mut progress.slots {
                    if matches!(slot.target, Target::Unmapped(_)) {
                        slot.wait = None;
                    }
                }
                wakes.wake(Key::Work(Arc::clone(name)));
            }
        }
    }

    /// A row cannot be watched.
    pub fn row_lost(&mut self, row: RowId, code: u16, error: &str, wakes: &mut Wakes) {
        if code == 403 && self.rows.set_apart(row) {
            wakes.wake(Key::Table);
            return;
        }
        if code == 404 {
            let kind = self
                .rows
                .place(row)
                .and_then(|it| self.rows.resource(it.kind));
            if let Some(kind) = kind {
                self.mapping.forget(&kind.group);
            }
            for name in self.works_in(row) {
                if let Some(progress) = self.progress.get_mut(&name) {
                    progress.is_stale = true;
                }
                wakes.wake(Key::Work(name));
            }
        }
        if self.rows.fails(row, code) {
            let kind = self
                .rows
                .place(row)
                .and_then(|it| self.rows.resource(it.kind));
            let notice = Notice::ObjectsPolled {
                resource: kind.map(|it| it.resource.clone()),
                error: error.to_owned(),
            };
            self.notices.push(notice);
            wakes.extend(self.works_in(row).into_iter().map(Key::Work));
        }
    }

    /// Notes that a ManifestWork is gone from the hub.
    pub fn work_gone(&mut self, name: &str, wakes: &mut Wakes) {
        if self.works.remove(name).is_some() {
            self.room.leaves(name);
            wakes.wake(Key::Work(name.into()));
            wakes.wake(Key::Applied(self.applied_name(name).into()));
        }
    }

    /// Notes that an AppliedManifestWork is gone from the cluster.
    pub fn applied_gone(&mut self, name: &str, wakes: &mut Wakes) {
        if self.applied.remove(name).is_some() {
            self.rivals.forget(name);
            if let Some(work) = self.work_of(name) {
                wakes.wake(Key::Work(work.into()));
            }
            wakes.wake(Key::Applied(name.into()));
        }
    }

    /// Notes an object that a row has shown. `None`: it does not exist.
    pub fn row_sees(
        &mut self,
        row: RowId,
        (namespace, name): (&str, &str),
        arrived: Option<Arrived>,
        wakes: &mut Wakes,
    ) {
        let Some(place) = self.rows.place(row) else {
            return;
        };
        let id = ObjectId::new(place.kind, namespace, name);
        let known = match arrived {
            None => Known::Missing,
            Some(arrived) => {
                if let Some(awaited) = self.awaited.get_mut(&row) {
                    awaited.remove(&id);
                }
                Known::Present(Arc::new(arrived))
            }
        };
        self.sees(&id, known, wakes);
    }

    /// Notes that a row was listed: what it has not shown does not exist.
    pub fn row_listed(&mut self, row: RowId, wakes: &mut Wakes) {
        self.rows.sees(row, Sight::Listed);
        for id in self.awaited.remove(&row).unwrap_or_default() {
            self.sees(&id, Known::Missing, wakes);
        }
        wakes.extend(self.works_in(row).into_iter().map(Key::Work));
    }

    /// Notes that the ManifestWorks were listed. The hub may have been restored.
    pub fn works_listed(&self, wakes: &mut Wakes) {
        let applied = self.applied.keys().map(|it| Key::Applied(Arc::clone(it)));
        wakes.extend(applied);
    }

    /// Notes that the AppliedManifestWorks were listed.
    pub fn applied_listed(&mut self) {
        self.are_applied_listed = true;
    }

    /// Notes that the hub lists its ManifestWorks at this resourceVersion.
    pub fn hub_listed_at(&mut self, version: u64) {
        let highest = self.hub_versions.map_or(version, |(it, _)| it.max(version));
        self.hub_versions = Some((highest, version));
    }

    /// Notes that the hub had shown the version `from`, and has come only to `to`.
    pub fn hub_went_back(&mut self, from: u64, to: u64) {
        let highest = self.hub_versions.map_or(from, |(it, _)| it.max(from));
        self.hub_versions = Some((highest, to));
    }

    /// Notes a write to an AppliedManifestWork that another agent may undo, with its mark.
    pub(crate) fn rival_write(
        &mut self,
        name: &Arc<str>,
        applied: Arc<AppliedManifestWork>,
        (part, mark): (Part, u64),
        was_undone: bool,
        now: Instant,
    ) {
        let spread = self.spread();
        let is_news = (self.rivals).wrote(name, part, mark, was_undone, (now, spread));
        if is_news {
            self.notices.push(Notice::TwoAgents(applied));
        }
    }

    /// Decides which works are carried out, and forgets the manifests of the others. Returns those: their objects are to be forgotten.
    pub fn make_room(&mut self, now: Instant, wakes: &mut Wakes) -> Vec<Arc<str>> {
        let changes = self.room.decide();
        for (name, excess) in &changes.news {
            if let Some(left_out) = self.lines.next(now) {
                self.notices.push(Notice::Refused {
                    work: Arc::clone(name),
                    why: budget::message(*excess, self.room.budget()),
                    left_out,
                });
            }
        }
        for name in &changes.strip {
            self.strip(name);
        }
        for (name, _) in &changes.news {
            self.forget_refused(name);
        }
        let news = changes.news.iter().map(|(name, _)| name);
        wakes.extend(news.cloned().map(Key::Status));
        wakes.extend(changes.fit.into_iter().map(Key::Work));
        changes.strip
    }
}

/// Lets a work have the manifests of the known one, if it is of the same generation: so they are in memory once.
fn share(known: &ManifestWork, work: &mut Arc<ManifestWork>) {
    let of = |it: &ManifestWork| (it.metadata.uid.clone(), it.metadata.generation);
    if of(known) == of(work)
        && let Some(work) = Arc::get_mut(work)
        && work.spec.workload == known.spec.workload
    {
        work.spec.workload.clone_from(&known.spec.workload);
    }
}

#[cfg(test)]
mod tests;
