#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::json;

use super::*;
use berth_api::GroupVersionResource;
use berth_api::plan::Target;

fn clusters() -> Target {
    Target {
        resource: GroupVersionResource {
            group: berth_api::groups::CLUSTER.to_owned(),
            version: "v1".to_owned(),
            resource: berth_api::groups::MANAGED_CLUSTERS.to_owned(),
        },
        namespace: None,
        name: "c1".to_owned(),
    }
}

#[test]
fn an_object_is_gone_with_its_last_finalizer_though_the_answer_still_has_it() {
    let answer = |deleting: bool| -> Object {
        let time = deleting.then_some("2026-08-11T12:00:00Z");
        serde_json::from_value(json!({
            "metadata": {"name": "c1", "deletionTimestamp": time, "finalizers": ["x"]},
        }))
        .unwrap()
    };
    for (row, metadata, deleting, gone) in [
        ("none is left", json!({"finalizers": []}), true, true),
        ("all are removed", json!({"finalizers": null}), true, true),
        ("one is left", json!({"finalizers": ["y"]}), true, false),
        ("labels only", json!({"labels": {}}), true, false),
        ("it stays", json!({"finalizers": []}), false, false),
    ] {
        let write = Write {
            target: clusters(),
            action: Action::Patch {
                subresource: None,
                body: json!({"metadata": metadata}),
            },
            reconciler: "removal",
            events: Vec::new(),
        };
        assert_eq!(
            takes_last_finalizer(&write, &answer(deleting)),
            gone,
            "{row}"
        );
    }
}

#[test]
fn that_somebody_deleted_the_cluster_is_no_fault() {
    let failure = |target: Target, code| Failure {
        reconciler: "acceptance",
        target,
        code,
        message: String::new(),
    };
    let mut lease = clusters();
    lease.resource.resource = "leases".to_owned();
    for (target, code, passing) in [
        (clusters(), 404, true),
        (clusters(), 409, true),
        (clusters(), 403, false),
        (lease, 404, false),
    ] {
        assert_eq!(is_passing(&failure(target, code)), passing, "{code}");
    }
}

/// The hub is asked about one request; before it answers, its sender deletes that one, and another user sends one of the
/// same name.
#[tokio::test]
async fn the_answer_about_a_request_is_not_anothers_of_the_same_name() {
    use std::sync::OnceLock;

    use http::{Request, Response};
    use kube::client::Body;
    use prometheus::Registry;

    fn request(uid: &str, version: u64, user_uid: &str) -> Object {
        serde_json::from_value(json!({
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {
                "name": "csr1", "uid": uid, "resourceVersion": version.to_string(),
                "labels": {"open-cluster-management.io/cluster-name": "c1"},
            },
            "spec": {
                "request": k8s_openapi::ByteString(crate::engine::GOOD_REQUEST.to_vec()),
                "signerName": crate::csrs::SIGNER,
                "username": "system:open-cluster-management:c1:a1",
                "uid": user_uid,
                "usages": ["client auth"],
            },
        }))
        .unwrap()
    }

    let shared: Arc<OnceLock<Arc<Work>>> = Arc::default();
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let (hub, log) = (Arc::clone(&shared), Arc::clone(&asked));
    let service = tower::service_fn(move |request_: Request<Body>| {
        let (hub, log) = (Arc::clone(&hub), Arc::clone(&log));
        async move {
            let (parts, body) = request_.into_parts();
            let body: Value = serde_json::from_slice(&body.collect_bytes().await.unwrap()).unwrap();
            let mut log = log.lock().unwrap();
            let user = body["spec"]["uid"].as_str();
            log.push(format!(
                "{} {}",
                parts.method,
                user.unwrap_or(parts.uri.path())
            ));
            // The first one may, the second may not.
            let allowed = log.len() == 1;
            if allowed {
                let again = request("second", 2, "second-user");
                let mut view = hub.get().unwrap().view();
                view.apply(Kind::Csr, &again, Source::Watch, crate::engine::now());
            }
            let mut answer = body;
            answer["status"] = json!({"allowed": allowed});
            let answer = Body::from(answer.to_string().into_bytes());
            Ok::<_, std::convert::Infallible>(Response::new(answer))
        }
    });
    let client = Client::new(service, "default");
    let metrics = Metrics::new(&Registry::new()).unwrap();
    let writer = Arc::new(Writer::new(client.clone(), None, None, metrics.clone()));
    let (events, _) = Events::new("test", Arc::clone(&writer), metrics.clone());
    let work = Work::new(Arc::default(), client, writer, events, metrics);
    let work = Arc::new(work);
    let _ = shared.set(Arc::clone(&work));
    let first = request("first", 1, "first-user");
    (work.view()).apply(Kind::Csr, &first, Source::Watch, crate::engine::now());
    assert!(matches!(work.csr("csr1").await, Done::Settled { .. }));
    assert_eq!(
        *asked.lock().unwrap(),
        ["POST first-user", "POST second-user"]
    );
}
