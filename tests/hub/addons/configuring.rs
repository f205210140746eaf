//! Which configs an add-on has, in which steps they reach the clusters, and how far they are.

use berth_testkit::cluster::AsAdmin;
use berth_testkit::process::once;
use serde_json::{Value, json};

use super::hub::Hub;

fn progressive(settings: Value) -> Value {
    json!({"type": "Progressive", "progressive": settings})
}

/// An add-on with a template: nobody but the hub writes the hashes of its configs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn configs_of_a_template_have_the_hash_of_their_content() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(2).await;
    hub.place("p", &clusters).await;
    let config_map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}, "data": {"a": "{{A}}"}});
    hub.template("t", json!([config_map])).await;
    hub.config("d", "a<b>&c").await;
    hub.config("m", "1").await;
    let _managing = hub.start().await;
    let p = hub.of("p", json!({"type": "All"}), json!([]));
    let defaults = json!([hub.template_reference("t"), hub.reference("d")]);
    hub.define("a", None, defaults, Some(json!([p]))).await;
    hub.has("a", &clusters).await;
    // SHA-256 of {"spec":{"agentInstallNamespace":"open-cluster-management-agent-addon","customizedVariables":[{"name":"A",
    // "value":"a\u003cb\u003e\u0026c"}]}}, without the line break.
    let hash = "23d1a54293bc9c9a65d078af74a6f226f951f0dc329fad746b9d55af35be6f5c";
    hub.configured(&clusters[0], "a", "d", Some(hash)).await;
    let template = hub
        .configured(&clusters[0], "a", &hub.named("t"), None)
        .await;
    assert_eq!(template.len(), 64, "{template}");
    // The cluster's own config replaces that of its kind only.
    let own = json!({"spec": {"configs": [hub.reference("m")]}});
    hub.patch(&hub.on(&clusters[1], "a"), own).await;
    let own = hub.configured(&clusters[1], "a", "m", None).await;
    assert_eq!(own.len(), 64, "{own}");
    hub.configured(&clusters[1], "a", &hub.named("t"), Some(&template))
        .await;
    for cluster in &clusters {
        hub.completes(cluster, "a").await;
    }
    let words =
        "selected clusters 2. configured addons 2/2 completed with no errors, 0 failed 0 timeout.";
    let add_on = hub.progression("a", 0, "False Completed", words).await;
    let references = &add_on["status"]["installProgressions"][0]["configReferences"];
    for it in references.as_array().unwrap() {
        assert_eq!(it["lastAppliedConfig"], it["desiredConfig"]);
        assert_eq!(it["lastKnownGoodConfig"], it["desiredConfig"]);
    }
    // A changed config starts a rollout.
    hub.config("d", "2").await;
    hub.progression(
        "a",
        0,
        "True Progressing",
        "configured addons 2/2 progressing...",
    )
    .await;
    hub.condition(&clusters[0], "a", "Progressing", "True Progressing")
        .await;
    let changed = hub.configured(&clusters[0], "a", "d", None).await;
    assert_ne!(changed, hash);
    for cluster in &clusters {
        let work = hub.deployed(cluster, "a");
        // The other one has its own config, which stays.
        let made_from = |it: &Value| {
            it["metadata"]["annotations"]
                .to_string()
                .contains(&*changed)
        };
        let is_made = |it: &Value| made_from(it) == (cluster == &clusters[0]);
        once(&hub.admin, &work, "made of the config", is_made).await;
        hub.completes(cluster, "a").await;
    }
    hub.condition(&clusters[0], "a", "Progressing", "False Completed")
        .await;
    hub.progression("a", 0, "False Completed", "2/2").await;
}

/// An add-on whose own manager writes the hashes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_progressive_rollout_changes_one_cluster_after_the_other_and_stops_at_a_failure() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(3).await;
    hub.place("p", &clusters).await;
    let _managing = hub.start().await;
    let strategy =
        progressive(json!({"maxConcurrency": 1, "maxFailures": 0, "progressDeadline": "1s"}));
    let p = hub.of("p", strategy, json!([]));
    hub.define("a", None, json!([hub.reference("d")]), Some(json!([p])))
        .await;
    hub.has("a", &clusters).await;
    for cluster in &clusters {
        hub.manage(cluster, "a").await;
    }
    once(&hub.admin, &hub.add_on("a"), "progressions", |it| {
        it["status"]["installProgressions"][0]["configReferences"][0]["desiredConfig"]["name"]
            == "d"
    })
    .await;
    hub.publish("a", "1").await;
    hub.configured(&clusters[0], "a", "d", Some("1")).await;
    for cluster in &clusters[1..] {
        hub.condition(
            cluster,
            "a",
            "Configured",
            "False ConfigurationsNotConfigured",
        )
        .await;
    }
    hub.apply(&clusters[0], "a", true).await;
    hub.configured(&clusters[1], "a", "d", Some("1")).await;
    hub.apply(&clusters[1], "a", false).await;
    let why = hub
        .condition(&clusters[1], "a", "Progressing", "False Failed")
        .await;
    assert!(why.contains("refused"), "{why}");
    let words = "selected clusters 3. configured addons 1/3 progressing..., 0 failed 1 timeout.";
    hub.progression("a", 0, "True Progressing", words).await;
    hub.condition(
        &clusters[2],
        "a",
        "Configured",
        "False ConfigurationsNotConfigured",
    )
    .await;
    hub.apply(&clusters[1], "a", true).await;
    hub.configured(&clusters[2], "a", "d", Some("1")).await;
    hub.condition(
        &clusters[2],
        "a",
        "Configured",
        "True ConfigurationsConfigured",
    )
    .await;
    hub.apply(&clusters[2], "a", true).await;
    hub.progression("a", 0, "False Completed", "configured addons 3/3 completed")
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_in_two_placements_belongs_to_the_last_one() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(2).await;
    hub.place("p", &clusters).await;
    hub.place("q", &clusters[1..]).await;
    let _managing = hub.start().await;
    let all = || json!({"type": "All"});
    let p = hub.of("p", all(), json!([]));
    let q = hub.of("q", all(), json!([hub.reference("other")]));
    hub.define("a", None, json!([hub.reference("d")]), Some(json!([p, q])))
        .await;
    hub.configured(&clusters[0], "a", "d", None).await;
    hub.configured(&clusters[1], "a", "other", None).await;
    hub.progression(
        "a",
        0,
        "True Progressing",
        "selected clusters 2. configured addons 1/1",
    )
    .await;
    hub.progression(
        "a",
        1,
        "True Progressing",
        "selected clusters 1. configured addons 1/1",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_config_of_an_unsupported_kind_is_reported() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(1).await;
    let _managing = hub.start().await;
    hub.define("a", None, json!([]), None).await;
    let config =
        json!({"group": "example.com", "resource": "things", "namespace": "n", "name": "x"});
    hub.enable(&clusters[0], "a", json!({}), json!({"configs": [config]}))
        .await;
    hub.manage(&clusters[0], "a").await;
    let why = hub
        .condition(
            &clusters[0],
            "a",
            "Progressing",
            "False ConfigurationUnsupported",
        )
        .await;
    assert_eq!(
        why,
        "Configuration with gvr example.com/things is not supported for this addon"
    );
    assert_eq!(hub.configured(&clusters[0], "a", "x", None).await, "");
    // OCM reports configs that its manager has never read as configured, too.
    hub.condition(
        &clusters[0],
        "a",
        "Configured",
        "True ConfigurationsConfigured",
    )
    .await;
}
