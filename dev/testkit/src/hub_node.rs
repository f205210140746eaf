//! A node of the hub's cluster, which runs gate and controller as their Deployments say: with their arguments and their accounts. The hub
//! for development runs no pods, and a kube-apiserver alone does not either.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine};
use berth_devhub::Options;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::{Mutex, MutexGuard};

use crate::balancer::Balancer;
use crate::cluster::janitor::{self, Watched};
use crate::cluster::{Cluster, Person};
use crate::program::command;
use crate::{Gate, Logged, eventually, program, when};

/// The Deployments' collection, but for its last word.
pub const HUB: &str = "/apis/apps/v1/namespaces/open-cluster-management-hub";

/// The Deployment of the controller.
pub const CONTROLLER: &str = "berth-registration-controller";
/// The Deployment of the gate.
pub const GATE: &str = "cluster-manager-registration-webhook";
const SPACE: &str = "open-cluster-management-hub";
/// The port of the gate's Service.
const PORT: u16 = 9443;

/// The node, and the cluster that it belongs to.
pub struct HubNode {
    /// The cluster.
    pub cluster: Cluster,
    /// An admin of the cluster.
    pub admin: Person,
    /// Where the Service of the gate leads.
    gate: SocketAddr,
    /// All replicas of the gate, behind the address above. Without it the gate has one, at that address.
    balancer: Option<Balancer>,
    /// The programs of images with these ends, for images that are not of the present build.
    programs: Vec<(String, PathBuf)>,
    /// The Deployment of the controller.
    controller: &'static str,
    deployments: BTreeMap<&'static str, Running>,
    /// Pods that were told to end.
    leaving: Vec<Pod>,
    /// Held while the port of the Service is this node's.
    _alone: Option<MutexGuard<'static, ()>>,
}

/// The pods of a Deployment, and the template that they were made from.
struct Running {
    template: Value,
    pods: Vec<Pod>,
}

struct Pod {
    process: Logged,
    _watched: Watched,
}

impl HubNode {
    /// A cluster on which nothing is installed.
    pub async fn start() -> Self {
        if let Some(alone) = takes_the_port().await {
            let gate = (Ipv4Addr::LOCALHOST, PORT).into();
            let cluster = Cluster::start_kubernetes(&[]).await.unwrap();
            return Self::of(cluster, gate, None, Some(alone)).await;
        }
        // A port that is free now. The gate takes it a moment later.
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let gate = free.local_addr().unwrap();
        drop(free);
        Self::on_devhub(gate, None).await
    }

    /// As [`start`](Self::start), with as many replicas as the Deployments say, and a Service that learns late of their readiness.
    /// The images with these ends are run by these programs.
    pub async fn with_replicas(late: Duration, programs: Vec<(String, PathBuf)>) -> Self {
        let alone = takes_the_port().await;
        let port = if alone.is_some() { PORT } else { 0 };
        let balancer = Balancer::start_at(port, late).await;
        let gate = (Ipv4Addr::LOCALHOST, balancer.port).into();
        let node = match alone {
            Some(alone) => {
                let cluster = Cluster::start_kubernetes(&[]).await.unwrap();
                Self::of(cluster, gate, Some(balancer), Some(alone)).await
            }
            None => Self::on_devhub(gate, Some(balancer)).await,
        };
        Self { programs, ..node }
    }

    /// A node whose Deployment of the controller has the name that an operator gives it, for a ClusterManager named cluster-manager.
    #[must_use]
    pub fn of_operator(self) -> Self {
        let controller = "cluster-manager-registration-controller";
        Self { controller, ..self }
    }

    async fn on_devhub(gate: SocketAddr, balancer: Option<Balancer>) -> Self {
        let services = [((SPACE.to_owned(), GATE.to_owned(), PORT), gate)].into();
        let options = Options {
            services,
            ..Options::default()
        };
        Self::of(Cluster::start_devhub(options).await, gate, balancer, None).await
    }

    async fn of(
        cluster: Cluster,
        gate: SocketAddr,
        balancer: Option<Balancer>,
        alone: Option<MutexGuard<'static, ()>>,
    ) -> Self {
        Self {
            admin: cluster.admin().await,
            cluster,
            gate,
            balancer,
            programs: Vec::new(),
            controller: CONTROLLER,
            deployments: BTreeMap::new(),
            leaving: Vec::new(),
            _alone: alone,
        }
    }

