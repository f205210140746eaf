//! `berth operator klusterlet`, the built binary, on a managed cluster: a Klusterlet, its hub, and a node that runs what its Deployment says.
//!
//! The operator has the rights of `manifests/operator/klusterlet`, and no others.

mod connecting;
mod hosted;
mod installing;
mod interrupted;
mod removing;

use std::path::PathBuf;

use base64::prelude::{BASE64_STANDARD, Engine};
use berth_testkit::cluster::{fresh, rule};
use tempfile::TempDir;

use super::*;
use crate::lifecycle::hub::{CSRS, HubWithReconcilers, cluster_path};

/// The path of all Klusterlets.
const KLUSTERLETS: &str = "/apis/operator.open-cluster-management.io/v1/klusterlets";
/// The path of the Klusterlet of the tests.
const KLUSTERLET: &str = "/apis/operator.open-cluster-management.io/v1/klusterlets/klusterlet";
/// The namespace of its agent.
const SPACE: &str = "/api/v1/namespaces/open-cluster-management-agent";
/// Its Deployment.
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/open-cluster-management-agent/deployments/klusterlet-registration-agent";

/// A managed cluster with the manifests of the operator, and a hub.
struct World {
    cluster: Cluster,
    admin: Person,
    hub: HubWithReconcilers<&'static Cluster>,
    /// The name of the cluster on the hub.
    name: String,
    files: TempDir,
}

// === impl World ===

