//! Malformed clusters are refused; a malformed cluster that is already stored stays writable.

use serde_json::{Value, json};

use crate::e2e::sentences::{VALIDATORS, cannot_accept};
use berth_testkit::by_each_client;
use berth_testkit::cluster::fresh;
use berth_testkit::guarded::{Guarded, may_join};
use berth_testkit::objects::{SET_LABEL, cluster};
use berth_testkit::writes::By;

by_each_client![
    a_name_is_a_dns_label,
    a_client_config_has_an_https_url,
    a_ca_bundle_holds_a_certificate,
    a_lease_lasts_at_most_a_day,
    of_one_key_and_effect_there_is_one_taint,
    every_fault_is_named,
    what_is_stored_with_faults_stays_writable,
    what_is_being_deleted_is_checked_for_acceptance_alone,
];

fn with(name: &str, field: &str, value: Value) -> Value {
    let mut cluster = cluster(name);
    cluster["spec"][field] = value;
    cluster
}

async fn a_name_is_a_dns_label(by: By) {
    let hub = Guarded::shared().await;
    let dev = hub.developer(&fresh("dev"), &[may_join("default")]).await;
    let dev = dev.by(by);
    let name = fresh("dotted.name");
    let written = dev.create(&cluster(&name)).await;
    let fault = "metadata.name format is not correct: must not contain dots";
    written.denied(VALIDATORS, 400, "BadRequest", &[fault]);
    dev.create(&cluster(&fresh("plain-name"))).await.ok();
}

async fn a_client_config_has_an_https_url(by: By) {
    let hub = Guarded::shared().await;
    let dev = hub.developer(&fresh("dev"), &[may_join("default")]).await;
    let (dev, name) = (dev.by(by), fresh("c"));
    let configs = |url: &str| json!([{ "url": url }]);
    let field = "managedClusterClientConfigs";
    let url = "http://10.0.0.7:6443";
    let written = dev.create(&with(&name, field, configs(url))).await;
    let fault = format!("url \"{url}\" is invalid in client configs");
    written.denied(VALIDATORS, 400, "BadRequest", &[&fault]);
    let valid = with(&name, field, configs("https://10.0.0.7:6443"));
    dev.create(&valid).await.ok();
    let patch = json!({ "spec": { field: configs("https:10.0.0.7") } });
    let written = dev.merge(&valid, &patch).await;
    let fault = "url \"https:10.0.0.7\" is invalid in client configs";
    written.denied(VALIDATORS, 400, "BadRequest", &[fault]);
}

async fn a_ca_bundle_holds_a_certificate(by: By) {
    let hub = Guarded::shared().await;
    let dev = hub.developer(&fresh("dev"), &[may_join("default")]).await;
    let (dev, name) = (dev.by(by), fresh("c"));
    let url = "https://10.0.0.7:6443";
    let configs = |bundle: &[u8]| {
        use base64::Engine;
        let bundle = base64::engine::general_purpose::STANDARD.encode(bundle);
        json!([{ "url": url, "caBundle": bundle }])
    };
    let field = "managedClusterClientConfigs";
    let written = dev.create(&with(&name, field, configs(b"no PEM"))).await;
    let fault = format!("caBundle of url \"{url}\" in client configs holds no PEM block");
    written.denied(VALIDATORS, 400, "BadRequest", &[&fault]);
    let bundle = hub.cluster.ca_pem().as_bytes();
    dev.create(&with(&name, field, configs(bundle))).await.ok();
}

async fn a_lease_lasts_at_most_a_day(by: By) {
    let hub = Guarded::shared().await;
    let dev = hub.developer(&fresh("dev"), &[may_join("default")]).await;
    let dev = dev.by(by);
    for (seconds, valid) in [(-1, false), (0, true), (86_400, true), (86_401, false)] {
        let cluster = with(&fresh("c"), "leaseDurationSeconds", seconds.into());
        let written = dev.create(&cluster).await;
        if valid {
            assert_eq!(written.ok()["spec"]["leaseDurationSeconds"], seconds);
        } else {
            let fault = format!(
                "spec.leaseDurationSeconds: Invalid value: {seconds}: must be between 0 and 86400"
            );
            written.denied(VALIDATORS, 400, "BadRequest", &[&fault]);
        }
    }
}

