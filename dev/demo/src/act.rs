//! The commands of the users: as text for kubectl, and as requests.

use std::env;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use anyhow::Context;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::timeout;

use crate::managed::Agents;
use crate::request::{self, Answer};

/// The kubeconfig of the users, in the folder of the demo.
pub(super) const KUBECONFIG: &str = "kubeconfig";

const CLUSTERS: &str = "/apis/cluster.open-cluster-management.io/v1/managedclusters";
/// The object of the replica set, on a managed cluster.
pub(super) const GREETING: &str = "/api/v1/namespaces/default/configmaps/greeting";
const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

pub(super) const BINDING_FILE: &str = "binding.yaml";
const BINDING: &str = "\
# Lets the namespace team-a place work on the clusters of the set prod.
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata:
  name: prod
  namespace: team-a
spec:
  clusterSet: prod
";

pub(super) const PLACEMENT_FILE: &str = "placement.yaml";
const PLACEMENT: &str = "\
# Selects one cluster of the sets that are bound to the namespace.
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata:
  name: app
  namespace: team-a
spec:
  numberOfClusters: 1
";

pub(super) const REPLICA_SET_FILE: &str = "replica-set.yaml";
const REPLICA_SET: &str = "\
# Has a ConfigMap on each cluster that the placement selects.
apiVersion: work.open-cluster-management.io/v1alpha1
kind: ManifestWorkReplicaSet
metadata:
  name: app
  namespace: team-a
spec:
  placementRefs:
  - name: app
  manifestWorkTemplate:
    workload:
      manifests:
      - apiVersion: v1
        kind: ConfigMap
        metadata:
          name: greeting
          namespace: default
        data:
          text: hello
";

pub(super) const ADD_ON_FILE: &str = "hello.yaml";
const ADD_ON: &str = "\
# What the add-on hello is on a cluster.
apiVersion: v1
kind: Namespace
metadata:
  name: open-cluster-management-agent-addon
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: hello
  namespace: open-cluster-management-agent-addon
data:
  cluster: '{{CLUSTER_NAME}}'
";

/// The files that the commands read, with their content.
pub(super) const FILES: [(&str, &str); 4] = [
    (ADD_ON_FILE, ADD_ON),
    (BINDING_FILE, BINDING),
    (PLACEMENT_FILE, PLACEMENT),
    (REPLICA_SET_FILE, REPLICA_SET),
];

