//! A cluster without a set: the controller's own account may join no set, and the gate checks its writes like those of any
//! user.

use serde_json::{Value, json};

use crate::accept::cluster_path;
use crate::house::{CLUSTERS, House};
use berth_testkit::cluster::{fresh, rule};

const SET_LABEL: &str = "cluster.open-cluster-management.io/clusterset";

fn accepted(object: &Value) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|condition| {
        condition["type"] == "HubAcceptedManagedCluster" && condition["status"] == "True"
    })
}

#[tokio::test]
async fn the_hub_carries_on_a_cluster_without_a_set_and_puts_it_into_none() {
    let house = House::shared().await;
    let group = "register.open-cluster-management.io";
    let may_accept = rule(&["update"], group, &["managedclusters/accept"], &[]);
    let carol = house.developer(&fresh("carol"), &[may_accept]).await;
    let name = fresh("unlabelled");
    let object = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": name},
        "spec": {"hubAcceptsClient": true},
    });
    let answer = carol.post(CLUSTERS, &object).await.unwrap();
    assert_eq!(answer.code, 201, "{answer:?}");
    assert_eq!(answer.body["metadata"]["labels"][SET_LABEL], Value::Null);

    let path = cluster_path(&name);
    let object = house.once(&path, "accepted", accepted).await;
    let finalizers = object["metadata"]["finalizers"].as_array();
    assert!(finalizers.is_some_and(|list| !list.is_empty()), "{object}");
    assert_eq!(object["spec"]["taints"].as_array().unwrap().len(), 1);
    assert_eq!(object["metadata"]["labels"][SET_LABEL], Value::Null);

    // Who may join the default set puts it there by any update.
    let update = json!({"metadata": {"annotations": {"seen": "yes"}}});
    let answer = house.admin.merge(&path, &update).await.unwrap();
    assert_eq!(answer.code, 200, "{answer:?}");
    assert_eq!(answer.body["metadata"]["labels"][SET_LABEL], "default");
    let answer = house.admin.delete(&path).await.unwrap();
    assert_eq!(answer.code, 200, "{answer:?}");
}