impl World {
    async fn new() -> Self {
        let cluster = Cluster::start().await;
        let manifests = [
            files::CRD_KLUSTERLETS,
            files::KLUSTERLET_OPERATOR_NAMESPACE,
            files::KLUSTERLET_OPERATOR_ACCOUNT,
            files::KLUSTERLET_OPERATOR_ROLE,
        ];
        cluster.apply_manifests(&manifests.map(|it| it.path)).await;
        let admin = cluster.admin().await;
        once(&admin, KLUSTERLETS, "the CRD is served", |_| true).await;
        let space = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "open-cluster-management-agent"},
        });
        admin.post("/api/v1/namespaces", &space).await.unwrap().ok();
        Self {
            cluster,
            admin,
            hub: HubWithReconcilers::shared().await,
            name: fresh("klusterlet"),
            files: TempDir::new().unwrap(),
        }
    }

    async fn command(&self) -> Command {
        let account =
            (self.cluster).service_account("open-cluster-management", "berth-klusterlet-operator");
        let kubeconfig = account.await.kubeconfig;
        let mut command = berth(&["operator", "klusterlet", "--image", IMAGE]);
        command
            .args(["--kubeconfig", kubeconfig.to_str().unwrap()])
            .args(["--namespace", "open-cluster-management"])
            .args(["--listen", "127.0.0.1:auto", "--log-format", "json"])
            // One that is started again takes the Lease over at once, as a container of the same pod.
            .env("POD_UID", "operator");
        command
    }

    async fn operator(&self) -> Operator {
        Operator::run(self.command().await)
    }

    /// Creates a Klusterlet.
    async fn create(&self, name: &str, spec: Value) {
        let klusterlet = json!({
            "apiVersion": "operator.open-cluster-management.io/v1", "kind": "Klusterlet",
            "metadata": {"name": name}, "spec": spec,
        });
        let answer = self.admin.post(KLUSTERLETS, &klusterlet).await;
        answer.unwrap().ok();
    }

    async fn said(&self, condition: (&str, &str, &str)) -> String {
        said_by(&self.admin, KLUSTERLET, condition).await
    }

    /// The kubeconfig of a user of the hub who may do this with these resources.
    async fn user(&self, verbs: &[&str]) -> PathBuf {
        let user = self.hub.cluster.user(&fresh("bootstrap"), &[]).await;
        let rules = [
            ("certificates.k8s.io", "certificatesigningrequests"),
            ("cluster.open-cluster-management.io", "managedclusters"),
        ];
        let rules = rules.map(|(group, resource)| rule(verbs, group, &[resource], &[]));
        self.hub.cluster.grant(&user, &rules).await;
        user.kubeconfig
    }

    /// Puts a bootstrap kubeconfig into its Secret.
    async fn bootstraps(&self, kubeconfig: &[u8]) {
        self.keeps(SPACE, "bootstrap-hub-kubeconfig", kubeconfig)
            .await;
    }

    /// Puts a kubeconfig into a Secret of a namespace.
    async fn keeps(&self, space: &str, name: &str, kubeconfig: &[u8]) {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
            "data": {"kubeconfig": BASE64_STANDARD.encode(kubeconfig)},
        });
        let path = format!("{space}/secrets");
        let path_of_it = format!("{path}/{name}");
        if self.admin.get(&path_of_it).await.unwrap().code == 404 {
            self.admin.post(&path, &secret).await.unwrap().ok();
        } else {
            let data = json!({"data": secret["data"]});
            self.admin.merge(&path_of_it, &data).await.unwrap().ok();
        }
    }

    /// A value of a Secret.
    async fn kept(&self, space: &str, name: &str, key: &str) -> Vec<u8> {
        let secret = self.admin.get(&format!("{space}/secrets/{name}")).await;
        let secret = secret.unwrap();
        let value = secret.ok()["data"][key].as_str().unwrap();
        BASE64_STANDARD.decode(value).unwrap()
    }

    /// Runs the agent as its Deployment says.
    async fn agent(&self) -> Operator {
        self.runs(DEPLOYMENT, "open-cluster-management-agent", &[])
            .await
    }

    /// Runs the agent of a Deployment. `more`: arguments after its own.
    async fn runs(&self, deployment: &str, namespace: &str, more: &[&str]) -> Operator {
        let object = once(&self.admin, deployment, "it is there", |_| true).await;
        let pod = &object["spec"]["template"]["spec"];
        let account = pod["serviceAccountName"].as_str().unwrap();
        let account = self.cluster.service_account(namespace, account).await;
        let args = pod["containers"][0]["args"].as_array().unwrap();
        let args: Vec<&str> = args.iter().map(|it| it.as_str().unwrap()).collect();
        // What the Deployment mounts.
        let space = format!("/api/v1/namespaces/{namespace}");
        let kubeconfig = self
            .kept(&space, "bootstrap-hub-kubeconfig", "kubeconfig")
            .await;
        let bootstrap = self.files.path().join("bootstrap");
        std::fs::write(&bootstrap, kubeconfig).unwrap();
        let folder = self.files.path().join("hub-kubeconfig");
        let mut command = berth(&args);
        command
            .args(["--kubeconfig", account.kubeconfig.to_str().unwrap()])
            .args(["--bootstrap-kubeconfig", bootstrap.to_str().unwrap()])
            .args(["--hub-kubeconfig-dir", folder.to_str().unwrap()])
            .args(["--namespace", namespace])
            .args(["--listen", "127.0.0.1:auto", "--log-format", "json"])
            .args(more)
            // As in a pod, whose file system is read-only.
            .env("TMPDIR", "/nonexistent");
        let agent = Operator::run(command);
        self.reports(deployment).await;
        agent
    }

    /// Reports that a Deployment runs.
    async fn reports(&self, path: &str) {
        let deployment = once(&self.admin, path, "it is there", |_| true).await;
        let count = &deployment["spec"]["replicas"];
        let status = json!({"status": {
            "observedGeneration": deployment["metadata"]["generation"], "replicas": count, "updatedReplicas": count,
            "readyReplicas": count, "availableReplicas": count,
        }});
        let path = format!("{path}/status");
        self.admin.merge(&path, &status).await.unwrap().ok();
    }

    /// The hub approves the request of the agent, and accepts the cluster.
    async fn accepts(&self) {
        let label = "open-cluster-management.io%2Fcluster-name";
        let path = format!("{CSRS}?labelSelector={label}%3D{}", self.name);
        let list = once(&self.hub.admin, &path, "a request", |it| {
            !it["items"].as_array().unwrap().is_empty()
        })
        .await;
        let name = list["items"][0]["metadata"]["name"].as_str().unwrap();
        let path = format!("{CSRS}/{name}");
        let mut request = self.hub.admin.get(&path).await.unwrap().ok().clone();
        request["status"]["conditions"] = json!([{"type": "Approved", "status": "True", "reason": "Test", "message": "by the test"}]);
        let approval = format!("{path}/approval");
        let answer = self.hub.admin.put(&approval, &request).await;
        answer.unwrap().ok();
        let accepted = json!({"spec": {"hubAcceptsClient": true}});
        let cluster = cluster_path(&self.name);
        let answer = self.hub.admin.merge(&cluster, &accepted).await;
        answer.unwrap().ok();
    }

    /// A Klusterlet whose agent the hub has accepted.
    async fn joined(&self) -> (Operator, Operator) {
        let user = self.user(&["get", "list", "watch", "create"]).await;
        self.bootstraps(&std::fs::read(user).unwrap()).await;
        let operator = self.operator().await;
        self.create("klusterlet", json!({"clusterName": self.name}))
            .await;
        let agent = self.agent().await;
        self.accepts().await;
        self.said(("HubConnectionDegraded", "False", "HubConnectionFunctional"))
            .await;
        self.said(("Available", "True", "KlusterletAvailable"))
            .await;
        (operator, agent)
    }
}
