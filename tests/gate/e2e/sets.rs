//! A set whose selector can match no cluster is refused; which users may widen a selector.

use serde_json::{Value, json};

use crate::e2e::sentences::{SET_VALIDATORS, cannot_widen};
use berth_testkit::by_each_client;
use berth_testkit::cluster::fresh;
use berth_testkit::guarded::{Guarded, may_join, may_join_all};
use berth_testkit::objects::set;
use berth_testkit::writes::By;

by_each_client![
    a_name_fits_a_label,
    a_selector_can_select,
    widening_a_selector_takes_the_permission_to_join_all_sets,
];

async fn a_name_fits_a_label(by: By) {
    let hub = Guarded::shared().await;
    let dev = hub.developer(&fresh("dev"), &[]).await;
    let name = |length: usize| format!("{:-<width$}0", fresh("set"), width = length - 1);
    let long = name(64);
    let written = dev.by(by).create(&set(&long)).await;
    let fault = format!(
        "metadata.name: Invalid value: \"{long}\": must be no more than 63 characters, to fit the label by which clusters name \
         their set"
    );
    written.denied(SET_VALIDATORS, 400, "BadRequest", &[&fault]);
    dev.by(by).create(&set(&name(63))).await.ok();
}

async fn a_selector_can_select(by: By) {
    let hub = Guarded::shared().await;
    let dev = hub.developer(&fresh("dev"), &[may_join_all()]).await;
    let dev = dev.by(by);
    let selecting = |name: &str, selector: Value| {
        let mut set = set(name);
        set["spec"]["clusterSelector"] =
            json!({ "selectorType": "LabelSelector", "labelSelector": selector });
        set
    };
    let name = fresh("set");
    let operator = |operator: &str| json!({ "matchExpressions": [{ "key": "env", "operator": operator, "values": ["a"] }] });
    let written = dev.create(&selecting(&name, operator("Like"))).await;
    let fault = "spec.clusterSelector.labelSelector.matchExpressions[0].operator: Invalid value: \"Like\": not a valid selector operator";
    written.denied(SET_VALIDATORS, 400, "BadRequest", &[fault]);
    dev.create(&selecting(&name, operator("In"))).await.ok();

    let patch = json!({ "spec": { "clusterSelector": { "labelSelector": null } } });
    let written = dev.merge(&set(&name), &patch).await;
    let fault = "spec.clusterSelector.labelSelector: Required value: a set of selectorType LabelSelector needs one";
    written.denied(SET_VALIDATORS, 400, "BadRequest", &[fault]);
}

async fn widening_a_selector_takes_the_permission_to_join_all_sets(by: By) {
    let hub = Guarded::shared().await;
    let (name, user) = (fresh("set"), fresh("dev"));
    let dev = hub.developer(&user, &[may_join(&name)]).await;
    let (dev_by, denial) = (dev.by(by), cannot_widen(&name, &user));
    let selecting = |values: &[&str]| {
        let mut set = set(&name);
        set["spec"]["clusterSelector"] = json!({
            "selectorType": "LabelSelector",
            "labelSelector": { "matchExpressions": [{ "key": "env", "operator": "In", "values": values }] },
        });
        set
    };
    let selector = |selector: Value| json!({ "spec": { "clusterSelector": selector } });

    let written = dev_by.create(&selecting(&["a"])).await;
    written.denied(SET_VALIDATORS, 403, "Forbidden", &[&denial]);
    // A set of those that name it takes the permission to join it, of whoever puts one there.
    dev_by.create(&set(&name)).await.ok();
    let turned = selecting(&["a", "b"])["spec"].clone();
    let written = dev_by.merge(&set(&name), &json!({ "spec": turned })).await;
    written.denied(SET_VALIDATORS, 403, "Forbidden", &[&denial]);

    let admin = hub.cluster.admin().await;
    let widened = json!({ "spec": turned });
    admin.by(by).merge(&set(&name), &widened).await.ok();
    let every = selector(json!({ "labelSelector": { "matchExpressions": null } }));
    let written = dev_by.merge(&set(&name), &every).await;
    written.denied(SET_VALIDATORS, 403, "Forbidden", &[&denial]);
    let narrower = json!({ "spec": selecting(&["b"])["spec"] });
    dev_by.merge(&set(&name), &narrower).await.ok();
    dev_by
        .merge(
            &set(&name),
            &json!({ "metadata": { "labels": { "a": "b" } } }),
        )
        .await
        .ok();

    hub.cluster.grant(&dev, &[may_join_all()]).await;
    dev_by.merge(&set(&name), &every).await.ok();
}
