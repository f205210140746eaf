//! The roles and bindings of the managed cluster, watched while a ManifestWork has an executor.
//!
//! # Guarantees
//! - A change of a role or binding has the permissions asked for again, of the service accounts that it concerns and of no others.
//! - Without a ManifestWork with an executor nothing is watched or kept.
//! - If they cannot be watched, permissions are asked for at intervals.

use std::sync::Arc;
use std::time::Instant;

use berth_api::GroupVersionResource;
use berth_reconcile::{Handle, Wake, WatchError, Watched, now};
use berth_work_core::executor::{self, Account};
use berth_work_core::grants::{self, Accounts, Grants, Rbac, RbacName};

use super::MANAGED;
use super::facts::{Fact, Kind};
use super::progress::Progress;
use super::rows::Sight;
use super::world::{Agent, Key};

/// A kind of RBAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RbacKind {
    Roles,
    ClusterRoles,
    RoleBindings,
    ClusterRoleBindings,
}

/// What is known of roles and bindings. `None`: they are not needed.
#[derive(Debug, Default)]
pub(crate) struct Permissions(Option<Known>);

#[derive(Debug)]
struct Known {
    grants: Grants,
    sights: [Sight; 4],
}

/// The kinds to be watched from now on, or not any more.
pub(crate) enum Change {
    Watch,
    Unwatch,
}

// === impl RbacKind ===

impl RbacKind {
    pub(crate) const ALL: [Self; 4] = [
        Self::Roles,
        Self::ClusterRoles,
        Self::RoleBindings,
        Self::ClusterRoleBindings,
    ];

    /// The row of the table of kinds.
    pub(crate) fn watched(self) -> Watched<Fact> {
        let (resource, read): (_, fn(&[u8]) -> _) = match self {
            Self::Roles => ("roles", grants::role),
            Self::ClusterRoles => ("clusterroles", grants::role),
            Self::RoleBindings => ("rolebindings", grants::binding),
            Self::ClusterRoleBindings => ("clusterrolebindings", grants::binding),
        };
        let kind = GroupVersionResource::new("rbac.authorization.k8s.io", "v1", resource);
        Watched::new(resource, kind, move |item| {
            read(item.json).map(Fact::Permissions)
        })
        .on(MANAGED)
        .optional()
    }

    fn is_role(self) -> bool {
        matches!(self, Self::Roles | Self::ClusterRoles)
    }
}

// === impl Permissions ===

impl Permissions {
    /// Notes whether a ManifestWork has an executor.
    pub(crate) fn needed(&mut self, is_needed: bool) -> Option<Change> {
        match (&self.0, is_needed) {
            (None, true) => {
                self.0 = Some(Known {
                    grants: Grants::default(),
                    sights: [const { Sight::NONE }; 4],
                });
                Some(Change::Watch)
            }
            (Some(_), false) => {
                self.0 = None;
                Some(Change::Unwatch)
            }
            _ => None,
        }
    }

    /// Returns true until each kind has been listed, or cannot be.
    pub(crate) fn is_waiting(&self) -> bool {
        let known = self.0.as_ref();
        known.is_some_and(|it| it.sights.iter().any(Sight::is_waiting))
    }

    /// Returns true if each change is seen.
    pub(crate) fn is_watched(&self) -> bool {
        let known = self.0.as_ref();
        known.is_some_and(|it| it.sights.iter().all(|sight| *sight == Sight::Listed))
    }

    fn sees(&mut self, kind: RbacKind, name: RbacName, object: Rbac) -> Accounts {
        let known = self.0.as_mut();
        let concerned = known.map(|it| it.grants.sees(name, object));
        self.after_list(kind, concerned)
    }

    fn gone(&mut self, kind: RbacKind, name: &RbacName) -> Accounts {
        let known = self.0.as_mut();
        let concerned = known.map(|it| match kind.is_role() {
            true => it.grants.role_gone(name),
            false => it.grants.binding_gone(name),
        });
        self.after_list(kind, concerned)
    }

    /// What the first list shows is no change.
    fn after_list(&self, kind: RbacKind, concerned: Option<Accounts>) -> Accounts {
        let sight = self.0.as_ref().map(|it| &it.sights[kind as usize]);
        let is_waiting = sight.is_some_and(Sight::is_waiting);
        concerned.filter(|_| !is_waiting).unwrap_or_default()
    }

