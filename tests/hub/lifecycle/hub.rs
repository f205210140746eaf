//! A hub on which reconcilers run.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::PathBuf;

use berth_api::GroupVersionResource;
use berth_lifecycle::{Metrics, controller};
use berth_lifecycle_core::config::Config;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::lifecycle::proxy::Proxy;
use crate::reconcilers::Reconcilers;
use berth_testkit::addons;
use berth_testkit::cluster::http::Answer;
use berth_testkit::cluster::{AsAdmin, CRDS, Cluster, Person, Private, documents_of, fresh};
pub use berth_testkit::csr::CSRS;
use berth_testkit::process::once;
use berth_testkit::{eventually, when};

/// A hub, and reconcilers that run on it.
pub struct HubWithReconcilers<C> {
    pub cluster: C,
    pub admin: Person,
    pub reconcilers: Reconcilers,
}

impl HubWithReconcilers<&'static Cluster> {
    /// The hub that all tests of this process share.
    pub async fn shared() -> Self {
        static SHARED: OnceCell<Reconcilers> = OnceCell::const_new();
        let cluster = Cluster::shared().await;
        let reconcilers = SHARED.get_or_init(async || {
            install(cluster).await;
            reconcile(cluster, config()).await
        });
        Self {
            cluster,
            admin: cluster.admin().await,
            reconcilers: reconcilers.await.lent(),
        }
    }
}

impl HubWithReconcilers<Box<Cluster>> {
    /// A devhub with these options.
    pub async fn devhub(options: berth_devhub::Options) -> Self {
        let cluster = Box::new(Cluster::start_devhub(options).await);
        install(&cluster).await;
        let reconcilers = reconcile(&cluster, config()).await;
        Self {
            admin: cluster.admin().await,
            cluster,
            reconcilers,
        }
    }
}

impl HubWithReconcilers<Box<Cluster>> {
    /// A hub that the test may restart.
    pub async fn own() -> Self {
        let mut hub = Self::own_without_reconcilers().await;
        hub.reconcilers = reconcile(&hub.cluster, config()).await;
        hub
    }

    /// The same, without reconcilers: the test starts its own.
    pub async fn own_without_reconcilers() -> Self {
        let cluster = Box::new(Cluster::start().await);
        install(&cluster).await;
        Self {
            admin: cluster.admin().await,
            cluster,
            reconcilers: Reconcilers::none(),
        }
    }
}

impl HubWithReconcilers<Private> {
    /// A hub for this test alone.
    pub async fn private(config: Config) -> Self {
        let cluster = Cluster::private().await;
        install(&cluster).await;
        let reconcilers = reconcile(&cluster, config).await;
        Self {
            admin: cluster.admin().await,
            cluster,
            reconcilers,
        }
    }

    /// The same, without reconcilers: the test starts its own.
    pub async fn private_without_reconcilers() -> Self {
        let cluster = Cluster::private().await;
        install(&cluster).await;
        Self {
            admin: cluster.admin().await,
            cluster,
            reconcilers: Reconcilers::none(),
        }
    }

    /// The same, with reconcilers that reach the hub through a proxy.
    pub async fn behind_a_proxy(config: Config) -> (Self, Proxy) {
        let cluster = Cluster::private().await;
        install(&cluster).await;
        let proxy = Proxy::start(&cluster).await;
        let reconcilers = reconcile_at(&cluster, config, &proxy).await;
        let hub = Self {
            admin: cluster.admin().await,
            cluster,
            reconcilers,
        };
        (hub, proxy)
    }

    /// The same, with reconcilers that start before the CRDs of the kinds that they reconcile exist.
    pub async fn private_before_its_kinds(config: Config) -> Self {
        let cluster = Cluster::private().await;
        let admin = cluster.admin().await;
        // Another test may have used it before.
        for definition in CRDS.iter().flat_map(|file| documents_of(file)) {
            without_kind(&admin, &definition).await;
        }
        install_account(&cluster).await;
        let reconcilers = reconcile(&cluster, config).await;
        eventually("watches that fail again and again", async || {
            when(reconcilers.watch_errors("managedclusters"), |it| *it > 1)
        })
        .await;
        install(&cluster).await;
        Self {
            admin,
            cluster,
            reconcilers,
        }
    }