async fn of_one_key_and_effect_there_is_one_taint(by: By) {
    let hub = Guarded::shared().await;
    let dev = hub.developer(&fresh("dev"), &[may_join("default")]).await;
    let dev = dev.by(by);
    let taints = |effects: [&str; 2]| {
        let taint = |effect| json!({ "key": "gpu", "effect": effect });
        Value::from(effects.map(taint).to_vec())
    };
    let name = fresh("c");
    let twice = with(&name, "taints", taints(["NoSelect", "NoSelect"]));
    let fault =
        "spec.taints: Duplicate value: key \"gpu\" with effect \"NoSelect\": keep one of them";
    let written = dev.create(&twice).await;
    written.denied(VALIDATORS, 400, "BadRequest", &[fault]);
    let different = with(&name, "taints", taints(["NoSelect", "PreferNoSelect"]));
    dev.create(&different).await.ok();
}

/// All of the content at once, and nothing of what might be missing besides.
async fn every_fault_is_named(by: By) {
    let hub = Guarded::shared().await;
    let dev = hub.developer(&fresh("dev"), &[may_join("default")]).await;
    let mut cluster = with(&fresh("c.1"), "leaseDurationSeconds", (-7).into());
    cluster["spec"]["managedClusterClientConfigs"] =
        json!([{ "url": "http://a" }, { "url": "ftp://b" }]);
    cluster["spec"]["hubAcceptsClient"] = true.into();
    let faults = [
        "metadata.name format is not correct: must not contain dots",
        "spec.leaseDurationSeconds: Invalid value: -7: must be between 0 and 86400",
        "url \"ftp://b\" is invalid in client configs",
        "url \"http://a\" is invalid in client configs",
    ];
    let written = dev.by(by).create(&cluster).await;
    written.denied(VALIDATORS, 400, "BadRequest", &faults);
}

async fn what_is_stored_with_faults_stays_writable(by: By) {
    let hub = Guarded::shared().await;
    let dev = hub.developer(&fresh("dev"), &[may_join("default")]).await;
    let dev = dev.by(by);
    let faulty = cluster(&format!("faulty.{}", by.name()));
    let annotate = json!({ "metadata": { "annotations": { "by": "dev" } } });
    let stored = dev.merge(&faulty, &annotate).await.ok();
    assert_eq!(stored["spec"]["leaseDurationSeconds"], -5);
    assert_eq!(stored["metadata"]["labels"][SET_LABEL], "default");

    let mut configs = stored["spec"]["managedClusterClientConfigs"].clone();
    let more = |url: &str| json!({ "url": url });
    configs
        .as_array_mut()
        .unwrap()
        .push(more("https://10.0.0.2"));
    let patch = json!({ "spec": { "managedClusterClientConfigs": configs } });
    dev.merge(&faulty, &patch).await.ok();
    configs
        .as_array_mut()
        .unwrap()
        .push(more("http://10.0.0.3"));
    let patch = json!({ "spec": { "managedClusterClientConfigs": configs } });
    let written = dev.merge(&faulty, &patch).await;
    let fault = "url \"http://10.0.0.3\" is invalid in client configs";
    written.denied(VALIDATORS, 400, "BadRequest", &[fault]);
}

async fn what_is_being_deleted_is_checked_for_acceptance_alone(by: By) {
    let hub = Guarded::shared().await;
    let user = fresh("dev");
    let dev = hub.developer(&user, &[may_join("default")]).await;
    let dev = dev.by(by);
    let name = format!("leaving.{}", by.name());
    let leaving = cluster(&name);
    dev.delete(&leaving).await.ok();
    let patch = json!({ "spec": { "managedClusterClientConfigs": [{ "url": "ftp://new" }], "leaseDurationSeconds": -1 } });
    let stored = dev.merge(&leaving, &patch).await.ok();
    assert_eq!(stored["metadata"]["labels"], Value::Null, "not defaulted");

    let patch = json!({ "spec": { "hubAcceptsClient": true } });
    let written = dev.merge(&leaving, &patch).await;
    let denial = cannot_accept(&name, &user);
    written.denied(VALIDATORS, 403, "Forbidden", &[&denial]);
    let release = json!({ "metadata": { "finalizers": null } });
    dev.merge(&leaving, &release).await.ok();
    dev.wait_until_gone(&leaving).await;
}
