#![allow(clippy::unwrap_used, reason = "tests")]

use std::convert::Infallible;

use berth_hub::{HubApi, RequestBody};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use serde_json::{Value, json};

use super::*;
use berth_lifecycle_core::config::Config;

/// The objects that are left in a namespace, according to this response.
async fn left(code: u16, answer: impl Into<String>) -> Result<Vec<RemainingObject>, String> {
    let answer = answer.into();
    let api = HubApi::new(tower::service_fn(move |_: Request<RequestBody>| {
        let answer = answer.clone();
        async move {
            let response = Response::builder().status(code);
            Ok::<_, Infallible>(response.body(Full::<Bytes>::from(answer)).unwrap())
        }
    }));
    let leases = berth_lifecycle_core::heartbeat::lease("c1").resource;
    let work = crate::on(api, Config::default());
    remaining(work.writer(0), "c1", &leases).await.objects
}

#[tokio::test]
async fn only_the_hub_says_that_nothing_is_left() {
    let one = r#"{"metadata": {}, "items": [{"metadata": {"name": "w", "uid": "u"}}]}"#;
    assert_eq!(left(200, one).await.unwrap()[0].name, "w");
    for (code, nothing) in [
        (200, r#"{"metadata": {"continue": ""}, "items": []}"#),
        (200, r#"{"metadata": {}, "items": null}"#),
        (404, "404 page not found\n"),
    ] {
        assert_eq!(left(code, nothing).await.unwrap(), []);
    }
    for (code, answer, why) in [
        (404, "<h1>not here</h1>", "404 <h1>not here</h1>"),
        (404, r#"{"error": "no hub"}"#, r#"404 {"error": "no hub"}"#),
        (
            404,
            r#"{"kind": "Status", "apiVersion": "v1", "reason": "NotFound", "message": "who?"}"#,
            "who?",
        ),
        (200, "{}", "not a list"),
        (200, r#"{"metadata": {}}"#, "not a list"),
        (
            200,
            r#"{"metadata": {}, "items": [{"metadata": {"name": "w"}}]}"#,
            "not a list",
        ),
        (302, r#"{"metadata": {}, "items": []}"#, "items"),
    ] {
        let told = left(code, answer).await.unwrap_err();
        assert!(told.contains(why), "{answer}: {told}");
    }
}

#[tokio::test]
async fn of_very_many_objects_those_are_kept_whose_turn_is_first() {
    let item = |number: usize, priority: Value| json!({"metadata": {"name": format!("w{number}"), "uid": "u", "annotations": {CLEANUP_PRIORITY: priority, "other": 7}}});
    let priority = |number| if number % 3 == 1 { "1" } else { "7" };
    let items: Vec<_> = (0..3 * KEPT)
        .map(|it| item(it, json!(priority(it))))
        .collect();
    let objects = left(200, json!({"metadata": {}, "items": items}).to_string())
        .await
        .unwrap();
    assert_eq!(objects.len(), KEPT);
    assert!(
        objects
            .iter()
            .all(|object| object.cleanup_priority.as_deref() == Some("1"))
    );
    let long = left(
        200,
        json!({"metadata": {}, "items": [item(0, json!("1".repeat(1000)))]}).to_string(),
    )
    .await
    .unwrap();
    assert_eq!(long[0].cleanup_priority, None);
}
