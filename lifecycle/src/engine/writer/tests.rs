#![allow(clippy::unwrap_used, reason = "tests")]

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::Response;
use prometheus::Registry;

use super::*;

/// A hub with this namespace, or none. It lets nobody patch, and says what it was asked.
fn hub(stored: Option<Value>) -> (Writer, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    let service = tower::service_fn(move |request: Request<Body>| {
        let (stored, log) = (stored.clone(), Arc::clone(&log));
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect_bytes().await.unwrap();
            log.lock()
                .unwrap()
                .push(format!("{} {}", parts.method, parts.uri.path()));
            let (code, answer) = match (parts.method.as_str(), stored) {
                ("POST", Some(_)) => (409, br#"{"kind":"Status","code":409}"#.to_vec()),
                ("POST" | "PUT", _) => (200, body.to_vec()),
                ("GET", Some(stored)) => (200, stored.to_string().into_bytes()),
                ("GET", None) => (404, Vec::new()),
                _ => (403, Vec::new()),
            };
            let answer = Response::builder().status(code).body(Body::from(answer));
            Ok::<_, Infallible>(answer.unwrap())
        }
    });
    let client = Client::new(service, "default");
    let metrics = Metrics::new(&Registry::new()).unwrap();
    (Writer::new(client, None, None, metrics), asked)
}

fn made(labels: &Value) -> Write {
    let config = crate::config::Config::default();
    let mut body = crate::roles::namespace(&config, "c1");
    json_patch::merge(&mut body["metadata"]["labels"], labels);
    Write {
        target: crate::roles::target(&body),
        action: Action::CreateOrUpdate { body },
        reconciler: "acceptance",
        events: Vec::new(),
    }
}

async fn written(writer: &Writer) -> Value {
    match writer.write(&made(&json!({"a": "b"}))).await.unwrap() {
        Written::Object(object) => object.value,
        Written::Gone => panic!("it is there"),
    }
}

#[tokio::test]
async fn what_may_not_be_patched_is_created() {
    let (writer, asked) = hub(None);
    let object = written(&writer).await;
    assert_eq!(object["metadata"]["labels"]["a"], "b");
    assert_eq!(*asked.lock().unwrap(), ["POST /api/v1/namespaces"]);
}

#[tokio::test]
async fn and_one_that_is_there_is_replaced_with_all_it_had() {
    let (writer, asked) = hub(Some(json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": "c1",
            "resourceVersion": "7",
            "labels": {"a": "x", "theirs": "y"},
            "annotations": {"team": "z"},
        },
        "spec": {"finalizers": ["kubernetes"]},
    })));
    let object = written(&writer).await;
    assert_eq!(
        object["metadata"],
        json!({
            "name": "c1",
            "resourceVersion": "7",
            "labels": {"a": "b", "theirs": "y", "open-cluster-management.io/cluster-name": "c1"},
            "annotations": {"team": "z"},
        })
    );
    assert_eq!(object["spec"], json!({"finalizers": ["kubernetes"]}));
    assert_eq!(
        *asked.lock().unwrap(),
        [
            "POST /api/v1/namespaces",
            "GET /api/v1/namespaces/c1",
            "PUT /api/v1/namespaces/c1"
        ]
    );
}

#[tokio::test]
async fn a_conflict_with_what_is_not_there_is_a_conflict() {
    // Such as a quota that somebody else changes at the same time.
    let service = tower::service_fn(async |request: Request<Body>| {
        let code = if request.method() == Method::POST {
            409
        } else {
            404
        };
        let status = json!({"kind": "Status", "code": code}).to_string();
        let answer = Response::builder().status(code);
        Ok::<_, Infallible>(answer.body(Body::from(status.into_bytes())).unwrap())
    });
    let metrics = Metrics::new(&Registry::new()).unwrap();
    let writer = Writer::new(Client::new(service, "default"), None, None, metrics);
    let Write {
        target,
        action: Action::CreateOrUpdate { body },
        ..
    } = made(&json!({}))
    else {
        unreachable!()
    };
    let patched = Action::CreateOrPatch {
        body: body.clone(),
        patch: json!({}),
    };
    for action in [Action::CreateOrUpdate { body }, patched] {
        let write = Write {
            action,
            ..made(&json!({}))
        };
        assert_eq!(write.target, target);
        let (failure, _) = writer.write(&write).await.unwrap_err();
        assert_eq!(failure.code, 409, "{write:?}");
    }
}

/// What is left in a namespace, as far as this answer tells.
async fn left(code: u16, answer: &'static str) -> Result<Vec<String>, String> {
    let service = tower::service_fn(move |_: Request<Body>| async move {
        let answer = Response::builder()
            .status(code)
            .body(Body::from(answer.as_bytes().to_vec()));
        Ok::<_, Infallible>(answer.unwrap())
    });
    let metrics = Metrics::new(&Registry::new()).unwrap();
    let writer = Writer::new(Client::new(service, "default"), None, None, metrics);
    let leases = crate::heartbeat::lease("c1").resource;
    let remaining = writer.remaining("c1", &leases).await.objects?;
    Ok(remaining.into_iter().map(|object| object.name).collect())
}