/// A command.
pub(super) enum Act {
    /// `kubectl create -f binding.yaml`
    Bind,
    /// The same with a file that a sed script changes; the function makes the same change.
    BindAs(&'static str, fn(&str) -> String),
    /// `kubectl create -f placement.yaml`
    Place,
    /// `kubectl create -f replica-set.yaml`
    HandOut,
    /// `kubectl label managedcluster NAME KEY=VALUE --overwrite`
    Label(&'static str, &'static str, &'static str),
    /// `kubectl patch managedcluster NAME --type=merge -p PATCH`
    Patch(&'static str, Value),
    /// `kubectl patch configmap greeting -n default --type=merge -p PATCH`
    PatchGreeting(Value),
    /// `kubectl certificate approve` for the request of this cluster.
    Approve(&'static str),
    /// `kubectl delete managedcluster NAME`
    Delete(&'static str),
    /// `kubectl COMMAND`, as soon as the hub refuses to show the user this list.
    Forbidden(&'static str, &'static str),
    /// `kubectl COMMAND`, as soon as `see` finds its result in the objects at these paths.
    Look {
        command: &'static str,
        paths: &'static [&'static str],
        see: fn(&[Value]) -> Option<Vec<String>>,
    },
    /// `berth COMMAND`
    Berth(&'static str),
    /// `curl` of the readiness of this cluster's agent, as soon as it contains this text.
    AskAgent(&'static str, &'static str),
}

/// The result of a command.
pub(super) enum StepResult {
    Answered(Answer),
    /// The lines that the command would print.
    Seen(Vec<String>),
}

const GROUP: &str = "cluster.open-cluster-management.io";
const WORK_GROUP: &str = "work.open-cluster-management.io";

const READINESS: &str = "/readyz?verbose";

impl Act {
    /// The command line.
    pub(super) fn command(&self, who: &str, agents: &Agents) -> anyhow::Result<String> {
        let act = match self {
            Self::Bind => format!("create -f {BINDING_FILE}"),
            Self::BindAs(script, _) => {
                return Ok(format!(
                    "sed '{script}' {BINDING_FILE} | kubectl --context {who} create -f -"
                ));
            }
            Self::Place => format!("create -f {PLACEMENT_FILE}"),
            Self::HandOut => format!("create -f {REPLICA_SET_FILE}"),
            Self::Label(name, key, value) => {
                format!("label managedcluster {name} {key}={value} --overwrite")
            }
            Self::Patch(name, patch) => {
                format!("patch managedcluster {name} --type=merge -p '{patch}'")
            }
            Self::PatchGreeting(patch) => {
                format!("patch configmap greeting -n default --type=merge -p '{patch}'")
            }
            Self::Approve(cluster) => format!(
                "get csr -l open-cluster-management.io/cluster-name={cluster} -o name | xargs kubectl --context {who} certificate approve"
            ),
            Self::Delete(name) => format!("delete managedcluster {name}"),
            Self::Forbidden(command, _) | Self::Look { command, .. } => (*command).to_owned(),
            Self::Berth(command) => return Ok(format!("berth --context {who} {command}")),
            Self::AskAgent(cluster, _) => {
                let server = agents.of(cluster)?.health;
                return Ok(format!("curl 'http://{server}{READINESS}'"));
            }
        };
        Ok(format!("kubectl --context {who} {act}"))
    }

    /// The prefix that kubectl prints before an error's message.
    pub(super) fn about(&self) -> String {
        match self {
            Self::Bind => format!("error when creating {BINDING_FILE:?}: "),
            Self::Place => format!("error when creating {PLACEMENT_FILE:?}: "),
            Self::HandOut => format!("error when creating {REPLICA_SET_FILE:?}: "),
            Self::BindAs(..) => "error when creating \"STDIN\": ".to_owned(),
            _ => String::new(),
        }
    }

    /// The line that kubectl prints for a success.
    pub(super) fn result(&self, object: &Value) -> String {
        let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        match self {
            Self::Bind | Self::BindAs(..) | Self::Place => format!("{kind}.{GROUP}/{name} created"),
            Self::HandOut => format!("{kind}.{WORK_GROUP}/{name} created"),
            Self::PatchGreeting(_) => format!("{kind}/{name} patched"),
            Self::Label(..) => format!("{kind}.{GROUP}/{name} labeled"),
            Self::Approve(_) => format!("{kind}.certificates.k8s.io/{name} approved"),
            Self::Delete(name) => format!("managedcluster.{GROUP} \"{name}\" deleted"),
            _ => format!("{kind}.{GROUP}/{name} patched"),
        }
    }

    /// Carries out the command. `folder` has the kubeconfig of the users, in which `who` is a context.
    pub(super) async fn send(
        &self,
        (who, client): (&str, &kube::Client),
        agents: &Agents,
        folder: &Path,
    ) -> anyhow::Result<StepResult> {
        let answer = match self {
            Self::Bind => request::create(client, &serde_saphyr::from_str(BINDING)?).await,
            Self::BindAs(_, changed) => {
                request::create(client, &serde_saphyr::from_str(&changed(BINDING))?).await
            }
            Self::Place => request::create(client, &serde_saphyr::from_str(PLACEMENT)?).await,
            Self::HandOut => request::create(client, &serde_saphyr::from_str(REPLICA_SET)?).await,
            Self::PatchGreeting(patch) => request::merge(client, GREETING, patch).await,
            Self::Label(name, key, value) => {
                let labels = json!({"metadata": {"labels": {*key: value}}});
                request::merge(client, &format!("{CLUSTERS}/{name}"), &labels).await
            }
            Self::Patch(name, patch) => {
                request::merge(client, &format!("{CLUSTERS}/{name}"), patch).await
            }
            Self::Approve(cluster) => approve(client, cluster).await,
            Self::Delete(name) => request::delete(client, &format!("{CLUSTERS}/{name}")).await,
            Self::Forbidden(_, path) => request::until_refused(client, path).await,
            Self::Look { paths, see, .. } => {
                return Ok(StepResult::Seen(request::until(client, paths, see).await?));
            }
            Self::Berth(command) => {
                return Ok(StepResult::Seen(berth(folder, who, command).await?));
            }
            Self::AskAgent(cluster, text) => {
                return Ok(StepResult::Seen(ask(agents, cluster, text).await?));
            }
        };
        Ok(StepResult::Answered(answer?))
    }
}

/// Approves the request of this cluster, as soon as it exists.
async fn approve(client: &kube::Client, cluster: &str) -> anyhow::Result<Answer> {
    let path =
        format!("{REQUESTS}?labelSelector=open-cluster-management.io%2Fcluster-name%3D{cluster}");
    let pending = |lists: &[Value]| lists.first()?["items"].as_array()?.first().cloned();
    let mut request = request::until(client, &[&path], pending).await?;
    // Items of a list have no kind.
    request["apiVersion"] = json!("certificates.k8s.io/v1");
    request["kind"] = json!("CertificateSigningRequest");
    request["status"]["conditions"] = json!([{
        "type": "Approved",
        "status": "True",
        "reason": "KubectlApprove",
        "message": "This CSR was approved by kubectl certificate approve.",
    }]);
    let name = request["metadata"]["name"].as_str().unwrap_or_default();
    request::put(client, &format!("{REQUESTS}/{name}/approval"), &request).await
}

/// Runs a command of this program.
async fn berth(folder: &Path, who: &str, command: &str) -> anyhow::Result<Vec<String>> {
    let program = env::current_exe().context("the program cannot be found")?;
    let output = Command::new(program)
        .args(["--context", who])
        .args(command.split(' '))
        .current_dir(folder)
        .env("KUBECONFIG", folder.join(KUBECONFIG))
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = timeout(request::PATIENCE, output).await;
    let output = output.with_context(|| format!("berth {command} did not end"))??;
    anyhow::ensure!(
        output.status.success(),
        "berth {command}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let said = String::from_utf8(output.stdout)?;
    Ok(said.lines().map(str::to_owned).collect())
}

/// Asks an agent how it stands, until the answer contains this text.
async fn ask(agents: &Agents, cluster: &str, text: &str) -> anyhow::Result<Vec<String>> {
    let server = agents.of(cluster)?.health;
    let begun = Instant::now();
    loop {
        let said = request::curl(server, READINESS).await?;
        if said.contains(text) {
            return Ok(said.lines().map(str::to_owned).collect());
        }
        anyhow::ensure!(
            begun.elapsed() < request::PATIENCE,
            "the agent of {cluster} does not say {text:?}: {said}"
        );
        tokio::time::sleep(request::PAUSE).await;
    }
}
