//! Authorizes requests by the RBAC objects in the store.

pub(crate) mod bootstrap;
pub(crate) mod escalation;
mod mirror;
mod words;

use berth_rbac::{ObjectRef, Request, Subject, Verdict};
use k8s_openapi::api::rbac::v1::PolicyRule;

use crate::storage::Store;
use crate::user::User;

use mirror::Mirror;
pub(crate) use words::{forbidden, reason};

/// The group whose members may do everything; RBAC is not asked.
pub(crate) const SUPERUSERS: &str = "system:masters";
/// RBAC's API group.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";

/// The RBAC objects of the store, read when they have changed.
#[derive(Debug, Default)]
pub(crate) struct Authorizer {
    mirror: Mirror,
}

impl Authorizer {
    /// Decides one request by the objects as they are stored now.
    pub(crate) fn evaluate(&self, store: &Store, user: &User, request: &Request<'_>) -> Verdict {
        self.mirror
            .with(store, |policy| policy.evaluate(&subject(user), request))
    }

    /// As [`berth_rbac::Policy::rules_for`].
    pub(crate) fn rules_for(
        &self,
        store: &Store,
        user: &User,
        namespace: &str,
    ) -> berth_rbac::Rules {
        self.mirror
            .with(store, |policy| policy.rules_for(&subject(user), namespace))
    }

    /// The rules of a role; none if there is no such role.
    pub(crate) fn rules_of(&self, store: &Store, role: &ObjectRef) -> Option<Vec<PolicyRule>> {
        self.mirror.with(store, |policy| {
            let rules = policy.rules_of(role)?;
            Some(rules.into_iter().cloned().collect())
        })
    }

    /// The aggregated ClusterRoles, with the rules they ought to have.
    pub(crate) fn aggregated(&self, store: &Store) -> Vec<(String, Vec<PolicyRule>)> {
        self.mirror.with(store, aggregated)
    }
}

/// As the aggregation controller would write them: a rule that several roles have is there once.
fn aggregated(policy: &berth_rbac::Policy) -> Vec<(String, Vec<PolicyRule>)> {
    let roles = policy.aggregated().map(|name| {
        let role = ObjectRef {
            kind: berth_rbac::RbacKind::ClusterRole,
            namespace: None,
            name: name.to_owned(),
        };
        let mut rules: Vec<PolicyRule> = Vec::new();
        for rule in policy.rules_of(&role).unwrap_or_default() {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
        (name.to_owned(), rules)
    });
    roles.collect()
}

fn subject(user: &User) -> Subject<'_> {
    Subject {
        user: &user.name,
        groups: &user.groups,
    }
}
