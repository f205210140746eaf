//! CertificateSigningRequests of agents: the hub approves some automatically, and leaves the others to an admin, with a reason.
//!
//! Follows OCM's CSR driver. An agent that renews its own certificate is approved if RBAC allows it. A first request
//! (bootstrap) is approved if the gate is on and an admin listed its sender. The hub never denies a request: one that is not
//! approved waits for an admin.
//!
//! Unlike OCM, the hub validates a request strictly: one PEM block, a plain subject, an agent's usages, no alternative names,
//! a valid signature. And a bootstrap token is shared, so its holder could impersonate every cluster of the hub: a listed user
//! gets a certificate only for an accepted cluster that no admin denied, that is in no set except `default`
//! ([`crate::automatic`]), and that has not joined. With the gate `ManagedClusterAutoRebootstrap`, also for a cluster that has
//! joined, if its condition Available is Unknown.

mod checked;
mod foreign;
mod request;

#[cfg(test)]
pub(crate) mod tests;

use std::fmt;

pub use checked::CheckedRequest;
pub use foreign::is_foreign;
pub use request::{Refusal, validate};

use berth_api::certificate_request::target;
use berth_api::text::is_plain;
use berth_api::{conditions, groups};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReviewSpec};

use crate::automatic::Obstacle;
use crate::config::Config;
use crate::facts::{CertificateRequest, Cluster};
use crate::names;
use berth_api::plan::{Action, Event, Write};

/// The reconciler's name, in metrics and logs.
pub const NAME: &str = "csrs";

/// The signer that issues the agents' certificates. The hub ignores requests to other signers.
pub const SIGNER: &str = "kubernetes.io/kube-apiserver-client";

/// Upper bound on the bytes of a requester's name in an Event, which holds 1 KiB. An agent's name is shorter.
const LONGEST_NAME: usize = 150;

/// The reasons why a request is left to an admin.
pub mod reasons {
    /// The value of the label cannot be a cluster's name.
    pub(crate) const INVALID_CLUSTER_NAME: &str = "InvalidClusterName";
    /// Its usages are not those of an agent's certificate.
    pub const INVALID_USAGES: &str = "InvalidUsages";
    /// The request is malformed, or its signature does not verify.
    pub(crate) const INVALID_REQUEST: &str = "InvalidRequest";
    /// Its common name or its organizations are not those of an agent of the cluster.
    pub(crate) const INVALID_SUBJECT: &str = "InvalidSubject";
    /// It requests subject alternative names.
    pub(crate) const ALTERNATIVE_NAMES: &str = "AlternativeNames";
    /// An agent requests to renew its certificate, and may not.
    pub const RENEWAL_FORBIDDEN: &str = "RenewalForbidden";
    /// Fields of the ManagedCluster cannot be read.
    pub(crate) const CLUSTER_UNREADABLE: &str = "ClusterUnreadable";
    /// A first request, and the gate is off: the usual case without automatic approval.
    pub const AUTO_APPROVAL_OFF: &str = "AutoApprovalOff";
    /// A first request whose sender is not listed: the usual case.
    pub const USER_NOT_LISTED: &str = "UserNotListed";
    /// A first request for a cluster that is being removed.
    pub(crate) const CLUSTER_DELETING: &str = "ClusterDeleting";
    /// A first request for a cluster that an admin denied, or of which an admin denied a request.
    pub(crate) const CLUSTER_DENIED: &str = "ClusterDenied";
    /// A first request for a cluster whose labels put it into another set than `default`.
    pub(crate) const OTHER_SET: &str = "OtherClusterSet";
    /// A first request for a cluster that cannot be accepted because of its name or its namespace.
    pub(crate) const CLUSTER_REFUSED: &str = "ClusterRefused";
    /// A first request for a cluster whose namespace exists without the cluster's label.
    pub(crate) const NAMESPACE_TAKEN: &str = "NamespaceTaken";
    /// A first request for a cluster that has joined, and the gate `ManagedClusterAutoRebootstrap` is off.
    pub(crate) const CLUSTER_JOINED: &str = "ClusterJoined";
    /// A first request for a cluster that has joined, and whose agent is not silent.
    pub(crate) const CLUSTER_IN_USE: &str = "ClusterInUse";
}

/// The decision about a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Ask the hub if its sender may renew a certificate, and decide again with the answer.
    Ask(Box<SubjectAccessReviewSpec>),
    /// Approve it.
    Approve(Box<Write>),
    /// Leave it to an admin, for this reason. The reason is reported once ([`Decision::event`]); a change of the ManagedCluster
    /// leads to a new decision.
    Leave {
        /// One of [`reasons`], for metrics.
        reason: &'static str,
        /// Text for users.
        note: String,
    },
    /// Wait until the ManagedCluster exists and is accepted, and decide again. This is not reported, because agents send the
    /// request and create the ManagedCluster in any order.
    Wait,
    /// Remove its label, in any state: it counts against a cluster whose agent did not send it.
    Unlabel {
        /// Removes the label.
        write: Box<Write>,
        /// The Event if the hub refuses that.
        kept: Box<Event>,
    },
    /// Not an agent's request: do nothing.
    Ignore,
}

