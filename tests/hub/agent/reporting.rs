//! What the agent reports of its cluster.

use serde_json::{Value, json};

use berth_testkit::cluster::{AsAdmin, Cluster};

use super::world::World;
use crate::lifecycle::hub::condition;

const CLAIMS: &str = "/apis/cluster.open-cluster-management.io/v1alpha1/clusterclaims";

fn claim(name: &str, value: &str) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1alpha1",
        "kind": "ClusterClaim",
        "metadata": {"name": name},
        "spec": {"value": value},
    })
}

fn node(name: &str, cpu: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"capacity": {"cpu": cpu, "memory": "1Gi"}, "allocatable": {"cpu": cpu}},
    })
}

/// The version of the agent, as it reports it.
const VERSION: &str = concat!(
    "agent-version.berth.open-cluster-management.io=v",
    env!("CARGO_PKG_VERSION")
);

/// The claims in the status of a ManagedCluster, each as `name=value`.
fn claims(cluster: &Value) -> Vec<String> {
    let claims = cluster["status"]["clusterClaims"].as_array();
    let shown = |it: &Value| {
        format!(
            "{}={}",
            it["name"].as_str().unwrap(),
            it["value"].as_str().unwrap()
        )
    };
    claims.into_iter().flatten().map(shown).collect()
}

