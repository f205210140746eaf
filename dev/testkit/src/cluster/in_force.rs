//! When the hub goes by a registration that was written.
//!
//! A real API server learns of them as any client does, a moment after they were stored, in the order they were stored. So
//! one that can be told by its effect is written after them: once it is felt, they are too.

use serde_json::{Value, json};

use super::{Cluster, Person, fresh, path_of};
use crate::{eventually, when};

/// Where nobody serves.
const NOWHERE: &str = "https://127.0.0.1:1";

/// Returns when the hub goes by all registrations that were written before.
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

/// Refuses ConfigMaps with a label of its name, and concerns nobody else.
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