/// Decides about a pending request, or one that [`is_foreign`].
///
/// `cluster`: the ManagedCluster that its label names. `obstacle`: the reason why that cluster is left to an admin
/// ([`crate::automatic`]). `may_renew`: the answer to [`Decision::Ask`].
pub fn decide(
    config: &Config,
    request: &CertificateRequest,
    cluster: Option<&Cluster>,
    obstacle: Option<&Obstacle>,
    may_renew: Option<bool>,
) -> Decision {
    let validated = || validate(request);
    decide_validated(config, request, validated, cluster, obstacle, may_renew)
}

/// As [`decide`], with the result of [`validate`], which is needed for requests to our signer only.
fn decide_validated(
    config: &Config,
    request: &CertificateRequest,
    validated: impl FnOnce() -> Result<String, Refusal>,
    cluster: Option<&Cluster>,
    obstacle: Option<&Obstacle>,
    may_renew: Option<bool>,
) -> Decision {
    if is_foreign(request) {
        return foreign::unlabel(request);
    }
    if request.signer != SIGNER {
        return Decision::Ignore;
    }
    let common_name = match validated() {
        Ok(common_name) => common_name,
        Err(refusal) => return leave(request, refusal.reason, &refusal.words),
    };
    if let Some(cluster) = cluster.filter(|cluster| !cluster.unreadable.is_empty()) {
        let why = format!(
            "fields of the ManagedCluster cannot be read: {}",
            cluster.unreadable
        );
        return leave(request, reasons::CLUSTER_UNREADABLE, &why);
    }
    if request.username == common_name {
        return match may_renew {
            // After a denial, the role still grants it for a moment.
            _ if cluster.is_some_and(|cluster| !cluster.accepted) => leave(
                request,
                reasons::RENEWAL_FORBIDDEN,
                &why_forbidden(request, cluster),
            ),
            None => Decision::Ask(Box::new(renewal_review(request))),
            Some(true) => approve(
                request,
                "ManagedClusterCSRAutoApproved",
                format!(
                    "managed cluster csr {} is auto approved by hub csr controller",
                    quoted(&request.name, LONGEST_NAME)
                ),
            ),
            Some(false) => leave(
                request,
                reasons::RENEWAL_FORBIDDEN,
                &why_forbidden(request, cluster),
            ),
        };
    }
    if !config.gates.auto_approval {
        let why = "feature gate ManagedClusterAutoApproval is off";
        return leave_to_approve(request, reasons::AUTO_APPROVAL_OFF, why);
    }
    if !config.auto_approved_users.contains(&request.username) {
        let why = "the user is not listed in --auto-approved-csr-users";
        return leave_to_approve(request, reasons::USER_NOT_LISTED, why);
    }
    if let Some(obstacle) = obstacle
        && cluster.is_some_and(|cluster| !cluster.deleting)
    {
        return leave_to_approve(request, obstacle.reason, &obstacle.words);
    }
    match cluster {
        None => Decision::Wait,
        Some(cluster) if cluster.deleting => leave(
            request,
            reasons::CLUSTER_DELETING,
            "the ManagedCluster is being deleted",
        ),
        // Only accepted clusters get a certificate.
        Some(cluster) if !cluster.accepted => Decision::Wait,
        Some(cluster) if has_joined(cluster) && !config.gates.auto_rebootstrap => leave_to_approve(
            request,
            reasons::CLUSTER_JOINED,
            "the cluster has joined already; another certificate for it is given to a listed user only with feature gate \
             ManagedClusterAutoRebootstrap",
        ),
        Some(cluster) if is_in_use(cluster) => leave_to_approve(
            request,
            reasons::CLUSTER_IN_USE,
            "the cluster has joined already, and its agent has not been silent for long enough; a listed user gets a \
             certificate for a cluster that has not joined, or whose condition ManagedClusterConditionAvailable is Unknown",
        ),
        Some(_) => approve(
            request,
            "ManagedClusterAutoApproved",
            format!("managed cluster {:?} is auto approved.", request.cluster),
        ),
    }
}

/// Returns true for a valid first request (bootstrap) from a user that an admin listed, if the gate is on. Does not look at the
/// cluster.
pub fn is_from_listed_user(config: &Config, request: &CertificateRequest) -> bool {
    config.gates.auto_approval
        && request.signer == SIGNER
        && config.auto_approved_users.contains(&request.username)
        && validate(request).is_ok_and(|common_name| common_name != request.username)
}

// === impl Decision ===

