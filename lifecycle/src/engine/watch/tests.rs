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

/// What a hub is asked for, when it has answered so (0: not at all) one time after the other, and nothing from then on.
async fn asked(answers: &'static [u16]) -> Vec<&'static str> {
    let asked: Arc<Mutex<Vec<&'static str>>> = Arc::default();
    let log = Arc::clone(&asked);
    let service = tower::service_fn(move |request: Request<Body>| {
        let watches = request.uri().query().unwrap().contains("watch=true");
        let mut log = log.lock().unwrap();
        let code = answers.get(log.len()).copied().unwrap_or_default();
        log.push(if watches { WATCH } else { LIST });
        drop(log);
        async move {
            let body = match code {
                0 => std::future::pending().await,
                200 if watches => String::new(),
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
    let follow = follow(work, Kind::Lease);
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
