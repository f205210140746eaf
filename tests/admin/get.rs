//! `berth get`.

mod addons;
mod bindings;
mod clusters;
mod clustersets;
mod pending;
mod pipe;

use std::ops::Deref;

use serde_json::{Value, json};

use crate::house::{CLUSTERS, House, SETS};
use berth_testkit::cluster::{Cluster, Output, fresh};

/// A name that no other test of this process has, and that is as long as all: so columns stand where they stand.
fn name(prefix: &str) -> String {
    let fresh = fresh("get");
    let number: u32 = fresh.trim_start_matches("get-").parse().unwrap();
    format!("{prefix}{number:05}")
}

impl<C: Deref<Target = Cluster>> House<C> {
    /// Makes a set.
    async fn set(&self, name: &str, labels: &Value, spec: &Value) {
        let set = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2",
            "kind": "ManagedClusterSet",
            "metadata": {"name": name, "labels": labels},
            "spec": spec,
        });
        self.admin.post(SETS, &set).await.unwrap().ok();
    }

    /// Makes a namespace.
    async fn namespace(&self, name: &str) {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let path = "/api/v1/namespaces";
        self.admin.post(path, &namespace).await.unwrap().ok();
    }

    /// Binds a set, and returns when the hub says whether it is bound.
    async fn bind(&self, namespace: &str, set: &str, labels: &Value) {
        let path = bindings_path(namespace);
        let binding = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2",
            "kind": "ManagedClusterSetBinding",
            "metadata": {"name": set, "labels": labels},
            "spec": {"clusterSet": set},
        });
        self.admin.post(&path, &binding).await.unwrap().ok();
        self.once(&format!("{path}/{set}"), "decided about", |it| {
            it["status"]["conditions"].is_array()
        })
        .await;
    }

    /// Returns when a set says so.
    async fn set_says(&self, set: &str, message: &str) {
        self.once(&format!("{SETS}/{set}"), message, |it| {
            it["status"]["conditions"][0]["message"] == message
        })
        .await;
    }

    /// Accepts a cluster, and returns when the hub has.
    async fn accept(&self, cluster: &str) {
        let path = format!("{CLUSTERS}/{cluster}");
        let patch = json!({"spec": {"hubAcceptsClient": true}});
        self.admin.merge(&path, &patch).await.unwrap().ok();
        self.once(&path, "accepted", |it| {
            it["status"]["conditions"][0]["type"] == "HubAcceptedManagedCluster"
        })
        .await;
    }
}

fn bindings_path(namespace: &str) -> String {
    format!(
        "/apis/cluster.open-cluster-management.io/v1beta2/namespaces/{namespace}/managedclustersetbindings"
    )
}

/// What was written as JSON.
#[track_caller]
fn json_of(output: &Output) -> Value {
    serde_json::from_str(output.ok()).unwrap()
}

/// What was written as YAML.
#[track_caller]
fn yaml_of(output: &Output) -> Value {
    serde_saphyr::from_str(output.ok()).unwrap()
}
