use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::*;
use crate::testing::{server, status, values};

fn object(version: u64, value: &str) -> Value {
    json!({"metadata": {"name": "a", "resourceVersion": version.to_string()}, "value": value})
}

fn list(items: &[Value]) -> (u16, String) {
    let list = json!({"metadata": {"resourceVersion": "7"}, "items": items});
    (200, list.to_string())
}

fn event(type_: &str, object: &Value) -> String {
    format!("{}\n", json!({"type": type_, "object": object}))
}

/// Follows `a` of an API server that gives these responses and then none. Returns what was requested, and what was told.
async fn followed(
    responses: Vec<(u16, String)>,
) -> (Vec<String>, Vec<Result<Option<String>, WatchError>>) {
    let requests: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = requests.clone();
    let api = server(move |request, _| {
        let mut requests = log.lock().unwrap();
        let response = responses.get(requests.len()).cloned();
        requests.push(request);
        async move {
            match response {
                Some(response) => response,
                None => std::future::pending().await,
            }
        }
    });
    let mut told = Vec::new();
    let row = values("g").named("a");
    let follow = follow_one(&api, &row, |found| told.push(found));
    // Time passes at once when no task can run. A request without a response fails after 30 s.
    assert!(timeout(Duration::from_secs(25), follow).await.is_err());
    let requests = requests.lock().unwrap().clone();
    (requests, told)
}

fn value(value: &str) -> Result<Option<String>, WatchError> {
    Ok(Some(value.to_owned()))
}

#[tokio::test(start_paused = true)]
async fn an_object_is_told_when_it_is_listed_and_when_it_changes() {
    let events = [
        event("MODIFIED", &object(8, "y")),
        event("DELETED", &object(9, "y")),
        event("ADDED", &object(10, "z")),
    ];
    let (requests, told) = followed(vec![list(&[object(5, "x")]), (200, events.concat())]).await;
    assert_eq!(told, [value("x"), value("y"), Ok(None), value("z")]);
    let path = "GET /apis/g/v1/values?fieldSelector=metadata.name%3Da&";
    assert_eq!(requests[0], format!("{path}limit=200"));
    assert!(
        requests[1].starts_with(&format!("{path}watch=true&")),
        "{requests:?}"
    );
    assert!(requests[1].ends_with("&resourceVersion=7"), "{requests:?}");
}

#[tokio::test(start_paused = true)]
async fn it_is_listed_again_when_a_watch_ends_or_fails() {
    let refused = (403, status(403, "Forbidden", "a"));
    let (requests, told) = followed(vec![
        list(&[]),
        (200, String::new()),
        list(&[object(5, "x")]),
        refused.clone(),
        refused,
        list(&[object(5, "x")]),
    ])
    .await;
    let watches: Vec<_> = requests
        .iter()
        .map(|it| it.contains("watch=true"))
        .collect();
    assert_eq!(watches[..7], [false, true, false, true, false, false, true]);
    let [Ok(None), Ok(Some(_)), Err(watch), Err(list), Ok(Some(_))] = &told[..] else {
        panic!("{told:?}");
    };
    assert_eq!((watch.code, list.code), (403, 403));
    assert_eq!(list.to_string(), "list values.g: no (Forbidden)");
    assert!(watch.to_string().starts_with("watch values.g"), "{watch}");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_read_does_not_pass_for_absent() {
    let odd = json!({"metadata": {"name": "a", "resourceVersion": "7"}});
    let (_, told) = followed(vec![
        list(std::slice::from_ref(&odd)),
        (200, event("MODIFIED", &odd)),
        list(&[json!({"metadata": {}})]),
    ])
    .await;
    let errors: Vec<_> = told
        .into_iter()
        .map(|found| found.unwrap_err().message)
        .collect();
    assert!(errors[0].contains("missing field `value`"), "{errors:?}");
    assert!(errors[1].contains("missing field `value`"), "{errors:?}");
    assert!(errors[2].contains("missing field `name`"), "{errors:?}");
}
