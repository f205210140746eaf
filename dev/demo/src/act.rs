//! The commands of the users: as text for kubectl, and as requests.

use std::time::{Duration, Instant};

use anyhow::Context;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::request::{self, Answer};
use crate::steps::CLUSTER_PATH;

pub(super) const CLUSTER_FILE: &str = "cluster.yaml";
const CLUSTER: &str = "\
# A cluster that asks to join.
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: c1
spec:
  hubAcceptsClient: false
  # Short, so that the demo does not wait long. The default is 60.
  leaseDurationSeconds: 1
";
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

/// The files that the commands read, with their content.
pub(super) const FILES: [(&str, &str); 2] = [(CLUSTER_FILE, CLUSTER), (BINDING_FILE, BINDING)];

/// Upper bound on each wait.
const PATIENCE: Duration = Duration::from_secs(30);

/// A command.
pub(super) enum Act {
    /// `kubectl create -f FILE`
    Create(&'static str),
    /// The same with a file that a sed script changes; the function makes the same change.
    CreateAs(&'static str, &'static str, fn(&str) -> String),
    /// `kubectl label managedcluster c1 KEY=VALUE --overwrite`
    Label(&'static str, &'static str),
    /// `kubectl patch managedcluster c1 --type=merge -p PATCH`
    Patch(Value),
    /// The agent reports that c1 is available. Done when the controller has removed the taint.
    Report,
    /// `kubectl delete managedcluster NAME`
    Delete(&'static str),
    /// `kubectl COMMAND`, a list that the user may not read.
    List(&'static str, &'static str),
    /// `kubectl COMMAND`, as soon as `see` finds its result in the objects at these paths.
    Look {
        command: &'static str,
        paths: &'static [&'static str],
        see: fn(&[Value]) -> Option<Vec<String>>,
    },
}

/// The result of a command.
pub(super) enum StepResult {
    Answered(Answer),
    /// The lines that kubectl would print.
    Seen(Vec<String>),
}

const GROUP: &str = "cluster.open-cluster-management.io";

fn text_of(file: &str) -> &'static str {
    if file == CLUSTER_FILE {
        CLUSTER
    } else {
        BINDING
    }
}

fn report() -> Value {
    json!([{
        "op": "add",
        "path": "/status/conditions/-",
        "value": {
            "type": "ManagedClusterConditionAvailable",
            "status": "True",
            "reason": "ManagedClusterAvailable",
            "message": "Managed cluster is available",
            // A constant, so that the printed command does not change.
            "lastTransitionTime": Timestamp::UNIX_EPOCH,
        },
    }])
}

impl Act {
    /// The command line.
    pub(super) fn command(&self, who: &str) -> String {
        let act = match self {
            Self::Create(file) => format!("create -f {file}"),
            Self::CreateAs(script, file, _) => {
                return format!("sed '{script}' {file} | kubectl --context {who} create -f -");
            }
            Self::Label(key, value) => format!("label managedcluster c1 {key}={value} --overwrite"),
            Self::Patch(patch) => format!("patch managedcluster c1 --type=merge -p '{patch}'"),
            Self::Report => format!(
                "patch managedcluster c1 --subresource=status --type=json -p '{}'",
                report()
            ),
            Self::Delete(name) => format!("delete managedcluster {name}"),
            Self::List(command, _) | Self::Look { command, .. } => (*command).to_owned(),
        };
        format!("kubectl --context {who} {act}")
    }

    /// The prefix that kubectl prints before an error's message.
    pub(super) fn about(&self) -> String {
        match self {
            Self::Create(file) => format!("error when creating {file:?}: "),
            Self::CreateAs(..) => "error when creating \"STDIN\": ".to_owned(),
            _ => String::new(),
        }
    }

    /// The line that kubectl prints for a success.
    pub(super) fn result(&self, object: &Value) -> String {
        let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        match self {
            Self::Create(_) | Self::CreateAs(..) => format!("{kind}.{GROUP}/{name} created"),
            Self::Label(..) => format!("managedcluster.{GROUP}/c1 labeled"),
            Self::Delete(name) => format!("managedcluster.{GROUP} \"{name}\" deleted"),
            _ => format!("managedcluster.{GROUP}/c1 patched"),
        }
    }

    pub(super) async fn send(&self, client: &kube::Client) -> anyhow::Result<StepResult> {
        let answer = match self {
            Self::Create(file) => {
                request::create(client, &serde_saphyr::from_str(text_of(file))?).await
            }
            Self::CreateAs(_, file, changed) => {
                let text = changed(text_of(file));
                request::create(client, &serde_saphyr::from_str(&text)?).await
            }
            Self::Label(key, value) => {
                let labels = json!({"metadata": {"labels": {*key: value}}});
                request::merge(client, CLUSTER_PATH, &labels).await
            }
            Self::Patch(patch) => request::merge(client, CLUSTER_PATH, patch).await,
            Self::Report => {
                let status = format!("{CLUSTER_PATH}/status");
                let answer = request::json_patch(client, &status, &report()).await?;
                if let Answer::Refused { .. } = answer {
                    return Ok(StepResult::Answered(answer));
                }
                let untainted = |objects: &[Value]| {
                    let [cluster] = objects else { return None };
                    let tainted = cluster["spec"]["taints"]
                        .as_array()
                        .is_some_and(|taints| !taints.is_empty());
                    (!tainted).then(|| cluster.clone())
                };
                let object = until(client, &[CLUSTER_PATH], untainted).await?;
                Ok(Answer::Done {
                    object,
                    warnings: Vec::new(),
                })
            }
            Self::Delete(name) => {
                let path = CLUSTER_PATH.replace("c1", name);
                request::delete(client, &path).await
            }
            Self::List(_, path) => request::get(client, path).await,
            Self::Look { paths, see, .. } => {
                return Ok(StepResult::Seen(until(client, paths, see).await?));
            }
        };
        Ok(StepResult::Answered(answer?))
    }
}

/// Reads these objects until `see` returns a value.
async fn until<T>(
    client: &kube::Client,
    paths: &[&str],
    see: impl Fn(&[Value]) -> Option<T>,
) -> anyhow::Result<T> {
    let begun = Instant::now();
    loop {
        let mut objects = Vec::new();
        for path in paths {
            if let Answer::Done { object, .. } = request::get(client, path).await? {
                objects.push(object);
            }
        }
        if let Some(seen) = see(&objects) {
            return Ok(seen);
        }
        (begun.elapsed() < PATIENCE)
            .then_some(())
            .with_context(|| format!("the hub does not reach the expected state: {objects:?}"))?;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
