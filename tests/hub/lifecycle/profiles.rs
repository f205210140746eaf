//! ClusterProfiles: with the gate `ClusterProfile`, in the namespaces that sets are bound to.

use std::ops::Deref;

use berth_lifecycle_core::config::{Config, Gates};
use berth_manifests::files;
use serde_json::{Value, json};

use crate::lifecycle::hub::{
    AVAILABLE, CLUSTERS, HubWithReconcilers, cluster_path, condition, config, reconcile, writes,
};
use berth_testkit::cluster::{AsAdmin, Cluster, fresh};

const SET_LABEL: &str = "cluster.open-cluster-management.io/clusterset";
const SHOWN_SET: &str = "multicluster.x-k8s.io/clusterset";
const SINCE: &str = "2026-01-01T00:00:00Z";

fn with_profiles() -> Config {
    Config {
        gates: Gates {
            cluster_profile: true,
            ..Gates::default()
        },
        ..config()
    }
}

fn profiles_path(namespace: &str) -> String {
    format!("/apis/multicluster.x-k8s.io/v1alpha1/namespaces/{namespace}/clusterprofiles")
}

fn profile_path(namespace: &str, name: &str) -> String {
    format!("{}/{name}", profiles_path(namespace))
}

fn condition_of(type_: &str, status: &str) -> Value {
    json!({"type": type_, "status": status, "reason": "Because", "message": "m", "lastTransitionTime": SINCE})
}

/// The part of a ClusterProfile that the controller writes, as OCM's controller does.
fn profile_of(cluster: &str, set: &str) -> Value {
    let ours = "open-cluster-management";
    json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1",
        "kind": "ClusterProfile",
        "metadata": {"name": cluster, "labels": {
            "x-k8s.io/cluster-manager": ours,
            "open-cluster-management.io/cluster-name": cluster,
            SHOWN_SET: set,
        }},
        "spec": {"displayName": cluster, "clusterManager": {"name": ours}},
    })
}

async fn install_inventory(cluster: &Cluster) {
    cluster
        .apply_manifests(&files::INVENTORY_CRDS.map(|crd| crd.path))
        .await;
    install_rights(cluster).await;
}

async fn install_rights(cluster: &Cluster) {
    cluster
        .apply_manifests(&[files::CLUSTER_PROFILES_ROLE.path])
        .await;
}

impl<C: Deref<Target = Cluster>> HubWithReconcilers<C> {
    async fn namespace(&self, prefix: &str) -> String {
        let name = fresh(prefix);
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.create("/api/v1/namespaces", &object).await;
        name
    }

