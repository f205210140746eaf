#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use serde_json::json;

use super::*;
use crate::queue::now;
use crate::testing::{patch, server, status, target};

fn writer(api: HubApi) -> Writer {
    Writer::new(api, None, None, "tests")
}

/// An API server with this object, or none. It lets nobody patch, and says what it was asked.
fn hub(stored: Option<Value>) -> (Writer, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    let api = server(move |request: String, body| {
        let (stored, log) = (stored.clone(), Arc::clone(&log));
        async move {
            let path = request.split('?').next().unwrap().to_owned();
            let method = path.split(' ').next().unwrap().to_owned();
            log.lock().unwrap().push(path);
            match (&*method, stored) {
                ("POST", Some(_)) => (409, status(409, "AlreadyExists", "a")),
                ("POST" | "PUT", _) => (200, String::from_utf8(body.to_vec()).unwrap()),
                ("GET", Some(stored)) => (200, stored.to_string()),
                ("GET", None) => (404, status(404, "NotFound", "a")),
                _ => (403, status(403, "Forbidden", "a")),
            }
        }
    });
    (writer(api), asked)
}

fn made(labels: Value) -> Write {
    Write {
        action: Action::CreateOrUpdate {
            body: json!({"metadata": {"name": "a", "labels": labels}}),
        },
        ..patch("a", Value::Null)
    }
}

async fn written(writer: &Writer) -> Value {
    match writer.write(&made(json!({"a": "b"}))).await.unwrap() {
        Written::Object(object) => object.parse().unwrap(),
        Written::Gone => panic!("it is there"),
    }
}

/// A tree of values would write 1e3 as 1000.0.
#[tokio::test]
async fn texts_are_sent_as_they_are() {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&sent);
    let api = server(move |request: String, body: Bytes| {
        let text = String::from_utf8(body.to_vec()).unwrap();
        log.lock().unwrap().push(format!("{request} {text}"));
        async move { (200, text) }
    });
    let writer = writer(api);
    let body: Arc<str> = r#"{"metadata": {"name": "a"}, "n": 1e3}"#.into();
    for action in [
        Action::CreateText {
            body: Arc::clone(&body),
        },
        Action::PatchText {
            body: Arc::clone(&body),
        },
    ] {
        let write = Write {
            action,
            ..patch("a", Value::Null)
        };
        writer.write(&write).await.unwrap();
    }
    assert_eq!(
        *sent.lock().unwrap(),
        [
            format!("POST /apis/g/v1/values?fieldManager=tests {body}"),
            format!("PATCH /apis/g/v1/values/a?fieldManager=tests {body}"),
        ]
    );
}

#[tokio::test]
async fn what_may_not_be_patched_is_created() {
    let (writer, asked) = hub(None);
    assert_eq!(written(&writer).await["metadata"]["labels"]["a"], "b");
    assert_eq!(*asked.lock().unwrap(), ["POST /apis/g/v1/values"]);
}

