//! Add-ons from templates: what is deployed on clusters, in which steps, and what runs before it goes.

use berth_testkit::cluster::AsAdmin;
use berth_testkit::process::once;
use berth_testkit::{eventually, when};
use serde_json::{Value, json};

use super::hub::Hub;

/// A ConfigMap with this text.
pub fn config_map(text: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{CLUSTER_NAME}}", "namespace": "n"},
        "data": {"a": text},
    })
}

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "agent", "namespace": "n"},
        "spec": {
            "selector": {"matchLabels": {"app": "a"}},
            "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    })
}

/// A Job that runs before the add-on goes.
pub fn hook() -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {
            "name": "clean", "namespace": "n", "annotations": {"addon.open-cluster-management.io/addon-pre-delete": ""},
        },
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}},
    })
}

/// What a cluster reports about an object.
pub fn reported(group: &str, resource: &str, name: &str, values: Value) -> Value {
    json!([{
        "conditions": [], "statusFeedback": {"values": values},
        "resourceMeta": {"group": group, "resource": resource, "namespace": "n", "name": name, "ordinal": 0},
    }])
}

/// The text in the ConfigMap of a work.
fn text(work: &Value) -> String {
    let manifests = work["spec"]["workload"]["manifests"].as_array();
    let mut manifests = manifests.into_iter().flatten();
    let found = manifests.find(|it| it["kind"] == "ConfigMap");
    found
        .and_then(|it| it["data"]["a"].as_str())
        .unwrap_or_default()
        .to_owned()
}

impl Hub {
    /// Deploys an add-on of these manifests on the clusters, in these steps.
    async fn deploy(&self, clusters: &[String], manifests: Value, strategy: Value) {
        self.place("p", clusters).await;
        self.template("t", manifests).await;
        let p = self.of("p", strategy, json!([]));
        let defaults = json!([self.template_reference("t")]);
        self.define("a", None, defaults, Some(json!([p]))).await;
    }

    /// Waits until a cluster has this text.
    pub async fn has_text(&self, cluster: &str, expected: &str) -> Value {
        let work = self.deployed(cluster, "a");
        once(&self.admin, &work, expected, |it| text(it) == expected).await
    }

    /// Waits until the pre-delete work of a cluster exists.
    pub async fn runs_hooks(&self, cluster: &str) -> String {
        let name = format!("addon-{}-pre-delete", self.named("a"));
        let work = self.work(cluster, &name);
        let work_is = |it: &Value| it["spec"]["workload"]["manifests"][0]["kind"] == "Job";
        once(&self.admin, &work, "hooks", work_is).await;
        work
    }
}