    /// Restarts the reconcilers with another configuration.
    pub async fn restart(&mut self, config: Config) {
        self.reconcilers.stop().await;
        self.reconcilers = reconcile(&self.cluster, config).await;
    }
}

/// Deletes a CRD and its objects, with their finalizers: no controller runs that would remove them.
async fn without_kind(admin: &Person, definition: &Value) {
    let spec = &definition["spec"];
    let [group, version, plural] = [
        &spec["group"],
        &spec["versions"][0]["name"],
        &spec["names"]["plural"],
    ]
    .map(|part| part.as_str().unwrap());
    let path = format!(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}",
        definition["metadata"]["name"].as_str().unwrap()
    );
    eventually(&format!("the end of {path}"), async || {
        let deleted = admin.delete(&path).await.unwrap();
        if deleted.code == 404 {
            return Ok(());
        }
        let collection = format!("/apis/{group}/{version}/{plural}");
        let list = admin.get(&collection).await.unwrap().body;
        for object in list["items"].as_array().into_iter().flatten() {
            let metadata = &object["metadata"];
            let namespace = metadata["namespace"].as_str();
            let within = namespace.map_or_else(String::new, |name| format!("namespaces/{name}/"));
            let name = metadata["name"].as_str().unwrap();
            let object = format!("/apis/{group}/{version}/{within}{plural}/{name}");
            let without = json!({"metadata": {"finalizers": null}});
            let answer = admin.merge(&object, &without).await.unwrap();
            assert!([200, 404].contains(&answer.code), "{answer:?}");
        }
        Err(deleted)
    })
    .await;
}

impl<C> AsAdmin for HubWithReconcilers<C> {
    fn admin(&self) -> &Person {
        &self.admin
    }
}

