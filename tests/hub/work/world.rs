//! A hub, a managed cluster, and an agent between them.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use berth_testkit::cluster::http::Answer;
use berth_testkit::cluster::janitor::Watched;
use berth_testkit::cluster::{Cluster, Person, fresh};
use berth_testkit::{Logged, berth, eventually, when};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::lifecycle::proxy::Proxy;

/// The CRDs of works, on hubs and on managed clusters.
const CRDS: [&str; 2] = [
    "manifests/crds/work/work.open-cluster-management.io_manifestworks.yaml",
    "manifests/crds/agent/work/work.open-cluster-management.io_appliedmanifestworks.yaml",
];

/// The path of AppliedManifestWorks.
pub const APPLIED: &str = "/apis/work.open-cluster-management.io/v1/appliedmanifestworks";

/// A hub that manages itself, unless the test has a managed cluster of its own.
pub struct World {
    pub hub: Person,
    pub managed: Person,
    /// The name of the cluster: the namespace of its works.
    pub cluster: String,
    /// A namespace on the managed cluster.
    pub namespace: String,
    pub agent_id: String,
    /// Other tests have works on the managed cluster, too.
    pub is_shared: bool,
}

/// A running agent, which ends with this process.
pub struct WorkAgent {
    pub process: Logged,
    _watched: Watched,
}

// === impl World ===

impl World {
    pub async fn new() -> Self {
        let cluster = Cluster::shared().await;
        let mut world = Self::of(cluster, cluster).await;
        world.is_shared = true;
        world
    }

    /// A hub that manages itself. A proxy records the requests of the agents to the managed cluster.
    pub async fn recorded() -> (Self, Proxy) {
        let mut world = Self::new().await;
        let proxy = Proxy::of(world.managed.client.clone()).await;
        let cluster = Cluster::shared().await;
        world.managed.kubeconfig = cluster.person_at(&proxy.url).await.kubeconfig;
        (world, proxy)
    }

    /// A hub and a managed cluster.
    pub async fn of(hub: &Cluster, managed: &Cluster) -> Self {
        for cluster in [hub, managed] {
            install(cluster).await;
        }
        let world = Self {
            hub: hub.admin().await,
            managed: managed.admin().await,
            cluster: fresh("cluster"),
            namespace: fresh("apps"),
            agent_id: fresh("agent"),
            is_shared: false,
        };
        for (person, name) in [
            (&world.hub, &world.cluster),
            (&world.managed, &world.namespace),
        ] {
            namespace(person, name).await;
        }
        world
    }

    pub fn agent(&self) -> WorkAgent {
        self.agent_with(&[])
    }

    pub fn agent_with(&self, flags: &[&str]) -> WorkAgent {
        self.start(&[&["--disable-leader-election"], flags].concat())
    }

    /// Starts an agent that is one of several. Its Lease is in the namespace, and is renewed each time in this period.
    pub fn elected_agent(&self, period: &str, flags: &[&str]) -> WorkAgent {
        let period = format!("--leader-election-retry-period={period}");
        // The Lease is not lost on a busy machine.
        let long = [
            "--leader-election-lease-duration=120s",
            "--leader-election-renew-deadline=100s",
        ];
        let lease = ["--namespace", &self.namespace, &period];
        self.start(&[&lease, &long[..], flags].concat())
    }

    /// With the settings of the allocator that the image has.
    pub fn agent_of_image(&self, flags: &[&str]) -> WorkAgent {
        let mut command = self.command(&[&["--disable-leader-election"], flags].concat());
        command.envs([
            ("MALLOC_MMAP_THRESHOLD_", "131072"),
            ("MALLOC_TRIM_THRESHOLD_", "1048576"),
            ("MALLOC_ARENA_MAX", "2"),
        ]);
        Self::watched(command)
    }

    fn start(&self, flags: &[&str]) -> WorkAgent {
        Self::watched(self.command(flags))
    }

    fn watched(command: Command) -> WorkAgent {
        let process = Logged::start(command);
        let watched = Watched::new(&process.child);
        WorkAgent {
            process,
            _watched: watched,
        }
    }

    /// Starts the agent, and kills it after this time.
    pub async fn killed_after(&self, time: Duration) {
        let process = Logged::start(self.command(&["--disable-leader-election"]));
        let _watched = Watched::new(&process.child);
        tokio::time::sleep(time).await;
    }

