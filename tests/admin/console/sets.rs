//! The screens of sets and of chosen clusters in a browser.

use super::Console;
use crate::house::House;
use berth_testkit::browser::{play, stage};
use berth_testkit::cluster::{fresh, rule};
use berth_testkit::objects::namespace;

const CLUSTER_GROUP: &str = "cluster.open-cluster-management.io";

#[tokio::test]
async fn a_person_moves_clusters_into_a_set_and_binds_it() {
    let Some(web) = stage() else {
        return;
    };
    let (house, _berth) = House::private().await;
    let ada = &house.admin;
    let (team, set, all) = (fresh("team"), fresh("moved"), fresh("moved"));
    house.berth(&format!("create clusterset {set}")).await.ok();
    let names = [1, 2, 3].map(|it| format!("{all}-{it}"));
    for name in &names {
        house.managed_cluster(name, &[]).await;
    }
    ada.post("/api/v1/namespaces", &namespace(&team))
        .await
        .unwrap()
        .ok();
    let dev = house.cluster.user(&fresh("dev"), &[]).await;
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
            ("TEAM", &team),
            ("LOST", &fresh("lost")),
            ("SET", &set),
            ("C1", &names[0]),
            ("C2", &names[1]),
            ("C3", &names[2]),
        ],
    )
    .await;
}
