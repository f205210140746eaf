//! A hub on which the controller of ManifestWorkReplicaSets runs, with placements that the test decides, and agents that it plays.

use std::path::PathBuf;

use berth_manifests::files;
use berth_reconcile::Metrics;
use berth_testkit::cluster::{AsAdmin, CRDS, Cluster, Person, Private, fresh};
use berth_testkit::process::once;
use berth_testkit::{eventually, shipped, when};
use berth_work_hub::{Settings, controller};
use serde_json::{Value, json};

use crate::reconcilers::Reconcilers;

const GROUP: &str = "/apis/cluster.open-cluster-management.io/v1beta1";
const WORK: &str = "/apis/work.open-cluster-management.io/v1";
const SETS: &str = "/apis/work.open-cluster-management.io/v1alpha1";
const LABEL: &str = "work.open-cluster-management.io/manifestworkreplicaset";

/// A hub with the kinds and the account of the controller, and a namespace of replica sets.
pub struct Hub {
    pub cluster: Private,
    pub admin: Person,
    pub namespace: String,
}

// === impl Hub ===

impl AsAdmin for Hub {
    fn admin(&self) -> &Person {
        &self.admin
    }
}

impl Hub {
    /// A hub without a controller.
    pub async fn new() -> Self {
        let hub = Self::without_works().await;
        hub.serve_works().await;
        hub
    }

    /// A hub that does not serve the work API.
    pub async fn without_works() -> Self {
        let cluster = Cluster::private().await;
        cluster.apply_manifests(&CRDS).await;
        // The account has these permissions only.
        let permissions = [files::NAMESPACE, files::ACCOUNTS, files::WORK_ROLE];
        cluster
            .apply_manifests(&permissions.map(|it| it.path))
            .await;
        let hub = Self {
            admin: cluster.admin().await,
            cluster,
            namespace: fresh("sets"),
        };
        hub.create_namespace(&hub.namespace).await;
        hub
    }

    /// Installs the CRDs of works.
    pub async fn serve_works(&self) {
        let crds = files::WORK_CRDS.map(|it| it.path);
        self.cluster.apply_manifests(&crds).await;
    }

    /// Starts a controller with the account of the manifests.
    pub async fn start(&self) -> Reconcilers {
        self.start_with(Settings::default()).await
    }

    /// Starts a controller with these settings.
    pub async fn start_with(&self, settings: Settings) -> Reconcilers {
        let make = |registry: &_| controller(settings, Metrics::new(registry).unwrap());
        Reconcilers::start(self.account().await, make)
    }

    /// The kubeconfig of the controller's account.
    pub async fn account(&self) -> PathBuf {
        let account = self
            .cluster
            .service_account(shipped::NAMESPACE, shipped::CONTROLLER);
        account.await.kubeconfig
    }

    async fn create_namespace(&self, name: &str) {
        let namespace = json!({"metadata": {"name": name}});
        self.create("/api/v1/namespaces", &namespace).await;
    }

    /// Creates the namespaces of as many clusters. Returns their names, sorted.
    pub async fn clusters(&self, count: usize) -> Vec<String> {
        let mut names: Vec<_> = (0..count).map(|_| fresh("member")).collect();
        names.sort_unstable();
        for name in &names {
            self.create_namespace(name).await;
        }
        names
    }

