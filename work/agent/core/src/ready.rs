//! A ManifestWork whose objects are to be applied.

use std::sync::Arc;

use berth_api::work::{AppliedManifestWork, ManifestWork};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::facts::has_finalizer;
use super::view::View;

/// A ManifestWork whose objects are to be applied, and its AppliedManifestWork.
#[derive(Clone, Debug)]
pub struct Ready {
    /// The ManifestWork.
    pub work: Arc<ManifestWork>,
    /// Its AppliedManifestWork.
    pub applied: Arc<AppliedManifestWork>,
}

// === impl Ready ===

impl Ready {
    /// UID and name of the AppliedManifestWork.
    pub fn owner(&self) -> (String, String) {
        let metadata = &self.applied.metadata;
        let uid = metadata.uid.clone().unwrap_or_default();
        (uid, metadata.name.clone().unwrap_or_default())
    }
}

// === impl View ===

impl View {
    /// The ManifestWork of this name with its AppliedManifestWork, if its objects are to be applied, and no hold stops that.
    pub fn ready(&self, name: &str) -> Option<Ready> {
        let work = self.works.get(name).filter(|_| self.room.has(name))?;
        let applied = self.applied.get(&*self.applied_name(name))?;
        let is_ready = work.metadata.deletion_timestamp.is_none()
            && has_finalizer(work)
            && applied.metadata.deletion_timestamp.is_none()
            && !self.stops(name);
        is_ready.then(|| Ready {
            work: Arc::clone(work),
            applied: Arc::clone(applied),
        })
    }

    /// Returns true if the manifests of the ManifestWork are still these, and its objects are to stay.
    pub(crate) fn is_current(&self, name: &str, ready: &Ready) -> bool {
        let is_same = |now: &ObjectMeta, then: &ObjectMeta| {
            (&now.uid, now.generation) == (&then.uid, then.generation)
                && now.deletion_timestamp.is_none()
        };
        let (work, applied) = (&ready.work.metadata, &ready.applied.metadata);
        let of_applied = self
            .applied
            .get(applied.name.as_deref().unwrap_or_default());
        self.room.has(name)
            && (self.works.get(name)).is_some_and(|it| is_same(&it.metadata, work))
            && of_applied.is_some_and(|it| {
                it.metadata.uid == applied.uid && it.metadata.deletion_timestamp.is_none()
            })
    }
}
