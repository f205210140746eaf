//! What Events are about.

use berth_api::work::{AppliedManifestWork, ManifestWork};
use berth_reconcile::{Reference, Regarding};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// About a ManifestWork.
pub(crate) fn of_work(work: &ManifestWork) -> Regarding {
    regarding("ManifestWork", &work.metadata)
}

/// About an AppliedManifestWork.
pub(crate) fn of_applied(applied: &AppliedManifestWork) -> Regarding {
    regarding("AppliedManifestWork", &applied.metadata)
}

fn regarding(kind: &str, of: &ObjectMeta) -> Regarding {
    Regarding {
        api_version: "work.open-cluster-management.io/v1".to_owned(),
        kind: kind.to_owned(),
        metadata: Reference {
            name: of.name.clone().unwrap_or_default(),
            namespace: of.namespace.clone(),
            uid: of.uid.clone(),
            resource_version: None,
        },
    }
}
