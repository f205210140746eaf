//! The sentences about ManifestWorks and ManifestWorkReplicaSets. Where OCM has a sentence, it is OCM's, to the letter.

use std::fmt::Display;

use berth_api::groups;

use super::missing;
use crate::display::{Plain, Quoted, cut_bytes};
use crate::{Denial, Permission, Reason};

/// The maximum number of bytes of a name in a sentence of OCM, which does not quote names.
const LONGEST_NAME: usize = 253;

/// The maximum length of the name of a ManifestWork. The agent's AppliedManifestWork has it behind the hub's hash and a hyphen.
pub const LONGEST_WORK_NAME: usize = 253 - 65;

/// A ManifestWork has no manifests.
pub const NO_MANIFESTS: &str = "manifests should not be empty";

/// The template of a ManifestWorkReplicaSet has no manifests.
pub const NO_MANIFESTS_IN_TEMPLATE: &str = "Workload manifests should not be empty";

/// A manifest has no name.
pub(crate) const NO_NAME: &str = "name must be set in manifest";

/// A manifest has `generateName`.
pub(crate) const GENERATED_NAME: &str = "generateName must not be set in manifest";

/// The executor names no service account.
pub const NO_SERVICE_ACCOUNT: &str = "executor service account can not be nil";

/// The executor is not a service account.
pub(crate) const OTHER_EXECUTOR: &str = "only support ServiceAccount type for the executor";

/// The name of a ManifestWork is too long.
pub fn work_name(name: &str) -> String {
    format!(
        "metadata.name: Invalid value: {}: must be no more than {LONGEST_WORK_NAME} characters, to fit the name of the agent's \
         AppliedManifestWork",
        Quoted(name)
    )
}

/// The namespace and the name of a ManifestWorkReplicaSet do not fit a label value.
pub fn replica_set_name(name: &str) -> String {
    format!(
        "metadata.name: Invalid value: {}: the name with its namespace and a dot must be no more than 63 characters, to fit the label by \
         which ManifestWorks name their ManifestWorkReplicaSet",
        Quoted(name)
    )
}

/// The manifests are too large.
pub fn manifests_size(size: impl Display, limit: impl Display) -> String {
    format!("the size of manifests is {size} bytes which exceeds the {limit} limit")
}

/// Two manifests are the same object.
pub(crate) fn duplicate_manifest(
    api_version: &str,
    kind: &str,
    namespace: &str,
    name: &str,
) -> String {
    let [api_version, kind, namespace, name] =
        [api_version, kind, namespace, name].map(|it| Plain(cut_bytes(it, LONGEST_NAME)));
    format!(
        "duplicate manifest for resource {namespace}/{name} with resource type {api_version}.{kind}"
    )
}

/// The requester may not let this ManifestWork write with the identity of the executor. OCM refuses it with code 400.
pub fn execute_as(
    user: &str,
    (work, namespace): (&str, &str),
    account: &str,
    permission: &Permission,
) -> Denial {
    let [shown_user, shown_account, shown_namespace] =
        [user, account, namespace].map(|it| Plain(cut_bytes(it, LONGEST_NAME)));
    Denial {
        reason: Reason::ExecuteAs,
        group: groups::WORK,
        resource: groups::MANIFEST_WORKS,
        name: work.to_owned(),
        message: format!(
            "user {shown_user} cannot manipulate the Manifestwork with executor {shown_account} in namespace {shown_namespace}: {}",
            missing(permission)
        ),
    }
}

/// The requester may not let the ManifestWorks of this ManifestWorkReplicaSet write with the identity of the executor.
pub fn execute_as_everywhere(
    user: &str,
    replica_set: &str,
    account: &str,
    permission: &Permission,
) -> Denial {
    let [shown_user, shown_account] = [user, account].map(|it| Plain(cut_bytes(it, LONGEST_NAME)));
    Denial {
        reason: Reason::ExecuteAs,
        group: groups::WORK,
        resource: groups::MANIFEST_WORK_REPLICA_SETS,
        name: replica_set.to_owned(),
        message: format!(
            "user {shown_user} cannot manipulate the ManifestWorkReplicaSet with executor {shown_account}, whose ManifestWorks can be in \
             the namespace of any cluster: {}",
            missing(permission)
        ),
    }
}