/// The CRD of ClusterProperties. Its values have no maximum, as in the CRD of the Kubernetes SIG.
fn properties() -> Value {
    let value = json!({"type": "object", "properties": {"value": {"type": "string"}}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "clusterproperties.about.k8s.io",
            "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements"},
        },
        "spec": {
            "group": "about.k8s.io",
            "names": {"kind": "ClusterProperty", "plural": "clusterproperties"},
            "scope": "Cluster",
            "versions": [{
                "name": "v1beta1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": value}}},
            }],
        },
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn kinds_that_are_not_served_yet_are_reported_once_they_are() {
    let managed = Cluster::private().await;
    let world = World::without_claims(&managed).await;
    let admin = &world.managed;
    let gate = "--feature-gates=ClusterProperty=true";
    let mut agent = world.joined(&[gate]).await;
    let cluster = world
        .reported("a version", |it| !it["status"]["version"].is_null())
        .await;
    assert_eq!(claims(&cluster), [""; 0]);
    managed.apply_manifests(&[super::world::CLAIMS]).await;
    managed.apply(&[properties()]).await;
    let property = |name: &str, value: &str| {
        json!({
            "apiVersion": "about.k8s.io/v1beta1", "kind": "ClusterProperty",
            "metadata": {"name": name}, "spec": {"value": value},
        })
    };
    let paths = "/apis/about.k8s.io/v1beta1/clusterproperties";
    // One that the hub would refuse leaves itself out only.
    let large = "x".repeat(1 << 20);
    for (name, value) in [("a", "property"), ("large", &large)] {
        let created = admin.post(paths, &property(name, value)).await.unwrap();
        assert_eq!(created.code, 201, "{created:?}");
    }
    for (name, value) in [("a", "claim"), ("b", "1")] {
        admin.post(CLAIMS, &claim(name, value)).await.unwrap().ok();
    }
    world
        .reported("both", |it| claims(it) == [VERSION, "a=property", "b=1"])
        .await;
    let other = json!({"spec": {"value": "2"}});
    let changed = admin.merge(&format!("{CLAIMS}/b"), &other).await.unwrap();
    assert_eq!(changed.code, 200, "{changed:?}");
    world
        .reported("the change", |it| {
            claims(it) == [VERSION, "a=property", "b=2"]
        })
        .await;
    let is_told = |line: &Value| line["claim"] == "large";
    agent.logs(is_told).await;
    assert_eq!(agent.log().iter().filter(|it| is_told(it)).count(), 1);
    for path in [paths, CLAIMS] {
        for name in ["a", "b", "large"] {
            admin.delete(&format!("{path}/{name}")).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_and_claims_are_reported_as_they_change() {
    let managed = Cluster::private().await;
    let world = World::on(&managed).await;
    let admin = &world.managed;
    for (name, cpu) in [("n1", "2"), ("n2", "1500m")] {
        let created = admin.post("/api/v1/nodes", &node(name, cpu)).await.unwrap();
        assert_eq!(created.code, 201, "{created:?}");
        // Only the kubelet's part of the API writes the status.
        let path = format!("/api/v1/nodes/{name}/status");
        admin
            .merge(&path, &json!({"status": node(name, cpu)["status"]}))
            .await
            .unwrap()
            .ok();
    }
    // A node that has just come reports nothing yet.
    let empty = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n3"}});
    let created = admin.post("/api/v1/nodes", &empty).await.unwrap();
    assert_eq!(created.code, 201, "{created:?}");
    for (name, value) in [("id.k8s.io", "1"), ("b", "2"), ("a", "3"), ("c", "4")] {
        admin.post(CLAIMS, &claim(name, value)).await.unwrap().ok();
    }
    let agent = world.joined(&["--max-custom-cluster-claims=2"]).await;
    let cluster = world
        .reported("claims", |it| {
            claims(it) == [VERSION, "id.k8s.io=1", "a=3", "b=2"]
        })
        .await;
    assert_eq!(
        cluster["status"]["capacity"],
        json!({"cpu": "3500m", "memory": "2Gi"})
    );
    assert_eq!(cluster["status"]["allocatable"], json!({"cpu": "3500m"}));

    admin.delete(&format!("{CLAIMS}/a")).await.unwrap().ok();
    admin
        .merge(
            "/api/v1/nodes/n2",
            &json!({"spec": {"unschedulable": true}}),
        )
        .await
        .unwrap()
        .ok();
    world
        .reported("other claims", |it| {
            claims(it) == [VERSION, "id.k8s.io=1", "b=2", "c=4"]
        })
        .await;
    world
        .reported("less to be used", |it| {
            it["status"]["allocatable"] == json!({"cpu": "2"})
        })
        .await;
    for name in ["n1", "n2", "n3"] {
        admin
            .delete(&format!("/api/v1/nodes/{name}"))
            .await
            .unwrap()
            .ok();
    }
    world
        .reported("nothing", |it| {
            it["status"]["capacity"]
                .as_object()
                .is_none_or(serde_json::Map::is_empty)
        })
        .await;
    for name in ["id.k8s.io", "b", "c"] {
        admin
            .delete(&format!("{CLAIMS}/{name}"))
            .await
            .unwrap()
            .ok();
    }
    world
        .reported("no claims but its own", |it| claims(it) == [VERSION])
        .await;
    drop(agent);
}

#[tokio::test(flavor = "multi_thread")]
async fn namespaces_of_sets_are_created_and_labelled() {
    let world = World::new().await;
    let agent = world.joined(&[]).await;
    let (set, namespace) = (
        format!("set-of-{}", world.name),
        format!("shared-by-{}", world.name),
    );
    let object = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2",
        "kind": "ManagedClusterSet",
        "metadata": {"name": set},
        "spec": {
            "clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"of": world.name}}},
            "managedNamespaces": [{"name": namespace}],
        },
    });
    let sets = "/apis/cluster.open-cluster-management.io/v1beta2/managedclustersets";
    world.hub.create(sets, &object).await;
    let labels = |of: &Value| json!({"metadata": {"labels": {"of": of}}});
    world
        .hub
        .patch(&world.cluster(), labels(&json!(world.name)))
        .await;
    let cluster = world
        .reported("the namespace", |it| {
            it["status"]["managedNamespaces"][0]["conditions"][0]["status"] == "True"
        })
        .await;
    let item = &cluster["status"]["managedNamespaces"][0];
    assert_eq!(item["name"], *namespace);
    assert_eq!(item["conditions"][0]["reason"], "NamespaceApplied");
    let labels_of = |it: &Value| -> Vec<String> {
        let labels = it["metadata"]["labels"].as_object();
        let own = labels
            .into_iter()
            .flatten()
            .filter(|(key, _)| key.starts_with("clusterset."));
        own.map(|(_, value)| value.as_str().unwrap().to_owned())
            .collect()
    };
    let path = format!("/api/v1/namespaces/{namespace}");
    world
        .on_managed(&path, "labelled", |it| labels_of(it) == ["true"])
        .await;

    world
        .hub
        .patch(&world.cluster(), labels(&Value::Null))
        .await;
    world
        .on_managed(&path, "released", |it| labels_of(it) == ["false"])
        .await;
    assert!(
        condition(
            &world.reported("still there", |_| true).await,
            "ManagedClusterJoined"
        )
        .is_some()
    );
    drop(agent);
}
