//! A hub on which the placement controller runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use berth_manifests::files;
use berth_placement::{Config, Metrics, Settings, controller};
use berth_testkit::cluster::{AsAdmin, CRDS, Cluster, Person, Private, fresh};
use berth_testkit::process::once;
use berth_testkit::{eventually, shipped, when};
use futures::future::join_all;
use serde_json::{Value, json};

use crate::reconcilers::Reconcilers;

const GROUP: &str = "/apis/cluster.open-cluster-management.io";
const CLUSTERS: &str = "/apis/cluster.open-cluster-management.io/v1/managedclusters";
const SET_LABEL: &str = "cluster.open-cluster-management.io/clusterset";

/// A hub with the kinds and the account of placements, and a namespace with a set that is bound to it.
pub struct Hub {
    pub cluster: Private,
    pub admin: Person,
    /// The namespace of the placements.
    pub namespace: String,
    /// The set of the clusters, which is bound to the namespace.
    pub set: String,
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
        let cluster = Cluster::private().await;
        cluster.apply_manifests(&CRDS).await;
        // The account has these permissions only.
        let permissions = [files::NAMESPACE, files::ACCOUNTS, files::PLACEMENT_ROLE];
        cluster
            .apply_manifests(&permissions.map(|file| file.path))
            .await;
        let mut hub = Self {
            admin: cluster.admin().await,
            cluster,
            namespace: fresh("placing"),
            set: fresh("set"),
        };
        let namespace = hub.namespace.clone();
        hub.another_namespace(namespace).await;
        hub.set(&hub.set).await;
        hub.bind(&hub.set).await;
        hub
    }

    /// Creates a namespace, and uses it for placements from now on.
    pub async fn another_namespace(&mut self, name: String) {
        let namespace = json!({"metadata": {"name": name}});
        self.create("/api/v1/namespaces", &namespace).await;
        self.namespace = name;
    }

    /// Starts a controller with the account of the manifests.
    pub async fn start(&self) -> Reconcilers {
        self.start_with(Settings::default()).await
    }

    /// Starts a controller with these settings.
    pub async fn start_with(&self, scheduler: Settings) -> Reconcilers {
        let config = Config {
            scheduler,
            sig_decisions: false,
        };
        self.start_as(config).await
    }

    /// Starts a controller with the gate `SIGPlacementDecision`.
    pub async fn start_with_sig_decisions(&self) -> Reconcilers {
        let config = Config {
            scheduler: Settings::default(),
            sig_decisions: true,
        };
        self.start_as(config).await
    }

    async fn start_as(&self, config: Config) -> Reconcilers {
        let make = |registry: &_| controller(config, Metrics::new(registry).unwrap());
        Reconcilers::start(self.account().await, make)
    }

    /// The kubeconfig of the controller's account.
    pub async fn account(&self) -> PathBuf {
        self.cluster
            .service_account(shipped::NAMESPACE, shipped::CONTROLLER)
            .await
            .kubeconfig
    }

    /// Creates a set of the clusters with its label.
    pub async fn set(&self, name: &str) {
        let set = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2",
            "kind": "ManagedClusterSet",
            "metadata": {"name": name},
            "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}},
        });
        self.create(&format!("{GROUP}/v1beta2/managedclustersets"), &set)
            .await;
    }

    /// Binds a set to the namespace.
    pub async fn bind(&self, set: &str) {
        let binding = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2",
            "kind": "ManagedClusterSetBinding",
            "metadata": {"name": set},
            "spec": {"clusterSet": set},
        });
        self.create(&self.bindings(), &binding).await;
    }

    /// The path of the bindings in the namespace.
    pub fn bindings(&self) -> String {
        let namespace = &self.namespace;
        format!("{GROUP}/v1beta2/namespaces/{namespace}/managedclustersetbindings")
    }

    /// The path of the decisions in the namespace.
    pub fn decisions(&self) -> String {
        format!(
            "{GROUP}/v1beta1/namespaces/{}/placementdecisions",
            self.namespace
        )
    }

    /// The path of a placement.
    pub fn placement(&self, name: &str) -> String {
        format!(
            "{GROUP}/v1beta1/namespaces/{}/placements/{name}",
            self.namespace
        )
    }

    /// Creates a cluster of a set, with these labels. Returns its name.
    pub async fn cluster(&self, set: &str, mut labels: Value) -> String {
        let name = fresh("member");
        labels[SET_LABEL] = json!(set);
        let cluster = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1",
            "kind": "ManagedCluster",
            "metadata": {"name": name, "labels": labels},
            "spec": {"hubAcceptsClient": true},
        });
        self.create(CLUSTERS, &cluster).await;
        name
    }

    /// Creates as many clusters of the set. Returns their names, sorted.
    pub async fn clusters(&self, count: usize) -> Vec<String> {
        let clusters = (0..count).map(|_| self.cluster(&self.set, json!({})));
        let mut names = join_all(clusters).await;
        names.sort_unstable();
        names
    }

    /// Changes a cluster by a merge patch.
    pub async fn change(&self, cluster: &str, patch: Value) {
        self.patch(&format!("{CLUSTERS}/{cluster}"), patch).await;
    }

    /// Adds or removes a taint.
    pub async fn taint(&self, cluster: &str, is_tainted: bool) {
        let taint =
            json!({"key": "test", "effect": "NoSelect", "timeAdded": "2026-01-01T00:00:00Z"});
        let taints = if is_tainted {
            json!([taint])
        } else {
            Value::Null
        };
        self.change(cluster, json!({"spec": {"taints": taints}}))
            .await;
    }

    /// Sets a score of a cluster: the name of the AddOnPlacementScore, and the name and the value of its score.
    pub async fn score(&self, cluster: &str, name: &str, score: &str, value: i32) {
        let namespaces = "/api/v1/namespaces";
        let namespace = json!({"metadata": {"name": cluster}});
        // It may exist.
        self.admin.post(namespaces, &namespace).await.unwrap();
        let collection = format!("{GROUP}/v1alpha1/namespaces/{cluster}/addonplacementscores");
        let scores = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1alpha1",
            "kind": "AddOnPlacementScore",
            "metadata": {"name": name},
        });
        self.admin.post(&collection, &scores).await.unwrap();
        let status = json!({"status": {"scores": [{"name": score, "value": value}]}});
        self.patch(&format!("{collection}/{name}/status"), status)
            .await;
    }

    /// Waits until a placement has conditions.
    pub async fn settled(&self, name: &str) {
        let has_conditions = |it: &Value| it["status"]["conditions"].is_array();
        once(
            &self.admin,
            &self.placement(name),
            "settled",
            has_conditions,
        )
        .await;
    }

    /// Waits until the status of the placement `p`, which is written last, says that it selects this number of clusters.
    pub async fn counts(&self, clusters: usize) {
        let is = |it: &Value| it["status"]["numberOfSelectedClusters"] == clusters;
        once(&self.admin, &self.placement("p"), "counted", is).await;
    }

    /// Deletes a cluster.
    pub async fn remove(&self, cluster: &str) {
        self.delete(&format!("{CLUSTERS}/{cluster}")).await;
    }

    /// Creates a placement `p` with this spec.
    pub async fn place(&self, spec: Value) {
        self.place_as("p", spec).await;
    }

    /// Creates a placement.
    pub async fn place_as(&self, name: &str, spec: Value) {
        let placement = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1",
            "kind": "Placement",
            "metadata": {"name": name},
            "spec": spec,
        });
        let path = self.placement(name);
        let (collection, _) = path.rsplit_once('/').unwrap();
        self.create(collection, &placement).await;
    }

    /// The decisions of the namespace by name: the index of the group, its name, and the clusters.
    pub async fn listed(&self) -> BTreeMap<String, (String, String, Vec<String>)> {
        let list = self.admin.get(&self.decisions()).await.unwrap();
        let items = list.ok()["items"].as_array().unwrap().iter();
        let listed = items.map(|item| {
            let label = |key: &str| {
                let key = format!("cluster.open-cluster-management.io/decision-group-{key}");
                item["metadata"]["labels"][key]
                    .as_str()
                    .unwrap_or("-")
                    .to_owned()
            };
            let name = item["metadata"]["name"].as_str().unwrap().to_owned();
            (name, (label("index"), label("name"), clusters_of(item)))
        });
        listed.collect()
    }

    /// Waits until the decisions of the namespace list these clusters, each once.
    pub async fn selects(&self, clusters: &[&String]) {
        let expected: BTreeSet<_> = clusters.iter().map(|it| (*it).clone()).collect();
        eventually(&format!("decisions for {expected:?}"), async || {
            when(self.listed().await, |listed| {
                let all: Vec<_> = listed.values().flat_map(|it| &it.2).collect();
                let names: BTreeSet<_> = all.iter().copied().cloned().collect();
                all.len() == names.len() && names == expected
            })
        })
        .await;
    }

    /// Waits for a condition of the placement `p` with this reason, and returns its message.
    pub async fn condition(&self, type_: &str, reason: &str) -> String {
        let is = |placement: &Value| {
            let conditions = placement["status"]["conditions"].as_array();
            let mut conditions = conditions.into_iter().flatten();
            let found = conditions.find(|it| it["type"] == type_ && it["reason"] == reason)?;
            found["message"].as_str().map(str::to_owned)
        };
        let path = self.placement("p");
        let what = format!("{type_} with the reason {reason}");
        let placement = once(&self.admin, &path, &what, |it| is(it).is_some()).await;
        is(&placement).unwrap()
    }
}

/// The clusters of a PlacementDecision.
pub fn clusters_of(decision: &Value) -> Vec<String> {
    let decisions = decision["status"]["decisions"]
        .as_array()
        .into_iter()
        .flatten();
    decisions
        .map(|it| it["clusterName"].as_str().unwrap().to_owned())
        .collect()
}
