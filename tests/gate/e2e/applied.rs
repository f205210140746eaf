//! Manifests that are applied again and again, as GitOps does.

use serde_json::{Value, json};

use crate::e2e::sentences::{VALIDATORS, cannot_accept};
use berth_testkit::by_each_client;
use berth_testkit::cluster::{fresh, kubectl_is_there, path_of};
use berth_testkit::guarded::{Guarded, may_accept, may_bind, may_join};
use berth_testkit::objects::{SET_LABEL, accepted, binding, cluster, namespace, set};
use berth_testkit::writes::By;

by_each_client![
    a_second_application_of_every_kind_changes_nothing,
    an_application_is_refused_like_any_write,
    what_the_gate_fills_in_belongs_to_nobody,
];

async fn a_second_application_of_every_kind_changes_nothing(by: By) {
    let hub = Guarded::shared().await;
    let (name, prod, team) = (fresh("c"), fresh("prod"), fresh("team"));
    hub.cluster.apply(&[namespace(&team)]).await;
    let rules = [may_accept(&name), may_join(&prod), may_bind(&prod)];
    let dev = hub.developer(&fresh("dev"), &rules).await;
    let mut member = accepted(&name);
    member["metadata"]["labels"] = json!({ SET_LABEL: prod });
    for object in [set(&prod), member, binding(&prod, &team)] {
        let first = dev.by(by).apply(&object).await.ok();
        let second = dev.by(by).apply(&object).await.ok();
        assert_eq!(second, first);
    }
}

async fn an_application_is_refused_like_any_write(by: By) {
    let hub = Guarded::shared().await;
    let (name, user) = (fresh("c"), fresh("dev"));
    let dev = hub.developer(&user, &[may_join("default")]).await;
    let written = dev.by(by).apply(&accepted(&name)).await;
    let denial = cannot_accept(&name, &user);
    written.denied(VALIDATORS, 403, "Forbidden", &[&denial]);
    dev.by(by).apply(&cluster(&name)).await.ok();
}

/// So that an application without it does not take it away.
async fn what_the_gate_fills_in_belongs_to_nobody(by: By) {
    let hub = Guarded::shared().await;
    let dev = hub.developer(&fresh("dev"), &[may_join("default")]).await;
    let mut manifest = cluster(&fresh("c"));
    manifest["spec"]["taints"] = json!([{ "key": "gpu", "effect": "NoSelect" }]);
    dev.by(by).apply(&manifest).await.ok();
    let stored = dev.by(by).get(&manifest).await;
    assert_eq!(stored["metadata"]["labels"][SET_LABEL], "default");
    let entries = stored["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!(entries[0]["manager"], "kubectl");
    assert_eq!(entries[0]["operation"], "Apply");
    let fields = json!({ "f:spec": { "f:hubAcceptsClient": {}, "f:taints": {} } });
    assert_eq!(entries[0]["fieldsV1"], fields);
}

/// Client-side apply sends the taints whenever they differ from the stored ones, and those have times.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_side_application_changes_nothing_either() {
    if !kubectl_is_there() {
        return;
    }
    let hub = Guarded::shared().await;
    let dev = hub.developer(&fresh("dev"), &[may_join("default")]).await;
    let mut manifest = cluster(&fresh("c"));
    manifest["spec"]["taints"] = json!([{ "key": "gpu", "effect": "NoSelect" }]);
    let version = async || {
        let args = ["apply", "-f", "-"];
        let output = dev.kubectl_reading(&manifest.to_string(), &args).await;
        output.ok();
        assert_eq!(output.stderr, "");
        let stored = dev.get(&path_of(&manifest)).await.unwrap();
        let object: &Value = stored.ok();
        object["metadata"]["resourceVersion"].clone()
    };
    let first = version().await;
    // Times are in seconds.
    berth_testkit::next_second().await;
    assert_eq!(version().await, first);
}
