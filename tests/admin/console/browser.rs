//! The page in a browser: a person who accepts a cluster, and a table of many clusters.

use futures::{StreamExt, stream};
use serde_json::json;

use super::Console;
use crate::accept::bootstrap;
use crate::house::{CLUSTERS, House};
use berth_testkit::browser::{play, stage};
use berth_testkit::cluster::{CRDS, Cluster, fresh, rule};
use berth_testkit::csr::Csr;

#[tokio::test]
async fn a_person_accepts_a_cluster_and_is_refused_in_words() {
    let Some(web) = stage() else {
        return;
    };
    // One of its own: each screen is looked at, and what other tests make should not be on it.
    let (house, _berth) = House::private().await;
    let ada = house.cluster.admin().await;
    let dev = house.cluster.user(&fresh("dev"), &[]).await;
    let group = "cluster.open-cluster-management.io";
    let reads = rule(&["get", "list", "watch"], group, &["managedclusters"], &[]);
    house.cluster.grant(&dev, &[reads]).await;
    let cluster = fresh("browsed");
    house.managed_cluster(&cluster, &[]).await;
    let sender = bootstrap(&house).await;
    Csr::new(&cluster, "agent1").sent_by(&sender).await;
    let [of_ada, ends] = [(); 2].map(|()| Console::start(&ada, &[]));
    let of_dev = Console::start(&dev, &[]);
    play(
        &web.join("tests/run.mjs"),
        &[
            ("CONSOLE", &of_ada.address()),
            ("CONSOLE_DEV", &of_dev.address()),
            ("CONSOLE_ENDS", &ends.address()),
            ("CONSOLE_ENDS_PID", &ends.child.id().to_string()),
            ("BERTH", berth_testkit::program().to_str().unwrap()),
            ("KUBECONFIG", ada.kubeconfig.to_str().unwrap()),
            ("PENDING", &cluster),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_table_of_many_clusters_is_seen_in_parts() {
    const COUNT: usize = 2_000;
    let Some(web) = stage() else {
        return;
    };
    // A server of its own: the play counts all clusters, and no other test should have so many.
    let cluster = Cluster::start().await;
    cluster.apply_manifests(&CRDS).await;
    let admin = cluster.admin().await;
    let made = stream::iter(0..COUNT).map(async |number| {
        let cluster = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": {"name": format!("many-{number:05}")},
        });
        admin.post(CLUSTERS, &cluster).await.unwrap().ok();
    });
    made.buffer_unordered(16).collect::<Vec<()>>().await;
    let console = Console::start(&admin, &[]);
    play(
        &web.join("tests/many.mjs"),
        &[
            ("CONSOLE", &console.address()),
            ("COUNT", &COUNT.to_string()),
        ],
    )
    .await;
}
