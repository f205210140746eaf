//! The verdict on a request, and the grant behind it.

use crate::Subject;
use crate::request::SERVICE_ACCOUNT_PREFIX;
use berth_api::groups;
use std::fmt;

/// The verdict on a request.
///
/// RBAC never denies: another authorizer can still allow the request. If RBAC is the only authorizer, no opinion means refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The request is allowed by this grant.
    Allowed(Grant),
    /// No binding allows the request.
    NoOpinion {
        /// The bindings that apply to the user but whose role does not exist. Any of them could have allowed the request.
        /// (kube-apiserver reports them in the `reason` of a SubjectAccessReview.)
        errors: Vec<MissingRole>,
    },
}

impl Verdict {
    /// Returns whether the request is allowed.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        matches!(self, Verdict::Allowed(_))
    }
}

/// A binding that grants nothing, because its role does not exist. `Display` writes kube-apiserver's message ([`Self::not_found`])
/// and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingRole {
    /// The ClusterRoleBinding or RoleBinding.
    pub binding: ObjectRef,
    /// The role it refers to.
    pub role: ObjectRef,
}

impl MissingRole {
    /// Returns kube-apiserver's message: `clusterrole.rbac.authorization.k8s.io "gone" not found`.
    #[must_use]
    pub fn not_found(&self) -> String {
        let resource = match self.role.kind {
            RbacKind::Role => "role",
            _ => "clusterrole",
        };
        format!(
            "{resource}.{group} {name:?} not found",
            group = groups::RBAC,
            name = self.role.name
        )
    }
}

impl fmt::Display for MissingRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { binding, role } = self;
        let not_found = self.not_found();
        write!(
            f,
            "{not_found}: {binding} grants nothing until {role} is created"
        )
    }
}

/// What allowed a request. `Display` writes
/// `ClusterRoleBinding "hub-admins" -> ClusterRole "hub-admin" for group "team-carol"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    /// Membership in a group that may do everything; see [`Policy::with_superusers`](crate::Policy::with_superusers).
    Superuser {
        /// The group.
        group: String,
    },
    /// A binding whose role has a matching rule.
    Binding {
        /// The ClusterRoleBinding or RoleBinding.
        binding: ObjectRef,
        /// The role it refers to.
        role: ObjectRef,
        /// The first subject that matches the user.
        subject: Grantee,
    },
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Grant::Superuser { group } => write!(f, "group {group:?} may do everything"),
            Grant::Binding {
                binding,
                role,
                subject,
            } => write!(f, "{binding} -> {role} for {subject}"),
        }
    }
}

/// The four kinds of RBAC objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "Kubernetes' own names")]
pub enum RbacKind {
    ClusterRole,
    Role,
    ClusterRoleBinding,
    RoleBinding,
}

/// A reference to an RBAC object. `Display`: `ClusterRole "hub-admin"`, `RoleBinding "app/editors"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRef {
    /// The kind.
    pub kind: RbacKind,
    /// The namespace; `None` for a ClusterRole or a ClusterRoleBinding.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            namespace,
            name,
        } = self;
        match namespace {
            Some(namespace) => write!(
                f,
                "{kind:?} {:?}",
                format_args!("{namespace}/{name}").to_string()
            ),
            None => write!(f, "{kind:?} {name:?}"),
        }
    }
}

/// A subject of a binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grantee {
    /// A user, by name.
    User(String),
    /// All members of a group.
    Group(String),
    /// A service account: the user `system:serviceaccount:<namespace>:<name>`.
    ServiceAccount {
        /// The namespace; by default that of the binding.
        namespace: String,
        /// The name.
        name: String,
    },
}

impl Grantee {
    pub(crate) fn applies_to<G: AsRef<str>>(&self, subject: &Subject<'_, G>) -> bool {
        match self {
            Grantee::User(name) => name == subject.user,
            Grantee::Group(name) => subject.is_in(name),
            Grantee::ServiceAccount { namespace, name } => {
                let account = subject.user.strip_prefix(SERVICE_ACCOUNT_PREFIX);
                let in_namespace = account
                    .and_then(|rest| rest.strip_prefix(namespace.as_str())?.strip_prefix(':'));
                in_namespace == Some(name)
            }
        }
    }
}

impl fmt::Display for Grantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Grantee::User(name) => write!(f, "user {name:?}"),
            Grantee::Group(name) => write!(f, "group {name:?}"),
            Grantee::ServiceAccount { namespace, name } => {
                write!(f, "service account {:?}", format!("{namespace}/{name}"))
            }
        }
    }
}
