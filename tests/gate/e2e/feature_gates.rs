//! The feature gates that a hub admin can change.

use serde_json::{Value, json};

use crate::e2e::sentences::{VALIDATORS, cannot_accept};
use berth_testkit::by_each_client;
use berth_testkit::cluster::fresh;
use berth_testkit::guarded::Guarded;
use berth_testkit::objects::{accepted, cluster};
use berth_testkit::writes::By;

by_each_client![with_ocms_one_way_check_and_without_the_default_set];

async fn with_ocms_one_way_check_and_without_the_default_set(by: By) {
    let gates = "--feature-gates=UnguardedDenial=true,DefaultClusterSet=false";
    let hub = Guarded::private(&[gates]).await;
    let (name, user) = (fresh("c"), fresh("dev"));
    let (dev, admin) = (hub.developer(&user, &[]).await, hub.cluster.admin().await);
    let stored = admin.by(by).create(&accepted(&name)).await.ok();
    assert_eq!(stored["metadata"]["labels"], Value::Null);

    let evict = json!({ "spec": { "hubAcceptsClient": false } });
    dev.by(by).merge(&cluster(&name), &evict).await.ok();
    let accept = json!({ "spec": { "hubAcceptsClient": true } });
    let written = dev.by(by).merge(&cluster(&name), &accept).await;
    let denial = cannot_accept(&name, &user);
    written.denied(VALIDATORS, 403, "Forbidden", &[&denial]);
}
