//! A hub whose API server calls a gate, as the manifests register it.

use std::net::Ipv4Addr;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_manifests::{Manifest, is_converted, serve_what_is_stored};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::OnceCell;

use crate::cluster::janitor::{self, Watched};
use crate::cluster::{
    CRDS, Cluster, Person, Private, documents_of, path_of, rule, shipped_registrations,
    wait_until_in_force,
};
use crate::objects::{CLUSTER_GROUP, REGISTER_GROUP, WORK_GROUP, set, stored_before_the_gate};
use crate::{Gate, Logged, berth, where_to_serve};

/// This host, by an address that API servers do not treat as loopback. They speak HTTP/2 with a webhook at a loopback address,
/// all calls on one connection, and HTTP/1.1 with all others, Services included.
pub const AS_FROM_AFAR: Ipv4Addr = Ipv4Addr::UNSPECIFIED;

/// A hub, and its gate.
pub struct Guarded<C> {
    /// The hub.
    pub cluster: C,
    /// Its gate.
    pub gate: RunningGate,
}

/// A gate that ends with this process, however this process ends.
pub struct RunningGate {
    gate: Gate,
    _watched: Watched,
}

impl Guarded<&'static Cluster> {
    /// The hub that all tests of this process share, with one gate.
    pub async fn shared() -> &'static Self {
        static SHARED: OnceCell<Guarded<&'static Cluster>> = OnceCell::const_new();
        SHARED
            .get_or_init(async || {
                let cluster = Cluster::shared().await;
                install(cluster).await;
                let placements = berth_manifests::files::CRD_PLACEMENTS.path;
                let [works, replica_sets] = berth_manifests::files::WORK_CRDS;
                let crds = [placements, works.path, replica_sets.path];
                cluster.apply_manifests(&crds).await;
                cluster.apply(&addon_crds()).await;
                cluster.apply(&stored_before_the_gate()).await;
                let gate = RunningGate::start(cluster, &[]).await;
                register(cluster, &gate.url(), &gate.ca_pem()).await;
                Self { cluster, gate }
            })
            .await
    }
}

impl Guarded<Private> {
    /// A hub for this test alone, and a gate with these flags.
    pub async fn private(flags: &[&str]) -> Self {
        let cluster = Cluster::private().await;
        install(&cluster).await;
        let gate = RunningGate::start(&cluster, flags).await;
        register(&cluster, &gate.url(), &gate.ca_pem()).await;
        Self { cluster, gate }
    }
}

impl<C: Deref<Target = Cluster>> Guarded<C> {
    /// A user who may write clusters, sets and bindings, with only these rights of those that the gate checks.
    pub async fn developer(&self, name: &str, rules: &[Value]) -> Person {
        developer(&self.cluster, name, rules).await
    }

    /// Grants a user to write clusters, sets and bindings, with only these rights of those that the gate checks.
    pub async fn may_write(&self, person: &Person, rules: &[Value]) {
        may_write(&self.cluster, person, rules).await;
    }
}

impl RunningGate {
    /// A gate with a self-signed certificate.
    pub async fn start(cluster: &Cluster, flags: &[&str]) -> Self {
        let kubeconfig = gates_kubeconfig(cluster).await;
        let certs = TempDir::new().unwrap();
        let flags = [&["--self-signed"], flags].concat();
        Self::run(&kubeconfig, certs, &flags)
    }

    /// A gate that asks the hub of a kubeconfig, with the certificate of this folder.
    pub fn run(kubeconfig: &Path, certs: TempDir, flags: &[&str]) -> Self {
        Self::run_on("auto", kubeconfig, certs, flags)
    }

