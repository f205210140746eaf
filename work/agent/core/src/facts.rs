//! What is read of ManifestWorks and AppliedManifestWorks.

use berth_api::labels::{APPLIED_MANIFEST_WORK_CLEANUP, MANIFEST_WORK_CLEANUP};
use berth_api::work::{AppliedManifestWork, ManifestWork};
use berth_api::{GroupVersionResource, groups};

/// A CustomResourceDefinition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The group of its kind.
    pub group: Box<str>,
    /// Its kinds are served. A new version changes the generation.
    pub is_served: bool,
    /// The generation of its spec.
    pub generation: i64,
}

/// The resource of ManifestWorks.
pub fn works() -> GroupVersionResource {
    GroupVersionResource::new(groups::WORK, "v1", groups::MANIFEST_WORKS)
}

/// The resource of AppliedManifestWorks.
pub fn applied_works() -> GroupVersionResource {
    GroupVersionResource::new(groups::WORK, "v1", groups::APPLIED_MANIFEST_WORKS)
}

/// Returns true if the agent has to remove the objects of the ManifestWork before it goes.
pub(crate) fn has_finalizer(work: &ManifestWork) -> bool {
    let finalizers = work.metadata.finalizers.as_deref();
    finalizers.is_some_and(|it| it.iter().any(|it| it == MANIFEST_WORK_CLEANUP))
}

/// Returns true if the agent has to remove the objects of the AppliedManifestWork before it goes.
pub(crate) fn applied_has_finalizer(applied: &AppliedManifestWork) -> bool {
    let finalizers = applied.metadata.finalizers.as_deref();
    finalizers.is_some_and(|it| it.iter().any(|it| it == APPLIED_MANIFEST_WORK_CLEANUP))
}
