//! Waiting until the hub applies a registration that was written.
//!
//! A real API server learns of registrations as any client does: a moment after they were stored, and in the order in which they
//! were stored. So a test writes one more registration, whose effect it can see: then all earlier ones are in force, too.

use berth_api::path::object_path;
use serde_json::{Value, json};

use super::{Cluster, Person, fresh, path_of};
use crate::{eventually, when};

/// A URL without a server.
const NOWHERE: &str = "https://127.0.0.1:1";

/// Returns when all registrations that were written before are in force.
pub async fn wait_until_in_force(cluster: &Cluster) {
    let admin = cluster.admin().await;
    for kind in [
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ] {
        let sentinel = sentinel(kind);
        cluster.apply(std::slice::from_ref(&sentinel)).await;
        wait_until_felt(&admin, sentinel["metadata"]["name"].as_str().unwrap()).await;
        admin.delete(&path_of(&sentinel)).await.unwrap().ok();
    }
}

/// Deletes the registrations that earlier tests left, and returns when the hub does not call them any more.
pub(super) async fn remove_registrations(cluster: &Cluster) {
    let admin = cluster.admin().await;
    let mut has_any = false;
    for resource in [
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
    ] {
        let path = object_path(("admissionregistration.k8s.io", "v1", resource), "", "");
        let list = admin.get(&path).await.unwrap();
        if list.body["items"] != json!([]) {
            has_any = true;
            admin.delete(&path).await.unwrap().ok();
        }
    }
    if has_any {
        wait_until_in_force(cluster).await;
    }
}

/// Deletes the Leases of components that earlier tests killed: otherwise the next ones wait until these have run out.
pub(super) async fn remove_leases(cluster: &Cluster) {
    let admin = cluster.admin().await;
    for namespace in [
        "open-cluster-management-hub",
        "open-cluster-management-agent",
    ] {
        let path = object_path(("coordination.k8s.io", "v1", "leases"), namespace, "");
        admin.delete(&path).await.unwrap().ok();
    }
}

/// A registration that refuses ConfigMaps with a label of its name, and selects no others.
fn sentinel(kind: &str) -> Value {
    let name = fresh("sentinel");
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": { "name": name },
        "webhooks": [{
            "name": format!("{name}.tests.berth"),
            "clientConfig": { "url": NOWHERE },
            "rules": [{
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "resources": ["configmaps"],
                "operations": ["CREATE"],
                "scope": "Namespaced",
            }],
            "objectSelector": { "matchLabels": { "sentinel": name } },
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            "timeoutSeconds": 1,
        }],
    })
}

async fn wait_until_felt(admin: &Person, sentinel: &str) {
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": sentinel, "labels": { "sentinel": sentinel } },
    });
    let path = "/api/v1/namespaces/default/configmaps?dryRun=All";
    eventually("the effect of a registration", async || {
        let answer = admin.post(path, &object).await.unwrap();
        when(answer, |it| it.code == 500)
    })
    .await;
}
