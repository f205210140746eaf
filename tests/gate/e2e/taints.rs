//! The gate sets `timeAdded` of taints.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::e2e::sentences::MUTATORS;
use berth_testkit::by_each_client;
use berth_testkit::cluster::fresh;
use berth_testkit::guarded::{Guarded, may_join};
use berth_testkit::objects::{LONG_AGO, cluster};
use berth_testkit::writes::By;

by_each_client![
    a_new_taint_is_added_now,
    a_time_that_was_made_up_is_refused,
    a_changed_taint_gets_a_new_time_also_when_the_old_one_is_echoed,
    a_taint_that_is_written_again_without_its_time_keeps_it,
    a_second_application_changes_nothing,
    what_is_stale_is_refused_for_its_content_before_its_version_is_compared,
    of_taints_there_are_a_thousand_at_most,
];

fn tainted(name: &str, taints: Value) -> Value {
    let mut cluster = cluster(name);
    cluster["spec"]["taints"] = taints;
    cluster
}

#[track_caller]
fn assert_now(time: &Value) {
    let time: Timestamp = time.as_str().unwrap().parse().unwrap();
    let age = Timestamp::now().duration_since(time);
    assert!(age.abs() < SignedDuration::from_secs(10), "{time}");
}

async fn a_new_taint_is_added_now(by: By) {
    let hub = Guarded::shared().await;
    let dev = hub.developer(&fresh("dev"), &[may_join("default")]).await;
    let (dev, name) = (dev.by(by), fresh("c"));
    let gpu = json!({ "key": "gpu", "effect": "NoSelect" });
    // A time that comes with a new object is not believed.
    let dated = json!({ "key": "old", "effect": "NoSelect", "timeAdded": LONG_AGO });
    let stored = dev.create(&tainted(&name, json!([gpu, dated]))).await.ok();
    assert_now(&stored["spec"]["taints"][0]["timeAdded"]);
    assert_now(&stored["spec"]["taints"][1]["timeAdded"]);

    let mut taints = stored["spec"]["taints"].clone();
    let disk = json!({ "key": "disk", "effect": "PreferNoSelect" });
    taints.as_array_mut().unwrap().push(disk);
    let patch = json!({ "spec": { "taints": taints } });
    let stored = dev.merge(&stored, &patch).await.ok();
    assert_now(&stored["spec"]["taints"][2]["timeAdded"]);
    assert_eq!(stored["spec"]["taints"][0], taints[0]);
}

async fn a_time_that_was_made_up_is_refused(by: By) {
    let hub = Guarded::shared().await;
    let dev = hub.developer(&fresh("dev"), &[may_join("default")]).await;
    let (dev, name) = (dev.by(by), fresh("c"));
    dev.create(&cluster(&name)).await.ok();
    let taint = json!({ "key": "gpu", "effect": "NoSelect", "timeAdded": LONG_AGO });
    let patch = json!({ "spec": { "taints": [taint] } });
    let written = dev.merge(&cluster(&name), &patch).await;
    let fault = "It is not allowed to set TimeAdded of Taint \"gpu\".";
    written.denied(MUTATORS, 400, "BadRequest", &[fault]);
}

async fn a_changed_taint_gets_a_new_time_also_when_the_old_one_is_echoed(by: By) {
    let hub = Guarded::shared().await;
    let dev = hub.developer(&fresh("dev"), &[may_join("default")]).await;
    let dev = dev.by(by);
    let stored = dev.get(&cluster(&format!("tainted-{}", by.name()))).await;
    let mut taints = stored["spec"]["taints"].clone();
    assert_eq!(taints[0]["timeAdded"], LONG_AGO);
    taints[0]["effect"] = "PreferNoSelect".into();
    let patch = json!({ "spec": { "taints": taints } });
    let stored = dev.merge(&stored, &patch).await.ok();
    let changed = &stored["spec"]["taints"];
    assert_eq!(changed[0]["effect"], "PreferNoSelect");
    assert_now(&changed[0]["timeAdded"]);
    assert_eq!(changed[1], taints[1], "the other one did not change");
}

