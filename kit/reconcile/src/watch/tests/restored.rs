//! The etcd of an API server is restored to an earlier state while it is watched.

use std::convert::Infallible;
use std::future::ready;
use std::io;

use berth_hub::RequestBody;
use bytes::Bytes;
use futures::stream;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody};

use super::*;

/// A response: its code, its body, and what becomes of it then.
type Answer = (u16, String, End);

#[derive(Clone, Copy, Debug)]
enum End {
    /// It ends after this time (seconds).
    After(u64),
    /// The connection is lost after this time (seconds).
    Lost(u64),
}

/// A watch that lasts as long as it should.
const WHOLE: End = End::After(WATCH_SECONDS);
const WATCH_SECONDS: u64 = super::super::WATCH.as_secs();

/// Long enough for a whole watch, and what follows it.
const LONG: Duration = Duration::from_secs(320);

fn bookmark(version: &str) -> String {
    let object = json!({"metadata": {"resourceVersion": version}});
    event("BOOKMARK", &object)
}

fn listed(version: u64, items: &[Value]) -> Answer {
    (200, list(version, items, ""), End::After(0))
}

fn refused(code: u16, message: &str) -> Answer {
    let status = json!({"kind": "Status", "apiVersion": "v1", "code": code, "reason": "Timeout", "message": message});
    (code, status.to_string(), End::After(0))
}

