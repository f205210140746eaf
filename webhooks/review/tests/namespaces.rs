//! A permission can be limited to a namespace, with both answerers: files and a hub.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use berth_hub::{HubApi, RequestBody};
use berth_review::{Answerer, FilesAnswerer, HubAnswerer, HubFiles, Requester};
use berth_rules::{Answer, Permission, Question};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::service_fn;

/// dev may bind the set prod in the namespace team-a.
const FILES: &str = r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: binder, namespace: team-a}
rules:
- apiGroups: [cluster.open-cluster-management.io]
  resources: [managedclustersets/bind]
  resourceNames: [prod]
  verbs: [create]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: binder, namespace: team-a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: binder}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: dev}]
"#;

fn requester() -> Requester {
    Requester {
        username: "dev".to_owned(),
        ..Requester::default()
    }
}

fn bind(namespace: Option<&str>) -> Question {
    let bind = Permission::bind("prod");
    Question::Permission(match namespace {
        Some(namespace) => bind.in_namespace(namespace),
        None => bind,
    })
}

/// The namespaces in which dev may and may not bind.
const CASES: [(Option<&str>, Answer); 3] = [
    (Some("team-a"), Answer::Yes),
    (Some("team-b"), Answer::No),
    (None, Answer::No),
];

#[tokio::test]
async fn files_grant_a_permission_in_one_namespace() {
    let mut files = HubFiles::default();
    files.add("rbac.yaml", FILES).unwrap();
    let files = FilesAnswerer::new(files);
    for (namespace, expected) in CASES {
        let finding = files.answer(&requester(), &bind(namespace)).await;
        assert_eq!(finding.answer, expected, "{namespace:?}: {finding:?}");
    }
}

#[tokio::test]
async fn a_hub_is_asked_about_the_namespace() {
    let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
    let noted = Arc::clone(&asked);
    let hub = HubApi::new(service_fn(move |request: Request<RequestBody>| {
        let noted = Arc::clone(&noted);
        async move {
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let mut review: Value = serde_json::from_slice(&body).unwrap();
            let attributes = review["spec"]["resourceAttributes"].clone();
            review["status"] = json!({ "allowed": attributes["namespace"] == "team-a" });
            noted.lock().unwrap().push(attributes);
            let body = Full::<Bytes>::from(review.to_string());
            Ok::<_, Infallible>(Response::builder().status(201).body(body).unwrap())
        }
    }));
    let hub = HubAnswerer::new(hub);
    for (namespace, expected) in CASES {
        let finding = hub.answer(&requester(), &bind(namespace)).await;
        assert_eq!(finding.answer, expected, "{namespace:?}: {finding:?}");
    }
    let asked = asked.lock().unwrap();
    let attributes = |more: Value| {
        let mut attributes = json!({
            "group": "cluster.open-cluster-management.io", "resource": "managedclustersets",
            "subresource": "bind", "name": "prod", "verb": "create",
        });
        let more = more.as_object().unwrap().clone();
        attributes.as_object_mut().unwrap().extend(more);
        attributes
    };
    assert_eq!(
        *asked,
        [
            attributes(json!({ "namespace": "team-a" })),
            attributes(json!({ "namespace": "team-b" })),
            attributes(json!({})),
        ]
    );
}
