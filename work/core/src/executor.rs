//! Executors: a ManifestWork may name a service account of the cluster that must have the permissions to write the objects.
//!
//! The questions are SubjectAccessReviews. RBAC objects are also created as the account, with dry-run, because the API server then
//! checks that the account does not grant more than it has.

#[cfg(test)]
mod tests;

use berth_api::work::{ExecutorSubjectType, ManifestWorkExecutor};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReviewSpec};

use crate::apply::{ApplyFailure, Retry, failure};
use crate::{Holding, Mapped};

/// The API group of RBAC objects.
const RBAC: &str = "rbac.authorization.k8s.io";

/// A service account on the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Account {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// Reads the executor of a ManifestWork. `None`: the agent's own permissions are enough.
///
/// # Errors
/// The executor is not a service account. No object of the ManifestWork may be applied.
pub fn account(executor: Option<&ManifestWorkExecutor>) -> Result<Option<Account>, ApplyFailure> {
    let Some(executor) = executor else {
        return Ok(None);
    };
    let broken = |why: &str| Err(failure(why.to_owned(), Retry::OnChange));
    let Some(subject) = &executor.subject else {
        return broken("the executor has no subject: set executor.subject, or remove the executor");
    };
    match (&subject.r#type, &subject.service_account) {
        (ExecutorSubjectType::ServiceAccount, Some(account)) => Ok(Some(Account {
            namespace: account.namespace.clone(),
            name: account.name.clone(),
        })),
        (ExecutorSubjectType::ServiceAccount, None) => {
            broken("the executor service account is nil")
        }
        (ExecutorSubjectType::Other(_), _) => {
            broken("only support ServiceAccount type for the executor")
        }
    }
}

// === impl Account ===

impl Account {
    /// The name of the user.
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }

    /// The groups of the user.
    pub fn groups(&self) -> Vec<String> {
        vec![
            "system:serviceaccounts".to_owned(),
            "system:authenticated".to_owned(),
            format!("system:serviceaccounts:{}", self.namespace),
        ]
    }

    /// What must all be allowed before the object is applied. `delete` is asked only for objects that are deleted with the work.
    pub fn questions(&self, object: &Mapped, holding: Holding) -> Vec<SubjectAccessReviewSpec> {
        let verbs = ["create", "update", "patch", "get"];
        let delete = (holding == Holding::Owned).then_some("delete");
        verbs
            .into_iter()
            .chain(delete)
            .map(|verb| self.question(object, verb))
            .collect()
    }

    /// May the account do this with the object?
    pub fn question(&self, object: &Mapped, verb: &str) -> SubjectAccessReviewSpec {
        SubjectAccessReviewSpec {
            user: Some(self.user()),
            groups: Some(self.groups()),
            resource_attributes: Some(ResourceAttributes {
                group: Some(object.prescribed.group().to_owned()),
                version: Some(object.prescribed.version().to_owned()),
                resource: Some(object.resource.clone()),
                namespace: Some(object.namespace.clone()),
                name: Some(object.prescribed.name.clone()),
                verb: Some(verb.to_owned()),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        }
    }

    /// The failure of an object that the account may not write.
    pub fn refused(&self, object: &Mapped, verb: &str) -> ApplyFailure {
        let user = self.user();
        failure(
            format!(
                "{}, will try again in 1m0s; grant the verb {verb} to {user}",
                not_allowed(object)
            ),
            Retry::OnPermission,
        )
    }

    /// The failure of an RBAC object that grants more than the account has. `why` is the API server's message.
    pub fn escalates(&self, object: &Mapped, why: &str) -> ApplyFailure {
        failure(
            format!(
                "{}, error: permission escalation, will try again in 1m0s; {why}",
                not_allowed(object)
            ),
            Retry::OnPermission,
        )
    }

    /// Returns the failure of an object that the API server, or its admission, does not let the account write. `why` is its message.
    pub fn forbidden(&self, object: &Mapped, why: &str) -> ApplyFailure {
        if may_escalate(object) {
            return self.escalates(object, why);
        }
        failure(
            format!("{}, will try again in 1m0s; {why}", not_allowed(object)),
            Retry::OnPermission,
        )
    }

    /// Returns the failure of an RBAC object whose creation as the account, as a dry run, failed for another reason.
    pub fn unchecked(&self, object: &Mapped, why: &str) -> ApplyFailure {
        failure(
            format!(
                "{}, error: it is not known whether it is a permission escalation, will try again in 1m0s; a dry run as {} failed: {why}",
                not_allowed(object),
                self.user()
            ),
            Retry::OnPermission,
        )
    }
}

fn not_allowed(object: &Mapped) -> String {
    format!(
        "not allowed to apply the resource {} {}, {} {}",
        object.prescribed.group(),
        object.resource,
        object.namespace,
        object.prescribed.name
    )
}

/// Returns true if the object must also be created as the account, with dry-run. The refusal "already exists" is then fine.
pub fn may_escalate(object: &Mapped) -> bool {
    object.prescribed.group() == RBAC
        && matches!(
            object.resource.as_str(),
            "roles" | "rolebindings" | "clusterroles" | "clusterrolebindings"
        )
}

/// Returns true if the API server or an admission webhook of OCM decides by the user who writes, and not by the verb alone. Each write to
/// such an object is first sent as the account, as a dry run: the same request, with the same body, on the object as it is.
///
/// - RBAC: <https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping>;
/// - admission policies: who binds one must be able to read its parameters;
/// - ClusterTrustBundles: <https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/#cluster-trust-bundles>;
/// - OCM's kinds, if the managed cluster is a hub: acceptance, sets and bindings.
pub fn depends_on_writer(object: &Mapped) -> bool {
    let group = object.prescribed.group();
    matches!(
        group,
        "admissionregistration.k8s.io" | "certificates.k8s.io" | "open-cluster-management.io"
    ) || group.ends_with(".open-cluster-management.io")
        || may_escalate(object)
}

/// Returns the failure of a CertificateSigningRequest: the API server stores who created it, and who approves it goes by that. It would be
/// the agent. Not for an agent that impersonates executors.
pub fn names_the_writer(object: &Mapped) -> Option<ApplyFailure> {
    let named = object.prescribed.group() == "certificates.k8s.io"
        && object.resource == "certificatesigningrequests";
    named.then(|| {
        failure(
            format!(
                "{}: the request would be made in the name of the agent; use the agent's feature gate ExecutorImpersonation, or remove the executor",
                not_allowed(object)
            ),
            Retry::OnChange,
        )
    })
}

/// Returns the failure of an object of the agent itself. A ManifestWork with an executor must not write such an object, because the
/// executor would otherwise have the permissions of the agent. The agent's objects are those in its namespace, the namespace itself, AppliedManifestWorks,
/// Klusterlets, and cluster-wide roles and bindings whose names begin with `open-cluster-management:`.
pub fn agents_own(object: &Mapped, agent_namespace: &str) -> Option<ApplyFailure> {
    let name = object.prescribed.name.as_str();
    let own = match (object.prescribed.group(), object.resource.as_str()) {
        ("", "namespaces") => name == agent_namespace,
        ("work.open-cluster-management.io", "appliedmanifestworks")
        | ("operator.open-cluster-management.io", "klusterlets") => true,
        (RBAC, "clusterroles" | "clusterrolebindings") => {
            name.starts_with("open-cluster-management:")
        }
        _ => object.namespace == agent_namespace && !agent_namespace.is_empty(),
    };
    own.then(|| {
        failure(
            format!(
                "{}: it belongs to the agent; remove the executor, or the manifest",
                not_allowed(object)
            ),
            Retry::OnChange,
        )
    })
}