impl Decision {
    /// The Event about the request, for [`Decision::Leave`]. Other decisions have none, or their write has it.
    pub fn event(&self) -> Option<Event> {
        let Self::Leave { reason, note } = self else {
            return None;
        };
        let usual = [reasons::AUTO_APPROVAL_OFF, reasons::USER_NOT_LISTED];
        Some(Event {
            warning: !usual.contains(reason),
            reason: "ManagedClusterCSRNotApproved",
            note: note.clone(),
            namespace: None,
        })
    }
}

/// Returns true if an agent of the cluster has registered.
fn has_joined(cluster: &Cluster) -> bool {
    cluster.condition_status(conditions::cluster::JOINED) == Some(conditions::TRUE)
}

/// Returns true if an agent of the cluster has registered and is not known to be silent.
pub fn is_in_use(cluster: &Cluster) -> bool {
    has_joined(cluster)
        && cluster.condition_status(conditions::cluster::AVAILABLE) != Some(conditions::UNKNOWN)
}

/// Without the cluster's name, as in OCM: the permission is the same for all clusters.
fn renewal_review(request: &CertificateRequest) -> SubjectAccessReviewSpec {
    SubjectAccessReviewSpec {
        user: Some(request.username.clone()),
        uid: Some(request.user_uid.clone()).filter(|uid| !uid.is_empty()),
        groups: Some(request.groups.clone()),
        extra: Some(request.extra.clone()),
        resource_attributes: Some(ResourceAttributes {
            group: Some(groups::REGISTER.to_owned()),
            resource: Some(groups::MANAGED_CLUSTERS.to_owned()),
            subresource: Some(groups::CLIENT_CERTIFICATES.to_owned()),
            verb: Some("renew".to_owned()),
            ..ResourceAttributes::default()
        }),
        non_resource_attributes: None,
    }
}

fn why_forbidden(request: &CertificateRequest, cluster: Option<&Cluster>) -> String {
    let cause = match cluster {
        None => "the ManagedCluster does not exist".to_owned(),
        Some(Cluster {
            accepted: false, ..
        }) => "the ManagedCluster is not accepted (spec.hubAcceptsClient)".to_owned(),
        Some(_) => format!(
            "see ClusterRole and ClusterRoleBinding {:?}",
            names::cluster_role(&request.cluster)
        ),
    };
    format!(
        "the user may not renew its certificate: needs verb \"renew\" on {}/{} in API group {}, which agents of accepted \
         clusters have; {cause}",
        groups::MANAGED_CLUSTERS,
        groups::CLIENT_CERTIFICATES,
        groups::REGISTER,
    )
}

fn approve(request: &CertificateRequest, event: &'static str, note: String) -> Decision {
    Decision::Approve(Box::new(Write {
        target: target(&request.name),
        action: Action::Replace {
            subresource: Some("approval"),
            body: request.approval(
                "AutoApprovedByHubCSRApprovingController",
                "Auto approving Managed cluster agent certificate after SubjectAccessReview.",
            ),
        },
        reconciler: NAME,
        events: vec![Event {
            warning: false,
            reason: event,
            note,
            namespace: None,
        }],
    }))
}

fn leave(request: &CertificateRequest, reason: &'static str, why: &str) -> Decision {
    let note = format!("{} is not approved by the hub: {why}", Named(request));
    Decision::Leave { reason, note }
}

fn leave_to_approve(request: &CertificateRequest, reason: &'static str, why: &str) -> Decision {
    let named = Named(request);
    // The requester chooses the name: show it in a command only if a shell does not interpret it.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    let note = match request.name.as_str() {
        name if name.len() <= LONGEST_NAME && !name.starts_with('-') && name.bytes().all(plain) => {
            format!("{named} waits for `kubectl certificate approve {name}`: {why}")
        }
        _ => format!("{named} waits for an admin's approval: {why}"),
    };
    Decision::Leave { reason, note }
}

/// Displays a request with its user and its cluster.
struct Named<'a>(&'a CertificateRequest);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "CertificateSigningRequest {} of user {} for ManagedCluster {}",
            quoted(&self.0.name, LONGEST_NAME),
            quoted(&self.0.username, LONGEST_NAME),
            quoted(&self.0.cluster, 63),
        )
    }
}

/// A requester's text for an Event: quoted, escaped, and cut after `longest` bytes.
fn quoted(text: &str, longest: usize) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if is_plain(c) => quoted.push(c),
            // escape_debug leaves letters as they are: escape them by number.
            c if c.escape_debug().len() > 1 => quoted.extend(c.escape_debug()),
            c => quoted.extend(c.escape_unicode()),
        }
    }
    quoted.push('"');
    if quoted.len() > longest.saturating_add(2) {
        quoted.truncate(quoted.floor_char_boundary(longest));
        quoted.push_str("...\"");
    }
    quoted
}
