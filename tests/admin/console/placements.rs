//! The screens of placements in a browser: why, what if, and the change.

use serde_json::json;

use super::Console;
use super::browser::{play, stage};
use crate::house::House;
use berth_testkit::cluster::rule;

const CLUSTER_GROUP: &str = "cluster.open-cluster-management.io";

/// Clusters without an agent have a taint of the hub, which the placement tolerates.
const PLACEMENT: &str =
    "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/team-a/placements";

#[tokio::test]
async fn a_person_asks_why_and_what_if_and_changes_a_placement() {
    let Some(web) = stage() else {
        return;
    };
    let (house, _berth) = House::placing().await;
    let ada = &house.admin;
    let label = [("cluster.open-cluster-management.io/clusterset", "prod")];
    house.berth("create clusterset prod").await.ok();
    for name in ["c1", "c2", "c3"] {
        house.managed_cluster(name, &label).await;
    }
    house.managed_cluster("elsewhere", &[]).await;
    let namespace = berth_testkit::objects::namespace("team-a");
    ada.post("/api/v1/namespaces", &namespace)
        .await
        .unwrap()
        .ok();
    house
        .berth("clusterset bind prod --namespace team-a")
        .await
        .ok();
    let tolerations = ["unreachable", "unavailable"]
        .map(|it| json!({"key": format!("{CLUSTER_GROUP}/{it}"), "operator": "Exists"}));
    let placement = json!({
        "apiVersion": format!("{CLUSTER_GROUP}/v1beta1"), "kind": "Placement",
        "metadata": {"name": "app", "namespace": "team-a"},
        "spec": {"numberOfClusters": 1, "tolerations": tolerations},
    });
    ada.post(PLACEMENT, &placement).await.unwrap().ok();
    let dev = house.cluster.user("dev", &[]).await;
    let kinds = [
        "managedclusters",
        "managedclustersets",
        "managedclustersetbindings",
        "placements",
        "placementdecisions",
    ];
    let reads = rule(&["get", "list", "watch"], CLUSTER_GROUP, &kinds, &[]);
    house.cluster.grant(&dev, &[reads]).await;
    let (of_ada, of_dev) = (Console::start(ada, &[]), Console::start(&dev, &[]));
    play(
        &web.join("tests/placements.mjs"),
        &[
            ("CONSOLE", &of_ada.address()),
            ("CONSOLE_DEV", &of_dev.address()),
            ("BERTH", berth_testkit::program().to_str().unwrap()),
            ("KUBECONFIG", ada.kubeconfig.to_str().unwrap()),
        ],
    )
    .await;
}