impl<C: Deref<Target = Cluster>> HubWithReconcilers<C> {
    /// Creates a ManagedCluster.
    pub async fn cluster(&self, name: &str, spec: Value) -> Value {
        let object = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1",
            "kind": "ManagedCluster",
            "metadata": {"name": name},
            "spec": spec,
        });
        self.create(CLUSTERS, &object).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.admin.get(path).await.unwrap()
    }

    /// Waits until the object satisfies the condition, and returns it.
    pub async fn once(&self, path: &str, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        once(&self.admin, path, what, is).await
    }

    /// Waits until a condition of the ManagedCluster has this status and reason, and returns the ManagedCluster.
    pub async fn condition(&self, cluster: &str, type_: &str, status: &str, reason: &str) -> Value {
        let what = format!("{type_}={status} ({reason})");
        self.once(&cluster_path(cluster), &what, |object| {
            condition(object, type_).is_some_and(|condition| {
                condition["status"] == status && condition["reason"] == reason
            })
        })
        .await
    }

    /// Creates a ManagedClusterAddOn with this name and other metadata.
    pub async fn addon(&self, cluster: &str, name: &str, mut metadata: Value) -> String {
        metadata["name"] = json!(name);
        let addon = json!({
            "apiVersion": "addon.open-cluster-management.io/v1beta1",
            "kind": "ManagedClusterAddOn",
            "metadata": metadata,
        });
        let collection = addons_path(cluster);
        self.create(&collection, &addon).await;
        format!("{collection}/{name}")
    }

    /// Creates a ManifestWork with this name and other metadata.
    pub async fn work(&self, cluster: &str, name: &str, mut metadata: Value) -> String {
        metadata["name"] = json!(name);
        let work = json!({
            "apiVersion": "work.open-cluster-management.io/v1",
            "kind": "ManifestWork",
            "metadata": metadata,
        });
        let collection = works_path(cluster);
        self.create(&collection, &work).await;
        format!("{collection}/{name}")
    }

    /// Removes all finalizers from an object.
    pub async fn release(&self, path: &str) {
        self.patch(path, json!({"metadata": {"finalizers": null}}))
            .await;
    }

    /// The Events so far about an object of this name, with this reason.
    pub async fn events(&self, namespace: &str, regarding: &str, reason: &str) -> Vec<Value> {
        let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
        let list = self.get(&path).await;
        let mut events = list.ok()["items"].as_array().unwrap().clone();
        events.retain(|event| event["regarding"]["name"] == regarding && event["reason"] == reason);
        events
    }

    /// Waits for an Event about an object of this name, with this reason.
    pub async fn event(&self, namespace: &str, regarding: &str, reason: &str) -> Value {
        eventually(&format!("the Event {reason} of {regarding}"), async || {
            let mut events = self.events(namespace, regarding, reason).await.into_iter();
            events.next().ok_or("no such Event")
        })
        .await
    }

    /// Creates an accepted ManagedCluster, and waits until it has all its objects.
    pub async fn accepted(&self, name: &str) -> Value {
        self.accepted_with(name, json!({})).await
    }

    /// The same, with these fields in its spec.
    pub async fn accepted_with(&self, name: &str, mut spec: Value) -> Value {
        spec["hubAcceptsClient"] = json!(true);
        self.cluster(name, spec).await;
        self.condition(name, ACCEPTED, "True", "HubClusterAdminAccepted")
            .await;
        self.once(&lease_path(name), "there", |_| true).await
    }

    /// The objects, once the reconcilers have nothing to write to them: they have dealt with a later cluster, and the
    /// objects are as before.
    pub async fn quiet(&self, paths: &[String]) -> Vec<Value> {
        eventually("objects that are not written any more", async || {
            let before = self.read(paths).await;
            self.later_cluster().await;
            when(self.read(paths).await, |it| *it == before)
        })
        .await
    }

    /// The objects as they are now.
    pub async fn read(&self, paths: &[String]) -> Vec<Value> {
        let mut objects = Vec::new();
        for path in paths {
            objects.push(self.get(path).await.body);
        }
        objects
    }

    /// A cluster comes, is accepted, renews its lease and goes. When this returns, the reconcilers have seen all earlier
    /// changes of ManagedClusters and of their leases: watches report changes in their order.
    async fn later_cluster(&self) {
        let name = fresh("later");
        self.accepted(&name).await;
        // Renewed until it is seen, as agents do: a renewal that a list shows, after a watch was cut, says nothing of clocks.
        eventually("a clock that is an hour off", async || {
            let hour_ago = Timestamp::now() - SignedDuration::from_hours(1);
            self.renew_at(&name, hour_ago).await;
            when(self.get(&cluster_path(&name)).await.body, |object| {
                condition(object, CLOCK_SYNCED)
                    .is_some_and(|it| it["reason"] == "ManagedClusterClockOutOfSync")
            })
        })
        .await;
        self.delete(&cluster_path(&name)).await;
        self.gone(&cluster_path(&name)).await;
    }
}

/// Starts reconcilers as the service account of the manifests.
pub async fn reconcile(cluster: &Cluster, config: Config) -> Reconcilers {
    start_as(account(cluster).await.kubeconfig, config)
}

/// The same, through a proxy, which adds the credentials.
pub async fn reconcile_at(cluster: &Cluster, config: Config, proxy: &Proxy) -> Reconcilers {
    start_as(cluster.person_at(&proxy.url).await.kubeconfig, config)
}

fn start_as(account: PathBuf, config: Config) -> Reconcilers {
    let make = |registry: &_| controller(config, Metrics::new(registry).unwrap());
    Reconcilers::start(account, make)
}

