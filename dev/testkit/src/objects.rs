//! Objects that tests write.

use serde_json::{Value, json};

/// The group of clusters, sets and bindings.
pub const CLUSTER_GROUP: &str = "cluster.open-cluster-management.io";
/// The group of ManifestWorks.
pub const WORK_GROUP: &str = "work.open-cluster-management.io";
/// The group of add-ons.
pub const ADDON_GROUP: &str = "addon.open-cluster-management.io";
/// The group of the permission to accept.
pub const REGISTER_GROUP: &str = "register.open-cluster-management.io";
/// The label that names a cluster's set.
pub const SET_LABEL: &str = "cluster.open-cluster-management.io/clusterset";

/// A ManagedCluster without a set that is not accepted.
pub fn cluster(name: &str) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": { "name": name },
        "spec": { "hubAcceptsClient": false },
    })
}

/// A ManagedCluster that is accepted.
pub fn accepted(name: &str) -> Value {
    let mut cluster = cluster(name);
    cluster["spec"]["hubAcceptsClient"] = true.into();
    cluster
}

/// A ManagedCluster in a set.
pub fn member(name: &str, set: &str) -> Value {
    let mut cluster = cluster(name);
    cluster["metadata"]["labels"] = json!({ SET_LABEL: set });
    cluster
}

/// A ManagedClusterSet of the clusters with its label.
pub fn set(name: &str) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2",
        "kind": "ManagedClusterSet",
        "metadata": { "name": name },
        "spec": { "clusterSelector": { "selectorType": "ExclusiveClusterSetLabel" } },
    })
}

/// A ManagedClusterSetBinding.
pub fn binding(set: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2",
        "kind": "ManagedClusterSetBinding",
        "metadata": { "name": set, "namespace": namespace },
        "spec": { "clusterSet": set },
    })
}

/// A Placement in the namespace `default`.
pub fn placement(name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "metadata": { "name": name, "namespace": "default" },
        "spec": spec,
    })
}

/// A ManifestWork in the namespace `default`.
pub fn work(name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "work.open-cluster-management.io/v1",
        "kind": "ManifestWork",
        "metadata": { "name": name, "namespace": "default" },
        "spec": spec,
    })
}

/// A ManifestWorkReplicaSet in the namespace `default`, of a placement.
pub fn replica_set(name: &str, template: Value) -> Value {
    json!({
        "apiVersion": "work.open-cluster-management.io/v1alpha1",
        "kind": "ManifestWorkReplicaSet",
        "metadata": { "name": name, "namespace": "default" },
        "spec": {
            "manifestWorkTemplate": template,
            "placementRefs": [{ "name": "p" }],
            "cascadeDeletionPolicy": "Background",
        },
    })
}

/// An object of the add-on API, in the version that is stored: its kind and name, and in the namespace `default` if it has one.
pub fn addon((kind, name): (&str, &str), spec: Value) -> Value {
    let mut object = json!({
        "apiVersion": format!("{ADDON_GROUP}/v1alpha1"),
        "kind": kind,
        "metadata": { "name": name },
        "spec": spec,
    });
    if matches!(kind, "AddOnDeploymentConfig" | "ManagedClusterAddOn") {
        object["metadata"]["namespace"] = "default".into();
    }
    object
}

/// The spec of an AddOnTemplate with a ConfigMap that has this text.
pub fn template(text: &str) -> Value {
    let manifest = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": "a", "namespace": "default" },
        "data": { "k": text },
    });
    json!({ "addonName": "a", "agentSpec": { "workload": { "manifests": [manifest] } } })
}

/// A Namespace.
pub fn namespace(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })
}

/// A time in the past.
pub const LONG_AGO: &str = "2020-02-02T02:02:02Z";

/// Objects that were stored before the gate was registered, one set for each client: with errors that the gate would have
/// refused, and with times that it would not have set.
pub fn stored_before_the_gate() -> Vec<Value> {
    let mut objects = Vec::new();
    for by in ["kube", "kubectl"] {
        let negative = json!({ "numberOfClusters": -1 });
        objects.push(placement(&format!("faulty.{by}"), negative));
        let name = format!("faulty.{by}");
        objects.push(addon(("AddOnTemplate", &name), template("{{A")));
        for name in ["faulty", "leaving"] {
            let empty = json!({ "workload": { "manifests": [] }, "executor": {} });
            let mut work = work(&format!("{name}.{by}"), empty);
            if name == "leaving" {
                work["metadata"]["finalizers"] = json!(["tests.berth/hold"]);
            }
            objects.push(work);
        }
        for name in ["faulty", "leaving"] {
            let mut cluster = cluster(&format!("{name}.{by}"));
            cluster["spec"]["leaseDurationSeconds"] = (-5).into();
            cluster["spec"]["managedClusterClientConfigs"] =
                json!([{ "url": "http://10.0.0.1:6443" }]);
            cluster["spec"]["taints"] = json!([
                { "key": "twice", "effect": "NoSelect" },
                { "key": "twice", "effect": "NoSelect" },
            ]);
            if name == "leaving" {
                cluster["metadata"]["finalizers"] = json!(["tests.berth/hold"]);
            }
            objects.push(cluster);
        }
        objects.push(cluster(&format!("openshift-{by}")));
        for name in ["tainted", "again"] {
            let mut cluster = member(&format!("{name}-{by}"), "default");
            cluster["spec"]["taints"] = json!([
                { "key": "gpu", "value": "a", "effect": "NoSelect", "timeAdded": LONG_AGO },
                { "key": "disk", "effect": "NoSelect", "timeAdded": LONG_AGO },
            ]);
            objects.push(cluster);
        }
    }
    objects
}