fn all_at_once() -> Value {
    json!({"type": "All"})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_add_on_is_deployed_registered_and_healthy_as_its_cluster_reports() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(1).await;
    let cluster = &clusters[0];
    let _managing = hub.start().await;
    let manifests = json!([config_map("one"), deployment()]);
    hub.deploy(&clusters, manifests, all_at_once()).await;
    let work = hub.has_text(cluster, "one").await;
    let on = once(&hub.admin, &hub.on(cluster, "a"), "registered", |it| {
        !it["status"]["registrations"].is_null()
    })
    .await;
    let name = hub.named("a");
    assert_eq!(on["status"]["namespace"], "n");
    assert_eq!(on["status"]["healthCheck"]["mode"], "Customized");
    assert_eq!(
        on["status"]["registrations"][0]["kubeClient"]["subject"]["user"],
        format!("system:open-cluster-management:cluster:{cluster}:addon:{name}:agent:{name}-agent")
    );
    let owner = &work["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["uid"]),
        (&json!("ManagedClusterAddOn"), &on["metadata"]["uid"])
    );
    let manifests = work["spec"]["workload"]["manifests"].as_array().unwrap();
    assert!(
        manifests
            .iter()
            .any(|it| it["metadata"]["name"] == **cluster),
        "{work}"
    );
    let unknown = "Unknown WorkNotApplied";
    hub.condition(cluster, "a", "Available", unknown).await;
    let path = hub.deployed(cluster, "a");
    hub.report(&path, true, json!([])).await;
    hub.condition(cluster, "a", "ManifestApplied", "True AddonManifestApplied")
        .await;
    hub.condition(cluster, "a", "Available", "Unknown NoProbeResult")
        .await;
    hub.condition(cluster, "a", "Progressing", "False Completed")
        .await;
    let integer = |name: &str, value: i64| json!({"name": name, "fieldValue": {"type": "Integer", "integer": value}});
    for (ready, expected) in [(0, "False ProbeUnavailable"), (1, "True ProbeAvailable")] {
        let values = json!([integer("Replicas", 1), integer("ReadyReplicas", ready)]);
        let deployments = reported("apps", "deployments", "agent", values);
        hub.report(&path, true, deployments).await;
        hub.condition(cluster, "a", "Available", expected).await;
    }
    // What others change is put back.
    let mut changed = hub.read(&path).await["spec"]["workload"].clone();
    changed["manifests"].as_array_mut().unwrap().pop();
    hub.patch(&path, json!({"spec": {"workload": changed}}))
        .await;
    let has_all = |it: &Value| {
        it["spec"]["workload"]["manifests"]
            .as_array()
            .is_some_and(|it| it.len() == 2)
    };
    once(&hub.admin, &path, "whole", has_all).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edited_template_reaches_one_cluster_after_the_other() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(2).await;
    let _managing = hub.start().await;
    let manifests = json!([config_map("one")]);
    hub.deploy(&clusters, manifests, all_at_once()).await;
    for cluster in &clusters {
        hub.has_text(cluster, "one").await;
        hub.report(&hub.deployed(cluster, "a"), true, json!([]))
            .await;
    }
    hub.progression("a", 0, "False Completed", "2/2").await;
    let one_by_one = json!({"type": "Progressive", "progressive": {"maxConcurrency": 1}});
    let p = hub.of("p", one_by_one, json!([]));
    let strategy = json!({"spec": {"installStrategy": {"placements": [p]}}});
    hub.patch(&hub.add_on("a"), strategy).await;
    hub.template("t", json!([config_map("two")])).await;
    hub.has_text(&clusters[0], "two").await;
    let waits = "False ConfigurationsNotConfigured";
    hub.condition(&clusters[1], "a", "Configured", waits).await;
    // The image registries of a cluster that waits change: what is deployed stays.
    let registries =
        json!({"metadata": {"annotations": {"open-cluster-management.io/image-registries": "{}"}}});
    hub.patch(&hub.managed_cluster(&clusters[1]), registries)
        .await;
    let work = hub.read(&hub.deployed(&clusters[1], "a")).await;
    assert_eq!(text(&work), "one");
    hub.report(&hub.deployed(&clusters[0], "a"), true, json!([]))
        .await;
    hub.has_text(&clusters[1], "two").await;
    hub.report(&hub.deployed(&clusters[1], "a"), true, json!([]))
        .await;
    hub.progression("a", 0, "False Completed", "2/2").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_template_that_cannot_be_rendered_says_why_until_it_is_mended() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(1).await;
    let cluster = &clusters[0];
    let _managing = hub.start().await;
    hub.deploy(&clusters, json!([config_map("{{UNCLOSED")]), all_at_once())
        .await;
    let failed = "False ManifestWorkApplyFailed";
    let why = hub.condition(cluster, "a", "ManifestApplied", failed).await;
    assert_eq!(
        why,
        "failed to get manifest from agent interface: manifest 0 (ConfigMap \"{{CLUSTER_NAME}}\"): unclosed {{ in data.a: }} is missing"
    );
    hub.condition(cluster, "a", "Progressing", "False Failed")
        .await;
    hub.template("t", json!([config_map("closed")])).await;
    hub.has_text(cluster, "closed").await;
    hub.report(&hub.deployed(cluster, "a"), true, json!([]))
        .await;
    hub.condition(cluster, "a", "Progressing", "False Completed")
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_work_that_lost_its_label_is_found_and_one_of_others_is_left() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(2).await;
    let foreign = hub.deployed(&clusters[1], "a");
    let (collection, name) = foreign.rsplit_once('/').unwrap();
    let cluster = hub.read(&hub.managed_cluster(&clusters[1])).await;
    let owner = json!({
        "apiVersion": cluster["apiVersion"], "kind": cluster["kind"], "name": clusters[1],
        "uid": cluster["metadata"]["uid"],
    });
    let work = json!({
        "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
        "metadata": {"name": name, "ownerReferences": [owner]},
        "spec": {"workload": {"manifests": []}},
    });
    hub.create(collection, &work).await;
    let _managing = hub.start().await;
    hub.deploy(&clusters, json!([config_map("one")]), all_at_once())
        .await;
    hub.has_text(&clusters[0], "one").await;
    let label = "open-cluster-management.io/addon-name";
    let unlabelled = json!({"metadata": {"labels": {label: null}}});
    hub.patch(&hub.deployed(&clusters[0], "a"), unlabelled)
        .await;
    let has_label = |it: &Value| it["metadata"]["labels"][label] == hub.named("a");
    let work = hub.deployed(&clusters[0], "a");
    once(&hub.admin, &work, "its label", has_label).await;
    let failed = "False ManifestWorkApplyFailed";
    let why = hub
        .condition(&clusters[1], "a", "ManifestApplied", failed)
        .await;
    assert_eq!(
        why,
        format!(
            "failed to apply manifestWork: another ManifestWork {name} exists in the namespace {}; delete it",
            clusters[1]
        )
    );
    hub.delete(&foreign).await;
    hub.has_text(&clusters[1], "one").await;
}