/// Follows a kind of an API server that answers so, and not at all when it has no more answers.
async fn follow_through(
    watched: Watched<String>,
    answers: Vec<Answer>,
) -> (Vec<String>, Arc<Handle<Values>>, u64) {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = asked.clone();
    let api = HubApi::new(tower::service_fn(move |request: Request<RequestBody>| {
        let mut log = log.lock().unwrap();
        let answer = answers.get(log.len()).cloned();
        log.push(format!("{} {}", request.method(), request.uri()));
        async move {
            let Some((code, text, end)) = answer else {
                return std::future::pending().await;
            };
            let (lasts, is_lost) = match end {
                End::After(seconds) => (seconds, false),
                End::Lost(seconds) => (seconds, true),
            };
            let first = stream::once(async move {
                let frame = Full::new(Bytes::from(text)).frame().await?;
                frame.ok().map(Ok)
            });
            let then = stream::once(async move {
                tokio::time::sleep(Duration::from_secs(lasts)).await;
                is_lost.then(|| Err(io::Error::other("the connection is lost")))
            });
            let body = StreamBody::new(first.chain(then).filter_map(ready));
            let mut response = Response::new(body);
            *response.status_mut() = StatusCode::from_u16(code).unwrap();
            Ok::<_, Infallible>(response)
        }
    }));
    let (engine, registry) = engine(Values::default(), vec![api]);
    let work = engine.handle().clone();
    work.watch(1, watched);
    let row = work.row_in(1).unwrap();
    assert!(timeout(LONG, work.clone().follow(1, row)).await.is_err());
    let asked = asked.lock().unwrap().clone();
    let rewinds = registry.gather().into_iter();
    let rewinds = rewinds.filter(|it| it.name() == "berth_watch_rewinds_total");
    let rewinds: f64 = (rewinds.flat_map(|it| it.get_metric().to_vec()))
        .map(|it| it.get_counter().get_value())
        .sum();
    (asked, work, rewinds as u64)
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_did_not_end_as_it_should_goes_on_after_the_present_version_is_read() {
    for (sentence, lines, end, expected) in [
        ("it ended in time", bookmark("8"), WHOLE, &[WATCH][..]),
        ("it reported nothing", String::new(), WHOLE, &[CHECK, WATCH]),
        (
            "the connection is lost at its end",
            bookmark("8"),
            End::Lost(WATCH_SECONDS),
            &[CHECK, WATCH],
        ),
        (
            "the connection is lost at once",
            String::new(),
            End::Lost(0),
            &[CHECK, WATCH],
        ),
        (
            "it ended early",
            bookmark("8"),
            End::After(100),
            &[CHECK, WATCH],
        ),
        (
            "it did not end",
            bookmark("8"),
            End::After(1000),
            &[CHECK, WATCH],
        ),
    ] {
        let version = if lines.is_empty() { 7 } else { 8 };
        let mut answers = vec![
            listed(7, &[object("a", 5, "x")]),
            (200, lines, end),
            listed(9, &[object("b", 9, "of a check")]),
        ];
        if expected == [WATCH] {
            answers.pop();
        }
        let (asked, work, rewinds) = follow_through(values("g"), answers).await;
        let after = 2 + expected.len();
        assert_eq!(kinds_of(&asked)[..2], [LIST, WATCH], "{sentence}");
        assert_eq!(
            kinds_of(&asked)[2..after],
            *expected,
            "{sentence}: {asked:?}"
        );
        let resumed = &asked[after - 1];
        assert!(
            resumed.ends_with(&format!("&resourceVersion={version}")),
            "{sentence}: {resumed}"
        );
        assert_eq!(known(&work), pairs(&[("a", "x")]), "{sentence}");
        assert_eq!(rewinds, 0, "{sentence}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_an_api_server_has_counts_though_it_went_back() {
    let before = || {
        let items = [("a", 90), ("b", 91), ("same", 30)];
        listed(100, &items.map(|(name, at)| object(name, at, "before")))
    };
    let after = || {
        let items = [("a", 40), ("same", 30)];
        listed(50, &items.map(|(name, at)| object(name, at, "after")))
    };
    let ahead = refused(504, "Too large resource version: 100, current: 50");
    let (lost, early) = (End::Lost(10), End::After(10));
    for (sentence, between, expected) in [
        (
            "a watch is lost, and a check says so",
            vec![(200, String::new(), lost), after()],
            &[WATCH, CHECK, LIST][..],
        ),
        (
            "the API server is away for a while",
            vec![
                (200, String::new(), early),
                refused(503, "away"),
                refused(503, "away"),
                after(),
            ],
            &[WATCH, CHECK, CHECK, CHECK, LIST],
        ),
        (
            "the future is accepted in silence",
            vec![(200, String::new(), WHOLE), after()],
            &[WATCH, CHECK, LIST],
        ),
        (
            "a bookmark says so",
            vec![(200, bookmark("50"), early)],
            &[WATCH, LIST],
        ),
        (
            "a watch is refused, and the list says so",
            vec![ahead, after()],
            &[WATCH, LIST, LIST],
        ),
        (
            "a list is all there is",
            vec![refused(410, "Expired"), after()],
            &[WATCH, LIST, LIST],
        ),
    ] {
        let mut answers = vec![before()];
        answers.extend(between);
        answers.push(after());
        let newer = event("MODIFIED", &object("a", 51, "newer"));
        answers.push((200, newer, End::After(1000)));
        let (asked, work, rewinds) = follow_through(values("g"), answers).await;
        let kinds = kinds_of(&asked);
        let after = 1 + expected.len();
        assert_eq!(kinds[1..after], *expected, "{sentence}");
        assert!(asked[after].ends_with("&resourceVersion=50"), "{asked:?}");
        // An object of the same version is another one than before.
        let expected = pairs(&[("a", "newer"), ("same", "after")]);
        assert_eq!(known(&work), expected, "{sentence}");
        assert_eq!(rewinds, 1, "{sentence}");
        assert_eq!(work.world().rewinds, [(100, 50)], "{sentence}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_was_under_way_begins_anew() {
    let first = list(100, &[object("a", 90, "before")], "t");
    let future = "etcdserver: mvcc: required revision is a future revision";
    let answers = vec![
        (200, first, End::After(0)),
        refused(500, future),
        listed(50, &[object("a", 40, "after")]),
        listed(50, &[object("a", 40, "after")]),
    ];
    let (asked, work, rewinds) = follow_through(values("g"), answers).await;
    assert_eq!(kinds_of(&asked)[..5], [LIST, LIST, LIST, LIST, WATCH]);
    assert!(asked[1].ends_with("continue=t") && asked[2].ends_with("limit=200"));
    assert_eq!(known(&work), pairs(&[("a", "after")]));
    assert_eq!(rewinds, 1);
}

#[tokio::test(start_paused = true)]
async fn one_object_and_versions_that_are_no_numbers_are_listed_instead() {
    let lost = || (200, String::new(), End::Lost(0));
    let named = || values("g").named("a");
    let answers = vec![listed(7, &[]), lost(), listed(9, &[object("a", 8, "x")])];
    let (asked, work, _) = follow_through(named(), answers).await;
    assert_eq!(kinds_of(&asked)[..4], [LIST, WATCH, LIST, WATCH]);
    assert_eq!(known(&work), pairs(&[("a", "x")]));

    let odd = |version: &str| {
        let list = json!({"metadata": {"resourceVersion": version}, "items": []});
        (200, list.to_string(), End::After(0))
    };
    for [first, then] in [["x7", "x9"], ["7", "x9"], ["x7", "9"]] {
        let answers = vec![odd(first), lost(), odd(then), odd(then)];
        let (asked, _, _) = follow_through(values("g"), answers).await;
        let expected = [LIST, WATCH, CHECK, LIST, WATCH];
        assert_eq!(kinds_of(&asked)[..5], expected, "{first} {then}");
    }
}
