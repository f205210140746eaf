//! A ClusterManager is deleted.

use super::*;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_fleet_stays_and_a_new_object_finds_it() {
    let (node, _operator) = installed(json!({})).await;
    let admin = &node.admin;
    let (path, cluster) = managed_cluster("stays");
    admin
        .post(path.rsplit_once('/').unwrap().0, &cluster)
        .await
        .unwrap()
        .ok();
    let before = related(admin).await;
    admin.delete(MANAGER).await.unwrap().ok();
    gone(admin, MANAGER).await;
    for path in before {
        let stays = path.contains("customresourcedefinitions")
            || path == "/api/v1/namespaces/open-cluster-management-hub";
        let answer = admin.get(&path).await.unwrap();
        assert_eq!(answer.code == 200, stays, "{path}");
    }
    // No webhook refuses, and add-ons are served as they are stored.
    admin.get(&path).await.unwrap().ok();
    let addons = format!("{DEFINITIONS}/clustermanagementaddons.addon.open-cluster-management.io");
    let addons = admin.get(&addons).await.unwrap();
    assert_eq!(addons.ok()["spec"]["conversion"]["strategy"], "None");

    create(admin, "cluster-manager", json!({})).await.ok();
    run_again(&node).await;
    said(admin, ("Applied", "True", "ClusterManagerApplied")).await;
    admin.get(&path).await.unwrap().ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_purge_that_is_asked_for_takes_the_fleet_along() {
    let (node, _operator) = installed(json!({})).await;
    let admin = &node.admin;
    let (path, cluster) = managed_cluster("goes");
    admin
        .post(path.rsplit_once('/').unwrap().0, &cluster)
        .await
        .unwrap()
        .ok();
    let purge = json!({"metadata": {"annotations": {"operator.berth.open-cluster-management.io/purge": "true"}}});
    admin.merge(MANAGER, &purge).await.unwrap().ok();
    admin.delete(MANAGER).await.unwrap().ok();
    gone(admin, MANAGER).await;
    let left = admin.get(DEFINITIONS).await.unwrap();
    let left = left.ok()["items"].as_array().unwrap().iter();
    let left: Vec<_> = left
        .map(|it| it["metadata"]["name"].as_str().unwrap())
        .filter(|it| it.ends_with(".open-cluster-management.io"))
        .collect();
    assert_eq!(
        left,
        ["clustermanagers.operator.open-cluster-management.io"]
    );
}
