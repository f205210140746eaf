//! Which service accounts a change of an RBAC object concerns.
//!
//! The API server alone decides what an account may do. What is kept here says when to ask it again: who is bound to which role, and
//! whether the rules of a role have changed.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::executor::Account;

/// A role, or a binding. `namespace` is empty for ClusterRoles and ClusterRoleBindings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RbacName {
    /// The namespace.
    pub namespace: Box<str>,
    /// The name.
    pub name: Box<str>,
}

/// What is kept of an RBAC object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rbac {
    /// A Role or ClusterRole: a digest of its rules.
    Role(u64),
    /// A RoleBinding or ClusterRoleBinding.
    Binding(Binding),
}

/// What is kept of a binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The role is a ClusterRole.
    is_of_cluster: bool,
    role: Box<str>,
    accounts: Accounts,
}

/// A set of service accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounts(Box<[Subject]>);

/// Service accounts that are bound to a role.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Subject {
    /// All service accounts.
    All,
    /// All of a namespace.
    Namespace(Box<str>),
    Account(Account),
}

/// The roles and bindings of a cluster.
#[derive(Debug, Default)]
pub struct Grants {
    roles: HashMap<RbacName, u64>,
    bindings: HashMap<RbacName, Binding>,
}

/// Reads a Role or ClusterRole.
///
/// # Errors
/// It is not a JSON object.
pub fn role(json: &str) -> Result<Rbac, serde_json::Error> {
    #[derive(Deserialize)]
    struct Role<'a> {
        #[serde(borrow, default)]
        rules: Option<&'a RawValue>,
    }
    let role: Role = serde_json::from_str(json)?;
    let mut hasher = DefaultHasher::new();
    role.rules.map(RawValue::get).hash(&mut hasher);
    Ok(Rbac::Role(hasher.finish()))
}

/// Reads a RoleBinding or ClusterRoleBinding. A subject that is not a service account, nor a group of service accounts, is left out.
///
/// # Errors
/// It is not a JSON object with a `roleRef`.
pub fn binding(json: &str) -> Result<Rbac, serde_json::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Object {
        role_ref: Reference,
        #[serde(default)]
        subjects: Option<Vec<Reference>>,
    }
    #[derive(Deserialize)]
    struct Reference {
        #[serde(default)]
        kind: String,
        #[serde(default)]
        name: String,
        #[serde(default)]
        namespace: String,
    }
    let object: Object = serde_json::from_str(json)?;
    let subjects = object.subjects.unwrap_or_default();
    let accounts = subjects
        .iter()
        .filter_map(|it| subject(&it.kind, &it.namespace, &it.name));
    Ok(Rbac::Binding(Binding {
        is_of_cluster: object.role_ref.kind == "ClusterRole",
        role: object.role_ref.name.into(),
        accounts: Accounts(accounts.collect()),
    }))
}

fn subject(kind: &str, namespace: &str, name: &str) -> Option<Subject> {
    let account = |namespace: &str, name: &str| {
        Subject::Account(Account {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    };
    match kind {
        "ServiceAccount" => Some(account(namespace, name)),
        "User" => {
            let (namespace, name) = name
                .strip_prefix("system:serviceaccount:")?
                .split_once(':')?;
            Some(account(namespace, name))
        }
        "Group" => match name {
            "system:serviceaccounts" | "system:authenticated" => Some(Subject::All),
            name => {
                let namespace = name.strip_prefix("system:serviceaccounts:")?;
                Some(Subject::Namespace(namespace.into()))
            }
        },
        _ => None,
    }
}

// === impl Grants ===

impl Grants {
    /// Notes a role or a binding that exists, or has changed. Returns the accounts whose permissions may be others now.
    pub fn sees(&mut self, name: RbacName, object: Rbac) -> Accounts {
        match object {
            Rbac::Role(rules) => {
                let former = self.roles.insert(name.clone(), rules);
                if former == Some(rules) {
                    return Accounts::default();
                }
                self.bound_to(&name)
            }
            Rbac::Binding(binding) => {
                let accounts = binding.accounts.clone();
                let former = self.bindings.get(&name);
                if former == Some(&binding) {
                    return Accounts::default();
                }
                // A binding without service accounts concerns no executor.
                let former = if accounts.is_empty() {
                    self.bindings.remove(&name)
                } else {
                    self.bindings.insert(name, binding)
                };
                accounts.and(former.map(|it| it.accounts))
            }
        }
    }

    /// Notes that a role does not exist any more. Returns the accounts whose permissions may be others now.
    pub fn role_gone(&mut self, name: &RbacName) -> Accounts {
        match self.roles.remove(name) {
            Some(_) => self.bound_to(name),
            None => Accounts::default(),
        }
    }

    /// Notes that a binding does not exist any more. Returns the accounts whose permissions may be others now.
    pub fn binding_gone(&mut self, name: &RbacName) -> Accounts {
        let former = self.bindings.remove(name);
        former.map_or_else(Accounts::default, |it| it.accounts)
    }

    fn bound_to(&self, role: &RbacName) -> Accounts {
        let is_of_cluster = role.namespace.is_empty();
        let bindings = self.bindings.iter().filter(|(name, binding)| {
            binding.is_of_cluster == is_of_cluster
                && binding.role == role.name
                && (is_of_cluster || name.namespace == role.namespace)
        });
        let subjects = bindings.flat_map(|(_, binding)| binding.accounts.0.iter().cloned());
        Accounts(subjects.collect())
    }
}

// === impl Accounts ===

impl Accounts {
    /// Returns true if there is no account.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if the account is one of them.
    pub fn contains(&self, account: &Account) -> bool {
        self.0.iter().any(|it| match it {
            Subject::All => true,
            Subject::Namespace(namespace) => **namespace == *account.namespace,
            Subject::Account(it) => it == account,
        })
    }

    fn and(self, others: Option<Self>) -> Self {
        let others = others.unwrap_or_default().0;
        Self(self.0.into_iter().chain(others).collect())
    }
}
