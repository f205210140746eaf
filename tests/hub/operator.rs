//! `berth operator hub`, the built binary, on a hub: a ClusterManager, and a node that runs what its Deployments say.
//!
//! The operator has the rights of `manifests/operator`, and no others. `klusterlet` has the other operator.

mod hosted;
mod installing;
mod interrupted;
mod klusterlet;
mod migrating;
mod removing;

use std::process::Command;

use berth_manifests::files;
use berth_testkit::cluster::http::Answer;
use berth_testkit::cluster::janitor::Watched;
use berth_testkit::cluster::{Cluster, Person, collection_of};
use berth_testkit::hub_node::{HUB, HubNode};
use berth_testkit::process::once;
use berth_testkit::{Logged, berth, eventually, when};
use serde_json::{Value, json};

/// The path of all ClusterManagers.
const MANAGERS: &str = "/apis/operator.open-cluster-management.io/v1/clustermanagers";
/// The path of the ClusterManager of the tests.
const MANAGER: &str =
    "/apis/operator.open-cluster-management.io/v1/clustermanagers/cluster-manager";
const IMAGE: &str = "registry.example.com/berth:v1";

/// A running operator, which ends with this process.
struct Operator {
    process: Logged,
    _watched: Watched,
}

// === impl Operator ===

impl Operator {
    async fn start(cluster: &Cluster) -> Self {
        Self::run(command(cluster).await)
    }

    fn run(command: Command) -> Self {
        let process = Logged::start(command);
        let watched = Watched::new(&process.child);
        Self {
            process,
            _watched: watched,
        }
    }
}

async fn command(cluster: &Cluster) -> Command {
    let account = cluster.service_account("open-cluster-management", "berth-operator");
    let kubeconfig = account.await.kubeconfig;
    let mut command = berth(&["operator", "hub", "--image", IMAGE]);
    command
        .args(["--kubeconfig", kubeconfig.to_str().unwrap()])
        .args(["--namespace", "open-cluster-management"])
        .args(["--listen", "127.0.0.1:auto", "--log-format", "json"])
        // One that is started again takes the Lease over at once, as a container of the same pod.
        .env("POD_UID", "operator");
    command
}

/// A cluster with the manifests of the operator, which does not run yet.
async fn node() -> HubNode {
    let node = HubNode::start().await.of_operator();
    let manifests = [
        files::CRD_CLUSTER_MANAGERS,
        files::OPERATOR_NAMESPACES,
        files::OPERATOR_ACCOUNT,
        files::OPERATOR_ROLE,
    ];
    let paths = manifests.map(|it| it.path);
    node.cluster.apply_manifests(&paths).await;
    once(&node.admin, MANAGERS, "the CRD is served", |_| true).await;
    node
}

/// Creates a ClusterManager.
async fn create(admin: &Person, name: &str, spec: Value) -> Answer {
    let manager = json!({
        "apiVersion": "operator.open-cluster-management.io/v1", "kind": "ClusterManager",
        "metadata": {"name": name}, "spec": spec,
    });
    admin.post(MANAGERS, &manager).await.unwrap()
}

/// Waits until the ClusterManager has this condition, and returns its message.
async fn said(admin: &Person, condition: (&str, &str, &str)) -> String {
    said_by(admin, MANAGER, condition).await
}

/// Waits until the object has this condition, and returns its message.
async fn said_by(
    admin: &Person,
    path: &str,
    (type_, status, reason): (&str, &str, &str),
) -> String {
    let condition = |it: &Value| condition(it, type_);
    let is = |it: &Value| {
        let found = condition(it);
        found["status"] == status && found["reason"] == reason
    };
    let object = once(admin, path, &format!("{type_} {reason}"), is).await;
    condition(&object)["message"].as_str().unwrap().to_owned()
}

