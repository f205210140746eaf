//! Whether an agent can reach its hub: what the Secrets with its credentials allow there.
//!
//! The reasons are OCM's. Every hub of OCM must allow all of this.

use berth_api::conditions::operator::HUB_CONNECTION_DEGRADED;
use berth_api::conditions::{FALSE, TRUE};

use crate::said::Said;

/// What was found with the two Secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// With the bootstrap kubeconfig; `None` if there was no need to look.
    pub bootstrap: Option<Check>,
    /// With the agent's own credentials.
    pub hub: Check,
}

/// What was found with a Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// It allows all that an agent does.
    pub is_functional: bool,
    /// OCM's reason.
    pub reason: &'static str,
    /// For users.
    pub message: String,
}

/// Something that an agent does on its hub, as the attributes of a SelfSubjectAccessReview.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Right {
    /// The API group.
    pub group: &'static str,
    /// The resource.
    pub resource: &'static str,
    /// The subresource, or empty.
    pub subresource: &'static str,
    /// The namespace, or empty.
    pub namespace: String,
    /// The name, or empty: any.
    pub name: String,
    /// The verb.
    pub verb: &'static str,
}

const CLUSTER: &str = "cluster.open-cluster-management.io";
const CERTIFICATES: &str = "certificates.k8s.io";
const REQUESTS: &str = "certificatesigningrequests";

/// What the bootstrap credentials must allow.
#[must_use]
pub fn of_bootstrap() -> Vec<Right> {
    let rights = [
        ((CLUSTER, "managedclusters"), &["create", "get"][..]),
        (
            (CERTIFICATES, REQUESTS),
            &["create", "get", "list", "watch"],
        ),
    ];
    let rights = rights.into_iter().flat_map(|((group, resource), verbs)| {
        verbs.iter().map(move |verb| Right {
            group,
            resource,
            verb,
            ..Right::default()
        })
    });
    rights.collect()
}

/// What the credentials of the agent of this cluster must allow.
#[must_use]
pub fn of_hub(cluster: &str) -> Vec<Right> {
    const MANAGED: &str = "managedclusters";
    const WORK: &str = "work.open-cluster-management.io";
    let rights = [
        (
            (CERTIFICATES, REQUESTS, ""),
            ("", ""),
            &["get", "list", "watch"][..],
        ),
        (
            (CLUSTER, MANAGED, ""),
            ("", cluster),
            &["get", "list", "update", "watch"],
        ),
        (
            (CLUSTER, MANAGED, "status"),
            ("", cluster),
            &["patch", "update"],
        ),
        (
            (
                "register.open-cluster-management.io",
                MANAGED,
                "clientcertificates",
            ),
            ("", ""),
            &["renew"],
        ),
        (
            ("coordination.k8s.io", "leases", ""),
            (cluster, "managed-cluster-lease"),
            &["get", "update"],
        ),
        (
            ("", "events", ""),
            (cluster, ""),
            &["create", "patch", "update"],
        ),
        (
            ("events.k8s.io", "events", ""),
            (cluster, ""),
            &["create", "patch", "update"],
        ),
        (
            (WORK, "manifestworks", ""),
            (cluster, ""),
            &["get", "list", "watch", "update"],
        ),
        (
            (WORK, "manifestworks", "status"),
            (cluster, ""),
            &["patch", "update"],
        ),
    ];
    let rights = rights.into_iter();
    let rights = rights.flat_map(
        |((group, resource, subresource), (namespace, name), verbs)| {
            verbs.iter().map(move |verb| Right {
                group,
                resource,
                subresource,
                namespace: namespace.to_owned(),
                name: name.to_owned(),
                verb,
            })
        },
    );
    rights.collect()
}

// === impl Connection ===

impl Connection {
    /// Returns whether the agent has come to its hub.
    #[must_use]
    pub fn is_functional(&self) -> bool {
        self.hub.is_functional
    }

    /// OCM's reason: of both Secrets, if the agent has not come to its hub.
    pub(super) fn reason(&self) -> String {
        match &self.bootstrap {
            Some(bootstrap) => format!("{},{}", bootstrap.reason, self.hub.reason),
            None => self.hub.reason.to_owned(),
        }
    }

    pub(super) fn said<'r>(&self, reason: &'r str) -> Said<'r> {
        let status = if self.is_functional() { FALSE } else { TRUE };
        let message = match &self.bootstrap {
            Some(bootstrap) => format!("{}\n{}", bootstrap.message, self.hub.message),
            None => self.hub.message.clone(),
        };
        (HUB_CONNECTION_DEGRADED, status, reason, message)
    }
}
