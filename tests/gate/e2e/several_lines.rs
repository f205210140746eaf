//! A denial names everything that is missing, one line each; the response has the first line's code and reason.

use serde_json::json;

use crate::e2e::sentences::{
    VALIDATORS, bindings_held, cannot_accept, cannot_join, namespace_terminating,
};
use berth_testkit::by_each_client;
use berth_testkit::cluster::fresh;
use berth_testkit::guarded::{Guarded, may_accept};
use berth_testkit::objects::{SET_LABEL, binding, member, namespace, set};
use berth_testkit::writes::By;

by_each_client![everything_that_is_missing_is_named_in_ocms_order];

async fn everything_that_is_missing_is_named_in_ocms_order(by: By) {
    let hub = Guarded::shared().await;
    let (name, test, prod, user) = (fresh("c"), fresh("test"), fresh("prod"), fresh("dev"));
    hub.cluster.apply(&[set(&test), set(&prod)]).await;
    let admin = hub.cluster.admin().await;
    let admin = admin.by(by);
    admin.create(&namespace(&name)).await.ok();
    let mut held = binding(&test, &name);
    held["metadata"]["finalizers"] = json!(["tests.berth/hold"]);
    admin.create(&held).await.ok();
    let cluster = member(&name, &test);
    admin.create(&cluster).await.ok();
    admin.delete(&namespace(&name)).await.ok();

    let labels = json!({ SET_LABEL: prod });
    let patch = json!({ "metadata": { "labels": labels }, "spec": { "hubAcceptsClient": true } });
    let [join_test, join_prod] = [cannot_join(&test, &user), cannot_join(&prod, &user)];

    let dev = hub.developer(&user, &[]).await;
    let written = dev.by(by).merge(&cluster, &patch).await;
    let lines = [&cannot_accept(&name, &user), &join_test, &join_prod];
    written.denied(VALIDATORS, 403, "Forbidden", &lines.map(String::as_str));

    // What there is on the hub is told only to those who may accept.
    hub.cluster.grant(&dev, &[may_accept(&name)]).await;
    let written = dev.by(by).merge(&cluster, &patch).await;
    let terminating = namespace_terminating(&name);
    let held_by = bindings_held(&name, &format!("\"{test}\""));
    let lines = [&terminating, &held_by, &join_test, &join_prod];
    written.denied(VALIDATORS, 403, "Forbidden", &lines.map(String::as_str));

    let release = json!({ "metadata": { "finalizers": null } });
    admin.merge(&held, &release).await.ok();
}
