//! Kubernetes' RBAC decisions as a pure library: given RBAC objects, a user and a request, is it allowed, and by what?
//!
//! [`Policy`] holds ClusterRoles, Roles and their bindings, and may be changed at any time. [`Policy::evaluate`] decides as
//! the RBAC authorizer of kube-apiserver does (<https://kubernetes.io/docs/reference/access-authn-authz/rbac/>), with two
//! additions that a hub has outside of its authorizer:
//! - an aggregated ClusterRole has the rules its selectors give it, as if the aggregation controller had just run;
//! - a group may be named whose members may do everything ([`Policy::with_superusers`]).
//!
//! # Guarantees
//! - No I/O, no clock, no randomness: the same policy and question give the same verdict, down to the reported grant.
//! - Permissions only add up. A broken binding is reported and takes nothing away from the others.
//! - Only the groups given in the [`Subject`] count. [`implied_groups`] is for callers which know no more than a user name.
//! - What a hub would refuse to store is refused here too ([`InvalidObject`]), so that a slip in a file is an error message
//!   and not a permission that silently does not apply.
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
pub use verdict::{Grant, Grantee, Kind, MissingRole, ObjectRef, Verdict};
