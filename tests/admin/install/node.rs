//! A node of the hub's cluster, which runs gate and controller as their Deployments say: with their arguments and their accounts. The hub
//! for development runs no pods, and a kube-apiserver alone does not either.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use berth_devhub::Options;
use berth_testkit::cluster::janitor::Watched;
use berth_testkit::cluster::{Cluster, Person};
use berth_testkit::{Logged, berth, eventually, when};
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};

/// The Deployments' collection, but for its last word.
pub const HUB: &str = "/apis/apps/v1/namespaces/open-cluster-management-hub";

const CONTROLLER: &str = "berth-registration-controller";
const GATE: &str = "cluster-manager-registration-webhook";
const SPACE: &str = "open-cluster-management-hub";
/// The port of the gate's Service.
const PORT: u16 = 9443;

/// The node, and the cluster that it belongs to.
pub struct Node {
    pub cluster: Cluster,
    admin: Person,
    /// Where the Service of the gate leads.
    gate: SocketAddr,
    pods: Vec<(Logged, Watched)>,
    /// Held while the port of the Service is this node's.
    _alone: Option<MutexGuard<'static, ()>>,
}

impl Node {
    /// A cluster on which nothing is installed.
    pub async fn start() -> Self {
        // The name of the Service leads to this host, at the port of the Service.
        static PORT_IS_TAKEN: Mutex<()> = Mutex::const_new(());
        let alone = PORT_IS_TAKEN.lock().await;
        if let Some(cluster) = Cluster::start_kubernetes(&[]).await {
            let gate = (Ipv4Addr::LOCALHOST, PORT).into();
            return Self::of(cluster, gate, Some(alone)).await;
        }
        drop(alone);
        // A port that is free now. The gate takes it a moment later.
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let gate = free.local_addr().unwrap();
        drop(free);
        let services = [((SPACE.to_owned(), GATE.to_owned(), PORT), gate)].into();
        let options = Options {
            services,
            ..Options::default()
        };
        Self::of(Cluster::start_devhub(options).await, gate, None).await
    }

    async fn of(
        cluster: Cluster,
        gate: SocketAddr,
        alone: Option<MutexGuard<'static, ()>>,
    ) -> Self {
        Self {
            admin: cluster.admin().await,
            cluster,
            gate,
            pods: Vec::new(),
            _alone: alone,
        }
    }

    /// Waits for both Deployments, runs what they say, and reports their replicas as available once the processes serve.
    pub async fn runs_the_hub(&mut self) {
        self.runs(
            CONTROLLER,
            &["--listen", "127.0.0.1:auto", "--log-format", "json"],
        )
        .await;
        if self.cluster.is_real() {
            self.leads_here().await;
        }
        let port = self.gate.port().to_string();
        let serving = [
            "--bind-address",
            "127.0.0.1",
            "--port",
            &port,
            "--metrics-port",
            "auto",
            "--health-probe-port",
            "auto",
            "--log-format",
            "json",
        ];
        self.runs(GATE, &serving).await;
    }

    /// A kube-apiserver alone gives a Service an address that leads nowhere. It calls an ExternalName at the port of the webhook.
    async fn leads_here(&self) {
        let path = format!("/api/v1/namespaces/{SPACE}/services/{GATE}");
        let patch = json!({"spec": {
            "type": "ExternalName", "externalName": "localhost", "clusterIP": null, "clusterIPs": null,
        }});
        self.admin.merge(&path, &patch).await.unwrap().ok();
    }

    async fn runs(&mut self, name: &str, more: &[&str]) {
        let path = format!("{HUB}/deployments/{name}");
        let deployment = eventually("a Deployment", async || {
            when(self.admin.get(&path).await.unwrap(), |it| it.code == 200)
        })
        .await
        .body;
        let pod = &deployment["spec"]["template"]["spec"];
        let account = pod["serviceAccountName"].as_str().unwrap();
        let account = self.cluster.service_account(SPACE, account).await;
        let args = pod["containers"][0]["args"].as_array().unwrap();
        let args: Vec<&str> = args.iter().map(|it| it.as_str().unwrap()).collect();
        let mut command = berth(&args);
        command
            .args(["--kubeconfig", account.kubeconfig.to_str().unwrap()])
            .args(more);
        // It may wait for the certificate that the controller issues.
        let started = tokio::task::spawn_blocking(move || {
            let mut process = Logged::start(command);
            let watched = Watched::new(&process.child);
            process.logged(|line| line["message"] == "serving");
            (process, watched)
        });
        self.pods.push(started.await.unwrap());
        self.report(&path).await;
    }

    /// Reports all replicas of both Deployments as available.
    pub async fn reports(&self) {
        for name in [CONTROLLER, GATE] {
            self.report(&format!("{HUB}/deployments/{name}")).await;
        }
    }

    /// Does so once their images have this tag.
    pub async fn reports_until(&self, tag: &str) {
        for name in [CONTROLLER, GATE] {
            let path = format!("{HUB}/deployments/{name}");
            let has_tag = |deployment: &Value| {
                let image = &deployment["spec"]["template"]["spec"]["containers"][0]["image"];
                image.as_str().unwrap().ends_with(tag)
            };
            eventually("a new image", async || {
                let answer = self.admin.get(&path).await.unwrap();
                when(answer, |it| has_tag(&it.body))
            })
            .await;
            self.report(&path).await;
        }
    }

    async fn report(&self, path: &str) {
        let deployment = self.admin.get(path).await.unwrap().ok().clone();
        let count = &deployment["spec"]["replicas"];
        let status = json!({"status": {
            "observedGeneration": deployment["metadata"]["generation"], "replicas": count, "updatedReplicas": count,
            "readyReplicas": count, "availableReplicas": count,
        }});
        let path = format!("{path}/status");
        self.admin.merge(&path, &status).await.unwrap().ok();
    }
}
