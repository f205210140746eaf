//! Stored objects are read, and written back without loss of known fields.

mod placement;
mod work;

use berth_api::cluster::{ManagedClusterStatus, TaintEffect};
use berth_api::cluster_set::SelectorType;
use berth_api::{ClusterClaim, ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding};
use kube::core::Resource;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn read<T: DeserializeOwned>(object: &Value) -> T {
    serde_json::from_value(object.clone()).unwrap_or_else(|error| panic!("{error} in {object}"))
}

fn write<T: serde::Serialize>(object: &T) -> Value {
    serde_json::to_value(object).expect("JSON")
}

/// A cluster with every field of its type, as the API server stores it.
fn full_cluster() -> Value {
    let condition = json!({
        "type": "HubAcceptedManagedCluster",
        "status": "True",
        "reason": "HubClusterAdminAccepted",
        "message": "Accepted by hub cluster admin",
        "lastTransitionTime": "2026-01-02T03:04:05Z",
        "observedGeneration": 3,
    });
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": "c1", "labels": {"cluster.open-cluster-management.io/clusterset": "prod"}},
        "spec": {
            "hubAcceptsClient": true,
            "leaseDurationSeconds": 60,
            "managedClusterClientConfigs": [{"url": "https://c1.example.com:6443", "caBundle": "Y2E="}],
            "taints": [
                {"key": "a", "effect": "NoSelect", "timeAdded": "2026-01-02T03:04:05Z"},
                {"key": "example.com/b", "value": "x", "effect": "NoSelectIfNew"},
            ],
        },
        "status": {
            "allocatable": {"cpu": "3500m"},
            "capacity": {"cpu": "4", "memory": "16Gi"},
            "clusterClaims": [{"name": "id.k8s.io", "value": "c1"}],
            "conditions": [condition],
            "managedNamespaces": [{"clusterSet": "prod", "name": "shop", "conditions": [condition]}],
            "version": {"kubernetes": "v1.33.1"},
        },
    })
}

#[test]
fn a_full_object_is_written_as_it_was_read() {
    let cluster = full_cluster();
    assert_eq!(write(&read::<ManagedCluster>(&cluster)), cluster);

    let set = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2",
        "kind": "ManagedClusterSet",
        "metadata": {"name": "prod"},
        "spec": {
            "clusterSelector": {
                "selectorType": "LabelSelector",
                "labelSelector": {
                    "matchLabels": {"env": "prod"},
                    "matchExpressions": [{"key": "region", "operator": "In", "values": ["eu"]}],
                },
            },
            "managedNamespaces": [{"name": "shop"}],
        },
    });
    assert_eq!(write(&read::<ManagedClusterSet>(&set)), set);

    let binding = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2",
        "kind": "ManagedClusterSetBinding",
        "metadata": {"name": "prod", "namespace": "shop"},
        "spec": {"clusterSet": "prod"},
    });
    assert_eq!(write(&read::<ManagedClusterSetBinding>(&binding)), binding);

    let claim = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1alpha1",
        "kind": "ClusterClaim",
        "metadata": {"name": "id.k8s.io"},
        "spec": {"value": "c1"},
    });
    assert_eq!(write(&read::<ClusterClaim>(&claim)), claim);
}

#[test]
fn an_object_without_spec_is_read() {
    let object = json!({"metadata": {"name": "c1"}});
    let cluster: ManagedCluster = read(&object);
    assert_eq!(cluster.meta().name.as_deref(), Some("c1"));
    assert!(!cluster.spec.hub_accepts_client);
    assert_eq!(cluster.spec.lease_duration_seconds, None);
    assert_eq!(cluster.status, None);
    let set: ManagedClusterSet = read(&object);
    assert_eq!(
        set.spec.cluster_selector.selector_type,
        SelectorType::ExclusiveClusterSetLabel
    );
    assert_eq!(
        read::<ManagedClusterSetBinding>(&object).spec.cluster_set,
        ""
    );
    assert_eq!(read::<ClusterClaim>(&object).spec.value, "");
}

