//! The play: who does what, and what comes of it.

use std::fs;
use std::path::Path;

use anyhow::Context;
use kube::config::Kubeconfig;
use serde_json::{Value, json};

use crate::demo::people::{self, ADMIN, DEVELOPER, SET_ADMIN};
use crate::demo::request::{self, Answer};
use crate::demo::text::Screen;

const CLUSTER_FILE: &str = "cluster.yaml";
const CLUSTER: &str = "\
# A cluster that asks to be let in.
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: c1
spec:
  hubAcceptsClient: false
  leaseDurationSeconds: 60
";
const BINDING_FILE: &str = "binding.yaml";
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
const CLUSTER_PATH: &str = "/apis/cluster.open-cluster-management.io/v1/managedclusters/c1";
const SET_LABEL: &str = "cluster.open-cluster-management.io/clusterset";

/// One thing that somebody does.
struct Step {
    /// What is going on.
    story: &'static str,
    who: &'static str,
    act: Act,
    refused: bool,
    /// A field of the result that is worth a look.
    shows: Option<&'static str>,
}

enum Act {
    /// `kubectl create -f FILE`
    Create(&'static str, &'static str),
    /// As above, into another namespace than the file says.
    CreateIn(&'static str, &'static str, &'static str),
    /// `kubectl create namespace NAME`
    CreateNamespace(&'static str),
    /// `kubectl label managedcluster c1 KEY=VALUE --overwrite`
    Label(&'static str, &'static str),
    /// `kubectl patch managedcluster c1 --type=merge -p PATCH`
    Patch(fn() -> Value),
}

fn acceptance() -> Value {
    json!({"spec": {"hubAcceptsClient": true}})
}

fn taint() -> Value {
    json!({"spec": {"taints": [{"key": "maintenance", "effect": "NoSelect"}]}})
}

fn steps() -> Vec<Step> {
    let done = |story, who, act, shows| Step {
        story,
        who,
        act,
        refused: false,
        shows,
    };
    let refused = |story, who, act| Step {
        story,
        who,
        act,
        refused: true,
        shows: None,
    };
    vec![
        done(
            "A cluster asks to be let in. Asking is free: nothing happens until the hub agrees.",
            DEVELOPER,
            Act::Create(CLUSTER_FILE, CLUSTER),
            None,
        ),
        refused(
            "RBAC lets dev write the cluster, spec and all. Letting it in is another matter.",
            DEVELOPER,
            Act::Patch(acceptance),
        ),
        done(
            "ada may accept clusters. As she may join the default set, too, the gate puts the cluster there.",
            ADMIN,
            Act::Patch(acceptance),
            Some("/metadata/labels"),
        ),
        done(
            "Work on the cluster begins: the gate notes since when it is tainted.",
            ADMIN,
            Act::Patch(taint),
            Some("/spec/taints"),
        ),
        refused(
            "Whoever puts a cluster into a set decides who gets to use it. dev may not.",
            DEVELOPER,
            Act::Label(SET_LABEL, "prod"),
        ),
        done(
            "sam may: out of default, into prod.",
            SET_ADMIN,
            Act::Label(SET_LABEL, "prod"),
            Some("/metadata/labels"),
        ),
        refused(
            "dev owns the namespace team-a, and would like to use the clusters of prod there.",
            DEVELOPER,
            Act::Create(BINDING_FILE, BINDING),
        ),
        done(
            "That is for sam to allow.",
            SET_ADMIN,
            Act::Create(BINDING_FILE, BINDING),
            None,
        ),
        done(
            "An accepted cluster has a namespace of its own, in which its agent works.",
            ADMIN,
            Act::CreateNamespace("c1"),
            None,
        ),
        refused(
            "A set bound there would be in the agent's hands. Not even ada can do that.",
            ADMIN,
            Act::CreateIn(BINDING_FILE, BINDING, "c1"),
        ),
    ]
}

/// Puts the files that the commands name where they can be found.
pub(super) fn write_files(folder: &Path) -> anyhow::Result<()> {
    for (name, text) in [(CLUSTER_FILE, CLUSTER), (BINDING_FILE, BINDING)] {
        fs::write(folder.join(name), text).with_context(|| format!("{name} cannot be written"))?;
    }
    Ok(())
}

/// Plays all of it. An end that the play does not have is an error.
pub(super) async fn play(screen: &Screen, kubeconfig: &Kubeconfig) -> anyhow::Result<()> {
    for (number, step) in steps().into_iter().enumerate() {
        let client = people::client(kubeconfig, step.who).await?;
        screen.story(number + 1, step.story)?;
        screen.command(&step.act.command(step.who))?;
        match step.act.send(&client).await? {
            Answer::Done { object, warnings } => {
                screen.warnings(&warnings)?;
                screen.done(&step.act.result())?;
                if let Some(pointer) = step.shows {
                    let shown = object.pointer(pointer).unwrap_or(&Value::Null);
                    screen.field(pointer, shown)?;
                }
                anyhow::ensure!(
                    !step.refused,
                    "the gate let pass what it should have refused"
                );
            }
            Answer::Refused {
                reason,
                message,
                warnings,
            } => {
                screen.warnings(&warnings)?;
                let about = step.act.about();
                screen.refused(&format!("Error from server ({reason}): {about}{message}"))?;
                anyhow::ensure!(step.refused, "the hub refused what it should have let pass");
            }
        }
    }
    Ok(())
}

impl Act {
    /// What a person would type.
    fn command(&self, who: &str) -> String {
        let act = match self {
            Self::Create(file, _) => format!("create -f {file}"),
            Self::CreateIn(file, _, namespace) => {
                return format!(
                    "sed 's/team-a/{namespace}/' {file} | kubectl --context {who} create -f -"
                );
            }
            Self::CreateNamespace(name) => format!("create namespace {name}"),
            Self::Label(key, value) => format!("label managedcluster c1 {key}={value} --overwrite"),
            Self::Patch(patch) => format!("patch managedcluster c1 --type=merge -p '{}'", patch()),
        };
        format!("kubectl --context {who} {act}")
    }

    /// What kubectl puts in front of an error's message.
    fn about(&self) -> String {
        match self {
            Self::Create(file, _) => format!("error when creating {file:?}: "),
            Self::CreateIn(..) => "error when creating \"STDIN\": ".to_owned(),
            _ => String::new(),
        }
    }

    /// What kubectl would print when it has been done.
    fn result(&self) -> String {
        const GROUP: &str = "cluster.open-cluster-management.io";
        match self {
            Self::Create(CLUSTER_FILE, _) => format!("managedcluster.{GROUP}/c1 created"),
            Self::Create(..) | Self::CreateIn(..) => {
                format!("managedclustersetbinding.{GROUP}/prod created")
            }
            Self::CreateNamespace(name) => format!("namespace/{name} created"),
            Self::Label(..) => format!("managedcluster.{GROUP}/c1 labeled"),
            Self::Patch(_) => format!("managedcluster.{GROUP}/c1 patched"),
        }
    }

    async fn send(&self, client: &kube::Client) -> anyhow::Result<Answer> {
        match self {
            Self::Create(_, text) => request::create(client, &serde_saphyr::from_str(text)?).await,
            Self::CreateIn(_, text, namespace) => {
                let mut object: Value = serde_saphyr::from_str(text)?;
                object["metadata"]["namespace"] = (*namespace).into();
                request::create(client, &object).await
            }
            Self::CreateNamespace(name) => {
                let namespace =
                    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
                request::create(client, &namespace).await
            }
            Self::Label(key, value) => {
                let labels = json!({"metadata": {"labels": {*key: value}}});
                request::merge(client, CLUSTER_PATH, &labels).await
            }
            Self::Patch(patch) => request::merge(client, CLUSTER_PATH, &patch()).await,
        }
    }
}