    /// The port of the gate.
    pub fn port(&self) -> u16 {
        self.gate.port()
    }

    /// Waits for both Deployments, runs what they say, and reports their replicas as available once the processes serve.
    pub async fn runs_the_hub(&mut self) {
        self.runs(self.controller).await;
        if self.cluster.is_real() {
            self.leads_here().await;
        }
        self.runs(GATE).await;
    }

    /// A kube-apiserver alone gives a Service an address that leads nowhere. It calls an ExternalName at the port of the webhook.
    async fn leads_here(&self) {
        let path = format!("/api/v1/namespaces/{SPACE}/services/{GATE}");
        let patch = json!({"spec": {
            "type": "ExternalName", "externalName": "localhost", "clusterIP": null, "clusterIPs": null,
        }});
        self.admin.merge(&path, &patch).await.unwrap().ok();
    }

    /// Replaces the pods of both Deployments, one by one, whenever their templates change, until the future ends and all that it changed
    /// is replaced.
    pub async fn rolls_while<T>(&mut self, change: impl Future<Output = T>) -> T {
        let (ended, mut end) = tokio::sync::oneshot::channel();
        let change = async {
            let result = change.await;
            let _ = ended.send(());
            result
        };
        let rolling = async {
            let mut is_last = false;
            loop {
                self.rolls(self.controller).await;
                self.rolls(GATE).await;
                if is_last {
                    break;
                }
                let pause = Duration::from_millis(100);
                is_last = tokio::time::timeout(pause, &mut end).await.is_ok();
            }
        };
        tokio::join!(change, rolling).0
    }

    /// Waits until all pods that were replaced have ended, as they should.
    pub async fn replaced_have_ended(&mut self) {
        for mut pod in self.leaving.drain(..) {
            assert_eq!(pod.process.ended().await.code(), Some(0));
        }
    }

    async fn rolls(&mut self, name: &'static str) {
        let deployment = self.deployment(name).await;
        let template = &deployment["spec"]["template"];
        let running = self.deployments.get(name);
        if running.is_none_or(|it| it.template == *template) {
            return;
        }
        let count = running.map_or(0, |it| it.pods.len());
        for _ in 0..count {
            let pod = self.pod(name, template).await;
            let running = self.deployments.get_mut(name).unwrap();
            running.pods.push(pod);
            let old = running.pods.remove(0);
            old.process.signal("TERM");
            self.leaving.push(old);
        }
        self.deployments.get_mut(name).unwrap().template = template.clone();
        self.report(name).await;
    }

    async fn runs(&mut self, name: &'static str) {
        let deployment = self.deployment(name).await;
        let template = deployment["spec"]["template"].clone();
        let count = match self.balancer {
            Some(_) => deployment["spec"]["replicas"].as_u64().unwrap(),
            None => 1,
        };
        let mut pods = Vec::new();
        for _ in 0..count {
            pods.push(self.pod(name, &template).await);
        }
        // Of the pods of both Deployments, only those of the gate are behind it.
        if name == GATE
            && let Some(balancer) = &self.balancer
        {
            balancer.knows(pods.len()).await;
        }
        let running = Running { template, pods };
        self.deployments.insert(name, running);
        self.report(name).await;
    }

    async fn deployment(&self, name: &str) -> Value {
        let path = path(name);
        let answer = eventually("a Deployment", async || {
            when(self.admin.get(&path).await.unwrap(), |it| it.code == 200)
        });
        answer.await.body
    }

