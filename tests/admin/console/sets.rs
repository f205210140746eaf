//! The screens of sets and of chosen clusters in a browser.

use super::Console;
use super::browser::{play, stage};
use crate::house::House;
use berth_testkit::cluster::rule;
use berth_testkit::objects::namespace;

const CLUSTER_GROUP: &str = "cluster.open-cluster-management.io";

#[tokio::test]
async fn a_person_moves_clusters_into_a_set_and_binds_it() {
    let Some(web) = stage() else {
        return;
    };
    let (house, _berth) = House::private().await;
    let ada = &house.admin;
    house.berth("create clusterset prod").await.ok();
    for name in ["c1", "c2", "c3"] {
        house.managed_cluster(name, &[]).await;
    }
    let team = namespace("team-a");
    ada.post("/api/v1/namespaces", &team).await.unwrap().ok();
    let dev = house.cluster.user("dev", &[]).await;
    let kinds = [
        "managedclusters",
        "managedclustersets",
        "managedclustersetbindings",
    ];
    // Everything but what the gate asks for.
    let verbs = ["get", "list", "watch", "patch", "create", "delete"];
    house
        .cluster
        .grant(&dev, &[rule(&verbs, CLUSTER_GROUP, &kinds, &[])])
        .await;
    let (of_ada, of_dev) = (Console::start(ada, &[]), Console::start(&dev, &[]));
    play(
        &web.join("tests/sets.mjs"),
        &[
            ("CONSOLE", &of_ada.address()),
            ("CONSOLE_DEV", &of_dev.address()),
        ],
    )
    .await;
}
