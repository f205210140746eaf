//! A hub, a managed cluster, and the names of one agent.

use std::ops::Deref;
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_certs::client::{ClientKey, Wanted};
use berth_certs::csr::{Csr, Usage};
use berth_certs::issue::Authority;
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::OnceCell;

use berth_testkit::cluster::{AsAdmin, Cluster, Person, fresh, rule};
use berth_testkit::csr::{groups_of, user_of};
use berth_testkit::{Agent, berth, eventually, when};

use crate::lifecycle::hub::{CLUSTERS, CSRS, HubWithReconcilers, cluster_path, lease_path};

/// The CRD of ClusterClaims, which a managed cluster has.
pub const CLAIMS: &str =
    "manifests/crds/agent/cluster.open-cluster-management.io_clusterclaims.yaml";

/// A hub, a managed cluster, and the names of one agent.
pub struct World<C = &'static Cluster> {
    pub hub: HubWithReconcilers<C>,
    /// An admin of the managed cluster.
    pub managed: Person,
    /// The name of the cluster on the hub.
    pub name: String,
    /// The namespace of the agent on the managed cluster.
    pub namespace: String,
    /// The bootstrap kubeconfig, which the agent reads again and again.
    pub bootstrap: PathBuf,
    /// The folder that the agent writes.
    folder: PathBuf,
    _files: TempDir,
}

impl World {
    /// The hub manages itself. For tests that do not mind what else is on the managed cluster.
    pub async fn new() -> Self {
        static CLAIMS_INSTALLED: OnceCell<()> = OnceCell::const_new();
        let cluster = Cluster::shared().await;
        let install = async || cluster.apply_manifests(&[CLAIMS]).await;
        CLAIMS_INSTALLED.get_or_init(install).await;
        Self::in_a_namespace_of(cluster).await
    }

    /// The managed cluster is this one.
    pub async fn on(managed: &Cluster) -> Self {
        managed.apply_manifests(&[CLAIMS]).await;
        Self::in_a_namespace_of(managed).await
    }

    /// The managed cluster is this one, which has no CRDs of claims and properties.
    pub async fn without_claims(managed: &Cluster) -> Self {
        let admin = managed.admin().await;
        let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        for name in [
            "clusterclaims.cluster.open-cluster-management.io",
            "clusterproperties.about.k8s.io",
        ] {
            let path = format!("{definitions}/{name}");
            // Another test may have used it before.
            eventually(&format!("the end of {name}"), async || {
                when(admin.delete(&path).await.unwrap(), |it| it.code == 404)
            })
            .await;
        }
        Self::in_a_namespace_of(managed).await
    }

    async fn in_a_namespace_of(managed: &Cluster) -> Self {
        let hub = HubWithReconcilers::shared().await;
        let managed = managed.admin().await;
        let (name, namespace) = (fresh("managed"), fresh("agent"));
        let object =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        managed
            .post("/api/v1/namespaces", &object)
            .await
            .unwrap()
            .ok();
        let files = TempDir::new().unwrap();
        let bootstrap = files.path().join("bootstrap");
        let world = Self {
            hub,
            managed,
            name,
            namespace,
            bootstrap,
            folder: files.path().join("hub-kubeconfig"),
            _files: files,
        };
        let user = world.bootstrap_user(true).await;
        world.write_bootstrap(&user, |text| text);
        world
    }

    /// The same managed cluster at another hub, with a bootstrap kubeconfig of its own.
    pub async fn at<C: Deref<Target = Cluster>>(&self, hub: HubWithReconcilers<C>) -> World<C> {
        let files = TempDir::new().unwrap();
        let world = World {
            hub,
            managed: self.managed.clone(),
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            bootstrap: files.path().join("bootstrap"),
            folder: self.folder.clone(),
            _files: files,
        };
        let user = world.bootstrap_user(true).await;
        world.write_bootstrap(&user, |text| text);
        world
    }
}

impl<C: Deref<Target = Cluster>> World<C> {
    /// A user with the rights of a bootstrap token; or without that to create ManagedClusters.
    pub async fn bootstrap_user(&self, may_create: bool) -> Person {
        let user = self.hub.cluster.user(&fresh("bootstrap"), &[]).await;
        let verbs = ["get", "list", "watch", "create"];
        let clusters = if may_create { &verbs[..] } else { &verbs[..3] };
        let rules = [
            rule(
                &verbs,
                "certificates.k8s.io",
                &["certificatesigningrequests"],
                &[],
            ),
            rule(
                clusters,
                "cluster.open-cluster-management.io",
                &["managedclusters"],
                &[],
            ),
        ];
        self.hub.cluster.grant(&user, &rules).await;
        user
    }

    /// Writes the bootstrap kubeconfig with the credentials of this user.
    pub fn write_bootstrap(&self, user: &Person, change: impl FnOnce(String) -> String) {
        let text = std::fs::read_to_string(&user.kubeconfig).unwrap();
        std::fs::write(&self.bootstrap, change(text)).unwrap();
    }

