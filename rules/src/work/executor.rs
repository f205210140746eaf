//! The executor: the service account that must have the permissions to write the objects.

use berth_api::work::{
    ExecutorSubjectType, ManifestWorkExecutor, ManifestWorkSubjectServiceAccount,
};

use crate::introduced::Finding;
use crate::object::ReadWork;
use crate::sentences::works::{NO_SERVICE_ACCOUNT, OTHER_EXECUTOR};
use crate::{FeatureGates, Permission, Reason};

/// The account for which a ManifestWork without an executor needs permission, with the gate `NilExecutorValidating`. OCM knows no
/// namespace of it.
const NIL_EXECUTOR: Account<'_> = Account {
    namespace: "",
    name: "klusterlet-work-sa",
};

/// A service account on managed clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Account<'a> {
    namespace: &'a str,
    name: &'a str,
}

/// The permission that a change needs for the executor.
#[derive(Debug)]
pub(super) struct Needed {
    /// The permission.
    pub(super) permission: Permission,
    /// The account as OCM shows it.
    pub(super) shown: String,
}

/// Returns the fault of an executor. An executor without a subject is invalid, and not the same as none.
pub(super) fn fault(executor: Option<&ManifestWorkExecutor>) -> Option<Finding> {
    let subject = executor?.subject.as_ref();
    let sentence = match subject {
        None => NO_SERVICE_ACCOUNT,
        Some(subject) if subject.r#type != ExecutorSubjectType::ServiceAccount => OTHER_EXECUTOR,
        Some(subject) if subject.service_account.is_none() => NO_SERVICE_ACCOUNT,
        Some(_) => return None,
    };
    Some(Finding::whole(Reason::Executor, sentence, sentence))
}

/// Returns the permission that the change from the stored spec to the new one needs. `namespace` is that of the ManifestWorks; `None`
/// for any.
pub(super) fn needed(
    new: &ReadWork<'_>,
    stored: Option<&ReadWork<'_>>,
    namespace: Option<&str>,
    gates: FeatureGates,
) -> Option<Needed> {
    let does_otherwise = stored.is_none_or(|stored| {
        new.manifests.texts() != stored.manifests.texts() || new.rules != stored.rules
    });
    if !does_otherwise {
        return None;
    }
    let account = match &new.rules.executor {
        Some(executor) => Account::of(executor)?,
        None if gates.nil_executor_validating => NIL_EXECUTOR,
        None => return None,
    };
    let permission = Permission::execute_as(&account.user());
    Some(Needed {
        permission: match namespace {
            Some(namespace) => permission.in_namespace(namespace),
            None => permission,
        },
        shown: format!("{}/{}", account.namespace, account.name),
    })
}

// === impl Account ===

impl<'a> Account<'a> {
    /// The service account of a valid executor. A stored one may be invalid; agents refuse it.
    fn of(executor: &'a ManifestWorkExecutor) -> Option<Self> {
        let account = executor.subject.as_ref()?.service_account.as_ref()?;
        let ManifestWorkSubjectServiceAccount { name, namespace } = account;
        Some(Self { namespace, name })
    }

    /// The user name.
    fn user(self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }
}
