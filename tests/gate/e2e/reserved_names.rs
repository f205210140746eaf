//! Reserved names: no user may register or accept a cluster with one.

use serde_json::json;

use crate::e2e::sentences::{VALIDATORS, reserved};
use berth_testkit::by_each_client;
use berth_testkit::cluster::fresh;
use berth_testkit::guarded::Guarded;
use berth_testkit::objects::{accepted, cluster, namespace};
use berth_testkit::writes::By;

by_each_client![
    a_reserved_name_is_neither_registered_nor_accepted,
    a_reserved_prefix_passes_where_the_namespace_is_the_clusters_already,
    the_prefixes_are_the_admins,
];

async fn a_reserved_name_is_neither_registered_nor_accepted(by: By) {
    let hub = Guarded::shared().await;
    let admin = hub.cluster.admin().await;
    let admin = admin.by(by);
    let namespace = "the namespace of this name is for Kubernetes or the hub itself";
    let group = "the group of the cluster's agents would be the group of all agents";
    let role = "the ClusterRole of the cluster would be one that all agents share";
    for (name, why) in [
        ("default", namespace),
        ("kube-system", namespace),
        ("open-cluster-management-hub", namespace),
        ("open-cluster-management-agent-addon", namespace),
        ("managed-clusters", group),
        ("registration", role),
        ("work", role),
    ] {
        for object in [cluster(name), accepted(name)] {
            let written = admin.create(&object).await;
            written.denied(VALIDATORS, 403, "Forbidden", &[&reserved(name, why)]);
        }
    }
    let stored = format!("openshift-{}", by.name());
    let prefix = "names that begin with \"openshift-\" are kept from clusters";
    let accept = json!({ "spec": { "hubAcceptsClient": true } });
    let written = admin.merge(&cluster(&stored), &accept).await;
    written.denied(VALIDATORS, 403, "Forbidden", &[&reserved(&stored, prefix)]);
    // Everything else about it stays writable.
    let lease = json!({ "spec": { "leaseDurationSeconds": 30 } });
    admin.merge(&cluster(&stored), &lease).await.ok();
}

async fn a_reserved_prefix_passes_where_the_namespace_is_the_clusters_already(by: By) {
    let hub = Guarded::shared().await;
    let admin = hub.cluster.admin().await;
    let admin = admin.by(by);
    let name = fresh("kube-edge");
    let why = "names that begin with \"kube-\" are kept from clusters";
    let denial = reserved(&name, why);
    let written = admin.create(&cluster(&name)).await;
    written.denied(VALIDATORS, 403, "Forbidden", &[&denial]);
    // A namespace of that name is not enough, nor is one of another cluster.
    let mut own = namespace(&name);
    own["metadata"]["labels"] = json!({ "open-cluster-management.io/cluster-name": "another" });
    admin.create(&own).await.ok();
    let written = admin.create(&accepted(&name)).await;
    written.denied(VALIDATORS, 403, "Forbidden", &[&denial]);
    let label =
        json!({ "metadata": { "labels": { "open-cluster-management.io/cluster-name": name } } });
    admin.merge(&own, &label).await.ok();
    let stored = admin.create(&accepted(&name)).await.ok();
    assert_eq!(stored["spec"]["hubAcceptsClient"], true);
}

async fn the_prefixes_are_the_admins(by: By) {
    let hub = Guarded::private(&["--reserved-prefixes=team-,prod-"]).await;
    let admin = hub.cluster.admin().await;
    let admin = admin.by(by);
    admin.create(&cluster(&fresh("kube-edge"))).await.ok();
    for (name, prefix) in [("team-a", "team-"), ("prod-a", "prod-")] {
        let why = format!("names that begin with {prefix:?} are kept from clusters");
        let written = admin.create(&cluster(name)).await;
        written.denied(VALIDATORS, 403, "Forbidden", &[&reserved(name, &why)]);
    }
    let namespace = "the namespace of this name is for Kubernetes or the hub itself";
    let written = admin.create(&cluster("kube-system")).await;
    let denial = reserved("kube-system", namespace);
    written.denied(VALIDATORS, 403, "Forbidden", &[&denial]);
}