    /// Changes the bootstrap kubeconfig.
    pub fn change_bootstrap(&self, change: impl FnOnce(&mut Value)) {
        let text = std::fs::read(&self.bootstrap).unwrap();
        let mut config = serde_json::from_slice(&text).unwrap();
        change(&mut config);
        std::fs::write(&self.bootstrap, config.to_string()).unwrap();
    }

    /// Starts the agent. Its files are in the same folder each time, as in a pod whose container restarts.
    pub fn agent(&self, flags: &[&str]) -> Agent {
        let (managed, bootstrap) = (&self.managed.kubeconfig, &self.bootstrap);
        Agent::start(managed, bootstrap, &[&self.flags()[..], flags].concat())
    }

    /// Starts the agent, and kills it after this time.
    pub async fn killed_in(&self, time: Duration) {
        let (managed, bootstrap) = (&self.managed.kubeconfig, &self.bootstrap);
        Agent::killed_after(time, managed, bootstrap, &self.flags()).await;
    }

    fn flags(&self) -> [&str; 6] {
        let folder = self.folder.to_str().unwrap();
        [
            "--cluster-name",
            &self.name,
            "--namespace",
            &self.namespace,
            "--hub-kubeconfig-dir",
            folder,
        ]
    }

    /// The pod of the agent is deleted: its folder is empty in the next one.
    pub fn lose_folder(&self) {
        std::fs::remove_dir_all(&self.folder).unwrap();
    }

    /// Starts the agent, and kills it when its log has this many lines.
    pub async fn killed_after(&self, lines: usize) {
        let mut agent = self.agent(&[]);
        eventually("lines in the log of the agent", async || {
            when(agent.log().len(), |it| *it >= lines)
        })
        .await;
        agent.signal("KILL");
        agent.ended().await;
    }

