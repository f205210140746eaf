//! OCM's documentation of cluster sets
//! (<https://open-cluster-management.io/docs/concepts/cluster-inventory/managedclusterset/>), with `berth` in place of
//! `clusteradm`, and no other change. Its trees connect each line to its parent, where OCM draws the last one wrong.

use std::ops::Deref;

use serde_json::json;

use crate::house::{CLUSTERS, House, SETS};
use berth_testkit::cluster::Cluster;

/// Waits until the hub has counted the members of a set: it does so a moment after it has changed.
async fn counted<C: Deref<Target = Cluster>>(house: &House<C>, set: &str, message: &str) {
    house
        .once(&format!("{SETS}/{set}"), message, |object| {
            let conditions = object["status"]["conditions"].as_array();
            let mut conditions = conditions.into_iter().flatten();
            conditions.any(|it| it["type"] == "ClusterSetEmpty" && it["message"] == message)
        })
        .await;
}

/// A hub that was lent before may hold clusters and sets of others, who are done.
pub async fn empty<C: Deref<Target = Cluster>>(house: &House<C>) {
    house.admin.delete(CLUSTERS).await.unwrap().ok();
    let sets = house.admin.get(SETS).await.unwrap();
    for set in sets.ok()["items"].as_array().unwrap() {
        let name = set["metadata"]["name"].as_str().unwrap();
        if !["default", "global"].contains(&name) {
            house
                .admin
                .delete(&format!("{SETS}/{name}"))
                .await
                .unwrap()
                .ok();
        }
    }
    house
        .once(CLUSTERS, "empty", |list| list["items"] == json!([]))
        .await;
}

#[tokio::test]
async fn the_page_of_sets_runs() {
    let (house, _berth) = House::private().await;
    let (none, one) = ("No ManagedCluster selected", "1 ManagedClusters selected");
    empty(&house).await;
    house.managed_cluster("managed1", &[]).await;
    house
        .stage()
        .plays(
            "\
$ berth create clusterset example-clusterset
Clusterset example-clusterset is created
",
        )
        .await;
    counted(&house, "default", one).await;
    counted(&house, "example-clusterset", none).await;
    counted(&house, "global", one).await;
    house
        .stage()
        .plays(
            "\
$ berth get clustersets
<ManagedClusterSet>
├── <default>
│   ├── <BoundNamespace>
│   ├── <Status> 1 ManagedClusters selected
│   ├── <Clusters> [managed1]
│   └── <ManagedNamespaces> []
├── <example-clusterset>
│   ├── <BoundNamespace>
│   ├── <Status> No ManagedCluster selected
│   ├── <Clusters> []
│   └── <ManagedNamespaces> []
└── <global>
    ├── <BoundNamespace>
    ├── <Status> 1 ManagedClusters selected
    ├── <Clusters> [managed1]
    └── <ManagedNamespaces> []
$ berth clusterset set example-clusterset --clusters managed1
Cluster managed1 is set, from ClusterSet default to Clusterset example-clusterset
",
        )
        .await;
    counted(&house, "default", none).await;
    counted(&house, "example-clusterset", one).await;
    house
        .stage()
        .plays(
            "\
$ berth get clustersets
<ManagedClusterSet>
├── <default>
│   ├── <BoundNamespace>
│   ├── <Status> No ManagedCluster selected
│   ├── <Clusters> []
│   └── <ManagedNamespaces> []
├── <example-clusterset>
│   ├── <BoundNamespace>
│   ├── <Status> 1 ManagedClusters selected
│   ├── <Clusters> [managed1]
│   └── <ManagedNamespaces> []
└── <global>
    ├── <BoundNamespace>
    ├── <Status> 1 ManagedClusters selected
    ├── <Clusters> [managed1]
    └── <ManagedNamespaces> []
$ berth clusterset bind example-clusterset --namespace default
Clusterset example-clusterset is bound to Namespace default
$ berth get clustersets
<ManagedClusterSet>
├── <default>
│   ├── <BoundNamespace>
│   ├── <Status> No ManagedCluster selected
│   ├── <Clusters> []
│   └── <ManagedNamespaces> []
├── <example-clusterset>
│   ├── <BoundNamespace> default
│   ├── <Status> 1 ManagedClusters selected
│   ├── <Clusters> [managed1]
│   └── <ManagedNamespaces> []
└── <global>
    ├── <BoundNamespace>
    ├── <Status> 1 ManagedClusters selected
    ├── <Clusters> [managed1]
    └── <ManagedNamespaces> []
$ berth clusterset unbind example-clusterset --namespace default
Clusterset example-clusterset is unbound from Namespace default
$ berth clusterset set default --clusters managed1
Cluster managed1 is set, from ClusterSet example-clusterset to Clusterset default
$ berth delete clusterset example-clusterset
Clusterset example-clusterset is deleted
",
        )
        .await;
    counted(&house, "default", one).await;
    house
        .stage()
        .plays(
            "\
$ berth get clustersets
<ManagedClusterSet>
├── <default>
│   ├── <BoundNamespace>
│   ├── <Status> 1 ManagedClusters selected
│   ├── <Clusters> [managed1]
│   └── <ManagedNamespaces> []
└── <global>
    ├── <BoundNamespace>
    ├── <Status> 1 ManagedClusters selected
    ├── <Clusters> [managed1]
    └── <ManagedNamespaces> []
",
        )
        .await;
    house
        .admin
        .delete(&format!("{CLUSTERS}/managed1"))
        .await
        .unwrap()
        .ok();
}
