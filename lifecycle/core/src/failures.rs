//! Failed writes: which may pass by themselves, and which are reported in a status.

use std::time::Duration;

use berth_api::groups;
use berth_api::plan::WriteFailure;

/// A failure that may pass by itself is reported when it has lasted this long: longer than the restart of an API server, or
/// the election of a leader.
const LASTING: Duration = Duration::from_secs(10);

/// Returns true if the next try may succeed without any change by a user.
///
/// Beside [`WriteFailure::is_transient`] these are: the ManagedCluster was deleted; the authorizer has not yet seen the role
/// that a binding names.
pub fn is_transient(failure: &WriteFailure) -> bool {
    let kind = &failure.target.resource;
    let may_appear = matches!(
        (&*kind.group, &*kind.resource),
        (groups::CLUSTER, groups::MANAGED_CLUSTERS)
            | (groups::RBAC, "clusterrolebindings" | "rolebindings")
    );
    failure.is_transient() || failure.code == 404 && may_appear
}

/// Returns true if the failure is to be reported. `lasted`: how long writes for this key have failed in a row.
pub fn is_told_after(failure: &WriteFailure, lasted: Duration) -> bool {
    !is_transient(failure) || lasted >= LASTING
}

#[cfg(test)]
mod tests {
    use berth_api::GroupVersionResource;
    use berth_api::plan::Target;

    use super::*;

    #[test]
    fn what_may_appear_later_is_transient_as_conflicts_and_trouble_are() {
        let clusters = (groups::CLUSTER, groups::MANAGED_CLUSTERS);
        for ((group, resource), code, expected) in [
            (clusters, 404, true),
            (clusters, 409, true),
            (clusters, 403, false),
            ((groups::RBAC, "rolebindings"), 404, true),
            ((groups::RBAC, "clusterrolebindings"), 404, true),
            ((groups::RBAC, "clusterroles"), 404, false),
            (("", "namespaces"), 404, false),
            (("", "namespaces"), 0, true),
            (("", "namespaces"), 503, true),
        ] {
            let failure = WriteFailure {
                reconciler: "tests",
                target: Target {
                    resource: GroupVersionResource {
                        group: group.to_owned(),
                        version: "v1".to_owned(),
                        resource: resource.to_owned(),
                    },
                    namespace: None,
                    name: "c1".to_owned(),
                },
                code,
                message: String::new(),
            };
            assert_eq!(is_transient(&failure), expected, "{resource} {code}");
            let lasting = Duration::from_secs(10);
            assert!(is_told_after(&failure, lasting), "{resource} {code}");
            let at_once = is_told_after(&failure, lasting / 2);
            assert_eq!(at_once, !expected, "{resource} {code}");
        }
    }
}
