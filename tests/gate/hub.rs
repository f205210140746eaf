//! The gate with a hub behind it: the same decisions as with files, and a correct message for every way in which a hub can
//! fail to answer.

mod asking;
mod identity;
mod life;
mod replay;
mod trouble;

use berth_fakes::FakeHub;
use berth_testkit::{Gate, post, response};
use http::Response;
use hyper::body::Bytes;
use serde_json::{Value, json};

/// A gate with this hub behind it, which has answered once; it does not ask by itself any more.
fn gate(hub: &FakeHub) -> Gate {
    let mut gate = starting(hub);
    gate.logged(|line| line["message"] == "ready: questions are answered");
    hub.forget();
    gate
}

/// A gate that may still be asking this hub whether it answers.
fn starting(hub: &FakeHub) -> Gate {
    Gate::start(&["--kubeconfig", hub.kubeconfig().to_str().unwrap()])
}

/// Has a review decided within a time, as an API server gives it, and takes the response out of the answer.
async fn review(gate: &Gate, path: &str, review: &Value, timeout: &str) -> Value {
    let request = post(&format!("{path}?timeout={timeout}"), review.to_string());
    let answer: Response<Bytes> = gate.send(request).await;
    assert_eq!(answer.status(), 200);
    let answer: Value = serde_json::from_slice(answer.body()).unwrap();
    let response = response(&answer).clone();
    assert_eq!(response["uid"], review["request"]["uid"]);
    response
}

/// A review of a write by this user, a member of `system:authenticated` and of their team.
fn written(user: &str, new: &Value, old: Option<&Value>) -> Value {
    let kind = new["kind"].as_str().unwrap();
    let (group, version) = new["apiVersion"].as_str().unwrap().split_once('/').unwrap();
    let mut request = json!({
        "uid": "5c0a2a4e-7f6b-4a0e-9b5d-0d5a3c1f2e6b",
        "resource": { "group": group, "version": version, "resource": format!("{}s", kind.to_lowercase()) },
        "name": new["metadata"]["name"],
        "operation": if old.is_some() { "UPDATE" } else { "CREATE" },
        "userInfo": { "username": user, "groups": [format!("team-{user}"), "system:authenticated"] },
        "object": new,
        "oldObject": old,
    });
    if let Some(namespace) = new["metadata"]["namespace"].as_str() {
        request["namespace"] = namespace.into();
    }
    json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request })
}

/// A ManagedCluster, in this set unless it is empty.
fn cluster(name: &str, set: &str, accepted: bool) -> Value {
    let mut cluster = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": { "name": name },
        "spec": { "hubAcceptsClient": accepted, "leaseDurationSeconds": 60 },
    });
    if !set.is_empty() {
        cluster["metadata"]["labels"] =
            json!({ "cluster.open-cluster-management.io/clusterset": set });
    }
    cluster
}

/// A ManagedClusterSetBinding.
fn binding(set: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2",
        "kind": "ManagedClusterSetBinding",
        "metadata": { "name": set, "namespace": namespace },
        "spec": { "clusterSet": set },
    })
}

/// The review by which carol accepts a cluster: a fact about its namespace, two permissions, its bindings.
fn carol_accepts(name: &str) -> Value {
    written(
        "carol",
        &cluster(name, "default", true),
        Some(&cluster(name, "default", false)),
    )
}

fn message(response: &Value) -> &str {
    response["status"]["message"].as_str().unwrap_or_default()
}
