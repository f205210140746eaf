//! OCM's documentation, with `berth` in place of `clusteradm`: a cluster joins a hub, reports to it and leaves it.
//!
//! The commands are those of docs/getting-started.md, which is read here: the page prints what was run.

mod node;
mod page;
mod sets;

use serde_json::{Value, json};
use tempfile::TempDir;

use self::node::Node;
use self::page::{Step, steps};
use crate::house::House;
use crate::shell::shell;
use berth_testkit::cluster::{Cluster, Output, Person, finish, kubectl_is_there};
use berth_testkit::{eventually, repository, when};

/// The page.
const PAGE: &str = "docs/getting-started.md";

/// The commands of OCM's pages, in their order. The page may add flags to them. A cluster is called `cluster1` on each page.
const DOCUMENTED: [&str; 13] = [
    // docs/getting-started/installation/register-a-cluster/
    "clusteradm join --hub-token <your token data> --hub-apiserver <your hub cluster endpoint> --wait --cluster-name \"cluster1\" \
     --context ${CTX_MANAGED_CLUSTER}",
    "kubectl get csr -w --context ${CTX_HUB_CLUSTER} | grep cluster1",
    "clusteradm accept --clusters cluster1 --context ${CTX_HUB_CLUSTER}",
    "kubectl get managedcluster --context ${CTX_HUB_CLUSTER}",
    "kubectl get lease -n cluster1 --context ${CTX_HUB_CLUSTER}",
    // docs/concepts/cluster-inventory/managedclusterset/
    "clusteradm create clusterset example-clusterset",
    "clusteradm clusterset set example-clusterset --clusters cluster1",
    "clusteradm clusterset bind example-clusterset --namespace default",
    "clusteradm get clustersets",
    // docs/concepts/cluster-inventory/managedcluster/
    "clusteradm accept --clusters cluster1",
    // docs/getting-started/installation/register-a-cluster/
    "clusteradm unjoin --cluster-name \"cluster1\" --context ${CTX_MANAGED_CLUSTER}",
    "kubectl -n open-cluster-management-agent get pod --context ${CTX_MANAGED_CLUSTER}",
    // docs/concepts/cluster-inventory/managedcluster/
    "kubectl delete managedcluster cluster1",
];

/// What the page prints in place of the values of the flags that `berth get token` prints.
const PRINTED: [(&str, &str); 3] = [
    ("--hub-token", "<your token data>"),
    ("--hub-apiserver", "<your hub cluster endpoint>"),
    ("--ca-data", "<your hub CA>"),
];

/// Someone with a terminal for each of the two clusters.
struct Walk<'a> {
    admin: &'a Person,
    node: Node<'a>,
    variables: Vec<(String, String)>,
    /// What stands for a placeholder.
    values: Vec<(&'static str, String)>,
}

fn section() -> Vec<Step> {
    steps(&std::fs::read_to_string(repository(PAGE)).unwrap())
}

#[test]
fn the_page_has_the_commands_of_the_documentation() {
    let section = section();
    let mut commands = section.iter().map(|step| step.command.as_str());
    for documented in DOCUMENTED {
        let ours = documented.replace("clusteradm", "berth");
        let has_all_words = |command: &str| {
            let mut words = command.split_whitespace();
            ours.split_whitespace()
                .all(|it| words.any(|word| word == it))
        };
        assert!(
            commands.any(has_all_words),
            "{PAGE} lacks this command, or has it too early: {ours}"
        );
    }
}

#[tokio::test]
async fn a_cluster_joins_reports_and_leaves_as_the_page_says() {
    if !kubectl_is_there() {
        return;
    }
    let (house, _berth) = House::private().await;
    sets::empty(&house).await;
    // Not a private one, too: a test has at most one of them.
    let managed = Cluster::shared().await;
    let folder = TempDir::new().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let contexts = [("hub", &house.admin), ("managed", &managed.admin().await)];
    std::fs::write(&kubeconfig, of_contexts(&contexts).to_string()).unwrap();
    let mut walk = Walk {
        admin: &house.admin,
        node: Node::of(managed).await,
        variables: vec![("KUBECONFIG".to_owned(), kubeconfig.display().to_string())],
        values: vec![
            ("<your hub cluster context>", "hub".to_owned()),
            ("<your managed cluster context>", "managed".to_owned()),
        ],
    };
    for step in section() {
        walk.goes(step).await;
    }
}

// === impl Walk ===

impl Walk<'_> {
    async fn goes(&mut self, mut step: Step) {
        for (placeholder, value) in &self.values {
            step.set(placeholder, value);
        }
        if let Some(variable) = step.command.strip_prefix("export ") {
            let (name, value) = variable.split_once('=').unwrap();
            self.variables.push((name.to_owned(), value.to_owned()));
            return;
        }
        if step.command.contains(" --wait ") {
            // The page is about releases. Another build has no image of its own.
            step.command
                .push_str(" --image registry.example.com/berth:v1");
            let command = shell(self.admin, &self.variables, &step.command);
            let (output, ()) = tokio::join!(finish(command, ""), self.node.starts());
            step.check(&output);
        } else if step.command.starts_with("berth get token") {
            let output = self.run(&step.command).await;
            for (placeholder, value) in printed(output.ok()) {
                step.set(placeholder, &value);
                self.values.push((placeholder, value));
            }
            step.check(&output);
        } else if step.only_reads() {
            // It shows what other processes do, which takes them a moment. A watch would never end.
            let command = step.command.replace(" -w ", " ");
            let what = format!("the output that {PAGE} has of {command}");
            eventually(&what, async || {
                self.node.look().await;
                when(self.run(&command).await, |it| step.printed(it))
            })
            .await;
        } else {
            step.check(&self.run(&step.command).await);
            self.node.look().await;
        }
    }

    /// The end of the command that waits.
    async fn run(&self, line: &str) -> Output {
        finish(shell(self.admin, &self.variables, line), "").await
    }
}

/// The values of the flags in the last line that `berth get token` printed, each with its placeholder.
fn printed(output: &str) -> Vec<(&'static str, String)> {
    let words: Vec<&str> = output.lines().last().unwrap().split(' ').collect();
    let value = |flag: &str| {
        let at = words.iter().position(|word| *word == flag).unwrap();
        words[at + 1].to_owned()
    };
    PRINTED
        .iter()
        .map(|(flag, placeholder)| (*placeholder, value(flag)))
        .collect()
}

/// A kubeconfig with a context for each of these persons.
fn of_contexts(persons: &[(&str, &Person)]) -> Value {
    let mut all = json!({"apiVersion": "v1", "kind": "Config"});
    for (name, person) in persons {
        let own = std::fs::read(&person.kubeconfig).unwrap();
        let own: Value = serde_json::from_slice(&own).unwrap();
        for (list, key) in [("clusters", "cluster"), ("users", "user")] {
            let entry = json!({"name": name, key: own[list][0][key]});
            append(&mut all[list], entry);
        }
        let context = json!({"name": name, "context": {"cluster": name, "user": name}});
        append(&mut all["contexts"], context);
    }
    all
}

fn append(list: &mut Value, entry: Value) {
    match list {
        Value::Array(list) => list.push(entry),
        _ => *list = json!([entry]),
    }
}
