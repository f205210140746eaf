//! Which users may accept a cluster, and deny it again.

use serde_json::json;

use crate::e2e::sentences::{VALIDATORS, bindings_held, cannot_accept, namespace_terminating};
use berth_testkit::by_each_client;
use berth_testkit::cluster::fresh;
use berth_testkit::guarded::{Guarded, may_accept, may_join};
use berth_testkit::objects::{accepted, binding, cluster, namespace};
use berth_testkit::writes::By;

by_each_client![
    accepting_takes_the_permission,
    taking_the_acceptance_back_takes_the_permission_too,
    the_permission_is_for_the_cluster_that_it_names,
    to_create_is_as_good_a_verb_as_to_update,
    a_service_account_is_asked_for_it_as_anybody,
    a_cluster_whose_namespace_terminates_is_not_accepted,
    a_cluster_whose_namespace_holds_bindings_is_not_accepted,
];

async fn accepting_takes_the_permission(by: By) {
    let hub = Guarded::shared().await;
    let (name, user) = (fresh("c"), fresh("dev"));
    let dev = hub.developer(&user, &[may_join("default")]).await;
    let dev = dev.by(by);
    let denial = cannot_accept(&name, &user);

    let written = dev.create(&accepted(&name)).await;
    written.denied(VALIDATORS, 403, "Forbidden", &[&denial]);
    dev.create(&cluster(&name)).await.ok();
    let accept = json!({ "spec": { "hubAcceptsClient": true } });
    let written = dev.merge(&cluster(&name), &accept).await;
    written.denied(VALIDATORS, 403, "Forbidden", &[&denial]);
    let written = dev.apply(&accepted(&name)).await;
    written.denied(VALIDATORS, 403, "Forbidden", &[&denial]);
    let written = dev.replace(&accepted(&name)).await;
    written.denied(VALIDATORS, 403, "Forbidden", &[&denial]);
}

async fn the_permission_is_for_the_cluster_that_it_names(by: By) {
    let hub = Guarded::shared().await;
    let (mine, other, user) = (fresh("c"), fresh("c"), fresh("dev"));
    let dev = hub
        .developer(&user, &[may_join("default"), may_accept(&mine)])
        .await;
    let dev = dev.by(by);

    let stored = dev.create(&accepted(&mine)).await.ok();
    assert_eq!(stored["spec"]["hubAcceptsClient"], true);
    let written = dev.create(&accepted(&other)).await;
    let denial = cannot_accept(&other, &user);
    written.denied(VALIDATORS, 403, "Forbidden", &[&denial]);
}

async fn to_create_is_as_good_a_verb_as_to_update(by: By) {
    let hub = Guarded::shared().await;
    let (name, user) = (fresh("c"), fresh("dev"));
    let mut accept = may_accept(&name);
    accept["verbs"] = json!(["create"]);
    let dev = hub.developer(&user, &[may_join("default"), accept]).await;
    let stored = dev.by(by).create(&accepted(&name)).await.ok();
    assert_eq!(stored["spec"]["hubAcceptsClient"], true);
}

async fn taking_the_acceptance_back_takes_the_permission_too(by: By) {
    let hub = Guarded::shared().await;
    let (name, user) = (fresh("c"), fresh("dev"));
    let (dev, admin) = (hub.developer(&user, &[]).await, hub.cluster.admin().await);
    admin.by(by).create(&accepted(&name)).await.ok();

    let evict = json!({ "spec": { "hubAcceptsClient": false } });
    let written = dev.by(by).merge(&cluster(&name), &evict).await;
    let denial = cannot_accept(&name, &user);
    written.denied(VALIDATORS, 403, "Forbidden", &[&denial]);
    hub.cluster.grant(&dev, &[may_accept(&name)]).await;
    let stored = dev.by(by).merge(&cluster(&name), &evict).await.ok();
    assert_eq!(stored["spec"]["hubAcceptsClient"], false);
}

async fn a_service_account_is_asked_for_it_as_anybody(by: By) {
    let hub = Guarded::shared().await;
    let name = fresh("c");
    let robot = hub
        .cluster
        .service_account("default", &fresh("robot"))
        .await;
    hub.may_write(&robot, &[may_join("default")]).await;
    let written = robot.by(by).create(&accepted(&name)).await;
    let denial = cannot_accept(&name, &robot.user);
    written.denied(VALIDATORS, 403, "Forbidden", &[&denial]);
    hub.cluster.grant(&robot, &[may_accept(&name)]).await;
    robot.by(by).create(&accepted(&name)).await.ok();
}

async fn a_cluster_whose_namespace_holds_bindings_is_not_accepted(by: By) {
    let hub = Guarded::shared().await;
    let (name, first, second) = (fresh("c"), fresh("set"), fresh("set"));
    let admin = hub.cluster.admin().await;
    let admin = admin.by(by);
    admin.create(&namespace(&name)).await.ok();
    for set in [&first, &second] {
        admin.create(&binding(set, &name)).await.ok();
    }
    let written = admin.create(&accepted(&name)).await;
    let held = format!("\"{first}\", \"{second}\"");
    let denial = bindings_held(&name, &held);
    written.denied(VALIDATORS, 403, "Forbidden", &[&denial]);

    for set in [&first, &second] {
        admin.delete(&binding(set, &name)).await.ok();
    }
    admin.create(&accepted(&name)).await.ok();
}

async fn a_cluster_whose_namespace_terminates_is_not_accepted(by: By) {
    let hub = Guarded::shared().await;
    let name = fresh("c");
    let admin = hub.cluster.admin().await;
    let admin = admin.by(by);
    admin.create(&namespace(&name)).await.ok();
    // What is in it keeps it there.
    let mut held = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "held", "namespace": name } });
    held["metadata"]["finalizers"] = json!(["tests.berth/hold"]);
    admin.create(&held).await.ok();
    admin.create(&cluster(&name)).await.ok();
    admin.delete(&namespace(&name)).await.ok();

    let accept = json!({ "spec": { "hubAcceptsClient": true } });
    let written = admin.merge(&cluster(&name), &accept).await;
    let denial = namespace_terminating(&name);
    written.denied(VALIDATORS, 403, "Forbidden", &[&denial]);

    if !hub.cluster.has_background_work() {
        return;
    }
    let release = json!({ "metadata": { "finalizers": null } });
    admin.merge(&held, &release).await.ok();
    admin.wait_until_gone(&namespace(&name)).await;
    admin.merge(&cluster(&name), &accept).await.ok();
}
