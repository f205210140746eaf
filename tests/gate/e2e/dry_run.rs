//! Dry runs: the gate decides, and nothing is stored.

use serde_json::{Value, json};

use crate::e2e::sentences::{VALIDATORS, cannot_accept, not_in_default};
use berth_testkit::by_each_client;
use berth_testkit::cluster::{fresh, path_of};
use berth_testkit::guarded::{Guarded, may_join};
use berth_testkit::objects::{SET_LABEL, accepted, cluster};
use berth_testkit::writes::By;

by_each_client![
    a_dry_run_is_refused_like_the_write,
    a_dry_run_shows_the_defaulted_object_and_stores_nothing,
    a_dry_run_warns_like_the_write,
];

async fn a_dry_run_is_refused_like_the_write(by: By) {
    let hub = Guarded::shared().await;
    let (name, user) = (fresh("c"), fresh("dev"));
    let dev = hub.developer(&user, &[may_join("default")]).await;
    let written = dev.by(by).dry_run().create(&accepted(&name)).await;
    let denial = cannot_accept(&name, &user);
    written.denied(VALIDATORS, 403, "Forbidden", &[&denial]);
}

async fn a_dry_run_shows_the_defaulted_object_and_stores_nothing(by: By) {
    let hub = Guarded::shared().await;
    let name = fresh("c");
    let dev = hub.developer(&fresh("dev"), &[may_join("default")]).await;
    let shown = dev.by(by).dry_run().create(&cluster(&name)).await.ok();
    assert_eq!(shown["metadata"]["labels"][SET_LABEL], "default");
    let answer = dev.get(&path_of(&cluster(&name))).await.unwrap();
    answer.refused(404, "NotFound");

    let stored = dev.by(by).create(&cluster(&name)).await.ok();
    let patch = json!({ "spec": { "taints": [{ "key": "gpu", "effect": "NoSelect" }] } });
    let written = dev.by(by).dry_run().merge(&stored, &patch).await;
    assert!(written.ok()["spec"]["taints"][0]["timeAdded"].is_string());
    let now = dev.by(by).get(&stored).await;
    let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
    assert_eq!(
        (&now["spec"], version(&now)),
        (&stored["spec"], version(&stored))
    );
}

async fn a_dry_run_warns_like_the_write(by: By) {
    let hub = Guarded::shared().await;
    let (name, user) = (fresh("c"), fresh("dev"));
    let dev = hub.developer(&user, &[]).await;
    let written = dev.by(by).dry_run().create(&cluster(&name)).await;
    let warning = not_in_default(&name, &user);
    assert_eq!(written.ok_with_warnings().1, [warning]);
}
