//! What the tables expect to be stored on the hub.

use berth_testkit::cluster::path_of;
use berth_testkit::objects::{accepted, binding, namespace, set};
use serde_json::json;

use crate::hub::Hub;

/// A namespace of no cluster.
pub const WORKSPACE: &str = "workspace";

/// The name of a cluster whose namespace is terminating.
pub const TERMINATING: &str = "c-terminating";

/// The name of a cluster whose namespace holds bindings.
pub const BINDINGS: &str = "c-bindings";

/// The name of an accepted cluster whose namespace has the hub's RoleBindings.
pub const ACCEPTED: &str = "c-accepted";

/// The name of an accepted cluster whose namespace has no RoleBindings yet.
pub const JUST_ACCEPTED: &str = "c-just-accepted";

/// A name with a reserved prefix. The namespace is the cluster's.
pub const PREFIXED_WITH_NAMESPACE: &str = "kube-own";

/// Stores what the tables expect.
pub async fn store(hub: &Hub) {
    for set_name in ["a", "b", "prod", "test"] {
        hub.store(&set(set_name)).await;
    }
    let names = [
        WORKSPACE,
        TERMINATING,
        BINDINGS,
        ACCEPTED,
        JUST_ACCEPTED,
        PREFIXED_WITH_NAMESPACE,
    ];
    for name in names {
        let mut namespace = namespace(name);
        if [ACCEPTED, PREFIXED_WITH_NAMESPACE].contains(&name) {
            namespace["metadata"]["labels"] = json!({ berth_api::labels::CLUSTER_NAME: name });
        }
        hub.store(&namespace).await;
    }
    for name in [ACCEPTED, JUST_ACCEPTED] {
        hub.store(&accepted(name)).await;
    }
    hub.store(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {
            "name": "open-cluster-management:managedcluster:c-accepted:work",
            "namespace": ACCEPTED,
            "labels": { berth_api::labels::CLUSTER_NAME: ACCEPTED },
        },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view" },
    }))
    .await;
    hub.store(&binding("a", BINDINGS)).await;
    // An object with a finalizer keeps the namespace.
    hub.store(&json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": "hold", "namespace": TERMINATING, "finalizers": ["tests.berth/hold"] },
    }))
    .await;
    let path = path_of(&namespace(TERMINATING));
    hub.admin.delete(&path).await.unwrap().ok();
}
