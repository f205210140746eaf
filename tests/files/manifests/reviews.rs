//! AdmissionReviews, recorded and written for the tests, and how the gate responds to them.

use std::fs;
use std::sync::Arc;

use berth_review::{FilesAnswerer, Gate, HubFiles, Verdict, Webhook};
use berth_rules::{DecisionOutcome, FeatureGates};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::manifests::files::in_repository;

const RECORDED: &str = "tests/data/reviews";

/// The recorded reviews, by the names of their files.
pub(crate) fn recorded() -> Vec<(String, Webhook, Value)> {
    let mut reviews = Vec::new();
    for entry in fs::read_dir(in_repository(RECORDED)).expect("there are recorded reviews") {
        let path = entry.expect("the folder can be read").path();
        let name = path
            .file_name()
            .expect("a file has a name")
            .display()
            .to_string();
        if !name.ends_with(".json") || name.ends_with(".ocm.json") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("the review can be read");
        let review: Value = serde_json::from_str(&text).expect("the review is JSON");
        let resource = &review["request"]["resource"]["resource"];
        let mutates = name.ends_with(".mutate.json");
        let webhook = Webhook::ALL
            .into_iter()
            .find(|webhook| *resource == webhook.resource() && mutates == webhook.mutates())
            .unwrap_or_else(|| panic!("{name} is for no webhook"));
        reviews.push((name, webhook, review));
    }
    reviews
}

/// An object of a webhook's kind with a name, a namespace if it is namespaced, and nothing else.
pub(crate) fn bare(webhook: Webhook) -> Value {
    let mut object = json!({
        "apiVersion": format!("{}/{}", webhook.group(), webhook.version()),
        "kind": webhook.kind(),
        "metadata": { "name": "x" },
    });
    if webhook.is_namespaced() {
        object["metadata"]["namespace"] = "y".into();
    }
    object
}

/// The object with JSON merge patches (RFC 7396) applied to it.
pub(crate) fn merged<'v>(object: &Value, patches: impl IntoIterator<Item = &'v Value>) -> Value {
    let mut object = object.clone();
    for patch in patches {
        json_patch::merge(&mut object, patch);
    }
    object
}

/// The review that a write of an object calls for: CREATE without a stored object, UPDATE with one.
pub(crate) fn review(webhook: Webhook, object: &Value, stored: Option<&Value>) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "7d0e7c6e-6f6f-4c0e-9d3c-3f1d5f0c9a11",
            "resource": {
                "group": webhook.group(),
                "version": webhook.version(),
                "resource": webhook.resource(),
            },
            "name": object["metadata"]["name"],
            "namespace": object["metadata"]["namespace"],
            "operation": if stored.is_some() { "UPDATE" } else { "CREATE" },
            "userInfo": { "username": "alice", "groups": ["team-alice", "system:authenticated"] },
            "object": object,
            "oldObject": stored,
        },
    })
}

/// The gate, with the permissions of the recorded reviews.
pub(crate) struct Judge {
    gate: Gate,
    runtime: tokio::runtime::Runtime,
}

impl Judge {
    pub(crate) fn new() -> Self {
        let rbac = in_repository("examples/hub/rbac.yaml");
        let hub = HubFiles::read(&[rbac]).expect("the hub files can be read");
        let gate = Gate::new(Arc::new(FilesAnswerer::new(hub)), FeatureGates::default());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime of one thread can be made");
        Self { gate, runtime }
    }

    /// What the gate does about a review other than letting it pass without a question; `None` if nothing.
    pub(crate) fn concern(&self, webhook: Webhook, review: &Value) -> Option<String> {
        let body = serde_json::to_vec(review).expect("a review is JSON");
        let now = "2026-11-21T12:00:00Z".parse().expect("it is a time");
        let verdict = self.runtime.block_on(async {
            let deadline = Instant::now() + std::time::Duration::from_secs(30);
            self.gate.examine(webhook, &body, now, deadline).await
        });
        concern(&verdict)
    }
}

fn concern(verdict: &Verdict<'_>) -> Option<String> {
    let Ok(decision) = &verdict.result else {
        panic!("the review is not one: {}", verdict.message());
    };
    let mut concerns = Vec::new();
    if !verdict.answers.is_empty() {
        concerns.push(format!("asks {:?}", verdict.answers));
    }
    if decision.outcome != DecisionOutcome::Allowed {
        concerns.push(format!("refuses: {}", verdict.message()));
    }
    if !decision.patch.0.is_empty() {
        concerns.push(format!("patches: {}", decision.patch));
    }
    if !decision.warnings.is_empty() {
        concerns.push(format!("warns: {:?}", decision.warnings));
    }
    (!concerns.is_empty()).then(|| concerns.join("; "))
}