    /// Creates a placement, with a PlacementDecision of its name.
    pub async fn place(&self, name: &str, clusters: &[String]) {
        let placement = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1",
            "kind": "Placement",
            "metadata": {"name": name},
            "spec": {},
        });
        let decision = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1",
            "kind": "PlacementDecision",
            "metadata": {
                "name": format!("{name}-decision-1"),
                "labels": {
                    "cluster.open-cluster-management.io/placement": name,
                    "cluster.open-cluster-management.io/decision-group-index": "0",
                },
            },
        });
        for (resource, object) in [("placements", placement), ("placementdecisions", decision)] {
            let collection = format!("{GROUP}/namespaces/{}/{resource}", self.namespace);
            self.create(&collection, &object).await;
        }
        self.select(name, clusters).await;
    }

    /// Has a placement select these clusters, as the placement controller does: the status of the Placement is written last.
    pub async fn select(&self, placement: &str, clusters: &[String]) {
        self.list(placement, clusters).await;
        self.evaluated(placement, clusters.len()).await;
    }

    /// Has the PlacementDecision of a placement list these clusters.
    pub async fn list(&self, placement: &str, clusters: &[String]) {
        let decisions = clusters
            .iter()
            .map(|it| json!({"clusterName": it, "reason": ""}));
        let status = json!({"status": {"decisions": decisions.collect::<Vec<_>>()}});
        let path = format!(
            "{GROUP}/namespaces/{}/placementdecisions/{placement}-decision-1/status",
            self.namespace
        );
        self.patch(&path, status).await;
    }

    /// Has the status of a placement say that it selects so many clusters.
    pub async fn evaluated(&self, placement: &str, selected: usize) {
        let satisfied = json!({
            "type": "PlacementSatisfied", "status": "True", "reason": "AllDecisionsScheduled", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        let status =
            json!({"status": {"numberOfSelectedClusters": selected, "conditions": [satisfied]}});
        let path = format!("{}/status", self.placement(placement));
        self.patch(&path, status).await;
    }

    /// The path of a placement.
    pub fn placement(&self, name: &str) -> String {
        format!("{GROUP}/namespaces/{}/placements/{name}", self.namespace)
    }

    /// The path of a replica set.
    pub fn set(&self, name: &str) -> String {
        let namespace = &self.namespace;
        format!("{SETS}/namespaces/{namespace}/manifestworkreplicasets/{name}")
    }

    /// The path of a ManifestWork.
    pub fn work(&self, cluster: &str, name: &str) -> String {
        format!("{WORK}/namespaces/{cluster}/manifestworks/{name}")
    }

    /// Creates a replica set of the placement `p`, with this strategy.
    pub async fn replicate(&self, name: &str, strategy: Value) {
        let refs = json!([{"name": "p", "rolloutStrategy": strategy}]);
        let spec = json!({"placementRefs": refs, "manifestWorkTemplate": template(1)});
        self.replicate_as(name, json!({"a": "1"}), spec).await;
    }

    /// Creates a replica set.
    pub async fn replicate_as(&self, name: &str, labels: Value, spec: Value) {
        let set = json!({
            "apiVersion": "work.open-cluster-management.io/v1alpha1",
            "kind": "ManifestWorkReplicaSet",
            "metadata": {"name": name, "labels": labels},
            "spec": spec,
        });
        let path = self.set(name);
        let (collection, _) = path.rsplit_once('/').unwrap();
        self.create(collection, &set).await;
    }

    /// Changes the template of a replica set.
    pub async fn template(&self, name: &str, version: u32) {
        let patch = json!({"spec": {"manifestWorkTemplate": template(version)}});
        self.patch(&self.set(name), patch).await;
    }

    /// The ManifestWorks of a replica set, sorted by cluster and name.
    pub async fn works(&self, set: &str) -> Vec<Value> {
        let label = format!("{LABEL}={}.{set}", self.namespace);
        let path = format!("{WORK}/manifestworks?labelSelector={label}");
        let list = self.admin.get(&path).await.unwrap();
        list.ok()["items"].as_array().unwrap().clone()
    }

    /// The clusters with a ManifestWork of a version of the template, as `cluster/name`.
    pub async fn made(&self, set: &str, version: u32) -> Vec<String> {
        let works = self.works(set).await;
        let works = works.iter().filter(|it| it["spec"] == template(version));
        let mut made: Vec<_> = works.map(place).collect();
        made.sort_unstable();
        made
    }

    /// Waits until these clusters, and no others, have ManifestWorks of a version of the template, named as the replica set.
    pub async fn makes(&self, set: &str, version: u32, clusters: &[String]) {
        let expected: Vec<_> = clusters.iter().map(|it| format!("{it}/{set}")).collect();
        eventually(&format!("works {expected:?}"), async || {
            when(self.made(set, version).await, |made| *made == expected)
        })
        .await;
    }

    /// Reports conditions of a ManifestWork, as its agent: `A+` is Applied True, `P-` Progressing False.
    pub async fn report(&self, cluster: &str, name: &str, conditions: &str) {
        let path = self.work(cluster, name);
        let work = self.admin.get(&path).await.unwrap();
        let generation = work.ok()["metadata"]["generation"].clone();
        let conditions = conditions.split_whitespace().map(|it| {
            let (type_, status) = it.split_at(1);
            let type_ = match type_ {
                "A" => "Applied",
                "V" => "Available",
                "P" => "Progressing",
                "C" => "Complete",
                _ => "Degraded",
            };
            json!({
                "type": type_, "status": if status == "+" { "True" } else { "False" }, "reason": "Test", "message": "",
                "observedGeneration": generation, "lastTransitionTime": jiff::Timestamp::now().strftime("%FT%TZ").to_string(),
            })
        });
        let status = json!({"status": {"conditions": conditions.collect::<Vec<_>>()}});
        self.patch(&format!("{path}/status"), status).await;
    }

    /// Waits for a condition of a replica set with this status and reason, and returns its message.
    pub async fn condition(&self, set: &str, type_: &str, expected: &str) -> String {
        self.condition_with(set, type_, expected, "").await
    }

    /// The same, once the message has these words.
    pub async fn condition_with(
        &self,
        set: &str,
        type_: &str,
        expected: &str,
        words: &str,
    ) -> String {
        let is = |set: &Value| {
            let conditions = set["status"]["conditions"].as_array();
            let mut conditions = conditions.into_iter().flatten();
            let found = conditions.find(|it| it["type"] == type_)?;
            let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
            let said = format!("{} {}", text("status"), text("reason"));
            let message = text("message");
            (said == expected && message.contains(words)).then_some(message)
        };
        let what = format!("{type_} {expected} {words}");
        let set = once(&self.admin, &self.set(set), &what, |it| is(it).is_some()).await;
        is(&set).unwrap()
    }
}

/// A version of the template.
pub fn template(version: u32) -> Value {
    json!({"workload": {"manifests": [{
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"},
        "data": {"version": version.to_string()},
    }]}})
}

/// A ManifestWork as `cluster/name`.
pub fn place(work: &Value) -> String {
    let text = |field: &str| {
        work["metadata"][field]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    format!("{}/{}", text("namespace"), text("name"))
}
