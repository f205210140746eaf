//! Which users may bind a set to a namespace, and to which namespace.

use serde_json::json;

use crate::e2e::sentences::{BINDING_VALIDATORS, cannot_bind};
use berth_testkit::by_each_client;
use berth_testkit::cluster::{fresh, rule};
use berth_testkit::guarded::{Guarded, may_bind};
use berth_testkit::objects::{CLUSTER_GROUP, accepted, binding, cluster, namespace};
use berth_testkit::writes::By;

by_each_client![
    binding_takes_the_permission_for_the_set,
    whoever_may_write_bindings_may_label_them,
    a_binding_has_the_name_of_its_set,
    a_set_is_not_bound_in_the_namespace_of_an_accepted_cluster,
];

async fn binding_takes_the_permission_for_the_set(by: By) {
    let hub = Guarded::shared().await;
    let (prod, team, user) = (fresh("prod"), fresh("team"), fresh("dev"));
    hub.cluster.apply(&[namespace(&team)]).await;
    // Somebody who may do everything in their namespace.
    let dev = hub.cluster.user(&user, &[]).await;
    let everything = rule(&["*"], CLUSTER_GROUP, &["*"], &[]);
    hub.cluster.grant_in(&team, &dev, &[everything]).await;

    let written = dev.by(by).create(&binding(&prod, &team)).await;
    let denial = cannot_bind(&prod, &user);
    written.denied(BINDING_VALIDATORS, 403, "Forbidden", &[&denial]);
    hub.cluster.grant(&dev, &[may_bind(&prod)]).await;
    let stored = dev.by(by).create(&binding(&prod, &team)).await.ok();
    assert_eq!(stored["spec"]["clusterSet"], prod);
}

async fn whoever_may_write_bindings_may_label_them(by: By) {
    let hub = Guarded::shared().await;
    let (prod, team) = (fresh("prod"), fresh("team"));
    hub.cluster.apply(&[namespace(&team)]).await;
    let admin = hub.cluster.admin().await;
    admin.by(by).create(&binding(&prod, &team)).await.ok();
    let dev = hub.developer(&fresh("dev"), &[]).await;
    let patch = json!({ "metadata": { "labels": { "env": "test" } } });
    dev.by(by).merge(&binding(&prod, &team), &patch).await.ok();
}

async fn a_binding_has_the_name_of_its_set(by: By) {
    let hub = Guarded::shared().await;
    let (prod, team) = (fresh("prod"), fresh("team"));
    hub.cluster.apply(&[namespace(&team)]).await;
    let admin = hub.cluster.admin().await;
    let admin = admin.by(by);
    let fault =
        "The ManagedClusterSetBinding must have the same name as the target ManagedClusterSet";
    let mut misnamed = binding(&prod, &team);
    misnamed["metadata"]["name"] = fresh("other").into();
    let written = admin.create(&misnamed).await;
    written.denied(BINDING_VALIDATORS, 400, "BadRequest", &[fault]);

    admin.create(&binding(&prod, &team)).await.ok();
    let turn = json!({ "spec": { "clusterSet": "another" } });
    let written = admin.merge(&binding(&prod, &team), &turn).await;
    written.denied(BINDING_VALIDATORS, 400, "BadRequest", &[fault]);
}

async fn a_set_is_not_bound_in_the_namespace_of_an_accepted_cluster(by: By) {
    let hub = Guarded::shared().await;
    let (name, prod) = (fresh("c"), fresh("prod"));
    hub.cluster
        .apply(&[namespace(&name), accepted(&name)])
        .await;
    let user = fresh("dev");
    let dev = hub.developer(&user, &[]).await;
    let held = format!(
        "managedclustersetbindings.cluster.open-cluster-management.io \"{prod}\" is forbidden: namespace \"{name}\" belongs to \
         the accepted ManagedCluster \"{name}\", whose agent works in it: bind the set in another namespace; \
         check: kubectl get managedcluster {name}"
    );
    let written = dev.by(by).create(&binding(&prod, &name)).await;
    // Whose namespace it is, is told only to those who may bind the set.
    let bind = cannot_bind(&prod, &user);
    written.denied(BINDING_VALIDATORS, 403, "Forbidden", &[&bind]);
    hub.cluster.grant(&dev, &[may_bind(&prod)]).await;
    let written = dev.by(by).create(&binding(&prod, &name)).await;
    written.denied(BINDING_VALIDATORS, 403, "Forbidden", &[&held]);

    // The name of a cluster that is not accepted is nobody's namespace.
    let admin = hub.cluster.admin().await;
    let evict = json!({ "spec": { "hubAcceptsClient": false } });
    admin.by(by).merge(&cluster(&name), &evict).await.ok();
    dev.by(by).create(&binding(&prod, &name)).await.ok();
}
