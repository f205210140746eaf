#![allow(clippy::unwrap_used, reason = "tests")]

use std::convert::Infallible;
use std::sync::Mutex;

use prometheus::Registry;
use serde_json::json;

use super::*;
use crate::config::Config;
use crate::engine::events::Events;
use crate::engine::metrics::Metrics;
use crate::engine::writer::Writer;

const LIST: &str = "list";
const WATCH: &str = "watch";

/// Ends a watch with 200 after a bookmark.
const BOOKMARK: u16 = 299;

/// What a hub is asked for, when it has answered so (0: not at all) one time after the other, and nothing from then on.
async fn asked(answers: &'static [u16]) -> Vec<&'static str> {
    asked_about(Kind::Lease, answers).await
}

async fn asked_about(kind: Kind, answers: &'static [u16]) -> Vec<&'static str> {
    let queries = queries(kind, answers).await;
    let what = |query: &String| {
        if query.contains("watch=true") {
            WATCH
        } else {
            LIST
        }
    };
    queries.iter().map(what).collect()
}

/// The same, as the queries of the requests.
async fn queries(kind: Kind, answers: &'static [u16]) -> Vec<String> {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&asked);
    let service = tower::service_fn(move |request: Request<Body>| {
        let query = request.uri().query().unwrap().to_owned();
        let watches = query.contains("watch=true");
        let mut log = log.lock().unwrap();
        let code = answers.get(log.len()).copied().unwrap_or_default();
        log.push(query);
        drop(log);
        async move {
            let body = match code {
                0 => std::future::pending().await,
                200 if watches => String::new(),
                BOOKMARK => {
                    let lease = json!({
                        "kind": "Lease",
                        "apiVersion": "coordination.k8s.io/v1",
                        "metadata": {"resourceVersion": "42"},
                    });
                    format!("{}\n", json!({"type": "BOOKMARK", "object": lease}))
                }
                200 => json!({
                    "kind": "LeaseList",
                    "apiVersion": "coordination.k8s.io/v1",
                    "metadata": {"resourceVersion": "7"},
                    "items": [],
                })
                .to_string(),
                code => json!({
                    "kind": "Status",
                    "apiVersion": "v1",
                    "status": "Failure",
                    "reason": "Expired",
                    "code": code,
                })
                .to_string(),
            };
            let answer = Response::builder().status(code);
            Ok::<_, Infallible>(answer.body(Body::from(body.into_bytes())).unwrap())
        }
    });
    let client = Client::new(service, "default");
    let metrics = Metrics::new(&Registry::new()).unwrap();
    let writer = Arc::new(Writer::new(client.clone(), None, None, metrics.clone()));
    let (events, _) = Events::new("tests", writer.clone(), metrics.clone());
    let config = Arc::new(Config::default());
    let work = Arc::new(Work::new(config, client, writer, events, metrics));
    let follow = follow(work, kind);
    // Time passes at once when nobody does anything.
    let enough = LONGEST_REQUEST * 2 + LONGEST_WAIT;
    assert!(timeout(enough, follow).await.is_err());
    asked.lock().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_never_answered_is_asked_for_again() {
    assert_eq!(asked(&[0, 200]).await[..3], [LIST, LIST, WATCH]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_never_begins_is_begun_again() {
    assert_eq!(asked(&[200, 0]).await[..3], [LIST, WATCH, WATCH]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_cannot_be_resumed_begins_with_a_list() {
    assert_eq!(
        asked(&[200, 410, 200]).await[..4],
        [LIST, WATCH, LIST, WATCH]
    );
}

#[tokio::test(start_paused = true)]
async fn one_that_fails_otherwise_is_resumed() {
    assert_eq!(asked(&[200, 500]).await[..3], [LIST, WATCH, WATCH]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_had_bookmarks_only_goes_on_from_the_last() {
    let queries = queries(Kind::Lease, &[200, BOOKMARK, BOOKMARK]).await;
    assert!(!queries[0].contains("watch=true"), "{queries:?}");
    for (query, from) in queries[1..].iter().zip(["7", "42", "42"]) {
        assert!(query.contains("allowWatchBookmarks=true"), "{query}");
        let from = format!("resourceVersion={from}");
        assert!(query.contains("watch=true"), "not begun anew: {query}");
        assert!(query.split('&').any(|part| part == from), "{query}");
    }
    assert!(queries.len() > 3, "{queries:?}");
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_refuses_is_asked_ever_more_seldom() {
    let times = asked(&[500; 100]).await.len();
    assert!((9..=16).contains(&times), "{times}");
}

#[tokio::test(start_paused = true)]
async fn a_hub_without_add_ons_is_asked_for_both_versions_ever_more_seldom() {
    let times = asked_about(Kind::Addon, &[404; 100]).await.len();
    assert!((14..=22).contains(&times), "{times}");
}

#[tokio::test(start_paused = true)]
async fn a_hub_of_the_older_version_is_watched_in_that() {
    assert_eq!(
        asked_about(Kind::Addon, &[404, 200]).await[..3],
        [LIST, LIST, WATCH]
    );
}
