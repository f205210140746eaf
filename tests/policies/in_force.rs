//! Waiting until the API server evaluates the policies that were written.
//!
//! It compiles new policies together, about once a second. So a test writes one more policy of each kind, whose effect it can see: then
//! all earlier ones are in force, too.

use berth_testkit::cluster::{Person, fresh, path_of};
use berth_testkit::objects::cluster;
use berth_testkit::{eventually, when};
use serde_json::{Value, json};

use crate::engine::Engine;
use crate::users::User;
use crate::write::{Verb, Write, send};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps?dryRun=All";

/// Returns when all policies that were written before are in force.
pub async fn wait_until_policies_are_in_force(admin: &Person) {
    let name = fresh("sentinel");
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": name, "labels": { "sentinel": name } },
    });
    let documents = [
        policy("Validating", &name),
        policy("Mutating", &name),
        binding("Validating", &name),
        binding("Mutating", &name),
    ];
    for document in &documents {
        let path = path_of(document);
        admin.apply_as("proof", &path, document).await.unwrap().ok();
    }
    // The mutating policy changes the label, which the validating one then finds changed.
    eventually(
        "the effect of a mutating and a validating policy",
        async || {
            let answer = admin.post(CONFIG_MAPS, &object).await.unwrap();
            when(answer, |it| {
                it.code == 422 && it.body.to_string().contains("both are in force")
            })
        },
    )
    .await;
    for document in &documents {
        admin.delete(&path_of(document)).await.unwrap().ok();
    }
}

/// Returns when mutating policies can be evaluated: the API server learns the schema of a new kind a few seconds after the kind.
pub async fn wait_until_clusters_can_be_mutated(admin: &Person) {
    let mut object = cluster("schema");
    object["spec"]["taints"] = json!([{ "key": "k", "effect": "NoSelect" }]);
    let write = Write {
        user: User::new(&[]),
        verb: Verb::Create,
        object,
    };
    eventually("the schema of ManagedClusters", async || {
        let answer = send(admin, &write, &Engine::Policies).await;
        when(answer, |it| it.code == 201)
    })
    .await;
}

fn policy(kind: &str, name: &str) -> Value {
    let rule = json!({
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["configmaps"],
        "operations": ["CREATE"],
    });
    let mut policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": format!("{kind}AdmissionPolicy"),
        "metadata": { "name": name },
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "resourceRules": [rule],
                "objectSelector": { "matchLabels": { "sentinel": name } },
            },
        },
    });
    if kind == "Mutating" {
        policy["spec"]["reinvocationPolicy"] = "Never".into();
        policy["spec"]["mutations"] = json!([{
            "patchType": "ApplyConfiguration",
            "applyConfiguration": { "expression": "Object{metadata: Object.metadata{annotations: {'felt': 'yes'}}}" },
        }]);
    } else {
        policy["spec"]["validations"] = json!([{
            "expression": "!('felt' in object.metadata.?annotations.orValue({}))",
            "message": "both are in force",
        }]);
    }
    policy
}

fn binding(kind: &str, name: &str) -> Value {
    let mut binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": format!("{kind}AdmissionPolicyBinding"),
        "metadata": { "name": name },
        "spec": { "policyName": name },
    });
    if kind == "Validating" {
        binding["spec"]["validationActions"] = json!(["Deny"]);
    }
    binding
}