#[tokio::test]
async fn and_one_that_is_there_is_replaced_with_all_it_had() {
    let (writer, asked) = hub(Some(json!({
        "metadata": {
            "name": "a",
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
            "name": "a",
            "resourceVersion": "7",
            "labels": {"a": "b", "theirs": "y"},
            "annotations": {"team": "z"},
        })
    );
    assert_eq!(object["spec"], json!({"finalizers": ["kubernetes"]}));
    assert_eq!(
        *asked.lock().unwrap(),
        [
            "POST /apis/g/v1/values",
            "GET /apis/g/v1/values/a",
            "PUT /apis/g/v1/values/a"
        ]
    );
}

/// OCM's role for its manager of add-ons lets it update ManagedClusterAddOns, and not patch them.
#[tokio::test]
async fn what_may_not_be_patched_is_replaced_if_authorization_says_so() {
    let stored =
        json!({"metadata": {"name": "a", "resourceVersion": "7", "labels": {"theirs": "y"}}});
    let body = json!({"metadata": {"resourceVersion": "7", "labels": {"a": "b"}}});
    let says = |code: u16, reason: &str, message: &str| {
        let mut status: Value = serde_json::from_str(&status(code, reason, "a")).unwrap();
        status["message"] = json!(message);
        (code, status.to_string())
    };
    let refused = |verb: &str| {
        let message =
            format!(r#"values.g "a" is forbidden: User "x" cannot {verb} resource "values""#);
        says(403, "Forbidden", &message)
    };
    for (sentence, patched, updated, expected) in [
        ("updated", refused("patch"), None, Ok("b")),
        (
            "a webhook refuses",
            says(403, "Forbidden", "denied the request"),
            None,
            Err((403, "denied the request")),
        ),
        (
            "neither",
            refused("patch"),
            Some(refused("update")),
            Err((403, "cannot patch resource")),
        ),
        (
            "it has changed",
            refused("patch"),
            Some(says(409, "Conflict", "changed")),
            Err((409, "changed")),
        ),
    ] {
        let stored = stored.clone();
        let writer = writer(server(move |request: String, body: Bytes| {
            let answer = match request.split(' ').next() {
                Some("PATCH") => patched.clone(),
                Some("GET") => (200, stored.to_string()),
                _ => (updated.clone())
                    .unwrap_or_else(|| (200, String::from_utf8(body.to_vec()).unwrap())),
            };
            async move { answer }
        }));
        let found = match writer.write(&patch("a", body.clone())).await {
            Ok(Written::Object(object)) => Ok(object.parse::<Value>().unwrap()),
            Ok(Written::Gone) => panic!("{sentence}"),
            Err((failure, _)) => Err((failure.code, failure.message)),
        };
        match (found, expected) {
            (Ok(object), Ok(label)) => {
                let labels = json!({"a": label, "theirs": "y"});
                assert_eq!(object["metadata"]["labels"], labels, "{sentence}");
                assert_eq!(object["metadata"]["resourceVersion"], "7", "{sentence}");
            }
            (Err((code, message)), Err((of, words))) => {
                assert_eq!(code, of, "{sentence}");
                assert!(message.contains(words), "{sentence}: {message}");
            }
            (found, _) => panic!("{sentence}: {found:?}"),
        }
    }
}

#[tokio::test]
async fn a_conflict_with_what_is_not_there_is_a_conflict() {
    // Such as a quota that another client changes at the same time.
    let writer = writer(server(async |request: String, _| {
        if request.starts_with("POST") {
            (409, status(409, "Conflict", "a"))
        } else {
            (404, status(404, "NotFound", "a"))
        }
    }));
    let update = made(json!({}));
    let Action::CreateOrUpdate { body } = update.action.clone() else {
        unreachable!()
    };
    let patch = Action::CreateOrPatch {
        body,
        patch: json!({}),
    };
    for write in [
        update.clone(),
        Write {
            action: patch,
            ..update
        },
    ] {
        let (failure, _) = writer.write(&write).await.unwrap_err();
        assert_eq!(failure.code, 409, "{write:?}");
    }
}

#[tokio::test]
async fn an_object_is_gone_only_on_the_api_servers_own_word() {
    for (sentence, code, body, gone) in [
        (
            "it was deleted",
            200,
            json!({"kind": "Status", "status": "Success"}).to_string(),
            true,
        ),
        ("it does not exist", 404, status(404, "NotFound", "a"), true),
        (
            "it waits for a finalizer",
            200,
            json!({"metadata": {"name": "a"}}).to_string(),
            false,
        ),
        ("a page", 404, "<h1>not here</h1>".to_owned(), false),
        ("another object", 404, status(404, "NotFound", "b"), false),
    ] {
        let writer = writer(server(move |_, _| {
            let body = body.clone();
            async move { (code, body) }
        }));
        let delete = Action::Delete {
            uid: "u".to_owned(),
            resource_version: None,
            why: "tests",
        };
        let write = Write {
            action: delete,
            ..patch("a", Value::Null)
        };
        let written = writer.write(&write).await;
        assert_eq!(
            matches!(written, Ok(Written::Gone)),
            gone,
            "{sentence}: {written:?}"
        );
        if sentence == "a page" {
            let (failure, _) = written.unwrap_err();
            assert_eq!(
                (failure.code, &*failure.message),
                (0, "404 <h1>not here</h1>")
            );
        }
    }
}

#[tokio::test]
async fn a_deletion_names_the_object_that_was_seen() {
    let delete = |version: Option<&str>| Action::Delete {
        uid: "u".to_owned(),
        resource_version: version.map(str::to_owned),
        why: "tests",
    };
    let in_foreground = Action::DeleteInForeground {
        uid: "u".to_owned(),
        why: "tests",
    };
    for (action, preconditions, policy) in [
        (delete(None), json!({"uid": "u"}), "Background"),
        (
            delete(Some("7")),
            json!({"uid": "u", "resourceVersion": "7"}),
            "Background",
        ),
        (in_foreground, json!({"uid": "u"}), "Foreground"),
    ] {
        let sent = Arc::new(Mutex::new(Value::Null));
        let seen = Arc::clone(&sent);
        let writer = writer(server(move |_, body: Bytes| {
            *seen.lock().unwrap() = serde_json::from_slice(&body).unwrap();
            async { (409, status(409, "Conflict", "a")) }
        }));
        let write = Write {
            action,
            ..patch("a", Value::Null)
        };
        let (failure, _) = writer.write(&write).await.unwrap_err();
        assert_eq!(failure.code, 409);
        assert!(failure.is_transient());
        let sent = sent.lock().unwrap();
        assert_eq!(sent["preconditions"], preconditions);
        assert_eq!(sent["propagationPolicy"], policy);
    }
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_never_answers_is_given_up_and_others_get_their_turn() {
    let writer = writer(server(async |_, body: Bytes| {
        if String::from_utf8_lossy(&body).contains("stuck") {
            std::future::pending::<()>().await;
        }
        (200, String::from_utf8(body.to_vec()).unwrap())
    }));
    let begun = now();
    let stuck = made(json!({"is": "stuck"}));
    let all = futures::future::join_all((0..AT_ONCE).map(|_| writer.write(&stuck)));
    let free = async {
        tokio::task::yield_now().await;
        writer.write(&made(json!({}))).await.unwrap();
        assert_eq!(now() - begun, LONGEST);
    };
    let (all, ()) = tokio::join!(all, free);
    for outcome in all {
        let (failure, _) = outcome.unwrap_err();
        assert_eq!(
            (failure.code, &*failure.message),
            (0, "no response within 15.0s")
        );
    }
}

/// An API server asks webhooks before it compares resourceVersions.
#[tokio::test]
async fn a_write_that_is_refused_for_what_was_stale_in_it_is_a_conflict() {
    let stored =
        |version: &str| Some(json!({"metadata": {"name": "a", "resourceVersion": version}}));
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
        (
            "the API server is busy",
            429,
            stored("8"),
            json!("7"),
            429,
            false,
        ),
    ] {
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = Arc::clone(&asked);
        let writer = writer(server(move |request: String, _| {
            log.lock().unwrap().push(request.clone());
            let answer = match (request.starts_with("GET"), &stored) {
                (true, Some(stored)) => (200, stored.to_string()),
                (true, None) => (404, status(404, "NotFound", "a")),
                _ => (refused, status(refused, "", "a")),
            };
            async move { answer }
        }));
        let body = json!({"metadata": {"uid": "u", "resourceVersion": decided_from}});
        let (failure, _) = writer.write(&patch("a", body)).await.unwrap_err();
        assert_eq!(failure.code, code, "{sentence}: {failure:?}");
        assert_eq!(
            failure.is_transient(),
            [409, 429].contains(&code),
            "{sentence}"
        );
        assert!(failure.message.ends_with("no"), "{sentence}: {failure:?}");
        let asked = asked.lock().unwrap();
        assert_eq!(
            asked.iter().any(|it| it.starts_with("GET")),
            reads,
            "{sentence}"
        );
        assert_eq!(asked.len(), 1 + usize::from(reads), "{sentence}");
    }
}

#[tokio::test]
async fn one_object_is_found_by_a_list() {
    let writer = writer(server(async |request: String, _| {
        assert_eq!(
            request,
            "GET /apis/g/v1/values?fieldSelector=metadata.name%3Da"
        );
        let object = json!({"metadata": {"name": "a"}, "value": 1});
        (200, json!({"metadata": {}, "items": [object]}).to_string())
    }));
    let found = writer.find(&target("a")).await.unwrap().unwrap();
    assert_eq!(found.parse::<Value>().unwrap()["value"], 1);
}
