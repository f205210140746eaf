//! A hub on which gate and controller run, each with the account that the manifests give it.

use std::ops::Deref;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::OnceCell;

use berth_manifests::files;
use berth_testkit::cluster::janitor::{self, Watched};
use berth_testkit::cluster::{
    CRDS, Cluster, Output, Person, Private, documents_of, rule, shipped_registrations,
    wait_until_in_force,
};
use berth_testkit::process::{Controller, once};
use berth_testkit::shipped;
use berth_testkit::transcript::{Stage, words};
use berth_testkit::{Gate, berth, where_to_serve};

pub const CLUSTERS: &str = "/apis/cluster.open-cluster-management.io/v1/managedclusters";
pub const SETS: &str = "/apis/cluster.open-cluster-management.io/v1beta2/managedclustersets";

/// A hub with Berth on it, and an admin.
pub struct House<C> {
    pub cluster: C,
    pub admin: Person,
}

/// A running gate, and a controller; both end with this process.
pub struct Berth {
    pub gate: Gate,
    _controller: Controller,
    _watched: Watched,
}

impl House<&'static Cluster> {
    /// The one that all tests of this process share. Each works with names of its own ([`berth_testkit::cluster::fresh`]).
    pub async fn shared() -> Self {
        static SHARED: OnceCell<Berth> = OnceCell::const_new();
        let cluster = Cluster::shared().await;
        // Without placement: what users see of a placement does not depend on when it is decided.
        let flags = &["--controllers=registration"];
        SHARED.get_or_init(|| Berth::install(cluster, flags)).await;
        Self {
            cluster,
            admin: cluster.admin().await,
        }
    }
}

impl House<Private> {
    /// One for this test alone, for as long as `Berth` is held, too.
    pub async fn private() -> (Self, Berth) {
        Self::private_with(&[]).await
    }

    /// As [`House::private`], with flags of the controller.
    pub async fn private_with(flags: &[&str]) -> (Self, Berth) {
        let cluster = Cluster::private().await;
        let berth = Berth::install(&cluster, flags).await;
        let admin = cluster.admin().await;
        (Self { cluster, admin }, berth)
    }
}

impl House<Private> {
    /// As [`House::private`], with the kinds of placements, so that the controllers decide placements and make works, too.
    pub async fn placing() -> (Self, Berth) {
        let cluster = Cluster::private().await;
        let crds = files::PLACEMENT_CRDS.map(|it| it.path);
        cluster.apply_manifests(&crds).await;
        let berth = Berth::install(&cluster, &[]).await;
        let admin = cluster.admin().await;
        (Self { cluster, admin }, berth)
    }
}

impl<C: Deref<Target = Cluster>> House<C> {
    /// Runs `berth` as the admin, with a line of arguments.
    pub async fn berth(&self, line: &str) -> Output {
        self.berth_as(&self.admin, line).await
    }

    /// Runs `berth` as somebody, with a line of arguments.
    pub async fn berth_as(&self, person: &Person, line: &str) -> Output {
        let words = words(line);
        let args: Vec<&str> = words.iter().map(String::as_str).collect();
        person.berth(&args).await
    }

    /// To play transcripts, as the admin.
    pub fn stage(&self) -> Stage<'_> {
        self.stage_of(&self.admin)
    }

    /// To play transcripts, as somebody.
    pub fn stage_of<'p>(&self, person: &'p Person) -> Stage<'p> {
        Stage::new(person, "default")
    }

    /// Somebody who may read everything, write clusters, sets and bindings, and of what is guarded no more than these
    /// rules say.
    pub async fn developer(&self, name: &str, rules: &[Value]) -> Person {
        let person = self.cluster.user(name, &["developers"]).await;
        let group = "cluster.open-cluster-management.io";
        let resources = [
            "managedclusters",
            "managedclustersets",
            "managedclustersetbindings",
        ];
        let all = [
            rule(&["*"], group, &resources, &[]),
            rule(
                &["get", "list"],
                "certificates.k8s.io",
                &["certificatesigningrequests"],
                &[],
            ),
        ];
        self.cluster.grant(&person, &[&all, rules].concat()).await;
        person
    }

    /// Makes a ManagedCluster that is not accepted, with these labels.
    pub async fn managed_cluster(&self, name: &str, labels: &[(&str, &str)]) {
        let labels: Value = labels
            .iter()
            .map(|(key, value)| (*key, json!(value)))
            .collect();
        let object = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1",
            "kind": "ManagedCluster",
            "metadata": {"name": name, "labels": labels},
        });
        let answer = self.admin.post(CLUSTERS, &object).await.unwrap();
        assert_eq!(answer.code, 201, "{answer:?}");
    }

    /// An object, once it is as it should be.
    pub async fn once(&self, path: &str, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        once(&self.admin, path, what, is).await
    }
}

impl Berth {
    /// Installs Berth on a hub, runs it, registers its webhooks, and returns when they are in force, and the lifecycle works. `flags`: of the
    /// controller.
    async fn install(cluster: &Cluster, flags: &[&str]) -> Self {
        cluster.apply_manifests(&CRDS).await;
        let works = files::WORK_CRDS.map(|it| it.path);
        cluster.apply_manifests(&works).await;
        shipped::install(cluster).await;
        let account = shipped::gate(cluster).await;
        let certs = TempDir::new().unwrap();
        janitor::remove_at_the_end(certs.path());
        let mut command = berth(&["webhook-server", "--self-signed"]);
        command
            .args(["--kubeconfig", account.kubeconfig.to_str().unwrap()])
            .args(where_to_serve(certs.path()));
        let mut gate = Gate::run(command, certs);
        let _watched = Watched::new(&gate.child);
        gate.logged(|line| line["message"] == "ready: questions are answered");
        let this = Self {
            gate,
            _controller: Controller::start(cluster, flags).await,
            _watched,
        };
        cluster.apply(&this.registrations()).await;
        wait_until_in_force(cluster).await;
        let admin = cluster.admin().await;
        for set in ["default", "global"] {
            once(&admin, &format!("{SETS}/{set}"), "made", |_| true).await;
        }
        this
    }

    /// The registrations of the manifests, for a gate that is no Service but at an address.
    pub fn registrations(&self) -> Vec<Value> {
        let ca = std::fs::read(self.gate.certs.path().join("ca.crt")).unwrap();
        let url = format!("https://127.0.0.1:{}", self.gate.port);
        let mut registrations: Vec<_> = shipped_registrations().flat_map(documents_of).collect();
        for registration in &mut registrations {
            for webhook in registration["webhooks"].as_array_mut().unwrap() {
                let config = &mut webhook["clientConfig"];
                let path = config["service"]["path"].as_str().unwrap().to_owned();
                *config = json!({"url": format!("{url}{path}"), "caBundle": STANDARD.encode(&ca)});
            }
        }
        registrations
    }
}