    /// Returns true if permissions are asked for at intervals, as this kind cannot be watched.
    pub(crate) fn is_polled(&self, kind: RbacKind) -> bool {
        let known = self.0.as_ref();
        known.is_some_and(|it| it.sights[kind as usize] == Sight::Polled)
    }

    /// Notes that a list or a watch failed with this code. Returns true if permissions are asked for at intervals from now on.
    fn fails(&mut self, kind: RbacKind, code: u16) -> bool {
        let known = self.0.as_mut();
        known.is_some_and(|it| it.sights[kind as usize].fails(code))
    }

    /// Returns true if that is news.
    fn turns(&mut self, kind: RbacKind, sight: Sight) -> bool {
        let Some(known) = &mut self.0 else {
            return false;
        };
        let former = std::mem::replace(&mut known.sights[kind as usize], sight);
        former != known.sights[kind as usize]
    }
}

/// Watches roles and bindings while a ManifestWork has an executor.
pub(crate) fn update(on: &Handle<Agent>) {
    let change = on.change(|world, _| {
        let has_executor = |it: &Progress| it.source.spec.executor.is_some();
        let is_needed = world.progress.values().any(has_executor);
        world.permissions.needed(is_needed)
    });
    for kind in RbacKind::ALL {
        match change {
            Some(Change::Watch) => on.watch(Kind::Permissions(kind), kind.watched()),
            Some(Change::Unwatch) => on.unwatch(Kind::Permissions(kind)),
            None => {}
        }
    }
}

// === impl Agent ===

impl Agent {
    /// Returns true if the work has an executor whose roles and bindings are not known yet, and will be.
    pub(crate) fn waits_for_permissions(&self, work: &str) -> bool {
        let progress = self.progress.get(work);
        progress.is_some_and(|it| it.account.is_some()) && self.permissions.is_waiting()
    }

    pub(crate) fn permission_seen(
        &mut self,
        kind: RbacKind,
        name: RbacName,
        object: Rbac,
        now: Instant,
        wakes: &mut Wake<Self>,
    ) {
        let concerned = self.permissions.sees(kind, name, object);
        self.ask_again(&concerned, now, wakes);
    }

    pub(crate) fn permission_gone(
        &mut self,
        kind: RbacKind,
        name: &RbacName,
        now: Instant,
        wakes: &mut Wake<Self>,
    ) {
        let concerned = self.permissions.gone(kind, name);
        self.ask_again(&concerned, now, wakes);
    }

    pub(crate) fn permissions_listed(&mut self, kind: RbacKind, wakes: &mut Wake<Self>) {
        if self.permissions.turns(kind, Sight::Listed) && !self.permissions.is_waiting() {
            wakes.extend(self.works_with_executors());
        }
    }

    /// A kind of RBAC cannot be watched.
    pub(crate) fn permissions_lost(
        &mut self,
        kind: RbacKind,
        error: &WatchError,
        wakes: &mut Wake<Self>,
    ) {
        if !self.permissions.fails(kind, error.code) {
            return;
        }
        tracing::warn!(
            ?kind, %error,
            "roles and bindings cannot be watched, and permissions of executors are asked for every five minutes; if a permission is missing, grant list and watch"
        );
        let now = now().instant;
        let progress = self.progress.values_mut();
        for slot in progress
            .flat_map(|it| &mut it.slots)
            .filter(|it| it.has_executor())
        {
            slot.checks.changed(now);
        }
        wakes.extend(self.works_with_executors());
    }

    fn works_with_executors(&self) -> Vec<Key> {
        let works = self.progress.iter();
        let works = works.filter(|(_, progress)| progress.account.is_some());
        works.map(|(name, _)| Key::Work(Arc::clone(name))).collect()
    }

    fn ask_again(&mut self, concerned: &Accounts, now: Instant, wakes: &mut Wake<Self>) {
        if concerned.is_empty() {
            return;
        }
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

/// The service account that is the executor of a ManifestWork. An invalid executor is reported for each object.
pub(crate) fn account(progress: &berth_api::work::ManifestWork) -> Option<Account> {
    executor::account(progress.spec.executor.as_ref())
        .ok()
        .flatten()
}