    /// As [`run`](Self::run), on this port.
    pub fn run_on(port: &str, kubeconfig: &Path, certs: TempDir, flags: &[&str]) -> Self {
        janitor::remove_at_the_end(certs.path());
        let mut serving = where_to_serve(certs.path());
        let at = serving.iter().position(|flag| *flag == "--port").unwrap();
        serving[at + 1] = port;
        let mut command = berth(&["webhook-server"]);
        command
            .args(["--kubeconfig", kubeconfig.to_str().unwrap()])
            .args(serving)
            .args(flags);
        let mut gate = Gate::run(command, certs);
        let _watched = Watched::new(&gate.child);
        gate.logged(|line| line["message"] == "ready: questions are answered");
        Self { gate, _watched }
    }

    /// Kills it, and returns the folder of its certificates.
    pub fn kill(mut self) -> TempDir {
        let elsewhere = TempDir::new().unwrap();
        std::mem::replace(&mut self.gate.certs, elsewhere)
    }

    /// Waits until it has ended.
    pub async fn ended(&mut self) -> ExitStatus {
        self.gate.ended().await
    }

    /// The number of reviews that it has answered.
    pub async fn answered(&self) -> u64 {
        let metrics = self.gate.metrics().await;
        let counts = metrics
            .lines()
            .filter(|line| line.starts_with("controller_runtime_webhook_requests_total{"))
            .map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap());
        counts.sum()
    }

    /// The URL of the webhooks.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.gate.port)
    }

    /// The authority of its certificate, PEM.
    pub fn ca_pem(&self) -> String {
        std::fs::read_to_string(self.gate.certs.path().join("ca.crt")).unwrap()
    }
}

impl Deref for RunningGate {
    type Target = Gate;

    fn deref(&self) -> &Gate {
        &self.gate
    }
}

/// Starts a gate that serves the certificate of the Secret, and waits until it serves.
pub fn managed_gate(kubeconfig: &Path, flags: &[&str]) -> RunningGate {
    let certs = TempDir::new().unwrap();
    janitor::remove_at_the_end(certs.path());
    let mut gate = Gate::run(managed("webhook-server", kubeconfig, flags), certs);
    let _watched = Watched::new(&gate.child);
    gate.logged(|line| line["message"] == "ready: questions are answered");
    RunningGate { gate, _watched }
}

/// The process of such a gate, before it serves.
pub fn managed_process(kubeconfig: &Path, flags: &[&str]) -> Logged {
    Logged::start(managed("webhook-server", kubeconfig, flags))
}

/// Starts `berth hub`, which issues the certificate that it serves, and waits until it serves.
pub fn managed_hub(kubeconfig: &Path) -> RunningGate {
    let certs = TempDir::new().unwrap();
    janitor::remove_at_the_end(certs.path());
    let names = format!("--certificate-names={AS_FROM_AFAR}");
    let flags = ["--listen=127.0.0.1:auto", &names];
    let mut gate = Gate::run(managed("hub", kubeconfig, &flags), certs);
    let _watched = Watched::new(&gate.child);
    gate.logged(|line| line["message"] == "ready: questions are answered");
    RunningGate { gate, _watched }
}

fn managed(what: &str, kubeconfig: &Path, flags: &[&str]) -> Command {
    let mut command = berth(&[what, "--certificate-source=secret"]);
    let mut serving = where_to_serve(Path::new("nowhere"));
    let at = serving
        .iter()
        .position(|flag| *flag == "--certdir")
        .unwrap();
    serving.drain(at..at + 2);
    if flags.contains(&"--health-probe-port") {
        let at = serving
            .iter()
            .position(|flag| *flag == "--health-probe-port")
            .unwrap();
        serving.drain(at..at + 2);
    }
    if !flags
        .iter()
        .any(|flag| flag.starts_with("--shutdown-delay"))
    {
        command.arg("--shutdown-delay=1s");
    }
    command
        .args(["--kubeconfig", kubeconfig.to_str().unwrap()])
        .args(serving)
        .args(flags);
    command
}

/// The CRDs of add-ons. No webhook converts them, so only the version that is stored is served.
fn addon_crds() -> Vec<Value> {
    let all = berth_manifests::files::ADDON_CRDS;
    let mut all: Vec<_> = all.iter().flat_map(Manifest::documents).collect();
    for definition in all.iter_mut().filter(|it| is_converted(it)) {
        serve_what_is_stored(definition);
    }
    all
}