#[test]
fn fields_of_a_newer_version_are_ignored() {
    let mut object = full_cluster();
    object["spec"]["nextYear"] = json!({"a": [1]});
    object["spec"]["taints"][0]["nextYear"] = json!(true);
    object["status"]["nextYear"] = json!("a");
    assert_eq!(read::<ManagedCluster>(&object), read(&full_cluster()));
}

#[test]
fn values_of_a_newer_version_are_kept() {
    let mut object = full_cluster();
    object["spec"]["taints"][0]["effect"] = json!("NoExecute");
    let cluster: ManagedCluster = read(&object);
    assert_eq!(
        cluster.spec.taints[0].effect,
        TaintEffect::Other("NoExecute".to_owned())
    );
    assert_eq!(cluster.spec.taints[1].effect, TaintEffect::NoSelectIfNew);
    assert_eq!(write(&cluster), object);

    let set: ManagedClusterSet =
        read(&json!({"spec": {"clusterSelector": {"selectorType": "Expression"}}}));
    assert_eq!(
        set.spec.cluster_selector.selector_type,
        SelectorType::Other("Expression".to_owned())
    );
}

#[test]
fn nulls_of_go_clients_are_read_as_empty() {
    let status = json!({
        "conditions": null, "capacity": null, "allocatable": null, "clusterClaims": null, "managedNamespaces": null,
        "version": null,
    });
    let cluster: ManagedCluster = read(&json!({
        "metadata": {"name": "c1", "creationTimestamp": null},
        "spec": {
            "hubAcceptsClient": null,
            "leaseDurationSeconds": null,
            "managedClusterClientConfigs": null,
            "taints": [{"key": "a", "effect": "NoSelect", "timeAdded": null, "value": null}],
        },
        "status": status,
    }));
    assert_eq!(cluster.status, Some(ManagedClusterStatus::default()));
    assert_eq!(cluster.spec.taints[0].time_added, None);
    assert_eq!(
        write(&cluster),
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1",
            "kind": "ManagedCluster",
            "metadata": {"name": "c1"},
            "spec": {"hubAcceptsClient": false, "taints": [{"key": "a", "effect": "NoSelect"}]},
            "status": {},
        })
    );
}

#[test]
fn quantities_may_be_numbers_and_a_bundle_need_not_be_base64() {
    let cluster: ManagedCluster = read(&json!({
        "spec": {"managedClusterClientConfigs": [{"url": "https://c1.example.com", "caBundle": "Y2E=\n"}]},
        "status": {"capacity": {"cpu": 4, "memory": "16Gi"}},
    }));
    let capacity = cluster.status.expect("a status").capacity;
    assert_eq!(
        (capacity["cpu"].0.as_str(), capacity["memory"].0.as_str()),
        ("4", "16Gi")
    );
    assert_eq!(
        cluster.spec.managed_cluster_client_configs[0]
            .ca_bundle
            .as_deref(),
        Some("Y2E=\n")
    );
}

#[test]
fn a_field_of_the_wrong_type_is_refused_with_the_reason() {
    for (object, expected) in [
        (
            json!({"spec": {"taints": {}}}),
            "invalid type: map, expected a sequence",
        ),
        (
            json!({"spec": {"hubAcceptsClient": "true"}}),
            "invalid type: string \"true\", expected a boolean",
        ),
        (
            json!({"spec": {"taints": [{"key": "a"}]}}),
            "missing field `effect`",
        ),
        (
            json!({"spec": {"leaseDurationSeconds": 3_000_000_000_u32}}),
            "invalid value: integer `3000000000`, expected i32",
        ),
    ] {
        let error = serde_json::from_value::<ManagedCluster>(object.clone()).expect_err("wrong");
        assert_eq!(error.to_string(), expected, "{object}");
    }
}
