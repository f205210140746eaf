//! A cluster without a set gets `default`, if the requester may join that set.

use serde_json::{Value, json};

use crate::e2e::sentences::not_in_default;
use berth_testkit::by_each_client;
use berth_testkit::cluster::fresh;
use berth_testkit::guarded::{Guarded, may_join};
use berth_testkit::objects::{SET_LABEL, cluster, member};
use berth_testkit::writes::By;

by_each_client![
    a_cluster_without_a_set_joins_default,
    an_empty_label_is_no_set,
    who_may_not_join_default_is_warned,
    the_label_comes_back_without_a_question,
];

async fn a_cluster_without_a_set_joins_default(by: By) {
    let hub = Guarded::shared().await;
    let dev = hub.developer(&fresh("dev"), &[may_join("default")]).await;
    let stored = dev.by(by).create(&cluster(&fresh("c"))).await.ok();
    assert_eq!(
        stored["metadata"]["labels"],
        json!({ SET_LABEL: "default" })
    );
}

async fn an_empty_label_is_no_set(by: By) {
    let hub = Guarded::shared().await;
    let dev = hub.developer(&fresh("dev"), &[may_join("default")]).await;
    let mut cluster = member(&fresh("c"), "");
    cluster["metadata"]["labels"]["env"] = "test".into();
    let stored = dev.by(by).create(&cluster).await.ok();
    let labels = json!({ SET_LABEL: "default", "env": "test" });
    assert_eq!(stored["metadata"]["labels"], labels);
}

async fn who_may_not_join_default_is_warned(by: By) {
    let hub = Guarded::shared().await;
    let (name, user) = (fresh("c"), fresh("dev"));
    let dev = hub.developer(&user, &[]).await;
    let written = dev.by(by).create(&cluster(&name)).await;
    let (stored, warnings) = written.ok_with_warnings();
    assert_eq!(warnings, [not_in_default(&name, &user)]);
    assert_eq!(stored["metadata"]["labels"], Value::Null);
}

/// Also for those who may not put it there.
async fn the_label_comes_back_without_a_question(by: By) {
    let hub = Guarded::shared().await;
    let (name, admin) = (fresh("c"), hub.cluster.admin().await);
    admin.by(by).create(&cluster(&name)).await.ok();
    let dev = hub.developer(&fresh("dev"), &[]).await;
    let patch = json!({ "metadata": { "labels": { SET_LABEL: null, "env": "test" } } });
    let stored = dev.by(by).merge(&cluster(&name), &patch).await.ok();
    let labels = json!({ SET_LABEL: "default", "env": "test" });
    assert_eq!(stored["metadata"]["labels"], labels);
}
