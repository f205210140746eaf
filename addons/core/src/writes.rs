//! The writes of both deciders.

use berth_api::plan::{Action, Target, Write};
use berth_api::{GroupVersionResource, groups};
use serde_json::{Value, json};

use crate::facts::{AddOn, OnCluster};

/// The name of the reconciler of an add-on, in metrics.
pub const ADD_ON: &str = "addon-configuration";

/// The name of the reconciler of an add-on on a cluster, in metrics.
pub const ON_CLUSTER: &str = "addon-management";

const VERSION: &str = "v1beta1";

pub(crate) const API_VERSION: &str = "addon.open-cluster-management.io/v1beta1";

/// A write to a ManagedClusterAddOn.
pub(crate) fn on_cluster(
    add_on: &str,
    cluster: &str,
    reconciler: &'static str,
    action: Action,
) -> Write {
    let resource = groups::MANAGED_CLUSTER_ADDONS;
    Write {
        target: Target {
            resource: GroupVersionResource::new(groups::ADDON, VERSION, resource),
            namespace: Some(cluster.to_owned()),
            name: add_on.to_owned(),
        },
        action,
        reconciler,
        events: Vec::new(),
    }
}

/// A patch of a ManagedClusterAddOn, as it was when this was decided.
pub(crate) fn patch_on_cluster(
    reconciler: &'static str,
    (add_on, cluster): (&str, &str),
    on: &OnCluster,
    subresource: Option<&'static str>,
    mut body: Value,
) -> Write {
    body["metadata"]["uid"] = json!(on.uid);
    body["metadata"]["resourceVersion"] = json!(on.resource_version);
    let action = Action::Patch { subresource, body };
    on_cluster(add_on, cluster, reconciler, action)
}

/// A patch of the status of a ClusterManagementAddOn, as it was when this was decided.
pub(crate) fn patch_status(add_on: &AddOn, status: Value) -> Write {
    let resource = groups::CLUSTER_MANAGEMENT_ADDONS;
    let resource = GroupVersionResource::new(groups::ADDON, VERSION, resource);
    let body = json!({
        "metadata": {"uid": add_on.uid, "resourceVersion": add_on.resource_version},
        "status": status,
    });
    let mut write = Write::patch(ADD_ON, resource, &add_on.name, body);
    if let Action::Patch { subresource, .. } = &mut write.action {
        *subresource = Some("status");
    }
    write
}