    async fn exclusive_set(&self, prefix: &str) -> String {
        let name = fresh(prefix);
        let set = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2",
            "kind": "ManagedClusterSet",
            "metadata": {"name": name},
            "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}},
        });
        let sets = "/apis/cluster.open-cluster-management.io/v1beta2/managedclustersets";
        self.create(sets, &set).await;
        name
    }

    /// Binds a set. Returns the path of the binding.
    async fn bound(&self, namespace: &str, set: &str) -> String {
        let bindings = format!(
            "/apis/cluster.open-cluster-management.io/v1beta2/namespaces/{namespace}/managedclustersetbindings"
        );
        let binding = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2",
            "kind": "ManagedClusterSetBinding",
            "metadata": {"name": set},
            "spec": {"clusterSet": set},
        });
        self.create(&bindings, &binding).await;
        format!("{bindings}/{set}")
    }

    /// Creates a ManagedCluster of a set, and has it report what an agent does.
    async fn member(&self, prefix: &str, set: &str) -> String {
        let name = fresh(prefix);
        let cluster = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1",
            "kind": "ManagedCluster",
            "metadata": {"name": name, "labels": {SET_LABEL: set}},
        });
        self.create(CLUSTERS, &cluster).await;
        self.reports_claims(&name, json!([{"name": "id.k8s.io", "value": "1"}]))
            .await;
        name
    }

    async fn reports_claims(&self, cluster: &str, claims: Value) {
        let status = json!({"status": {
            "version": {"kubernetes": "v1.36.0"},
            "clusterClaims": claims,
            "conditions": [condition_of(AVAILABLE, "True"), condition_of("ManagedClusterJoined", "True")],
        }});
        self.patch_status(&cluster_path(cluster), status).await;
    }

    async fn patch_status(&self, path: &str, status: Value) {
        self.patch(&format!("{path}/status"), status).await;
    }

    /// The ClusterProfile, once it shows these properties.
    async fn shows_properties(&self, path: &str, properties: Value) -> Value {
        let what = format!("showing {properties}");
        let is = |object: &Value| object["status"]["properties"] == properties;
        self.once(path, &what, is).await
    }

    /// Applies a part of a ClusterProfile's status as another field manager.
    async fn apply_status(&self, path: &str, status: Value) {
        let name = path.rsplit('/').next().unwrap();
        let body = json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1",
            "kind": "ClusterProfile",
            "metadata": {"name": name},
            "status": status,
        });
        let answer = self
            .admin
            .apply_as("inspector", &format!("{path}/status"), &body)
            .await
            .unwrap();
        assert_eq!(answer.code, 200, "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn profiles_follow_clusters_sets_and_bindings() {
    let mut hub = HubWithReconcilers::private_without_reconcilers().await;
    install_inventory(&hub.cluster).await;
    hub.reconcilers = reconcile(&hub.cluster, with_profiles()).await;
    let (apps, tools) = (hub.namespace("apps").await, hub.namespace("tools").await);
    let (one, two) = (
        hub.exclusive_set("one").await,
        hub.exclusive_set("two").await,
    );
    let cluster = hub.member("shown", &one).await;
    let binding = hub.bound(&apps, &one).await;
    hub.bound(&tools, &two).await;
    let [in_apps, in_tools] = [&apps, &tools].map(|namespace| profile_path(namespace, &cluster));

    // Nobody has accepted the cluster: it counts, as with OCM.
    let found = hub
        .shows_properties(&in_apps, json!([{"name": "id.k8s.io", "value": "1"}]))
        .await;
    let expected = profile_of(&cluster, &one);
    assert_eq!(found["metadata"]["labels"], expected["metadata"]["labels"]);
    assert_eq!(found["spec"], expected["spec"]);
    assert_eq!(found["status"]["version"], json!({"kubernetes": "v1.36.0"}));
    for type_ in ["ControlPlaneHealthy", "Joined"] {
        let mut shown = condition_of(type_, "True");
        shown["type"] = json!(type_);
        assert_eq!(condition(&found, type_), Some(&shown));
    }
    assert_eq!(hub.get(&in_tools).await.code, 404);

    // It moves to the other set.
    let moved = json!({"metadata": {"labels": {SET_LABEL: two}}});
    hub.patch(&cluster_path(&cluster), moved).await;
    hub.gone(&in_apps).await;
    let labelled = |object: &Value| object["metadata"]["labels"][SHOWN_SET] == *two;
    hub.once(&in_tools, "in the other set", labelled).await;
    let back = json!({"metadata": {"labels": {SET_LABEL: one}}});
    hub.patch(&cluster_path(&cluster), back).await;
    hub.gone(&in_tools).await;
    let first = hub.once(&in_apps, "there again", |_| true).await;

    // A profile that is deleted comes back.
    hub.delete(&in_apps).await;
    let is_new = |object: &Value| object["metadata"]["uid"] != first["metadata"]["uid"];
    hub.once(&in_apps, "made anew", is_new).await;
    hub.shows_properties(&in_apps, json!([{"name": "id.k8s.io", "value": "1"}]))
        .await;
    let paths = [in_apps.clone()];
    hub.quiet(&paths).await;
    let before = writes(&hub.reconcilers);
    hub.reports_claims(&cluster, json!([{"name": "id.k8s.io", "value": "1"}]))
        .await;
    hub.quiet(&paths).await;
    let profile_writes = |writes: &std::collections::BTreeMap<String, u64>| {
        let of = writes
            .iter()
            .filter(|(write, _)| write.starts_with("cluster_profiles"));
        of.map(|(_, count)| count).sum::<u64>()
    };
    assert_eq!(
        profile_writes(&writes(&hub.reconcilers)),
        profile_writes(&before)
    );

    // The binding goes, and comes back. The cluster goes.
    hub.delete(&binding).await;
    hub.gone(&in_apps).await;
    hub.bound(&apps, &one).await;
    hub.once(&in_apps, "there with the binding", |_| true).await;
    hub.delete(&cluster_path(&cluster)).await;
    hub.gone(&in_apps).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_wrote_stays_and_profiles_of_ocm_are_adopted() {
    let mut hub = HubWithReconcilers::private_without_reconcilers().await;
    install_inventory(&hub.cluster).await;
    let apps = hub.namespace("apps").await;
    let set = hub.exclusive_set("set").await;
    let cluster = hub.member("adopted", &set).await;
    let foreign = hub.member("foreign", &set).await;
    hub.bound(&apps, &set).await;
    let profiles = profiles_path(&apps);
    hub.create(&profiles, &profile_of(&cluster, &set)).await;
    let path = profile_path(&apps, &cluster);
    let status = json!({"status": {
        "version": {"kubernetes": "v1.36.0"},
        "properties": [{"name": "id.k8s.io", "value": "1"}],
        "conditions": [condition_of("ControlPlaneHealthy", "True"), condition_of("Joined", "True")],
    }});
    // As OCM's controller: its field manager is the name of its executable.
    let as_ocm = format!("{path}/status?fieldManager=registration");
    hub.patch(&as_ocm, status).await;
    let mut other = profile_of(&foreign, "");
    other["metadata"]["labels"] = json!({"x-k8s.io/cluster-manager": "fleet"});
    other["spec"]["clusterManager"]["name"] = json!("fleet");
    hub.create(&profiles, &other).await;
    let paths = [path.clone(), profile_path(&apps, &foreign)];
    let before = hub.read(&paths).await;

    hub.reconcilers = reconcile(&hub.cluster, with_profiles()).await;
    assert_eq!(hub.quiet(&paths).await, before, "no write");

    let providers = json!([{"name": "proxy", "cluster": {"server": "https://proxy"}}]);
    let theirs = json!({"name": "theirs", "value": "x"});
    let certified = condition_of("Certified", "True");
    hub.apply_status(
        &path,
        json!({"accessProviders": providers, "properties": [theirs], "conditions": [certified]}),
    )
    .await;
    hub.reports_claims(&cluster, json!([{"name": "a", "value": "b"}]))
        .await;
    let found = hub
        .shows_properties(&path, json!([{"name": "a", "value": "b"}, theirs]))
        .await;
    assert_eq!(found["status"]["accessProviders"], providers);
    assert_eq!(condition(&found, "Certified"), Some(&certified));
    hub.reports_claims(&cluster, json!(null)).await;
    let found = hub.shows_properties(&path, json!([theirs])).await;
    assert_eq!(found["status"]["accessProviders"], providers);
    let still = hub.quiet(&[profile_path(&apps, &foreign)]).await;
    assert_eq!(still[0], before[1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_kind_all_else_works_until_it_is_there() {
    let mut hub = HubWithReconcilers::private_without_reconcilers().await;
    install_rights(&hub.cluster).await;
    hub.reconcilers = reconcile(&hub.cluster, with_profiles()).await;
    let apps = hub.namespace("apps").await;
    let set = hub.exclusive_set("set").await;
    let cluster = hub.member("early", &set).await;
    let binding = hub.bound(&apps, &set).await;
    hub.once(&binding, "bound", |object| {
        condition(object, "Bound").is_some_and(|it| it["status"] == "True")
    })
    .await;
    hub.accepted(&fresh("accepted")).await;
    install_inventory(&hub.cluster).await;
    let path = profile_path(&apps, &cluster);
    hub.shows_properties(&path, json!([{"name": "id.k8s.io", "value": "1"}]))
        .await;
}
