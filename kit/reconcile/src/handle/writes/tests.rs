#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;

use super::*;
use crate::metrics::Counted;
use crate::testing::{APPEARS_LATER, Values, engine, patch, server, status, target, values, work};

fn object(json: Value) -> RawObject {
    RawObject::read(Bytes::from(json.to_string())).unwrap()
}

#[test]
fn an_object_is_gone_with_its_last_finalizer_though_the_answer_still_has_it() {
    let answer = |deleting: bool| {
        let time = deleting.then_some("2026-08-11T12:00:00Z");
        object(json!({"metadata": {"name": "a", "deletionTimestamp": time, "finalizers": ["x"]}}))
    };
    for (row, metadata, deleting, gone) in [
        ("none is left", json!({"finalizers": []}), true, true),
        ("all are removed", json!({"finalizers": null}), true, true),
        ("one is left", json!({"finalizers": ["y"]}), true, false),
        ("labels only", json!({"labels": {}}), true, false),
        ("it stays", json!({"finalizers": []}), false, false),
    ] {
        let write = patch("a", json!({"metadata": metadata}));
        assert_eq!(
            takes_last_finalizer(&write, &answer(deleting)),
            gone,
            "{row}"
        );
    }
}

#[test]
fn expected_refusals_are_logged_at_debug() {
    for (name, code, expected) in [
        ("a", 409, true),
        ("a", 429, true),
        ("a", 403, false),
        ("a", 404, false),
        ("a", 0, false),
        ("a", 503, false),
        (APPEARS_LATER, 404, true),
    ] {
        let failure = WriteFailure {
            reconciler: "tests",
            target: target(name),
            code,
            message: String::new(),
        };
        assert_eq!(is_expected::<Values>(&failure), expected, "{name} {code}");
    }
}

fn wanted(value: &str) -> Values {
    Values {
        wanted: value.to_owned(),
        ..Values::default()
    }
}

/// Runs a controller on an API server that has the object `a`, and answers to patches so.
async fn reconciled(
    answer: impl Fn(usize, Value) -> (u16, String) + Clone + Send + Sync + 'static,
) -> (usize, Arc<Handle<Values>>) {
    let patches = Arc::new(AtomicUsize::new(0));
    let count = patches.clone();
    let api = server(move |request: String, body: Bytes| {
        let (count, answer) = (count.clone(), answer.clone());
        async move {
            if request.starts_with("PATCH") {
                let patch = serde_json::from_slice(&body).unwrap();
                return answer(count.fetch_add(1, Ordering::Relaxed), patch);
            }
            if request.contains("watch=true") {
                std::future::pending::<()>().await;
            }
            let items =
                json!([{"metadata": {"name": "a", "resourceVersion": "5"}, "value": "old"}]);
            (
                200,
                json!({"metadata": {"resourceVersion": "7"}, "items": items}).to_string(),
            )
        }
    });
    let (engine, _) = engine(wanted("new"), vec![api]);
    let work = engine.handle().clone();
    work.watch(1, values("g"));
    let stop = tokio_util::sync::CancellationToken::new();
    let running = tokio::spawn(engine.run(stop.clone()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    stop.cancel();
    running.await.unwrap().unwrap();
    (patches.load(Ordering::Relaxed), work)
}

fn answered(patch: Value, version: usize) -> (u16, String) {
    let mut object = patch;
    object["metadata"]["resourceVersion"] = version.to_string().into();
    (200, object.to_string())
}

#[tokio::test(start_paused = true)]
async fn a_write_is_seen_at_once_and_not_repeated() {
    let (patches, work) = reconciled(|_, patch| answered(patch, 8)).await;
    assert_eq!(patches, 1);
    assert_eq!(work.world().values[&(1, "a".to_owned())], "new");
}

#[tokio::test(start_paused = true)]
async fn what_fails_is_tried_again_later_and_what_does_not_last_ends() {
    let (patches, _) = reconciled(|count, patch| match count {
        0 => (500, status(500, "InternalError", "a")),
        _ => answered(patch, 8),
    })
    .await;
    assert_eq!(patches, 2);
    let (patches, _) = reconciled(|count, mut patch| {
        patch["value"] = "another".into();
        answered(patch, 8 + count)
    })
    .await;
    assert!((ROUNDS..=10 * ROUNDS).contains(&patches), "{patches}");
}

#[tokio::test]
async fn nothing_is_decided_before_everything_was_listed() {
    let work = work(server(async |_, _| (500, String::new())));
    work.watch(1, values("g"));
    work.watch(2, values("h"));
    work.watch(3, values("i").optional());
    let see = |kind| {
        let object =
            object(json!({"metadata": {"name": "a", "resourceVersion": "5"}, "value": ""}));
        work.see(kind, &values("g"), &object.item(), Source::Watch);
    };
    work.listing(1);
    see(1);
    work.listed(1, Some(7));
    assert_eq!(work.queue(0).counts(queue::now()).waiting, 0);
    assert_eq!(work.unprimed(), ["values"]);
    work.listing(2);
    see(2);
    work.listed(2, Some(7));
    assert_eq!(work.queue(0).counts(queue::now()).waiting, 2);
    assert_eq!(work.unprimed(), [] as [&str; 0]);
}
