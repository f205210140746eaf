//! Kubernetes' RBAC decisions as a pure library: from RBAC objects, a user and a request to a verdict and the rule behind it.
//!
//! [`Policy`] holds ClusterRoles, Roles and their bindings, and may be changed at any time. [`Policy::evaluate`] decides as
//! the RBAC authorizer of kube-apiserver does (<https://kubernetes.io/docs/reference/access-authn-authz/rbac/>), with two
//! additions that a hub has outside of its authorizer:
//! - an aggregated ClusterRole has the rules its selectors give it, as if the aggregation controller had just run;
//! - members of a configurable group may do everything ([`Policy::with_superusers`]).
//!
//! # Guarantees
//! - No I/O, no clock, no randomness: the same policy and question give the same verdict, down to the reported grant.
//! - Permissions are additive. A broken binding is reported and does not affect other bindings.
//! - Only the groups of the [`Subject`] count. [`implied_groups`] is for callers that know only a user name.
//! - Objects that a hub would refuse to store are refused ([`InvalidObject`]), so that an error in a file gives a message, not a
//!   permission that silently has no effect.
//!
//! ```
//! use berth_rbac::{Policy, Request, Subject};
//!
//! let policy = Policy::new().with_superusers("system:masters");
//! let subject = Subject { user: "admin", groups: &["system:masters"] };
//! let verdict = policy.evaluate(&subject, &Request::NonResource { verb: "get", path: "/metrics" });
//! assert!(verdict.is_allowed());
//! ```

mod bindings;
mod check;
mod cluster_roles;
mod covers;
mod policy;
mod request;
mod rule;
mod verdict;

pub use check::InvalidObject;
pub use covers::{compact, describe, not_covered};
pub use policy::{Policy, Rules};
pub use request::{Request, Subject, implied_groups, service_account};
pub use verdict::{Grant, Grantee, MissingRole, ObjectRef, RbacKind, Verdict};
