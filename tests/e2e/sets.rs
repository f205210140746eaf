//! A set that nothing could belong to is refused.

use serde_json::{Value, json};

use crate::cluster::fresh;
use crate::guarded::Guarded;
use crate::objects::set;
use crate::sentences::SET_VALIDATORS;
use crate::writes::{By, by_each_client};

by_each_client![a_name_fits_a_label, a_selector_can_select];

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
    let dev = hub.developer(&fresh("dev"), &[]).await;
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
