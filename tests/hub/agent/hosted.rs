//! An agent outside of the cluster that it registers (mode Hosted): `--spoke-kubeconfig` names that cluster.

use serde_json::json;

use berth_testkit::cluster::Cluster;

use super::world::{CLAIMS, World, text};

#[tokio::test(flavor = "multi_thread")]
async fn a_hosted_agent_reports_another_cluster_and_keeps_its_secrets_at_home() {
    let world = World::new().await;
    let spoke = Cluster::private().await;
    spoke.apply_manifests(&[CLAIMS]).await;
    let admin = spoke.admin().await;
    let claim = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1alpha1",
        "kind": "ClusterClaim",
        "metadata": {"name": "id.k8s.io"},
        "spec": {"value": "hosted"},
    });
    let claims = "/apis/cluster.open-cluster-management.io/v1alpha1/clusterclaims";
    admin.post(claims, &claim).await.unwrap().ok();
    let kubeconfig = admin.kubeconfig.to_str().unwrap();
    let agent = world.joined(&["--spoke-kubeconfig", kubeconfig]).await;
    let cluster = world
        .reported("its claim", |it| {
            it["status"]["clusterClaims"][1]["value"] == "hosted"
        })
        .await;
    assert_eq!(
        cluster["status"]["clusterClaims"].as_array().unwrap().len(),
        2,
        "with the version of the agent"
    );
    let secret = world.hub_secret().await;
    assert_eq!(text(&secret, "cluster-name"), world.name);
    let elsewhere = admin.get(&world.secret("hub-kubeconfig-secret")).await;
    assert_eq!(elsewhere.unwrap().code, 404);
    drop(agent);
}
