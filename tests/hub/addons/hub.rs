//! A hub on which the controller of add-ons runs, with placements that the test decides, and a manager of the add-on that it plays.

use std::path::PathBuf;
use std::time::Duration;

use berth_addons::{Grace, Metrics, Settings, controller};
use berth_manifests::addons_in_one_version;
use berth_manifests::files::{self, PLACEMENT_CRDS};
use berth_testkit::cluster::{AsAdmin, CRDS, Cluster, Person, Private, fresh};
use berth_testkit::process::once;
use berth_testkit::{eventually, shipped, when};
use serde_json::{Value, json};

use crate::reconcilers::Reconcilers;

const CLUSTERS: &str = "/apis/cluster.open-cluster-management.io";
const ADD_ONS: &str = "/apis/addon.open-cluster-management.io/v1beta1";
const WORK: &str = "/apis/work.open-cluster-management.io/v1";
const GROUP: &str = "addon.open-cluster-management.io";

/// The mark of a ManagedClusterAddOn that the controller creates.
pub const MARK: &str = "berth.open-cluster-management.io/installed-for";

/// A grace for tests in which a cluster loses an add-on.
pub const SHORT: Grace = Grace {
    left: Duration::from_millis(200),
    missing: Duration::from_millis(400),
};

/// A hub with the kinds and the account of the controller, and a namespace of placements.
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
        let hub = Self::without_add_ons().await;
        hub.serve_add_ons().await;
        hub
    }

    /// A hub that does not serve add-ons.
    pub async fn without_add_ons() -> Self {
        let cluster = Cluster::private().await;
        cluster.apply_manifests(&CRDS).await;
        let placements = PLACEMENT_CRDS.map(|it| it.path);
        cluster.apply_manifests(&placements).await;
        let works = files::WORK_CRDS.map(|it| it.path);
        cluster.apply_manifests(&works).await;
        // The account has these permissions only.
        let permissions = [files::NAMESPACE, files::ACCOUNTS, files::ADDON_ROLE];
        cluster
            .apply_manifests(&permissions.map(|it| it.path))
            .await;
        let hub = Self {
            admin: cluster.admin().await,
            cluster,
            namespace: fresh("add-ons"),
        };
        hub.create_namespace(&hub.namespace).await;
        hub
    }

    /// Installs the CRDs of add-ons. Without a gate nothing is converted: those with two versions have the newer one only.
    pub async fn serve_add_ons(&self) {
        self.cluster.apply(&addons_in_one_version()).await;
        for resource in [
            "clustermanagementaddons",
            "managedclusteraddons",
            "addondeploymentconfigs",
        ] {
            eventually(resource, async || {
                let list = self.admin.get(&format!("{ADD_ONS}/{resource}")).await;
                when(list, |it| it.as_ref().is_ok_and(|it| it.code == 200))
            })
            .await
            .unwrap();
        }
    }

    /// Starts a controller with the account of the manifests.
    pub async fn start(&self) -> Reconcilers {
        self.start_with(Settings::default().grace).await
    }

    /// Starts a controller with this grace.
    pub async fn start_with(&self, grace: Grace) -> Reconcilers {
        self.start_as(self.account().await, grace)
    }

    /// As [`Self::start_with`], with the account of this kubeconfig.
    pub fn start_as(&self, account: PathBuf, grace: Grace) -> Reconcilers {
        let make = |registry: &_| {
            let common = berth_reconcile::Metrics::new(registry).unwrap();
            let metrics = Metrics::beside(registry, common).unwrap();
            let settings = Settings {
                grace,
                ..Settings::default()
            };
            controller(settings, metrics)
        };
        Reconcilers::start(account, make)
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

    /// Creates as many ManagedClusters with their namespaces. Returns their names, sorted.
    pub async fn clusters(&self, count: usize) -> Vec<String> {
        let mut names: Vec<_> = (0..count).map(|_| fresh("member")).collect();
        names.sort_unstable();
        for name in &names {
            self.create_namespace(name).await;
            let cluster = json!({
                "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
                "metadata": {"name": name}, "spec": {"hubAcceptsClient": true},
            });
            self.create(&format!("{CLUSTERS}/v1/managedclusters"), &cluster)
                .await;
        }
        names
    }

    /// The path of a ManagedCluster.
    pub fn managed_cluster(&self, name: &str) -> String {
        format!("{CLUSTERS}/v1/managedclusters/{name}")
    }

    /// Creates a placement that selects these clusters.
    pub async fn place(&self, name: &str, clusters: &[String]) {
        let placement = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
            "metadata": {"name": name}, "spec": {},
        });
        let collection = format!(
            "{CLUSTERS}/v1beta1/namespaces/{}/placements",
            self.namespace
        );
        self.create(&collection, &placement).await;
        self.decide(name, 1, clusters).await;
        self.evaluated(name, clusters.len()).await;
    }

    /// Has a placement select these clusters, as the placement controller does: the status of the Placement is written last.
    pub async fn select(&self, placement: &str, clusters: &[String]) {
        self.list(placement, 1, clusters).await;
        self.evaluated(placement, clusters.len()).await;
    }

    /// Creates a PlacementDecision with these clusters.
    pub async fn decide(&self, placement: &str, number: usize, clusters: &[String]) {
        let decision = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "PlacementDecision",
            "metadata": {
                "name": format!("{placement}-decision-{number}"),
                "labels": {
                    "cluster.open-cluster-management.io/placement": placement,
                    "cluster.open-cluster-management.io/decision-group-index": "0",
                },
            },
        });
        let namespace = &self.namespace;
        let collection = format!("{CLUSTERS}/v1beta1/namespaces/{namespace}/placementdecisions");
        self.create(&collection, &decision).await;
        self.list(placement, number, clusters).await;
    }

    /// Has a PlacementDecision list these clusters.
    pub async fn list(&self, placement: &str, number: usize, clusters: &[String]) {
        let decisions = clusters
            .iter()
            .map(|it| json!({"clusterName": it, "reason": ""}));
        let status = json!({"status": {"decisions": decisions.collect::<Vec<_>>()}});
        let path = format!(
            "{CLUSTERS}/v1beta1/namespaces/{}/placementdecisions/{placement}-decision-{number}/status",
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
        self.patch(&format!("{}/status", self.placement(placement)), status)
            .await;
    }

    /// The path of a placement.
    pub fn placement(&self, name: &str) -> String {
        let namespace = &self.namespace;
        format!("{CLUSTERS}/v1beta1/namespaces/{namespace}/placements/{name}")
    }

    /// The name of an add-on or a template on the hub, which other tests may use, too.
    pub fn named(&self, name: &str) -> String {
        format!("{name}-{}", self.namespace)
    }

    /// The path of an add-on.
    pub fn add_on(&self, name: &str) -> String {
        format!("{ADD_ONS}/clustermanagementaddons/{}", self.named(name))
    }

    /// The path of an add-on on a cluster.
    pub fn on(&self, cluster: &str, name: &str) -> String {
        let name = self.named(name);
        format!("{ADD_ONS}/namespaces/{cluster}/managedclusteraddons/{name}")
    }

    /// Creates an add-on with these default configs, and the placements with their strategies and configs.
    pub async fn define(
        &self,
        name: &str,
        life_cycle: Option<&str>,
        defaults: Value,
        placements: Option<Value>,
    ) {
        let strategy = match placements {
            Some(placements) => json!({"type": "Placements", "placements": placements}),
            None => json!({"type": "Manual"}),
        };
        let annotations =
            life_cycle.map(|it| json!({"addon.open-cluster-management.io/lifecycle": it}));
        let add_on = json!({
            "apiVersion": format!("{GROUP}/v1beta1"), "kind": "ClusterManagementAddOn",
            "metadata": {"name": self.named(name), "annotations": annotations},
            "spec": {"defaultConfigs": defaults, "installStrategy": strategy},
        });
        self.create(&format!("{ADD_ONS}/clustermanagementaddons"), &add_on)
            .await;
    }

    /// A placement in an install strategy.
    pub fn of(&self, placement: &str, strategy: Value, configs: Value) -> Value {
        json!({
            "namespace": self.namespace, "name": placement, "rolloutStrategy": strategy, "configs": configs,
        })
    }

    /// Creates an add-on on the clusters of the placement `p`.
    pub async fn install(&self, name: &str) {
        let p = self.of("p", json!({"type": "All"}), json!([]));
        self.define(name, None, json!([]), Some(json!([p]))).await;
    }

    /// Creates a ManagedClusterAddOn, as a user does.
    pub async fn enable(&self, cluster: &str, name: &str, metadata: Value, spec: Value) {
        let mut on = json!({
            "apiVersion": format!("{GROUP}/v1beta1"), "kind": "ManagedClusterAddOn",
            "metadata": metadata, "spec": spec,
        });
        on["metadata"]["name"] = json!(self.named(name));
        let collection = format!("{ADD_ONS}/namespaces/{cluster}/managedclusteraddons");
        self.create(&collection, &on).await;
    }

    /// Creates an AddOnDeploymentConfig, or changes it.
    pub async fn config(&self, name: &str, value: &str) {
        let spec = json!({"customizedVariables": [{"name": "A", "value": value}]});
        let config = json!({
            "apiVersion": format!("{GROUP}/v1beta1"), "kind": "AddOnDeploymentConfig",
            "metadata": {"name": name, "namespace": self.namespace}, "spec": spec,
        });
        let namespace = &self.namespace;
        let path = format!("{ADD_ONS}/namespaces/{namespace}/addondeploymentconfigs/{name}");
        self.admin
            .apply_as("user", &path, &config)
            .await
            .unwrap()
            .ok();
    }

    /// A reference to an AddOnDeploymentConfig.
    pub fn reference(&self, name: &str) -> Value {
        json!({
            "group": GROUP, "resource": "addondeploymentconfigs", "namespace": self.namespace, "name": name,
        })
    }

    /// Creates an AddOnTemplate with these manifests, whose agents may act on the hub; or changes it.
    pub async fn template(&self, name: &str, manifests: Value) {
        let registration = json!([{"type": "KubeClient"}]);
        self.registering(name, manifests, registration).await;
    }

    /// Creates an AddOnTemplate with these manifests, and these registrations of its agents; or changes it.
    pub async fn registering(&self, name: &str, manifests: Value, registration: Value) {
        let template = json!({
            "apiVersion": format!("{GROUP}/v1alpha1"), "kind": "AddOnTemplate",
            "metadata": {"name": self.named(name)},
            "spec": {
                "addonName": "a",
                "agentSpec": {"workload": {"manifests": manifests}},
                "registration": registration,
            },
        });
        let path = format!("/apis/{GROUP}/v1alpha1/addontemplates/{}", self.named(name));
        self.admin
            .apply_as("user", &path, &template)
            .await
            .unwrap()
            .ok();
    }

    /// A reference to an AddOnTemplate.
    pub fn template_reference(&self, name: &str) -> Value {
        json!({"group": GROUP, "resource": "addontemplates", "name": self.named(name)})
    }

    /// The clusters that have an add-on, sorted.
    pub async fn installed(&self, name: &str) -> Vec<String> {
        let list = self
            .admin
            .get(&format!("{ADD_ONS}/managedclusteraddons"))
            .await
            .unwrap();
        let items = list.ok()["items"].as_array().unwrap().clone();
        let of = items
            .iter()
            .filter(|it| it["metadata"]["name"] == self.named(name));
        let mut clusters: Vec<_> = of
            .map(|it| it["metadata"]["namespace"].as_str().unwrap().to_owned())
            .collect();
        clusters.sort_unstable();
        clusters
    }

    /// Waits until these clusters, and no others, have the add-on.
    pub async fn has(&self, name: &str, clusters: &[String]) {
        let mut clusters = clusters.to_vec();
        clusters.sort_unstable();
        eventually(&format!("{name} on {clusters:?}"), async || {
            when(self.installed(name).await, |it| *it == clusters)
        })
        .await;
    }

    /// The manager of the add-on says which configs it supports, and that its manifests are applied.
    pub async fn manage(&self, cluster: &str, name: &str) {
        let path = self.on(cluster, name);
        let supported = json!([
            {"group": GROUP, "resource": "addondeploymentconfigs"}, {"group": GROUP, "resource": "addontemplates"},
        ]);
        let applied = json!({
            "type": "ManifestApplied", "status": "True", "reason": "AddonManifestApplied", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        // With the version, as managers of OCM's framework write: no write of the hub is lost.
        self.change_status(&path, |on| {
            let conditions = on["status"]["conditions"].as_array().cloned();
            let conditions = conditions.unwrap_or_default().into_iter();
            let others = conditions.filter(|it| it["type"] != "ManifestApplied");
            let conditions: Vec<_> = others.chain([applied.clone()]).collect();
            json!({"supportedConfigs": supported, "conditions": conditions})
        })
        .await;
    }

    /// The manager of the add-on writes the hash of all configs.
    pub async fn publish(&self, name: &str, hash: &str) {
        self.change_status(&self.add_on(name), |add_on| {
            let mut status = add_on["status"].clone();
            let set = |references: &mut Value| {
                for it in references.as_array_mut().into_iter().flatten() {
                    it["desiredConfig"]["specHash"] = json!(hash);
                }
            };
            set(&mut status["defaultConfigReferences"]);
            let progressions = status["installProgressions"].as_array_mut();
            for it in progressions.into_iter().flatten() {
                set(&mut it["configReferences"]);
            }
            status
        })
        .await;
    }

    /// Changes a status; tries again while another writer is faster.
    async fn change_status(&self, path: &str, change: impl Fn(&Value) -> Value) {
        for _ in 0..50 {
            let object = self.read(path).await;
            let patch = json!({
                "metadata": {"resourceVersion": object["metadata"]["resourceVersion"]}, "status": change(&object),
            });
            let response = self.admin.merge(&format!("{path}/status"), &patch).await;
            let response = response.unwrap();
            if response.code != 409 {
                response.ok();
                return;
            }
        }
        panic!("{path}: another writer is always faster");
    }

    /// Reads an object.
    pub async fn read(&self, path: &str) -> Value {
        self.admin.get(path).await.unwrap().ok().clone()
    }

    /// An admin applies the manifest at the end of what the hub says.
    pub async fn apply_what_it_says(&self, message: &str) {
        let (_, manifest) = message.split_once("to let it, apply ").unwrap();
        let list: Value = serde_json::from_str(manifest).unwrap();
        self.cluster.apply(list["items"].as_array().unwrap()).await;
    }

    /// The cluster applies the ManifestWork of an add-on, made from the configs that its ManagedClusterAddOn names.
    pub async fn apply(&self, cluster: &str, name: &str, succeeds: bool) {
        let on = self.read(&self.on(cluster, name)).await;
        let references = on["status"]["configReferences"].as_array().cloned();
        let mut hashes = json!({});
        for it in references.unwrap_or_default() {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let config = &it["desiredConfig"];
            let key = format!(
                "{}.{}/{}/{}",
                text(&it["resource"]),
                text(&it["group"]),
                text(&config["namespace"]),
                text(&config["name"])
            );
            hashes[key] = json!(text(&config["specHash"]));
        }
        let name = self.named(name);
        let work_name = format!("addon-{name}-deploy-0");
        let work = json!({
            "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
            "metadata": {
                "name": work_name, "namespace": cluster,
                "labels": {"open-cluster-management.io/addon-name": name},
                "annotations": {"open-cluster-management.io/config-spec-hash": hashes.to_string()},
            },
            "spec": {"workload": {"manifests": []}},
        });
        self.cluster.apply(&[work]).await;
        self.report(&self.work(cluster, &work_name), succeeds, json!([]))
            .await;
    }

    /// The path of a ManifestWork.
    pub fn work(&self, cluster: &str, name: &str) -> String {
        format!("{WORK}/namespaces/{cluster}/manifestworks/{name}")
    }

    /// The path of the first ManifestWork of an add-on from a template.
    pub fn deployed(&self, cluster: &str, name: &str) -> String {
        self.work(cluster, &format!("addon-{}-deploy-0", self.named(name)))
    }

    /// The cluster reports that a ManifestWork is applied or not, and this about its objects.
    pub async fn report(&self, path: &str, succeeds: bool, manifests: Value) {
        let generation = self.read(path).await["metadata"]["generation"].clone();
        let condition = |type_: &str, is_true: bool| {
            json!({
                "type": type_, "status": if is_true { "True" } else { "False" }, "reason": "Test", "message": "refused",
                "observedGeneration": generation, "lastTransitionTime": "2026-01-01T00:00:00Z",
            })
        };
        let conditions = [
            condition("Applied", succeeds),
            condition("Available", succeeds),
        ];
        self.patch(
            &format!("{path}/status"),
            json!({"status": {"conditions": conditions, "resourceStatus": {"manifests": manifests}}}),
        )
        .await;
    }

    /// The cluster reports what is deployed of an add-on as applied, until the hub has seen that. The hub may change the ManifestWork in
    /// between, and a report is about one generation.
    pub async fn completes(&self, cluster: &str, name: &str) {
        let work = self.deployed(cluster, name);
        let what = format!("{name} on {cluster} is completed");
        eventually(&what, async || {
            if self.admin.get(&work).await.unwrap().code == 200 {
                self.report(&work, true, json!([])).await;
            }
            let on = self.read(&self.on(cluster, name)).await;
            let conditions = &on["status"]["conditions"];
            let is = condition(conditions, "Progressing", "False Completed", "").is_some();
            when(on, |_| is)
        })
        .await;
    }

    /// Waits for a condition of an add-on on a cluster with this status and reason, and returns its message.
    pub async fn condition(
        &self,
        cluster: &str,
        name: &str,
        type_: &str,
        expected: &str,
    ) -> String {
        let is = |it: &Value| condition(&it["status"]["conditions"], type_, expected, "");
        let what = format!("{type_} {expected}");
        let on = once(&self.admin, &self.on(cluster, name), &what, |it| {
            is(it).is_some()
        })
        .await;
        is(&on).unwrap()
    }

    /// Waits until the progression of an add-on's placement has this reason and these words.
    pub async fn progression(
        &self,
        name: &str,
        index: usize,
        expected: &str,
        words: &str,
    ) -> Value {
        let is = |it: &Value| {
            let progression = &it["status"]["installProgressions"][index];
            condition(&progression["conditions"], "Progressing", expected, words).is_some()
        };
        let what = format!("progression {index} {expected} {words}");
        once(&self.admin, &self.add_on(name), &what, is).await
    }

    /// Waits until an add-on on a cluster names this config, and returns its hash.
    pub async fn configured(
        &self,
        cluster: &str,
        name: &str,
        config: &str,
        hash: Option<&str>,
    ) -> String {
        let is = |it: &Value| {
            let references = it["status"]["configReferences"].as_array();
            let mut references = references.into_iter().flatten();
            let found = references.find(|it| it["desiredConfig"]["name"] == config)?;
            let found = found["desiredConfig"]["specHash"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            hash.is_none_or(|it| it == found).then_some(found)
        };
        let what = format!("config {config} {hash:?}");
        let on = once(&self.admin, &self.on(cluster, name), &what, |it| {
            is(it).is_some()
        })
        .await;
        is(&on).unwrap()
    }
}

fn condition(conditions: &Value, type_: &str, expected: &str, words: &str) -> Option<String> {
    let mut conditions = conditions.as_array().into_iter().flatten();
    let found = conditions.find(|it| it["type"] == type_)?;
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    let said = format!("{} {}", text("status"), text("reason"));
    let message = text("message");
    (said == expected && message.contains(words)).then_some(message)
}
