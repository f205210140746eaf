#![allow(clippy::unwrap_used, reason = "tests")]

use std::convert::Infallible;
use std::sync::{Arc, Mutex, OnceLock};

use berth_hub::{HubApi, RequestBody};
use berth_reconcile::RawObject;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

use super::*;
use crate::kinds::{self, Kind};
use berth_lifecycle_core::config::Config;

mod large;
mod profiles;

fn request(uid: &str, version: u64, user_uid: &str) -> RawObject {
    let request = json!({
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {
            "name": "csr1", "uid": uid, "resourceVersion": version.to_string(),
            "labels": {"open-cluster-management.io/cluster-name": "c1"},
        },
        "spec": {
            "request": k8s_openapi::ByteString(crate::GOOD_REQUEST.to_vec()),
            "signerName": berth_lifecycle_core::csrs::SIGNER,
            "username": "system:open-cluster-management:c1:a1",
            "uid": user_uid,
            "usages": ["client auth"],
        },
    });
    RawObject::read(Bytes::from(request.to_string())).unwrap()
}

/// The reconcilers of a hub with these responses.
fn on(answer: impl Fn(Value) -> String + Clone + Send + Sync + 'static) -> Arc<Handle<Lifecycle>> {
    let api = HubApi::new(tower::service_fn(move |request: Request<RequestBody>| {
        let answer = answer.clone();
        async move {
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let body = serde_json::from_slice(&body).unwrap_or_default();
            Ok::<_, Infallible>(Response::new(Full::<Bytes>::from(answer(body))))
        }
    }));
    crate::on(api, Config::default())
}

/// The hub is asked about a CSR. Before it responds, the sender deletes the CSR, and another user creates one of the same name.
#[tokio::test]
async fn the_answer_about_a_request_is_not_anothers_of_the_same_name() {
    let shared: Arc<OnceLock<Arc<Handle<Lifecycle>>>> = Arc::default();
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let (hub, log) = (Arc::clone(&shared), Arc::clone(&asked));
    let work = on(move |mut review| {
        let mut log = log.lock().unwrap();
        log.push(review["spec"]["uid"].as_str().unwrap().to_owned());
        // The first user may renew, the second may not.
        let allowed = log.len() == 1;
        if allowed {
            let work = hub.get().unwrap();
            work.observed(Kind::Csr, &request("second", 2, "second-user"));
        }
        review["status"] = json!({"allowed": allowed});
        review.to_string()
    });
    let _ = shared.set(Arc::clone(&work));
    work.observed(Kind::Csr, &request("first", 1, "first-user"));
    let done = csr::reconcile(&work, "csr1").await;
    assert!(matches!(done, Next::Settled { .. }), "{done:?}");
    assert_eq!(*asked.lock().unwrap(), ["first-user", "second-user"]);
}

/// A response may come from a proxy instead of the hub.
#[tokio::test]
async fn only_a_review_says_that_an_agent_may_not_renew() {
    for (sentence, answer, fails) in [
        (
            "a refusal",
            json!({"kind": "SubjectAccessReview", "status": {"allowed": false}}),
            false,
        ),
        ("a page", json!({"login": "please"}), true),
        (
            "another kind",
            json!({"kind": "Status", "status": {"allowed": true}}),
            true,
        ),
        (
            "no answer yet",
            json!({"kind": "SubjectAccessReview", "spec": {}}),
            true,
        ),
    ] {
        let work = on(move |_| answer.to_string());
        work.observed(Kind::Csr, &request("u", 1, "user"));
        let done = csr::reconcile(&work, "csr1").await;
        assert_eq!(
            matches!(done, Next::Failed { .. }),
            fails,
            "{sentence}: {done:?}"
        );
    }
}

/// Anyone who may create CSRs chooses their annotations. An approval repeats them.
#[tokio::test]
async fn a_large_request_is_read_again_when_its_turn_comes() {
    let mut stored = json_of(&request("u", 1, "user"));
    let much = "x".repeat(50_000);
    stored["metadata"]["annotations"] = json!({"much": much});
    let text = Bytes::from(stored.to_string());
    let large = RawObject::read(text).unwrap();
    let approved: Arc<Mutex<Vec<Value>>> = Arc::default();
    let log = approved.clone();
    let work = on(move |asked| {
        let kind = asked["kind"].as_str().unwrap_or_default();
        match kind {
            "SubjectAccessReview" => json!({"kind": kind, "status": {"allowed": true}}),
            "CertificateSigningRequest" => {
                log.lock().unwrap().push(asked.clone());
                asked
            }
            _ => json!({"metadata": {"resourceVersion": "1"}, "items": [stored]}),
        }
        .to_string()
    });
    work.observed(Kind::Csr, &large);
    assert_eq!(work.world().view().request("csr1"), Some(None));
    let done = csr::reconcile(&work, "csr1").await;
    assert!(matches!(done, Next::Settled { .. }), "{done:?}");
    let approved = approved.lock().unwrap();
    assert_eq!(approved[0]["metadata"]["annotations"]["much"], much);
    assert_eq!(approved[0]["status"]["conditions"][0]["type"], "Approved");
}

fn json_of(object: &RawObject) -> Value {
    object.parse().unwrap()
}