/// The ClusterManagementAddOn is gone before its ManagedClusterAddOn, and the hub restarts while the hook runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hooks_run_before_an_add_on_goes_also_without_its_definition() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(1).await;
    let cluster = &clusters[0];
    let mut managing = hub.start().await;
    hub.deploy(&clusters, json!([config_map("one"), hook()]), all_at_once())
        .await;
    hub.has_text(cluster, "one").await;
    let on = hub.on(cluster, "a");
    let finalizers = json!(["addon.open-cluster-management.io/addon-pre-delete"]);
    once(&hub.admin, &on, "finalizer", |it| {
        it["metadata"]["finalizers"] == finalizers
    })
    .await;
    hub.delete(&hub.add_on("a")).await;
    hub.gone(&hub.add_on("a")).await;
    // What the garbage collector does.
    let _ = hub.admin.delete(&on).await;
    let hooks = hub.runs_hooks(cluster).await;
    hub.condition(
        cluster,
        "a",
        "HookManifestCompleted",
        "False HookManifestIsNotCompleted",
    )
    .await;
    managing.kill().await;
    let _successor = hub.start().await;
    let complete =
        json!([{"name": "JobComplete", "fieldValue": {"type": "String", "string": "True"}}]);
    assert_eq!(
        text(&hub.read(&hub.deployed(cluster, "a")).await),
        "one",
        "it stays for the hooks"
    );
    hub.report(&hooks, true, reported("batch", "jobs", "clean", complete))
        .await;
    hub.gone(&on).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_successor_writes_nothing_for_a_settled_add_on() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(2).await;
    let mut managing = hub.start().await;
    let manifests = json!([config_map("one"), hook()]);
    hub.deploy(&clusters, manifests, all_at_once()).await;
    for cluster in &clusters {
        hub.has_text(cluster, "one").await;
        hub.report(&hub.deployed(cluster, "a"), true, json!([]))
            .await;
    }
    hub.progression("a", 0, "False Completed", "2/2").await;
    for cluster in &clusters {
        hub.condition(cluster, "a", "Progressing", "False Completed")
            .await;
    }
    managing.kill().await;
    // A user adds a label that the hub does not know.
    let work = hub.deployed(&clusters[0], "a");
    hub.patch(&work, json!({"metadata": {"labels": {"of": "users"}}}))
        .await;
    let state = async || {
        let mut all = Vec::new();
        for cluster in &clusters {
            all.push(hub.read(&hub.on(cluster, "a")).await);
            all.push(hub.read(&hub.deployed(cluster, "a")).await);
        }
        all
    };
    let before = state().await;
    let successor = hub.start().await;
    // A later add-on is installed after the first one was looked at.
    hub.install("later").await;
    hub.has("later", &clusters).await;
    hub.progression("later", 0, "False Completed", "").await;
    assert_eq!(state().await, before);
    let writes = eventually("writes", async || {
        when(successor.writes_by_kind(), |it| !it.is_empty())
    });
    let writes = writes.await;
    let of_works = writes.keys().filter(|it| it.contains("manifestworks"));
    assert_eq!(of_works.count(), 0, "{writes:?}");
}

