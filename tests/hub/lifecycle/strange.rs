//! Unusual hubs: objects that do not decode as our types, and CRDs that are created late.

use serde_json::{Value, json};

use crate::lifecycle::hub::{
    ACCEPTED, CLUSTERS, HubWithReconcilers, cluster_path, condition, config, owned_paths,
};
use berth_testkit::cluster::{AsAdmin, CRDS, documents_of, fresh};
use berth_testkit::{eventually, when};

const READABLE: &str = "ManagedClusterReadable";
const GROUP: &str = "cluster.open-cluster-management.io";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_read_disturbs_nobody() {
    let mut hub = HubWithReconcilers::private(config()).await;
    let mut definitions: Vec<Value> = CRDS.iter().flat_map(|file| documents_of(file)).collect();
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    for definition in &mut definitions {
        for version in definition["spec"]["versions"].as_array_mut().unwrap() {
            // Whoever applies a condition must not take away those of others.
            let status = version["schema"]["openAPIV3Schema"]["properties"]["status"].take();
            let mut conditions = status["properties"]["conditions"].clone();
            if conditions.is_null() {
                conditions = any.clone();
            }
            version["schema"]["openAPIV3Schema"] = any.clone();
            version["schema"]["openAPIV3Schema"]["properties"]["status"] = any.clone();
            version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["conditions"] =
                conditions;
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
        eventually(&format!("the creation of {name}"), async || {
            let answer = hub.admin.post(collection, &object).await.unwrap();
            when(answer, |it| it.code == 201)
        })
        .await;
        strange.push(format!("{collection}/{name}"));
    }
    let name_of = |path: &str| path.rsplit_once('/').unwrap().1.to_owned();
    let named = async |hub: &HubWithReconcilers<_>, path: &str, field: &str| {
        let cluster = hub
            .condition(&name_of(path), READABLE, "False", "UnreadableFields")
            .await;
        let message = &condition(&cluster, READABLE).unwrap()["message"];
        assert!(message.as_str().unwrap().contains(field), "{message}");
    };
    named(&hub, &strange[0], "spec.hubAcceptsClient").await;
    named(&hub, &strange[2], "spec.leaseDurationSeconds").await;
    for path in &strange[1..3] {
        hub.condition(&name_of(path), ACCEPTED, "True", "HubClusterAdminAccepted")
            .await;
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

    // One that is mended is a cluster as any other; and an acceptance that nobody can read is none.
    let name = &name_of(&strange[0]);
    let spec = |accepts: Value| json!({"spec": {"hubAcceptsClient": accepts}});
    hub.patch(&strange[0], spec(json!(true))).await;
    hub.condition(name, ACCEPTED, "True", "HubClusterAdminAccepted")
        .await;
    hub.condition(name, READABLE, "True", "AllFieldsReadable")
        .await;
    hub.patch(&strange[0], spec(json!("no"))).await;
    hub.condition(name, ACCEPTED, "False", "HubClusterAdminDenied")
        .await;
    named(&hub, &strange[0], "spec.hubAcceptsClient").await;
    hub.gone(&owned_paths(name)[3]).await;

    // Whoever gets this hub next finds it as others are.
    for path in &strange {
        hub.delete(path).await;
        hub.gone(path).await;
    }
    hub.reconcilers.stop().await;
    hub.cluster.apply_manifests(&CRDS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kinds_may_come_after_the_reconcilers() {
    let mut hub = HubWithReconcilers::private_before_its_kinds(config()).await;
    let name = fresh("late");
    hub.accepted(&name).await;
    hub.delete(&cluster_path(&name)).await;
    hub.gone(&cluster_path(&name)).await;
    hub.reconcilers.stop().await;
}