    /// Deletes all RoleBindings in the namespace.
    pub async fn revoke(&self) {
        let bindings = format!(
            "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
            self.namespace
        );
        let all = self.managed.get(&bindings).await.unwrap().ok().clone();
        for binding in all["items"].as_array().unwrap() {
            let name = binding["metadata"]["name"].as_str().unwrap();
            let deleted = self.managed.delete(&format!("{bindings}/{name}")).await;
            assert_eq!(deleted.unwrap().code, 200, "{name}");
        }
    }

    fn command(&self, flags: &[&str]) -> Command {
        let kubeconfig = |person: &Person| person.kubeconfig.to_str().unwrap().to_owned();
        let mut command = berth(&["work", "agent", "--kubeconfig", &kubeconfig(&self.managed)]);
        command
            .args(["--workload-source-config", &kubeconfig(&self.hub)])
            .args(["--spoke-cluster-name", &self.cluster])
            .args(["--agent-id", &self.agent_id])
            .args(["--listen", "127.0.0.1:auto", "--log-format", "json"])
            .args(flags);
        command
    }

    /// The path of a work.
    pub fn work(&self, name: &str) -> String {
        format!("{}/{name}", self.works())
    }

    fn works(&self) -> String {
        let cluster = &self.cluster;
        format!("/apis/work.open-cluster-management.io/v1/namespaces/{cluster}/manifestworks")
    }

    /// Creates a work with these manifests. Works of tests that share a cluster have different names: its AppliedManifestWorks are named
    /// after the hub and the work.
    pub async fn create(&self, name: &str, manifests: &[Value]) {
        self.create_with(name, manifests, json!({})).await;
    }

    /// Creates a work with these manifests, and these other fields of its spec.
    pub async fn create_with(&self, name: &str, manifests: &[Value], spec: Value) {
        let created = self.post(name, manifests, spec).await;
        assert_eq!(created.code, 201, "{created:?}");
    }

    /// An AppliedManifestWork has the name of its hub and its work: on the cluster that tests share, each test has names of its own.
    fn claim(&self, name: &str) {
        static CLAIMED: std::sync::Mutex<BTreeMap<String, String>> =
            std::sync::Mutex::new(BTreeMap::new());
        if self.is_shared {
            let mut claimed = CLAIMED.lock().unwrap();
            let by = claimed.entry(name.to_owned());
            let by = by.or_insert_with(|| self.cluster.clone()).clone();
            drop(claimed);
            assert_eq!(by, self.cluster, "another test has a work {name:?}");
        }
    }

    /// Asks the hub to create a work.
    pub async fn post(&self, name: &str, manifests: &[Value], mut spec: Value) -> Answer {
        self.claim(name);
        spec["workload"] = json!({ "manifests": manifests });
        let work = json!({
            "apiVersion": "work.open-cluster-management.io/v1",
            "kind": "ManifestWork",
            "metadata": {"name": name},
            "spec": spec,
        });
        self.hub.post(&self.works(), &work).await.unwrap()
    }

    /// Replaces the manifests of a work.
    pub async fn update(&self, name: &str, manifests: &[Value]) {
        self.patch(name, json!({"workload": {"manifests": manifests}}))
            .await;
    }

    /// Changes the spec of a work.
    pub async fn patch(&self, name: &str, spec: Value) {
        let patched = self
            .hub
            .merge(&self.work(name), &json!({ "spec": spec }))
            .await;
        let patched = patched.unwrap();
        assert_eq!(patched.code, 200, "{patched:?}");
    }

    pub async fn delete(&self, name: &str) {
        let deleted = self.hub.delete(&self.work(name)).await.unwrap();
        assert_eq!(deleted.code, 200, "{deleted:?}");
    }

    /// Waits until the work is gone.
    pub async fn is_gone(&self, name: &str) {
        self.hub.gone(&self.work(name)).await;
    }