/// The agent runs on another cluster, which is deleted in the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hosted_add_on_leaves_the_cluster_that_hosts_it() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(3).await;
    let [cluster, host, other] = &clusters[..] else {
        panic!("three clusters are expected");
    };
    let hosted_by = |name: &str| json!({"metadata": {"annotations": {"addon.open-cluster-management.io/hosting-cluster-name": name}}});
    hub.patch(&hub.managed_cluster(cluster), hosted_by(host))
        .await;
    let _managing = hub.start().await;
    let mut there = deployment();
    there["metadata"]["annotations"] =
        json!({"addon.open-cluster-management.io/hosted-manifest-location": "hosting"});
    let manifests = json!([config_map("one"), there]);
    hub.deploy(&clusters[..1], manifests, all_at_once()).await;
    let here = hub.has_text(cluster, "one").await;
    let kinds = |work: &Value| {
        work["spec"]["workload"]["manifests"]
            .as_array()
            .map(Vec::len)
    };
    assert_eq!(kinds(&here), Some(1), "{here}");
    let name = format!("addon-{}-deploy-hosting-{cluster}-0", hub.named("a"));
    let hosted = once(&hub.admin, &hub.work(host, &name), "hosted", |_| true).await;
    assert_eq!(hosted["metadata"]["ownerReferences"], Value::Null);
    assert_eq!(
        hosted["spec"]["workload"]["manifests"][0]["kind"],
        "Deployment"
    );
    hub.report(&hub.work(host, &name), true, json!([])).await;
    hub.condition(
        cluster,
        "a",
        "HostingManifestApplied",
        "True AddonManifestApplied",
    )
    .await;
    hub.condition(
        cluster,
        "a",
        "HostingClusterValidity",
        "True HostingClusterValid",
    )
    .await;
    // Another cluster hosts it, which does not exist any more later.
    hub.patch(&hub.managed_cluster(cluster), hosted_by(other))
        .await;
    hub.gone(&hub.work(host, &name)).await;
    once(&hub.admin, &hub.work(other, &name), "hosted", |_| true).await;
    hub.delete(&hub.managed_cluster(other)).await;
    hub.gone(&hub.work(other, &name)).await;
    hub.condition(
        cluster,
        "a",
        "HostingClusterValidity",
        "False HostingClusterInvalid",
    )
    .await;
    hub.patch(&hub.managed_cluster(cluster), hosted_by(host))
        .await;
    once(&hub.admin, &hub.work(host, &name), "hosted", |_| true).await;
    hub.select("p", &[]).await;
    hub.delete(&hub.on(cluster, "a")).await;
    hub.gone(&hub.work(host, &name)).await;
    hub.gone(&hub.on(cluster, "a")).await;
}

/// 300 objects of 2 KB each: more than a ManifestWork may have, and more than etcd takes in one object.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_template_is_deployed_by_several_works_and_changed_in_one() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(1).await;
    let cluster = &clusters[0];
    let _managing = hub.start().await;
    let manifests = |changed: &str| {
        let object = |number: usize| {
            let text = if number == 7 { changed } else { "" };
            json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": format!("object-{number}"), "namespace": "n"},
                "data": {"a": format!("{text}{}", "x".repeat(2_000))},
            })
        };
        Value::Array((0..300).map(object).collect())
    };
    hub.deploy(&clusters, manifests(""), all_at_once()).await;
    let all_of = async || {
        let list = hub.read(&hub.work(cluster, "")).await;
        list["items"].as_array().unwrap().clone()
    };
    let names_of = |works: &[Value]| {
        let manifests = works
            .iter()
            .flat_map(|it| it["spec"]["workload"]["manifests"].as_array().unwrap());
        let mut names: Vec<_> = manifests
            .map(|it| it["metadata"]["name"].as_str().unwrap().to_owned())
            .collect();
        names.sort_unstable();
        names
    };
    let works = eventually("300 objects in works", async || {
        when(all_of().await, |it| names_of(it).len() == 300)
    })
    .await;
    let mut names = names_of(&works);
    names.dedup();
    assert_eq!(names.len(), 300, "each object is in one work");
    assert!(works.len() > 1);
    for work in &works {
        let bytes = work["spec"].to_string().len();
        assert!(bytes <= 512 * 1024, "{bytes} bytes in a work");
    }
    hub.template("t", manifests("changed")).await;
    let of = |all: &[Value], before: &Value, field: &str| {
        let same = |it: &&Value| it["metadata"]["name"] == before["metadata"]["name"];
        let found = all.iter().find(same);
        found.map_or(Value::Null, |it| it["metadata"][field].clone())
    };
    // Each has the hash of the template as an annotation.
    let after = eventually("the change in all works", async || {
        when(all_of().await, |it| {
            let mut works = works.iter();
            works.all(|before| {
                let annotations = of(it, before, "annotations");
                annotations != Value::Null && annotations != before["metadata"]["annotations"]
            })
        })
    })
    .await;
    // The agent carries out one of them again.
    let generation = "generation";
    let changed = works
        .iter()
        .filter(|it| of(&after, it, generation) != it["metadata"][generation]);
    assert_eq!(changed.count(), 1, "of {}", works.len());
    let is_changed = |it: &Value| it["spec"].to_string().contains("changed");
    assert!(after.iter().any(is_changed));
}
