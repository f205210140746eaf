//! `berth get token`, `berth join`, `berth unjoin` and `berth delete cluster`: a hub, and a managed cluster beside it.

mod agent;
mod front;
mod installation;
mod leaving;
mod tokens;
mod values;
mod verification;
mod works;

use std::time::Duration;

use serde_json::{Value, json};

use crate::house::House;
use berth_testkit::cluster::{Cluster, Output, Person, Private, collection_of, fresh, say_skipped};
use berth_testkit::eventually;
use berth_testkit::transcript::words;

/// The number of objects that `berth join` applies.
const OBJECTS: usize = 19;

/// The image of the agent.
const IMAGE: &str = "registry.example.com/berth:v1";

pub const NAMESPACE: &str = "/api/v1/namespaces/open-cluster-management-agent";

/// A cluster that no agent was installed on, and its admin.
pub struct Managed {
    pub admin: Person,
    pub cluster: Private,
}

/// A token of the hub, as `berth get token -o json` prints it.
pub struct Printed(pub Value);

impl Managed {
    /// None, with a message, if this machine's API server cannot remove what another test installed.
    pub async fn new() -> Option<Self> {
        let cluster = Cluster::private().await;
        let admin = cluster.admin().await;
        // A real cluster may have been used by another test.
        admin.berth(&["unjoin", "--force"]).await.ok();
        let left = admin.delete(NAMESPACE).await.unwrap().code != 404;
        if left && !cluster.has_background_work() {
            say_skipped("without kube-controller-manager no namespace is ever removed");
            return None;
        }
        eventually(
            "a cluster without the agent's namespace",
            async || match admin.get(NAMESPACE).await.unwrap() {
                answer if answer.code == 404 => Ok(()),
                answer => Err(answer),
            },
        )
        .await;
        Some(Self { admin, cluster })
    }

    /// Runs a line that begins with `berth` at this cluster.
    pub async fn types(&self, line: &str) -> Output {
        let words = words(line);
        let args: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        self.admin.berth(&args).await
    }

    /// An object in the agent's namespace; null if it does not exist.
    pub async fn get(&self, path: &str) -> Value {
        let answer = self
            .admin
            .get(&format!("{NAMESPACE}/{path}"))
            .await
            .unwrap();
        match answer.code {
            200 => answer.body,
            404 => Value::Null,
            _ => panic!("{answer:?}"),
        }
    }

    /// True if the agent's namespace exists.
    pub async fn has_namespace(&self) -> bool {
        self.admin.get(NAMESPACE).await.unwrap().code == 200
    }

    /// Creates an object.
    pub async fn put(&self, object: &Value) {
        let path = collection_of(object);
        self.admin.post(&path, object).await.unwrap().ok();
    }

    /// Creates the agent's Secret, as an agent of this cluster name does.
    pub async fn has_joined_as(&self, name: &str) {
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "open-cluster-management-agent"},
        });
        if !self.has_namespace().await {
            self.put(&namespace).await;
        }
        self.put(&json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "hub-kubeconfig-secret", "namespace": "open-cluster-management-agent"},
            "stringData": {"cluster-name": name, "agent-name": "agent1"},
        }))
        .await;
    }
}

impl Printed {
    /// Asks the hub for a token.
    pub async fn of<C: std::ops::Deref<Target = Cluster>>(house: &House<C>) -> Self {
        let output = house.berth("get token -o json").await;
        Self(serde_json::from_str(output.ok()).unwrap())
    }

    pub fn token(&self) -> &str {
        self.0["hub-token"].as_str().unwrap()
    }

    /// The command that was printed, for this cluster, with an image: a build that is no release has none.
    pub fn command(&self, cluster: &str) -> String {
        format!("{} --image {IMAGE}", self.without_image(cluster))
    }

    /// The command that was printed, for this cluster.
    pub fn without_image(&self, cluster: &str) -> String {
        let line = self.0["join-command"].as_str().unwrap();
        line.replace("<cluster_name>", cluster)
    }
}

/// A definition of a kind that stores anything.
fn definition(group: &str, kind: &str, version: &str) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": {"kind": kind, "plural": plural},
            "versions": [{
                "name": version, "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}

/// Defines a kind, creates one object, and removes both at the end.
async fn with_object(
    managed: &Managed,
    group: &str,
    kind: &str,
    name: &str,
    test: impl AsyncFnOnce(),
) {
    let definition = definition(group, kind, "v1");
    let path = format!(
        "{}/{}",
        collection_of(&definition),
        definition["metadata"]["name"].as_str().unwrap()
    );
    managed.put(&definition).await;
    let objects = format!("/apis/{group}/v1/{}s", kind.to_lowercase());
    let object = json!({
        "apiVersion": format!("{group}/v1"), "kind": kind, "metadata": {"name": name},
    });
    eventually("a kind that is served", async || {
        match managed.admin.post(&objects, &object).await.unwrap() {
            answer if answer.code == 201 => Ok(()),
            answer => Err(answer),
        }
    })
    .await;
    test().await;
    managed.admin.delete(&path).await.unwrap().ok();
    eventually("a kind that is not served", async || {
        match managed.admin.get(&objects).await.unwrap() {
            answer if answer.code == 404 => Ok(()),
            answer => Err(answer),
        }
    })
    .await;
}

/// A name for a managed cluster.
fn cluster_name() -> String {
    fresh("joins")
}

/// The time in which nothing is expected to happen.
const SHORT: Duration = Duration::from_secs(2);
