//! `berth version`: the agents of a hub, by the versions that their clusters report.

use serde_json::{Value, json};

use berth_testkit::cluster::{CRDS, Cluster, fresh, rule};

use crate::house::CLUSTERS;

const GROUP: &str = "cluster.open-cluster-management.io";
const CLAIM: &str = "agent-version.berth.open-cluster-management.io";
const NAMESPACE: &str = "open-cluster-management-hub";

/// A controller of this version, as far as the hub knows it.
fn deployment(version: &str) -> Value {
    let labels = json!({"app": "controller"});
    let container =
        json!({"name": "controller", "image": format!("registry.example.com/berth:{version}")});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "berth-registration-controller", "namespace": NAMESPACE},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    })
}

/// The status of a cluster whose agent has joined, and reports these claims.
fn joined(claims: &Value) -> Value {
    let condition = json!({
        "type": "ManagedClusterJoined", "status": "True", "reason": "ManagedClusterJoined",
        "message": "Managed cluster joined", "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    json!({"status": {"conditions": [condition], "clusterClaims": claims}})
}

#[tokio::test]
async fn agents_are_counted_by_version_and_far_ones_are_named() {
    let cluster = Cluster::private().await;
    cluster.apply_manifests(&CRDS).await;
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    cluster.apply(&[namespace]).await;
    let admin = cluster.admin().await;
    let deployments = format!("/apis/apps/v1/namespaces/{NAMESPACE}/deployments");
    let controller = deployment("v0.4.0");
    admin.post(&deployments, &controller).await.unwrap().ok();
    let none = admin.berth(&["version"]).await;
    assert!(
        none.ok().ends_with("\nagents: no cluster has joined\n"),
        "{none:?}"
    );

    let version = |text: &str| json!([{"name": CLAIM, "value": text}]);
    for (name, claims) in [
        ("near", Some(version("v0.5.1"))),
        ("same", Some(version("v0.4.0"))),
        ("same-too", Some(version("v0.4.0"))),
        ("old", Some(version("v0.2.9"))),
        ("ocms", Some(json!([{"name": "id.k8s.io", "value": "1"}]))),
        ("asks", None),
    ] {
        let object = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "ManagedCluster", "metadata": {"name": name},
        });
        admin.post(CLUSTERS, &object).await.unwrap().ok();
        if let Some(claims) = claims {
            let status = format!("{CLUSTERS}/{name}/status");
            admin.merge(&status, &joined(&claims)).await.unwrap().ok();
        }
    }
    let output = admin.berth(&["version"]).await;
    assert!(
        output.ok().ends_with(
            "\nagents: 1 of v0.5.1, 2 of v0.4.0, 1 of v0.2.9, 1 that reports no version\n"
        ),
        "{output:?}"
    );
    let warning = "1 agent is v0.2.9, and the controller is v0.4.0: upgrade one of them, so that they are at most one minor \
                   version apart (SECURITY.md): old";
    assert!(
        output.stderr.contains(&format!("Warning: {warning}\n")),
        "{output:?}"
    );
    let output = admin.berth(&["version", "-o", "json"]).await;
    let versions: Value = serde_json::from_str(output.ok()).unwrap();
    assert_eq!(
        versions["hub"]["agents"],
        json!({
            "clusters": 5,
            "versions": [
                {"version": "v0.5.1", "clusters": 1},
                {"version": "v0.4.0", "clusters": 2},
                {"version": "v0.2.9", "clusters": 1},
            ],
            "withoutVersion": 1,
        })
    );
    let warnings = versions["warnings"].as_array().unwrap();
    assert!(warnings.contains(&json!(warning)), "{warnings:?}");

    // A user who may not list clusters sees the rest, and why the agents are missing.
    let user = cluster.user(&fresh("user"), &[]).await;
    let deployments = rule(&["get"], "apps", &["deployments"], &[]);
    cluster.grant(&user, &[deployments]).await;
    let output = user.berth(&["version"]).await;
    assert!(!output.ok().contains("agents: "), "{output:?}");
    assert!(output.ok().contains("berth:v0.4.0\n"), "{output:?}");
    let words = "Warning: the agents are not counted: ";
    assert!(output.stderr.contains(words), "{output:?}");
    assert!(output.stderr.contains("cannot list resource"), "{output:?}");
}