    /// Starts a pod, and waits until it serves.
    async fn pod(&self, name: &str, template: &Value) -> Pod {
        let pod = &template["spec"];
        let account = pod["serviceAccountName"].as_str().unwrap();
        let account = self.cluster.service_account(SPACE, account).await;
        let args = pod["containers"][0]["args"].as_array().unwrap();
        let args: Vec<&str> = args.iter().map(|it| it.as_str().unwrap()).collect();
        let image = pod["containers"][0]["image"].as_str().unwrap();
        let mut programs = self.programs.iter();
        let named = programs.find(|(end, _)| image.ends_with(end));
        let mut command = command(named.map_or(program(), |(_, path)| path), &args);
        command
            .args(["--kubeconfig", account.kubeconfig.to_str().unwrap()])
            .args(["--log-format", "json"]);
        let certs = TempDir::new().unwrap();
        janitor::remove_at_the_end(certs.path());
        if let Some(secret) = pod["volumes"][0]["secret"]["secretName"].as_str() {
            self.mounts(secret, certs.path()).await;
            command.args(["--certdir", certs.path().to_str().unwrap()]);
        }
        if name == self.controller {
            command.args(["--listen", "127.0.0.1:auto"]);
            return started(move || Logged::start(command)).await;
        }
        let port = match self.balancer {
            Some(_) => "auto".to_owned(),
            None => self.gate.port().to_string(),
        };
        command
            .args(["--bind-address", "127.0.0.1", "--port", &port])
            .args(["--metrics-port", "auto", "--health-probe-port", "auto"]);
        let Some(balancer) = &self.balancer else {
            // The gate reads a folder again when it changes.
            let _kept = certs.keep();
            return started(move || Logged::start(command)).await;
        };
        // It may wait for the certificate that the controller issues.
        let gate = tokio::task::spawn_blocking(move || {
            let mut gate = Gate::run(command, certs);
            gate.logged(|line| line["message"] == "ready: questions are answered");
            gate
        });
        let gate = gate.await.unwrap();
        balancer.add(&gate);
        let process = gate.process;
        Pod {
            _watched: Watched::new(&process.child),
            process,
        }
    }

    /// Writes what a Secret has into a folder, once it exists.
    async fn mounts(&self, secret: &str, folder: &Path) {
        let path = format!("/api/v1/namespaces/{SPACE}/secrets/{secret}");
        let answer = eventually("a Secret", async || {
            when(self.admin.get(&path).await.unwrap(), |it| it.code == 200)
        });
        let answer = answer.await;
        for (name, value) in answer.body["data"].as_object().unwrap() {
            let value = BASE64_STANDARD.decode(value.as_str().unwrap()).unwrap();
            std::fs::write(folder.join(name), value).unwrap();
        }
    }

    /// Reports all replicas of both Deployments as available.
    pub async fn reports(&self) {
        for name in [self.controller, GATE] {
            self.report(name).await;
        }
    }

    /// Does so once their images have this tag.
    pub async fn reports_until(&self, tag: &str) {
        for name in [self.controller, GATE] {
            let has_tag = |deployment: &Value| {
                let image = &deployment["spec"]["template"]["spec"]["containers"][0]["image"];
                image.as_str().unwrap().ends_with(tag)
            };
            eventually("a new image", async || {
                let answer = self.admin.get(&path(name)).await.unwrap();
                when(answer, |it| has_tag(&it.body))
            })
            .await;
            self.report(name).await;
        }
    }

    async fn report(&self, name: &str) {
        let path = path(name);
        let deployment = self.admin.get(&path).await.unwrap().ok().clone();
        let count = &deployment["spec"]["replicas"];
        let status = json!({"status": {
            "observedGeneration": deployment["metadata"]["generation"], "replicas": count, "updatedReplicas": count,
            "readyReplicas": count, "availableReplicas": count,
        }});
        let path = format!("{path}/status");
        self.admin.merge(&path, &status).await.unwrap().ok();
    }
}

/// On a real hub, waits until no other node of this process has the port of the Service: its name leads to this host there.
async fn takes_the_port() -> Option<MutexGuard<'static, ()>> {
    static PORT_IS_TAKEN: Mutex<()> = Mutex::const_new(());
    if !Cluster::is_real_asked_for() {
        return None;
    }
    Some(PORT_IS_TAKEN.lock().await)
}

fn path(name: &str) -> String {
    format!("{HUB}/deployments/{name}")
}

/// Waits until the process serves. It may wait for the certificate that the controller issues.
async fn started(start: impl FnOnce() -> Logged + Send + 'static) -> Pod {
    let started = tokio::task::spawn_blocking(move || {
        let mut process = start();
        let watched = Watched::new(&process.child);
        process.logged(|line| line["message"] == "serving");
        Pod {
            process,
            _watched: watched,
        }
    });
    started.await.unwrap()
}