async fn a_taint_that_is_written_again_without_its_time_keeps_it(by: By) {
    let hub = Guarded::shared().await;
    let dev = hub.developer(&fresh("dev"), &[may_join("default")]).await;
    let dev = dev.by(by);
    let stored = dev.get(&cluster(&format!("again-{}", by.name()))).await;
    let mut again = stored["spec"]["taints"].clone();
    for taint in again.as_array_mut().unwrap() {
        taint.as_object_mut().unwrap().remove("timeAdded");
    }
    let patch = json!({ "spec": { "taints": again } });
    let written = dev.merge(&stored, &patch).await.ok();
    assert_eq!(written["spec"], stored["spec"]);
}

async fn a_second_application_changes_nothing(by: By) {
    let hub = Guarded::shared().await;
    let dev = hub.developer(&fresh("dev"), &[may_join("default")]).await;
    let (dev, name) = (dev.by(by), fresh("c"));
    let taints = json!([{ "key": "gpu", "value": "h100", "effect": "NoSelect" }]);
    let manifest = tainted(&name, taints);
    let first = dev.apply(&manifest).await.ok();
    assert_now(&first["spec"]["taints"][0]["timeAdded"]);
    assert_eq!(first["metadata"]["labels"].as_object().unwrap().len(), 1);
    // A time is written in seconds.
    berth_testkit::next_second().await;
    let second = dev.apply(&manifest).await.ok();
    assert_eq!(second, first);
}

/// So a controller must look whether what it wrote was stale before it takes the refusal for the last word.
async fn what_is_stale_is_refused_for_its_content_before_its_version_is_compared(by: By) {
    let hub = Guarded::shared().await;
    let dev = hub.developer(&fresh("dev"), &[may_join("default")]).await;
    let (dev, name) = (dev.by(by), fresh("c"));
    let taints = json!([{ "key": "gpu", "effect": "NoSelect" }]);
    let stored = dev.create(&tainted(&name, taints)).await.ok();
    // Somebody takes the taint away; the patch is decided from what was there before, and keeps it with its time.
    let without = json!({ "spec": { "taints": [] } });
    dev.merge(&stored, &without).await.ok();
    let mut taints = stored["spec"]["taints"].clone();
    taints[0]["timeAdded"] = json!(LONG_AGO);
    let version = &stored["metadata"]["resourceVersion"];
    let stale = json!({ "metadata": { "resourceVersion": version }, "spec": { "taints": taints } });
    let fault = "It is not allowed to set TimeAdded of Taint \"gpu\".";
    let written = dev.merge(&stored, &stale).await;
    written.denied(MUTATORS, 400, "BadRequest", &[fault]);
    // With nothing in it that anybody refuses it is a conflict.
    let stale = json!({ "metadata": { "resourceVersion": version }, "spec": { "taints": [] } });
    let written = dev.merge(&stored, &stale).await;
    let message = format!(
        "Operation cannot be fulfilled on managedclusters.cluster.open-cluster-management.io \"{name}\": the object has \
         been modified; please apply your changes to the latest version and try again"
    );
    written.refused(409, "Conflict", &message);
}

/// More are refused by the first webhook that sees them.
async fn of_taints_there_are_a_thousand_at_most(by: By) {
    let hub = Guarded::shared().await;
    let dev = hub.developer(&fresh("dev"), &[may_join("default")]).await;
    let (dev, name) = (dev.by(by), fresh("c"));
    let taints = |number: usize| -> Value {
        (0..number)
            .map(|i| json!({ "key": format!("k{i}"), "effect": "NoSelect" }))
            .collect()
    };
    let fault = "spec.taints: Too many: 1001: must have at most 1000 items";
    let written = dev.create(&tainted(&name, taints(1_001))).await;
    written.denied(MUTATORS, 400, "BadRequest", &[fault]);
    let stored = dev.create(&tainted(&name, taints(1_000))).await.ok();
    assert_now(&stored["spec"]["taints"][0]["timeAdded"]);
    assert_now(&stored["spec"]["taints"][999]["timeAdded"]);
    let patch = json!({ "spec": { "taints": taints(1_001) } });
    let written = dev.merge(&stored, &patch).await;
    written.denied(MUTATORS, 400, "BadRequest", &[fault]);
}