/// See [`Guarded::developer`].
pub async fn developer(cluster: &Cluster, name: &str, rules: &[Value]) -> Person {
    let person = cluster.user(name, &["developers"]).await;
    may_write(cluster, &person, rules).await;
    person
}

async fn may_write(cluster: &Cluster, person: &Person, rules: &[Value]) {
    let rules = [&[may_write_all()], rules].concat();
    cluster.grant(person, &rules).await;
}

/// Applies the CRDs, the accounts and their rights, and the set `default`.
pub async fn install(cluster: &Cluster) {
    cluster.apply_manifests(&CRDS).await;
    crate::shipped::install(cluster).await;
    // A gate that has ended may still be registered with a private hub, and would fail the write of the set.
    let set = set("default");
    let admin = cluster.admin().await;
    if admin.get(&path_of(&set)).await.unwrap().code == 404 {
        cluster.apply(&[set]).await;
    }
}

/// The kubeconfig of the gate: its service account's, with a token.
pub async fn gates_kubeconfig(cluster: &Cluster) -> PathBuf {
    gates_account(cluster).await.kubeconfig
}

/// The service account that the gate runs as.
pub async fn gates_account(cluster: &Cluster) -> Person {
    crate::shipped::gate(cluster).await
}

/// Applies the registrations, for a gate at this URL, and returns when they are in force.
pub async fn register(cluster: &Cluster, url: &str, ca_pem: &str) {
    cluster.apply(&registrations(url, ca_pem)).await;
    wait_until_in_force(cluster).await;
}

/// The registrations of the manifests, with this URL instead of the Service.
fn registrations(url: &str, ca_pem: &str) -> Vec<Value> {
    registrations_with(|client_config| {
        let path = client_config["service"]["path"].as_str().unwrap();
        *client_config =
            json!({ "url": format!("{url}{path}"), "caBundle": STANDARD.encode(ca_pem) });
    })
}

/// The registrations of the manifests with other clientConfigs.
pub fn registrations_with(change: impl Fn(&mut Value)) -> Vec<Value> {
    let files = shipped_registrations();
    let mut registrations: Vec<_> = files.flat_map(documents_of).collect();
    for registration in &mut registrations {
        for webhook in registration["webhooks"].as_array_mut().unwrap() {
            change(&mut webhook["clientConfig"]);
        }
    }
    registrations
}

/// All verbs on the gate's kinds that the gate does not check.
fn may_write_all() -> Value {
    let resources = [
        "managedclusters",
        "managedclusters/status",
        "managedclustersets",
        "managedclustersetbindings",
    ];
    rule(&["*"], CLUSTER_GROUP, &resources, &[])
}

/// The right to accept a cluster, and to deny it.
pub fn may_accept(cluster: &str) -> Value {
    rule(
        &["update"],
        REGISTER_GROUP,
        &["managedclusters/accept"],
        &[cluster],
    )
}

/// The right to put clusters into a set, and to take them out.
pub fn may_join(set: &str) -> Value {
    rule(
        &["create"],
        CLUSTER_GROUP,
        &["managedclustersets/join"],
        &[set],
    )
}

/// The right to put clusters into any set, and to widen a selector.
pub fn may_join_all() -> Value {
    let join = ["managedclustersets/join"];
    rule(&["create"], CLUSTER_GROUP, &join, &[])
}

/// The right to let ManifestWorks write with the identity of this service account.
pub fn may_execute_as(namespace: &str, name: &str) -> Value {
    let user = format!("system:serviceaccount:{namespace}:{name}");
    rule(&["execute-as"], WORK_GROUP, &["manifestworks"], &[&user])
}

/// The right to bind a set to namespaces.
pub fn may_bind(set: &str) -> Value {
    rule(
        &["create"],
        CLUSTER_GROUP,
        &["managedclustersets/bind"],
        &[set],
    )
}
