//! The roles and bindings of the managed cluster, watched while a ManifestWork has an executor.
//!
//! # Guarantees
//! - A change of a role or binding has the permissions asked for again, of the service accounts that it concerns and of no others.
//! - Without a ManifestWork with an executor nothing is watched or kept.
//! - If they cannot be watched, permissions are asked for at intervals.

use berth_work_core::executor::{self, Account};
use berth_work_core::grants::{Accounts, Grants, Rbac, RbacName};

use super::rows::Sight;

/// A kind of RBAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RbacKind {
    /// Roles.
    Roles,
    /// ClusterRoles.
    ClusterRoles,
    /// RoleBindings.
    RoleBindings,
    /// ClusterRoleBindings.
    ClusterRoleBindings,
}

/// What is known of roles and bindings. `None`: they are not needed.
#[derive(Debug, Default)]
pub struct Permissions(Option<Known>);

#[derive(Debug)]
struct Known {
    grants: Grants,
    sights: [Sight; 4],
}

/// The kinds to be watched from now on, or not any more.
pub enum Change {
    /// A ManifestWork has an executor now.
    Watch,
    /// No ManifestWork has one any more.
    Unwatch,
}

// === impl RbacKind ===

impl RbacKind {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Roles,
        Self::ClusterRoles,
        Self::RoleBindings,
        Self::ClusterRoleBindings,
    ];

    fn is_role(self) -> bool {
        matches!(self, Self::Roles | Self::ClusterRoles)
    }
}

// === impl Permissions ===

impl Permissions {
    /// Notes whether a ManifestWork has an executor.
    pub fn needed(&mut self, is_needed: bool) -> Option<Change> {
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

    pub(crate) fn sees(&mut self, kind: RbacKind, name: RbacName, object: Rbac) -> Accounts {
        let known = self.0.as_mut();
        let concerned = known.map(|it| it.grants.sees(name, object));
        self.after_list(kind, concerned)
    }

    pub fn gone(&mut self, kind: RbacKind, name: &RbacName) -> Accounts {
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
    pub fn is_polled(&self, kind: RbacKind) -> bool {
        let known = self.0.as_ref();
        known.is_some_and(|it| it.sights[kind as usize] == Sight::Polled)
    }

    /// Notes that a list or a watch failed with this code. Returns true if permissions are asked for at intervals from now on.
    pub fn fails(&mut self, kind: RbacKind, code: u16) -> bool {
        let known = self.0.as_mut();
        known.is_some_and(|it| it.sights[kind as usize].fails(code))
    }

    /// Returns true if that is news.
    pub fn turns(&mut self, kind: RbacKind, sight: Sight) -> bool {
        let Some(known) = &mut self.0 else {
            return false;
        };
        let former = std::mem::replace(&mut known.sights[kind as usize], sight);
        former != known.sights[kind as usize]
    }
}

/// The service account that is the executor of a ManifestWork. An invalid executor is reported for each object.
pub(crate) fn account(progress: &berth_api::work::ManifestWork) -> Option<Account> {
    executor::account(progress.spec.executor.as_ref())
        .ok()
        .flatten()
}
