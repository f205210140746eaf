//! Hubs that are not as they should be: objects that are none of our types, kinds that come late.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cluster::{CRDS, documents_of, fresh};
use crate::hub::{ACCEPTED, CLUSTERS, Hub, cluster_path, condition, config, owned_paths};

const GROUP: &str = "cluster.open-cluster-management.io";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_read_is_left_alone_and_disturbs_nobody() {
    let mut hub = Hub::private(config()).await;
    let mut definitions: Vec<Value> = CRDS.iter().flat_map(|file| documents_of(file)).collect();
    for definition in &mut definitions {
        for version in definition["spec"]["versions"].as_array_mut().unwrap() {
            version["schema"]["openAPIV3Schema"] =
                json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        }
    }
    hub.cluster.apply(&definitions).await;
    let workspace = fresh("workspace");
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": workspace}});
    hub.create("/api/v1/namespaces", &namespace).await;
    let sets = format!("/apis/{GROUP}/v1beta2/managedclustersets");
    let bindings =
        format!("/apis/{GROUP}/v1beta2/namespaces/{workspace}/managedclustersetbindings");
    let object = |kind: &str, name: &str, spec: Value| {
        let version = if kind == "ManagedCluster" {
            "v1"
        } else {
            "v1beta2"
        };
        json!({"apiVersion": format!("{GROUP}/{version}"), "kind": kind, "metadata": {"name": name}, "spec": spec})
    };
    let mut strange = Vec::new();
    for (kind, collection, spec) in [
        (
            "ManagedCluster",
            CLUSTERS,
            json!({"hubAcceptsClient": "yes"}),
        ),
        (
            "ManagedCluster",
            CLUSTERS,
            json!({"hubAcceptsClient": true, "taints": "none"}),
        ),
        (
            "ManagedCluster",
            CLUSTERS,
            json!({"hubAcceptsClient": true, "leaseDurationSeconds": 3_000_000_000_u64}),
        ),
        ("ManagedClusterSet", &*sets, json!({"clusterSelector": []})),
        (
            "ManagedClusterSetBinding",
            &*bindings,
            json!({"clusterSet": {}}),
        ),
    ] {
        let name = fresh("strange");
        let object = object(kind, &name, spec);
        // The hub goes by the new schema after a moment.
        let patience = Instant::now() + Duration::from_secs(20);
        loop {
            let answer = hub.admin.post(collection, &object).await.unwrap();
            if answer.code == 201 {
                break;
            }
            assert!(Instant::now() < patience, "{answer:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        strange.push(format!("{collection}/{name}"));
    }
    // The set gets a status.
    let before = hub.quiet(&strange).await;

    // Those who see them come, and those who find them there.
    for _ in 0..2 {
        let [name, set] = ["sane", "sane-set"].map(fresh);
        hub.create(&sets, &object("ManagedClusterSet", &set, json!({"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"sane": name}}}})))
            .await;
        let binding = object("ManagedClusterSetBinding", &set, json!({"clusterSet": set}));
        hub.create(&bindings, &binding).await;
        hub.accepted(&name).await;
        let label = json!({"metadata": {"labels": {"sane": name}}});
        hub.patch(&cluster_path(&name), label).await;
        hub.once(&format!("{sets}/{set}"), "with a member", |set| {
            condition(set, "ClusterSetEmpty").is_some_and(|it| it["status"] == "False")
        })
        .await;
        hub.once(&format!("{bindings}/{set}"), "bound", |binding| {
            condition(binding, "Bound").is_some_and(|it| it["status"] == "True")
        })
        .await;
        hub.delete(&cluster_path(&name)).await;
        hub.gone(&cluster_path(&name)).await;
        for path in [format!("{bindings}/{set}"), format!("{sets}/{set}")] {
            hub.delete(&path).await;
        }
        hub.restart(config()).await;
    }
    assert_eq!(hub.quiet(&strange).await, before);

    // One that is mended is a cluster as any other; and one that was accepted keeps all while nobody can read it.
    let name = strange[0].rsplit_once('/').unwrap().1;
    let spec = |accepts: Value| json!({"spec": {"hubAcceptsClient": accepts}});
    hub.patch(&strange[0], spec(json!(true))).await;
    hub.condition(name, ACCEPTED, "True", "HubClusterAdminAccepted")
        .await;
    hub.patch(&strange[0], spec(json!("no"))).await;
    let owned = hub.quiet(&owned_paths(name)).await;
    for object in &owned {
        assert!(object["metadata"]["uid"].is_string(), "{object}");
        assert!(
            object["metadata"]["deletionTimestamp"].is_null(),
            "{object}"
        );
    }
    hub.patch(&strange[0], spec(json!(false))).await;
    hub.condition(name, ACCEPTED, "False", "HubClusterAdminDenied")
        .await;

    // Whoever gets this hub next finds it as others are.
    hub.delete(&strange[0]).await;
    hub.gone(&strange[0]).await;
    for path in &strange[1..] {
        hub.delete(path).await;
    }
    hub.reconcilers.stop().await;
    hub.cluster.apply_manifests(&CRDS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kinds_may_come_after_the_reconcilers() {
    let mut hub = Hub::private_before_its_kinds(config()).await;
    let name = fresh("late");
    hub.accepted(&name).await;
    hub.delete(&cluster_path(&name)).await;
    hub.gone(&cluster_path(&name)).await;
    hub.reconcilers.stop().await;
}