/// A condition of an object; null if it has none of this type.
fn condition(of: &Value, type_: &str) -> Value {
    let conditions = of["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    let found = conditions.find(|it| it["type"] == type_);
    found.cloned().unwrap_or_default()
}

/// A hub that an operator installed, and its gate that answers.
async fn installed(spec: Value) -> (HubNode, Operator) {
    let mut node = node().await;
    let operator = Operator::start(&node.cluster).await;
    create(&node.admin, "cluster-manager", spec).await.ok();
    node.runs_the_hub().await;
    guarded(&node.admin).await;
    (node, operator)
}

/// Waits for both Deployments, and reports that they run: their processes still do.
async fn run_again(node: &HubNode) {
    for name in ["controller", "webhook"] {
        let path = format!("{HUB}/deployments/cluster-manager-registration-{name}");
        once(&node.admin, &path, "it is there", |_| true).await;
    }
    node.reports().await;
}

/// Waits until everything is there, webhooks last.
async fn guarded(admin: &Person) {
    let count = "relatedResources";
    let is_all = |it: &Value| {
        let related = it["status"][count].as_array();
        related.is_some_and(|it| {
            it.iter()
                .any(|it| it["resource"] == "validatingwebhookconfigurations")
        })
    };
    once(admin, MANAGER, count, is_all).await;
    said(admin, ("Applied", "True", "ClusterManagerApplied")).await;
    said(admin, ("Progressing", "False", "ClusterManagerUpToDate")).await;
    for webhooks in ["validating", "mutating"] {
        let all = format!("/apis/admissionregistration.k8s.io/v1/{webhooks}webhookconfigurations");
        once(admin, &all, "all have a bundle", |it| {
            let all = it["items"].as_array().unwrap();
            let has = |it: &Value| {
                let bundle = &it["clientConfig"]["caBundle"];
                bundle.as_str().is_some_and(|it| !it.is_empty())
            };
            !all.is_empty()
                && all
                    .iter()
                    .all(|it| it["webhooks"].as_array().unwrap().iter().all(has))
        })
        .await;
    }
}

/// The paths of what the ClusterManager says are its objects.
async fn related(admin: &Person) -> Vec<String> {
    related_to(admin, MANAGER).await
}

/// The paths of what an object says are its objects.
async fn related_to(admin: &Person, path: &str) -> Vec<String> {
    let object = admin.get(path).await.unwrap();
    let related = object.ok()["status"]["relatedResources"]
        .as_array()
        .unwrap();
    let paths = related.iter().map(|it| {
        let text = |field: &str| it[field].as_str().unwrap_or_default();
        let (group, version) = (text("group"), text("version"));
        let root = match group {
            "" => format!("/api/{version}"),
            group => format!("/apis/{group}/{version}"),
        };
        let space = match text("namespace") {
            "" => String::new(),
            namespace => format!("/namespaces/{namespace}"),
        };
        format!("{root}{space}/{}/{}", text("resource"), text("name"))
    });
    paths.collect()
}

/// The resourceVersions of all objects of the hub, but for those that others write all the time.
async fn versions(admin: &Person) -> Vec<(String, String)> {
    versions_of(admin, related(admin).await).await
}

async fn versions_of(admin: &Person, paths: Vec<String>) -> Vec<(String, String)> {
    let mut versions = Vec::new();
    for path in paths {
        let object = admin.get(&path).await.unwrap();
        let version = object.ok()["metadata"]["resourceVersion"].as_str().unwrap();
        versions.push((path, version.to_owned()));
    }
    versions
}

/// A ManagedCluster, with its path.
fn managed_cluster(name: &str) -> (String, Value) {
    let object = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": {"name": name}, "spec": {},
    });
    (format!("{}/{name}", collection_of(&object)), object)
}

/// The credentials of the registry.
const PULL_SECRET: &str = "open-cluster-management-image-pull-credentials";

/// Puts credentials of the registry into the operator's namespace. Returns the path of the Secret.
async fn pull_secret(admin: &Person, content: &str) -> String {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": PULL_SECRET},
        "type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": content},
    });
    let path = "/api/v1/namespaces/open-cluster-management/secrets";
    admin.post(path, &secret).await.unwrap().ok();
    format!("{path}/{PULL_SECRET}")
}

/// Waits until there is no such object.
async fn gone(admin: &Person, path: &str) {
    eventually(path, async || {
        when(admin.get(path).await.unwrap(), |it| it.code == 404)
    })
    .await;
}
