//! The screens of placements in a browser: why, what if, and the change; and a session that ends meanwhile.

use serde_json::json;

use super::Console;
use crate::house::House;
use berth_testkit::browser::{play, stage};
use berth_testkit::cluster::{fresh, rule};

const CLUSTER_GROUP: &str = "cluster.open-cluster-management.io";

/// What [`furnish`] has made.
struct Furnished {
    team: String,
    /// Those of the set that the placement may select.
    names: [String; 3],
    /// A cluster that is in no set of the placement.
    elsewhere: String,
}

/// Makes the placement `app`, which selects one of three clusters.
async fn furnish(
    house: &House<impl std::ops::Deref<Target = berth_testkit::cluster::Cluster>>,
) -> Furnished {
    let ada = &house.admin;
    let (team, set, all) = (fresh("team"), fresh("placed"), fresh("placed"));
    let label = [("cluster.open-cluster-management.io/clusterset", &*set)];
    house.berth(&format!("create clusterset {set}")).await.ok();
    let names = [1, 2, 3].map(|it| format!("{all}-{it}"));
    for name in &names {
        house.managed_cluster(name, &label).await;
    }
    let elsewhere = fresh("elsewhere");
    house.managed_cluster(&elsewhere, &[]).await;
    let namespace = berth_testkit::objects::namespace(&team);
    ada.post("/api/v1/namespaces", &namespace)
        .await
        .unwrap()
        .ok();
    house
        .berth(&format!("clusterset bind {set} --namespace {team}"))
        .await
        .ok();
    // Clusters without an agent have a taint of the hub, which the placement tolerates.
    let tolerations = ["unreachable", "unavailable"]
        .map(|it| json!({"key": format!("{CLUSTER_GROUP}/{it}"), "operator": "Exists"}));
    let placement = json!({
        "apiVersion": format!("{CLUSTER_GROUP}/v1beta1"), "kind": "Placement",
        "metadata": {"name": "app", "namespace": team},
        "spec": {"numberOfClusters": 1, "tolerations": tolerations},
    });
    let placements = format!("/apis/{CLUSTER_GROUP}/v1beta1/namespaces/{team}/placements");
    ada.post(&placements, &placement).await.unwrap().ok();
    Furnished {
        team,
        names,
        elsewhere,
    }
}

#[tokio::test]
async fn a_person_asks_why_and_what_if_and_changes_a_placement() {
    let Some(web) = stage() else {
        return;
    };
    let (house, _berth) = House::placing().await;
    let ada = &house.admin;
    let made = furnish(&house).await;
    let dev = house.cluster.user(&fresh("dev"), &[]).await;
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
            ("TEAM", &made.team),
            ("C1", &made.names[0]),
            ("C3", &made.names[2]),
            ("ELSEWHERE", &made.elsewhere),
            ("BERTH", berth_testkit::program().to_str().unwrap()),
            ("KUBECONFIG", ada.kubeconfig.to_str().unwrap()),
        ],
    )
    .await;
}

#[tokio::test]
async fn what_was_typed_stays_when_the_session_ends() {
    let Some(web) = stage() else {
        return;
    };
    let (house, _berth) = House::placing().await;
    let made = furnish(&house).await;
    play(
        &web.join("tests/sign-in.mjs"),
        &[
            ("TEAM", &made.team),
            ("C1", &made.names[0]),
            ("C3", &made.names[2]),
            ("OTHER_USER", &fresh("other")),
            ("BERTH", berth_testkit::program().to_str().unwrap()),
            ("KUBECONFIG", house.admin.kubeconfig.to_str().unwrap()),
        ],
    )
    .await;
}