    /// A file that the agent has written.
    pub fn file(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.folder.join(name)).unwrap()
    }

    /// The path of the ManagedCluster.
    pub fn cluster(&self) -> String {
        cluster_path(&self.name)
    }

    /// The CSRs of the agent.
    pub async fn csrs(&self) -> Vec<Value> {
        let path = format!(
            "{CSRS}?labelSelector=open-cluster-management.io%2Fcluster-name%3D{}",
            self.name
        );
        self.hub.get(&path).await.ok()["items"]
            .as_array()
            .unwrap()
            .clone()
    }

    /// Waits for a CSR of the agent that is not answered, and returns it.
    pub async fn pending(&self) -> Value {
        eventually("a pending CSR of the agent", async || {
            let mut csrs = self.csrs().await;
            csrs.retain(|it| it["status"]["conditions"].is_null());
            csrs.pop().ok_or("none")
        })
        .await
    }

    /// An admin of the hub decides about a CSR: `Approved` or `Denied`.
    pub async fn decide(&self, csr: &Value, type_: &str) {
        let path = format!("{CSRS}/{}", csr["metadata"]["name"].as_str().unwrap());
        let mut object = self.hub.get(&path).await.body;
        object["status"]["conditions"] =
            json!([{"type": type_, "status": "True", "reason": "Test", "message": "by the test"}]);
        let answer = self
            .hub
            .admin
            .put(&format!("{path}/approval"), &object)
            .await;
        assert_eq!(answer.unwrap().code, 200);
    }

    /// An admin of the hub accepts the cluster, or denies it.
    pub async fn accept(&self, is_accepted: bool) {
        let spec = json!({"spec": {"hubAcceptsClient": is_accepted}});
        self.hub.patch(&self.cluster(), spec).await;
    }

    /// Starts the agent, approves its CSR, accepts the cluster, and waits until it is managed.
    pub async fn joined(&self, flags: &[&str]) -> Agent {
        let mut agent = self.agent(flags);
        let csr = self.pending().await;
        self.decide(&csr, "Approved").await;
        self.accept(true).await;
        agent.is_managed().await;
        self.hub
            .condition(
                &self.name,
                crate::lifecycle::hub::AVAILABLE,
                "True",
                "ManagedClusterAvailable",
            )
            .await;
        agent
    }

    /// The hub wants the Lease renewed in this period, in seconds. The agent renews it at once.
    pub async fn lease_lasts(&self, seconds: u32) {
        let spec = json!({"spec": {"leaseDurationSeconds": seconds}});
        self.renews_after(self.hub.patch(&self.cluster(), spec))
            .await;
    }

    /// Waits for a renewal of the Lease that begins now.
    pub async fn renews(&self) {
        self.renews_after(async {}).await;
    }

    async fn renews_after<T>(&self, change: impl Future<Output = T>) {
        let time = |lease: &Value| lease["spec"]["renewTime"].clone();
        let path = lease_path(&self.name);
        let before = time(&self.hub.get(&path).await.body);
        change.await;
        let is_renewed = |it: &Value| time(it) != before;
        self.hub.once(&path, "renewed", is_renewed).await;
    }

    /// Someone writes these texts into the hub Secret, under these keys.
    pub async fn put_into_secret(&self, data: &[(&str, String)]) {
        let encode =
            |(key, text): &(&str, String)| ((*key).to_owned(), json!(STANDARD.encode(text)));
        let data: Value = Value::Object(data.iter().map(encode).collect());
        let path = self.secret("hub-kubeconfig-secret");
        let merged = self.managed.merge(&path, &json!({ "data": data })).await;
        assert_eq!(merged.unwrap().code, 200);
    }

    /// The exit code and the output of `berth agent status`.
    pub fn status(&self) -> (i32, String) {
        let kubeconfig = self.managed.kubeconfig.to_str().unwrap();
        let mut command = berth(&["agent", "status", "--kubeconfig", kubeconfig]);
        let output = command
            .args(["--namespace", &self.namespace])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code().unwrap(), text)
    }

    /// The path of a Secret of the agent.
    pub fn secret(&self, name: &str) -> String {
        format!("/api/v1/namespaces/{}/secrets/{name}", self.namespace)
    }

    /// The hub Secret.
    pub async fn hub_secret(&self) -> Value {
        let answer = self
            .managed
            .get(&self.secret("hub-kubeconfig-secret"))
            .await
            .unwrap();
        answer.ok().clone()
    }

    /// Waits until the managed cluster has this object, such that the condition is satisfied.
    pub async fn on_managed(&self, path: &str, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        berth_testkit::process::once(&self.managed, path, what, is).await
    }

    /// Waits for an Event of the agent with this reason, and returns its note.
    pub async fn event(&self, reason: &str) -> String {
        let path = format!(
            "/apis/events.k8s.io/v1/namespaces/{}/events",
            self.namespace
        );
        eventually(&format!("an Event {reason}"), async || {
            let events = self.managed.get(&path).await.unwrap();
            let events = events.ok()["items"].as_array().unwrap().clone();
            let found = events.iter().find(|it| it["reason"] == reason);
            found
                .map(|it| it["note"].as_str().unwrap().to_owned())
                .ok_or(events.len())
        })
        .await
    }

    /// The cluster on the hub, once it satisfies the condition.
    pub async fn reported(&self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        self.hub.once(&self.cluster(), what, is).await
    }

    /// The cluster on the hub, once the agent has reported its version and its claims, which it reads one after the other.
    pub async fn reports_all(&self) -> Value {
        let has = |it: &Value, field: &str| !it["status"][field].is_null();
        let has_all = |it: &Value| has(it, "version") && has(it, "clusterClaims");
        self.reported("a version and claims", has_all).await
    }

    /// The number of ManagedClusters with this agent's name: one or none.
    pub async fn exists(&self) -> bool {
        let list = self.hub.get(CLUSTERS).await;
        let items = list.ok()["items"].as_array().unwrap();
        items.iter().any(|it| it["metadata"]["name"] == *self.name)
    }

    /// Waits until a pending request is forgotten.
    pub async fn forgets(&self) {
        let path = self.secret("hub-kubeconfig-secret-pending");
        eventually("the end of the pending Secret", async || {
            when(self.managed.get(&path).await.unwrap(), |it| it.code == 404)
        })
        .await;
    }
}

/// The text under a key of a Secret.
pub fn text(secret: &Value, key: &str) -> String {
    let encoded = secret["data"][key].as_str().unwrap_or_default();
    String::from_utf8(STANDARD.decode(encoded).unwrap()).unwrap()
}

/// A certificate and its key, for this agent, by a CA that the hub does not know.
pub fn signed_by_another_hub(cluster: &str, agent: &str) -> [(&'static str, String); 2] {
    signed_by_another_hub_at(Timestamp::now(), cluster, agent)
}

/// The same, signed at this time. It is valid for an hour.
pub fn signed_by_another_hub_at(
    now: Timestamp,
    cluster: &str,
    agent: &str,
) -> [(&'static str, String); 2] {
    let hour = Duration::from_secs(3600);
    let key = ClientKey::generate().unwrap();
    let groups = groups_of(cluster);
    let wanted = Wanted {
        common_name: &user_of(cluster, agent),
        organizations: &groups.each_ref().map(String::as_str),
        ..Default::default()
    };
    let request = key.request(&wanted).unwrap();
    let authority = Authority::new("another hub", 2 * hour, now).unwrap();
    let csr = Csr::from_pem(request.as_bytes()).unwrap();
    let usages = [Usage::DigitalSignature, Usage::ClientAuth];
    let signed = authority.sign(&csr, &usages, hour, now).unwrap();
    [("tls.crt", signed), ("tls.key", key.to_pem())]
}
