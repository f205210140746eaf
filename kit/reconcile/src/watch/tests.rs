#![allow(clippy::unwrap_used, reason = "tests")]

mod restored;

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::lines::written_as_usual;
use super::*;
use crate::handle::Handle;
use crate::metrics::Counted;
use crate::testing::Values;
use crate::testing::{engine, server, status, values, work};
use tokio::time::timeout;

const LIST: &str = "list";
const WATCH: &str = "watch";
/// A list of one object, for its version.
const CHECK: &str = "check";

/// Ends a watch with 200 after a bookmark.
const BOOKMARK: u16 = 299;

fn list(version: u64, items: &[Value], token: &str) -> String {
    json!({"metadata": {"resourceVersion": version.to_string(), "continue": token}, "items": items})
        .to_string()
}

fn object(name: &str, version: u64, value: &str) -> Value {
    json!({"metadata": {"name": name, "resourceVersion": version.to_string()}, "value": value})
}

/// A line as API servers write it.
fn event(type_: &str, object: &Value) -> String {
    format!("{{\"type\":\"{type_}\",\"object\":{object}}}\n")
}

#[test]
fn only_a_line_as_api_servers_write_it_is_parsed_once() {
    for (line, expected) in [
        (event("ADDED", &object("a", 1, "x")), Some("ADDED")),
        (event("MODIFIED", &object("a", 1, "}{")), Some("MODIFIED")),
        (event("DELETED", &object("a", 1, "x")), Some("DELETED")),
        (event("BOOKMARK", &object("a", 1, "x")), None),
        (event("ADDED", &json!({"metadata": {}})), None),
        (event("ADDED", &json!(7)), None),
        (r#"{"object":{"metadata":{"name":"a"}},"type":"ADDED"}"#.to_owned(), None),
        (r#"{ "type":"ADDED","object":{"metadata":{"name":"a"}}}"#.to_owned(), None),
        (r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}"#.to_owned(), None),
        (
            r#"{"type":"ADDED","object":{"metadata":{"name":"a"}},"type":"DELETED"}"#.to_owned(),
            None,
        ),
        (
            r#"{"type":"ADDED","object":{"metadata":{"name":"a"}},"object":{"metadata":{"name":"b"}}}"#.to_owned(),
            None,
        ),
    ] {
        let read = written_as_usual(line.trim_ascii().as_bytes());
        assert_eq!(read.map(|(change, _)| change), expected, "{line}");
    }
}

/// What an API server is asked, when it has answered with these codes (0: not at all) one after the other, and not at all
/// from then on.
async fn asked_by(watched: Watched<String>, answers: &'static [u16]) -> Vec<String> {
    let bookmark = json!({"metadata": {"resourceVersion": "42"}});
    let answer = move |count: usize, path: &str| {
        let watches = path.contains("watch=true");
        let code = answers.get(count).copied().unwrap_or_default();
        let body = match code {
            0 => return None,
            200 if watches => String::new(),
            BOOKMARK if !watches => list(42, &[], ""),
            BOOKMARK => event("BOOKMARK", &bookmark),
            200 => list(7, &[], ""),
            404 => "404 page not found\n".to_owned(),
            code => status(code, "Expired", ""),
        };
        Some((code, body))
    };
    followed(watched, answer).await.0
}

/// Follows a kind of an API server that answers so, for a while; what it was asked, and what is known then.
async fn followed(
    watched: Watched<String>,
    answer: impl Fn(usize, &str) -> Option<(u16, String)> + Send + Sync + 'static,
) -> (Vec<String>, Arc<Handle<Values>>) {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let (log, answer) = (asked.clone(), Arc::new(answer));
    let api = server(move |request, _| {
        let (log, answer) = (log.clone(), answer.clone());
        async move {
            let count = log.lock().unwrap().len();
            log.lock().unwrap().push(request.clone());
            match answer(count, &request) {
                Some(response) => response,
                None => std::future::pending().await,
            }
        }
    });
    let work = work(api);
    work.watch(1, watched);
    let row = work.row_in(1).unwrap();
    // Time passes at once when nobody does anything.
    let enough = LONGEST_SILENCE * 2 + LONGEST_PAUSE;
    assert!(timeout(enough, work.clone().follow(1, row)).await.is_err());
    let asked = asked.lock().unwrap().clone();
    (asked, work)
}

async fn asked(answers: &'static [u16]) -> Vec<&'static str> {
    kinds_of(&asked_by(values("g"), answers).await)
}

fn kinds_of(asked: &[String]) -> Vec<&'static str> {
    let kind = |request: &String| match request {
        it if it.contains("watch=true") => WATCH,
        it if it.ends_with("limit=1") => CHECK,
        _ => LIST,
    };
    asked.iter().map(kind).collect()
}

fn known(work: &Handle<Values>) -> Vec<(String, String)> {
    let world = work.world();
    let values = world.values.iter();
    values
        .map(|((_, name), value)| (name.clone(), value.clone()))
        .collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected
        .iter()
        .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_never_answered_is_asked_for_again() {
    assert_eq!(asked(&[0, 200]).await[..3], [LIST, LIST, WATCH]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_never_begins_is_begun_again() {
    assert_eq!(
        asked(&[200, 0, 200]).await[..4],
        [LIST, WATCH, CHECK, WATCH]
    );
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
    assert_eq!(
        asked(&[200, 500, 200]).await[..4],
        [LIST, WATCH, CHECK, WATCH]
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_had_bookmarks_only_goes_on_from_the_last() {
    let asked = asked_by(values("g"), &[200, BOOKMARK, BOOKMARK, BOOKMARK]).await;
    assert_eq!(kinds_of(&asked)[..5], [LIST, WATCH, CHECK, WATCH, CHECK]);
    for (request, from) in [&asked[1], &asked[3]].into_iter().zip(["7", "42"]) {
        assert!(request.contains("allowWatchBookmarks=true"), "{request}");
        assert!(
            request.ends_with(&format!("&resourceVersion={from}")),
            "{request}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_is_asked_ever_more_seldom() {
    let times = asked(&[500; 100]).await.len();
    assert!((12..=22).contains(&times), "{times}");
}

#[tokio::test(start_paused = true)]
async fn so_is_one_whose_watches_end_at_once() {
    let times = asked(&[200; 100]).await.len();
    assert!((24..=44).contains(&times), "{times}");
}

#[tokio::test(start_paused = true)]
async fn so_is_one_that_lists_and_forgets() {
    let times = followed(values("g"), |_, request| {
        let watches = request.contains("watch=true");
        Some(if watches {
            (410, status(410, "Expired", ""))
        } else {
            (200, list(7, &[], ""))
        })
    })
    .await
    .0
    .len();
    assert!((24..=44).contains(&times), "{times}");
}

#[tokio::test(start_paused = true)]
async fn a_server_without_an_optional_kind_is_asked_for_both_versions_ever_more_seldom() {
    let watched = || values("g").or_version("v1alpha1").optional();
    let times = asked_by(watched(), &[404; 100]).await.len();
    assert!((18..=28).contains(&times), "{times}");
    let asked = asked_by(watched(), &[404, 200]).await;
    assert_eq!(kinds_of(&asked)[..3], [LIST, LIST, WATCH]);
    assert!(
        asked[1].contains("/v1alpha1/") && asked[2].contains("/v1alpha1/"),
        "{asked:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_world_learns_that_a_watch_failed_and_that_it_goes_on() {
    let (_, work) = followed(values("g"), |count, _| {
        Some(match count {
            0 => (403, status(403, "Forbidden", "")),
            // A list says itself that it succeeded.
            1 => (200, list(7, &[object("a", 5, "x")], "")),
            2 => (401, status(401, "Unauthorized", "")),
            3 => (500, status(500, "InternalError", "")),
            4 => (200, list(7, &[], "")),
            5 => (200, String::new()),
            _ => return None,
        })
    })
    .await;
    assert_eq!(work.world().sights[..4], [403, 401, 500, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_list_is_read_page_by_page_and_one_page_may_fail() {
    let (asked, work) = followed(values("g"), |count, _| {
        Some(match count {
            0 => (200, list(7, &[object("a", 5, "x")], "t=1")),
            1 => (500, status(500, "InternalError", "")),
            2 => (200, list(9, &[object("b", 6, "y")], "")),
            _ => return None,
        })
    })
    .await;
    assert!(asked[0].ends_with("?limit=200"), "{asked:?}");
    for request in &asked[1..3] {
        assert!(request.ends_with("?limit=200&continue=t%3D1"), "{asked:?}");
    }
    assert!(asked[3].ends_with("&resourceVersion=7"), "{asked:?}");
    assert_eq!(known(&work), pairs(&[("a", "x"), ("b", "y")]));
    assert_eq!(work.unprimed(), [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_list_whose_token_expires_begins_anew() {
    let (asked, work) = followed(values("g"), |count, _| {
        Some(match count {
            0 => (200, list(7, &[object("a", 5, "x")], "t")),
            1 => (410, status(410, "Expired", "")),
            2 => (200, list(9, &[object("b", 8, "y")], "")),
            _ => return None,
        })
    })
    .await;
    assert!(asked[2].ends_with("?limit=200"), "{asked:?}");
    assert_eq!(known(&work), pairs(&[("b", "y")]));
}

#[tokio::test(start_paused = true)]
async fn one_object_that_cannot_be_read_disturbs_no_other_and_is_not_taken_for_gone() {
    let large = object("large", 5, &"x".repeat(LARGEST));
    let nameless = json!({"metadata": {}});
    let valueless = json!({"metadata": {"name": "odd", "resourceVersion": "5"}});
    let (asked, work) = followed(values("g"), move |count, _| {
        let watched = [
            event("MODIFIED", &object("large", 8, &"x".repeat(LARGEST))),
            "no JSON\n".to_owned(),
            event("ADDED", &object("c", 9, "z")),
        ];
        Some(match count {
            0 => (
                200,
                list(7, &[object("a", 5, "x"), object("large", 5, "small")], ""),
            ),
            1 => (200, watched.concat()),
            2 => (
                200,
                list(
                    20,
                    &[
                        large.clone(),
                        nameless.clone(),
                        valueless.clone(),
                        object("c", 9, "z"),
                    ],
                    "",
                ),
            ),
            _ => return None,
        })
    })
    .await;
    assert_eq!(
        kinds_of(&asked)[..4],
        [LIST, WATCH, LIST, WATCH],
        "what was missed is listed"
    );
    assert_eq!(
        known(&work),
        pairs(&[("a", "x"), ("c", "z"), ("large", "small")])
    );
    assert_eq!(work.world().unreadable, 1);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_reports_its_end_begins_with_a_list() {
    let (asked, work) = followed(values("g"), move |count, _| {
        Some(match count {
            0 => (200, list(7, &[object("a", 5, "x")], "")),
            1 => (
                200,
                event(
                    "ERROR",
                    &json!({"kind": "Status", "code": 410, "message": "too old"}),
                ),
            ),
            2 => (
                200,
                list(9, &[object("a", 5, "x"), object("b", 8, "y")], ""),
            ),
            _ => return None,
        })
    })
    .await;
    assert_eq!(kinds_of(&asked)[..4], [LIST, WATCH, LIST, WATCH]);
    assert_eq!(known(&work).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn rows_may_come_and_go_while_the_controller_runs() {
    let api = |name: &'static str| {
        server(move |request, _| async move {
            if request.contains("watch=true") {
                std::future::pending::<()>().await;
            }
            (200, list(7, &[object(name, 5, "")], ""))
        })
    };
    let (engine, _) = engine(Values::default(), vec![api("hub"), api("spoke")]);
    let work = engine.handle().clone();
    let stop = tokio_util::sync::CancellationToken::new();
    work.watch(1, values("g"));
    let running = tokio::spawn(engine.run(stop.clone()));
    let settle = async || tokio::time::sleep(Duration::from_secs(1)).await;
    settle().await;
    assert_eq!(known(&work), pairs(&[("hub", "")]));
    work.watch(2, values("second").on(1));
    settle().await;
    assert_eq!(known(&work), pairs(&[("hub", ""), ("spoke", "")]));
    work.unwatch(1);
    settle().await;
    assert_eq!(known(&work), pairs(&[("spoke", "")]));
    stop.cancel();
    running.await.unwrap().unwrap();
}