#[tokio::test]
async fn only_the_hub_says_that_nothing_is_left() {
    let one = r#"{"metadata": {}, "items": [{"metadata": {"name": "w", "uid": "u"}}]}"#;
    assert_eq!(left(200, one).await.unwrap(), ["w"]);
    for (code, nothing) in [
        (200, r#"{"metadata": {"continue": ""}, "items": []}"#),
        (200, r#"{"metadata": {}, "items": null}"#),
        (404, "404 page not found\n"),
        (404, r#"{"kind": "Status", "reason": "NotFound"}"#),
    ] {
        assert_eq!(left(code, nothing).await.unwrap(), [] as [&str; 0]);
    }
    for (code, answer, why) in [
        (404, "<h1>not here</h1>", "404 <h1>not here</h1>"),
        (404, r#"{"error": "no hub"}"#, r#"404 {"error": "no hub"}"#),
        (200, "{}", "no list"),
        (200, r#"{"metadata": {}}"#, "no list"),
        (
            200,
            r#"{"metadata": {}, "items": [{"metadata": {"name": "w"}}]}"#,
            "no list",
        ),
        (302, r#"{"metadata": {}, "items": []}"#, "items"),
    ] {
        let told = left(code, answer).await.unwrap_err();
        assert!(told.contains(why), "{answer}: {told}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_never_answers_is_given_up_and_others_get_their_turn() {
    let service = tower::service_fn(async |request: Request<Body>| {
        let (parts, body) = request.into_parts();
        let body = body.collect_bytes().await.unwrap();
        if String::from_utf8_lossy(&body).contains("stuck") {
            std::future::pending::<()>().await;
        }
        assert_eq!(parts.method, Method::POST);
        let answer = Response::new(Body::from(body.to_vec()));
        Ok::<_, Infallible>(answer)
    });
    let metrics = Metrics::new(&Registry::new()).unwrap();
    let writer = Writer::new(Client::new(service, "default"), None, None, metrics);
    let begun = now();
    let stuck = made(&json!({"is": "stuck"}));
    let all = futures::future::join_all((0..AT_ONCE).map(|_| writer.write(&stuck)));
    let free = async {
        tokio::task::yield_now().await;
        writer.write(&made(&json!({}))).await.unwrap();
        assert_eq!(now() - begun, LONGEST);
    };
    let (all, ()) = tokio::join!(all, free);
    for outcome in all {
        let (failure, _) = outcome.unwrap_err();
        assert_eq!(
            (failure.code, &*failure.message),
            (0, "no answer within 15.0s")
        );
    }
}

/// An API server asks webhooks before it compares resourceVersions.
#[tokio::test]
async fn a_write_that_is_refused_for_what_was_stale_in_it_is_a_conflict() {
    let stored =
        |version: &str| Some(json!({"metadata": {"name": "c1", "resourceVersion": version}}));
    let taints = |version: Value| Action::Patch {
        subresource: None,
        body: json!({
            "metadata": {"uid": "u", "resourceVersion": version},
            "spec": {"taints": [{"key": "a", "effect": "NoSelect", "timeAdded": "2026-01-01T00:00:00Z"}]},
        }),
    };
    for (sentence, refused, stored, decided_from, code, reads) in [
        (
            "it was written since",
            400,
            stored("8"),
            json!("7"),
            409,
            true,
        ),
        (
            "a denial of what is gone",
            403,
            stored("8"),
            json!("7"),
            409,
            true,
        ),
        (
            "it cannot be any more",
            422,
            stored("8"),
            json!("7"),
            409,
            true,
        ),
        ("it is gone", 400, None, json!("7"), 409, true),
        (
            "it is wrong by itself",
            400,
            stored("7"),
            json!("7"),
            400,
            true,
        ),
        ("it is not allowed", 403, stored("7"), json!("7"), 403, true),
        (
            "it names no version",
            400,
            stored("8"),
            Value::Null,
            400,
            false,
        ),
        (
            "a conflict already",
            409,
            stored("8"),
            json!("7"),
            409,
            false,
        ),
        ("the hub is busy", 429, stored("8"), json!("7"), 429, false),
    ] {
        let asked: Arc<Mutex<Vec<Method>>> = Arc::default();
        let log = Arc::clone(&asked);
        let service = tower::service_fn(move |request: Request<Body>| {
            log.lock().unwrap().push(request.method().clone());
            let (code, body) = match (request.method(), &stored) {
                (&Method::GET, Some(stored)) => (200, stored.clone()),
                (&Method::GET, None) => (404, json!({"kind": "Status", "code": 404})),
                _ => (refused, json!({"kind": "Status", "message": "no"})),
            };
            let body = Body::from(body.to_string().into_bytes());
            let answer = Response::builder().status(code).body(body).unwrap();
            async move { Ok::<_, Infallible>(answer) }
        });
        let metrics = Metrics::new(&Registry::new()).unwrap();
        let writer = Writer::new(Client::new(service, "default"), None, None, metrics);
        let write = Write {
            action: taints(decided_from),
            ..made(&json!({}))
        };
        let (failure, _) = writer.write(&write).await.unwrap_err();
        assert_eq!(failure.code, code, "{sentence}: {failure:?}");
        assert_eq!(
            failure.is_transient(),
            [409, 429].contains(&code),
            "{sentence}"
        );
        assert!(failure.message.ends_with("no"), "{sentence}: {failure:?}");
        let methods = asked.lock().unwrap();
        assert_eq!(methods.contains(&Method::GET), reads, "{sentence}");
        assert_eq!(methods.len(), 1 + usize::from(reads), "{sentence}");
    }
}