/// The number of writes by reconciler, resource, verb and code, without those that keep the status of sets.
pub fn writes(of: &Reconcilers) -> BTreeMap<String, u64> {
    let mut writes = of.writes_by_kind();
    writes.retain(|write, _| !write.starts_with("set_status"));
    writes
}

pub const CLUSTERS: &str = "/apis/cluster.open-cluster-management.io/v1/managedclusters";
pub const ACCEPTED: &str = "HubAcceptedManagedCluster";
pub const AVAILABLE: &str = "ManagedClusterConditionAvailable";
pub const CLOCK_SYNCED: &str = "ManagedClusterConditionClockSynced";
pub const UNREACHABLE: &str = "cluster.open-cluster-management.io/unreachable";
pub const UNAVAILABLE: &str = "cluster.open-cluster-management.io/unavailable";

pub fn cluster_path(name: &str) -> String {
    format!("{CLUSTERS}/{name}")
}

pub fn lease_path(cluster: &str) -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/{cluster}/leases/managed-cluster-lease")
}

pub fn namespace_path(name: &str) -> String {
    format!("/api/v1/namespaces/{name}")
}

/// A path in the RBAC group.
pub fn rbac_path(rest: &str) -> String {
    format!("/apis/rbac.authorization.k8s.io/v1/{rest}")
}

/// The objects of an accepted cluster, without the ManagedCluster.
pub fn owned_paths(cluster: &str) -> Vec<String> {
    let name = format!("open-cluster-management:managedcluster:{cluster}");
    vec![
        namespace_path(cluster),
        rbac_path(&format!("clusterroles/{name}")),
        rbac_path(&format!("clusterrolebindings/{name}")),
        rbac_path(&format!(
            "namespaces/{cluster}/rolebindings/{name}:registration"
        )),
        rbac_path(&format!("namespaces/{cluster}/rolebindings/{name}:work")),
        lease_path(cluster),
    ]
}

/// The path of a cluster's ManagedClusterAddOns.
pub fn addons_path(cluster: &str) -> String {
    format!(
        "/apis/addon.open-cluster-management.io/v1beta1/namespaces/{cluster}/managedclusteraddons"
    )
}

/// The path of a cluster's ManifestWorks.
pub fn works_path(cluster: &str) -> String {
    format!("/apis/work.open-cluster-management.io/v1/namespaces/{cluster}/manifestworks")
}

/// The keys of a cluster's taints, in their order.
pub fn taints(cluster: &Value) -> Vec<&str> {
    let taints = cluster["spec"]["taints"].as_array().into_iter().flatten();
    taints.map(|taint| taint["key"].as_str().unwrap()).collect()
}

pub fn condition<'a>(object: &'a Value, type_: &str) -> Option<&'a Value> {
    object["status"]["conditions"]
        .as_array()?
        .iter()
        .find(|condition| condition["type"] == type_)
}

/// The default configuration.
pub fn config() -> Config {
    let resource = |group: &str, version: &str, resource: &str| GroupVersionResource {
        group: group.to_owned(),
        version: version.to_owned(),
        resource: resource.to_owned(),
    };
    Config {
        namespace: "open-cluster-management-hub".to_owned(),
        gc_resources: vec![
            resource(
                "addon.open-cluster-management.io",
                "v1beta1",
                "managedclusteraddons",
            ),
            resource("work.open-cluster-management.io", "v1", "manifestworks"),
        ],
        ..Config::default()
    }
}

/// Applies the CRDs and the account of the manifests, and a minimal CRD of add-ons.
async fn install(cluster: &Cluster) {
    cluster.apply_manifests(&CRDS).await;
    cluster.apply(&[addons::definition()]).await;
    crate::work::world::install(cluster).await;
    install_account(cluster).await;
}

/// Applies the namespace, the service accounts and their rights from the manifests.
async fn install_account(cluster: &Cluster) {
    berth_testkit::shipped::install(cluster).await;
}

/// The account of the reconcilers.
pub async fn account(cluster: &Cluster) -> Person {
    berth_testkit::shipped::controller(cluster).await
}
