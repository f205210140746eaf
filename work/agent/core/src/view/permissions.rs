//! The permissions of executors, and the ManifestWorks that a change of them concerns.

use std::sync::Arc;
use std::time::Instant;

use berth_work_core::grants::{Accounts, Rbac, RbacName};

use super::{Key, Notice, View, Wakes};
use crate::permissions::{Change, RbacKind};
use crate::progress::{Progress, Slot};
use crate::rows::Sight;

// === impl View ===

impl View {
    /// Returns true if the work has an executor whose roles and bindings are not known yet, and will be.
    pub fn waits_for_permissions(&self, work: &str) -> bool {
        let progress = self.progress.get(work);
        progress.is_some_and(|it| it.account.is_some()) && self.permissions.is_waiting()
    }

    /// Notes a role or a binding as it is.
    pub fn permission_seen(
        &mut self,
        kind: RbacKind,
        name: RbacName,
        object: Rbac,
        now: Instant,
        wakes: &mut Wakes,
    ) {
        let concerned = self.permissions.sees(kind, name, object);
        self.ask_again(&concerned, now, wakes);
    }

    /// Notes that a role or a binding is gone.
    pub fn permission_gone(
        &mut self,
        kind: RbacKind,
        name: &RbacName,
        now: Instant,
        wakes: &mut Wakes,
    ) {
        let concerned = self.permissions.gone(kind, name);
        self.ask_again(&concerned, now, wakes);
    }

    /// Notes that this kind of RBAC was listed. The API server may have listed a change that its authorizer does not know yet, so that
    /// it is asked again, as after a change.
    pub fn permissions_listed(&mut self, kind: RbacKind, now: Instant, wakes: &mut Wakes) {
        if !self.permissions.turns(kind, Sight::Listed) || self.permissions.is_waiting() {
            return;
        }
        self.permissions_changed = Some(now);
        for slot in self.slots_with_executors() {
            slot.checks.changed_before(now);
        }
        wakes.extend(self.works_with_executors());
    }

    /// A kind of RBAC cannot be watched.
    pub fn permissions_lost(
        &mut self,
        kind: RbacKind,
        code: u16,
        error: &str,
        now: Instant,
        wakes: &mut Wakes,
    ) {
        if !self.permissions.fails(kind, code) {
            return;
        }
        self.notices.push(Notice::PermissionsPolled {
            kind,
            error: error.to_owned(),
        });
        for slot in self.slots_with_executors() {
            slot.checks.changed(now);
        }
        wakes.extend(self.works_with_executors());
    }

    /// Notes whether a ManifestWork has an executor: only then roles and bindings are watched.
    pub fn permissions_needed(&mut self) -> Option<Change> {
        let has_executor = |it: &Progress| it.source.spec.executor.is_some();
        let is_needed = self.progress.values().any(has_executor);
        self.permissions.needed(is_needed)
    }

    fn slots_with_executors(&mut self) -> impl Iterator<Item = &mut Slot> {
        let slots = self.progress.values_mut().flat_map(|it| &mut it.slots);
        slots.filter(|it| it.has_executor())
    }

    fn works_with_executors(&self) -> Vec<Key> {
        let works = self.progress.iter();
        let works = works.filter(|(_, progress)| progress.account.is_some());
        works.map(|(name, _)| Key::Work(Arc::clone(name))).collect()
    }

    fn ask_again(&mut self, concerned: &Accounts, now: Instant, wakes: &mut Wakes) {
        if concerned.is_empty() {
            return;
        }
        self.permissions_changed = Some(now);
        for (name, progress) in &mut self.progress {
            let account = progress.account.as_ref();
            if account.is_none_or(|it| !concerned.contains(it)) {
                continue;
            }
            for slot in &mut progress.slots {
                slot.checks.changed(now);
            }
            wakes.wake(Key::Work(Arc::clone(name)));
        }
    }
}