    /// Waits until conditions Applied and Available of the work and of its manifests are these, as `T` and `F` in the order of the
    /// manifests, for the current generation.
    pub async fn reports(&self, name: &str, applied: &str, available: &str) -> Value {
        let path = self.work(name);
        eventually(
            &format!("{path}: applied {applied}, available {available}"),
            async || {
                let work = self.hub.get(&path).await.unwrap();
                let work = work.ok().clone();
                let generation = &work["metadata"]["generation"];
                let all = |type_: &str| -> String {
                    let manifests = work["status"]["resourceStatus"]["manifests"].as_array();
                    let letter = |it: &Value| letter(it, type_);
                    manifests.into_iter().flatten().map(letter).collect()
                };
                let of_work = |type_: &str, each: &str| {
                    let condition = condition(&work["status"], type_);
                    let should = if each.contains('F') { 'F' } else { 'T' };
                    letter(&work["status"], type_) == should
                        && condition["observedGeneration"] == *generation
                };
                let is = all("Applied") == applied
                    && all("Available") == available
                    && of_work("Applied", applied)
                    && (available.contains('U') || of_work("Available", available));
                when(work.clone(), |_| is)
            },
        )
        .await
    }

    /// Waits until a work satisfies the condition, and returns it.
    pub async fn work_has(&self, name: &str, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        berth_testkit::process::once(&self.hub, &self.work(name), what, is).await
    }

    /// The AppliedManifestWork of a work, once it satisfies the condition.
    pub async fn applied(&self, name: &str, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        eventually(
            &format!("AppliedManifestWork of {name}: {what}"),
            async || {
                let list = self.managed.get(APPLIED).await.unwrap();
                let items = list.ok()["items"].as_array().unwrap().clone();
                let found = items.into_iter().find(|it| {
                    it["spec"]["manifestWorkName"] == name
                        && it["spec"]["agentID"] == *self.agent_id
                });
                when(found.unwrap_or_default(), |it| !it.is_null() && is(it))
            },
        )
        .await
    }

    /// A ConfigMap in the namespace.
    pub fn map(&self, name: &str, value: &str) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": self.namespace},
            "data": {"key": value},
        })
    }

    /// The path of a ConfigMap in the namespace.
    pub fn map_path(&self, name: &str) -> String {
        format!("/api/v1/namespaces/{}/configmaps/{name}", self.namespace)
    }

    /// Another client changes an object on the managed cluster.
    pub async fn change(&self, path: &str, patch: Value) {
        let changed = self.managed.merge(path, &patch).await.unwrap();
        assert_eq!(changed.code, 200, "{changed:?}");
    }

    /// Waits for an object on the managed cluster that satisfies the condition.
    pub async fn has(&self, path: &str, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        berth_testkit::process::once(&self.managed, path, what, is).await
    }

    /// Waits until the managed cluster does not have an object.
    pub async fn lacks(&self, path: &str) {
        self.managed.gone(path).await;
    }
}

// === impl WorkAgent ===

impl WorkAgent {
    pub async fn kill(mut self) {
        self.process.signal("KILL");
        self.process.ended().await;
    }
}

/// Applies the CRDs of works.
pub async fn install(cluster: &Cluster) {
    // Two tests would create the same ones.
    static INSTALLING: Mutex<()> = Mutex::const_new(());
    let _installing = INSTALLING.lock().await;
    cluster.apply_manifests(&CRDS).await;
}

/// Creates a namespace.
pub async fn namespace(person: &Person, name: &str) {
    let object = namespace_object(name);
    let created = person.post("/api/v1/namespaces", &object).await.unwrap();
    assert_eq!(created.code, 201, "{created:?}");
}

/// A Namespace.
pub fn namespace_object(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// A condition of a status, or of a manifest in it.
pub fn condition(of: &Value, type_: &str) -> Value {
    let conditions = of["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    let found = conditions.find(|it| it["type"] == type_);
    found.cloned().unwrap_or_default()
}

/// A condition of the manifest at this position of a work.
pub fn of_manifest(work: &Value, at: usize, type_: &str) -> Value {
    let manifests = &work["status"]["resourceStatus"]["manifests"];
    condition(&manifests[at], type_)
}

/// The status, reason and message of a condition.
pub fn said(condition: &Value) -> [&str; 3] {
    ["status", "reason", "message"].map(|field| condition[field].as_str().unwrap_or_default())
}

/// The status of a condition: T, F, U, or - if it is missing.
fn letter(of: &Value, type_: &str) -> char {
    let condition = condition(of, type_);
    let status = condition["status"].as_str();
    status.and_then(|it| it.chars().next()).unwrap_or('-')
}
