//! Which users may move clusters into sets and out of them.

use serde_json::json;

use crate::e2e::sentences::{VALIDATORS, cannot_accept, cannot_join};
use berth_testkit::by_each_client;
use berth_testkit::cluster::fresh;
use berth_testkit::guarded::{Guarded, may_join};
use berth_testkit::objects::{SET_LABEL, member, set};
use berth_testkit::writes::By;

by_each_client![
    joining_takes_the_permission_for_the_set,
    moving_takes_the_permission_for_both_sets,
    a_set_that_is_not_there_is_warned_of,
    a_denial_comes_with_its_warnings,
    a_label_that_no_set_can_have_is_warned_of,
    the_retired_label_is_warned_of_once,
];

async fn joining_takes_the_permission_for_the_set(by: By) {
    let hub = Guarded::shared().await;
    let (name, prod, user) = (fresh("c"), fresh("prod"), fresh("dev"));
    hub.cluster.apply(&[set(&prod)]).await;
    let dev = hub.developer(&user, &[may_join("default")]).await;
    let written = dev.by(by).create(&member(&name, &prod)).await;
    let denial = cannot_join(&prod, &user);
    written.denied(VALIDATORS, 403, "Forbidden", &[&denial]);
    hub.cluster.grant(&dev, &[may_join(&prod)]).await;
    let stored = dev.by(by).create(&member(&name, &prod)).await.ok();
    assert_eq!(stored["metadata"]["labels"][SET_LABEL], prod);
}

async fn moving_takes_the_permission_for_both_sets(by: By) {
    let hub = Guarded::shared().await;
    let (name, test, prod, user) = (fresh("c"), fresh("test"), fresh("prod"), fresh("dev"));
    hub.cluster.apply(&[set(&test), set(&prod)]).await;
    let admin = hub.cluster.admin().await;
    admin.by(by).create(&member(&name, &test)).await.ok();
    let to_prod = json!({ "metadata": { "labels": { SET_LABEL: prod } } });
    let cluster = member(&name, &test);
    let (from, to) = (cannot_join(&test, &user), cannot_join(&prod, &user));

    let dev = hub.developer(&user, &[]).await;
    let written = dev.by(by).merge(&cluster, &to_prod).await;
    written.denied(VALIDATORS, 403, "Forbidden", &[&from, &to]);
    hub.cluster.grant(&dev, &[may_join(&prod)]).await;
    let written = dev.by(by).merge(&cluster, &to_prod).await;
    written.denied(VALIDATORS, 403, "Forbidden", &[&from]);
    hub.cluster.grant(&dev, &[may_join(&test)]).await;
    let stored = dev.by(by).merge(&cluster, &to_prod).await.ok();
    assert_eq!(stored["metadata"]["labels"][SET_LABEL], prod);
}

fn no_such_set(set: &str, cluster: &str) -> String {
    format!(
        "ManagedClusterSet \"{set}\" does not exist; until it does, ManagedCluster \"{cluster}\" is in no set"
    )
}

async fn a_denial_comes_with_its_warnings(by: By) {
    let hub = Guarded::shared().await;
    let (name, missing, user) = (fresh("c"), fresh("missing"), fresh("dev"));
    let dev = hub.developer(&user, &[]).await;
    let mut cluster = member(&name, &missing);
    cluster["spec"]["hubAcceptsClient"] = true.into();
    let (accept, join) = (cannot_accept(&name, &user), cannot_join(&missing, &user));
    // Whether there is such a set is told only to those who may join it.
    let written = dev.by(by).create(&cluster).await;
    written.denied(VALIDATORS, 403, "Forbidden", &[&accept, &join]);
    hub.cluster.grant(&dev, &[may_join(&missing)]).await;
    let written = dev.by(by).create(&cluster).await;
    let warning = no_such_set(&missing, &name);
    written.denied_with_warning(&warning, VALIDATORS, 403, "Forbidden", &[&accept]);
}

async fn a_set_that_is_not_there_is_warned_of(by: By) {
    let hub = Guarded::shared().await;
    let (name, missing) = (fresh("c"), fresh("missing"));
    let rules = [may_join(&missing)];
    let dev = hub.developer(&fresh("dev"), &rules).await;
    let written = dev.by(by).create(&member(&name, &missing)).await;
    assert_eq!(written.ok_with_warnings().1, [no_such_set(&missing, &name)]);
    // Nothing changes.
    let patch = json!({ "metadata": { "labels": { "env": "test" } } });
    dev.by(by)
        .merge(&member(&name, &missing), &patch)
        .await
        .ok();
}

async fn a_label_that_no_set_can_have_is_warned_of(by: By) {
    let hub = Guarded::shared().await;
    let name = fresh("c");
    let dev = hub.developer(&fresh("dev"), &[may_join("Prod_1")]).await;
    let written = dev.by(by).create(&member(&name, "Prod_1")).await;
    let warning = "label cluster.open-cluster-management.io/clusterset has the value \"Prod_1\", which is not a valid name of a ManagedClusterSet";
    assert_eq!(written.ok_with_warnings().1, [warning]);
}

async fn the_retired_label_is_warned_of_once(by: By) {
    let hub = Guarded::shared().await;
    let rules = [may_join("default")];
    let dev = hub.developer(&fresh("dev"), &rules).await;
    let mut cluster = member(&fresh("c"), "default");
    cluster["metadata"]["labels"]["open-cluster-management.io/clusterset"] = "old".into();
    let written = dev.by(by).create(&cluster).await;
    let warning = "label open-cluster-management.io/clusterset is retired and has no effect: \
                   use cluster.open-cluster-management.io/clusterset";
    assert_eq!(written.ok_with_warnings().1, [warning]);
    let patch = json!({ "spec": { "leaseDurationSeconds": 30 } });
    dev.by(by).merge(&cluster, &patch).await.ok();
}
