use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::{StreamExt, stream};
use http::HeaderValue;
use http_body_util::{Full, StreamBody};
use hyper::body::Frame;
use prometheus::proto::MetricFamily;
use tower::service_fn;

use super::*;
use crate::{JSON, MERGE_PATCH};

/// An API server that answers everything with this.
fn answers(code: u16, body: &'static str) -> HubApi {
    HubApi::new(service_fn(move |_| async move {
        let response = Response::builder().status(code);
        Ok::<_, Infallible>(response.body(Full::new(Bytes::from(body))).unwrap())
    }))
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_not_answered_ends_with_its_deadline() {
    let hub = HubApi::new(service_fn(|_: Request<RequestBody>| {
        std::future::pending::<Result<Response<Full<Bytes>>, Infallible>>()
    }));
    let begun = Instant::now();
    for call in [
        Call::get("/version"),
        Call::post("/api/v1/namespaces", "{}"),
    ] {
        let call = call.within(Duration::from_secs(3));
        let error = hub.call(call.clone()).await.unwrap_err();
        assert!(matches!(error.cause(), Cause::Late(_)), "{error}");
        let error = hub.stream(call).await.unwrap_err();
        assert!(matches!(error.cause(), Cause::Late(_)), "{error}");
    }
    assert_eq!(begun.elapsed(), Duration::from_secs(12));
}

/// A body that goes on and on, and counts how often it was asked for more.
fn endless(code: u16) -> (HubApi, Arc<AtomicUsize>) {
    let read = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&read);
    let hub = HubApi::new(service_fn(move |_: Request<RequestBody>| {
        let read = Arc::clone(&counted);
        async move {
            let chunks = stream::repeat_with(move || {
                read.fetch_add(1, Ordering::Relaxed);
                Ok::<_, Infallible>(Frame::data(Bytes::from_static(&[b'x'; 1024])))
            });
            let response = Response::builder().status(code);
            Ok::<_, Infallible>(response.body(StreamBody::new(chunks)).unwrap())
        }
    }));
    (hub, read)
}

#[tokio::test]
async fn no_more_of_a_response_is_read_than_its_bound() {
    let (hub, read) = endless(200);
    let call = Call::get("/version").at_most(10 << 10);
    let error = hub.call(call.clone()).await.unwrap_err();
    assert!(matches!(error.cause(), Cause::TooLarge(10240)), "{error}");
    assert!(read.swap(0, Ordering::Relaxed) <= 12);

    let mut chunks = hub.stream(call).await.unwrap();
    let error = chunks.line().await.unwrap_err();
    assert!(matches!(error.cause(), Cause::TooLarge(10240)), "{error}");
    assert!(read.load(Ordering::Relaxed) <= 12);

    let (hub, read) = endless(503);
    let error = hub.call(Call::get("/version")).await.unwrap_err();
    assert_eq!((error.code(), error.may_pass()), (503, true));
    assert!(read.load(Ordering::Relaxed) <= 1026);
}

#[tokio::test]
async fn nothing_is_sent_twice() {
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    let hub = HubApi::new(service_fn(move |_: Request<RequestBody>| {
        counted.fetch_add(1, Ordering::Relaxed);
        async {
            let response = Response::builder().status(429).header("retry-after", "1");
            Ok::<_, Infallible>(response.body(Full::<Bytes>::default()).unwrap())
        }
    }));
    let error = hub.call(Call::get("/version")).await.unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(1)));
    assert_eq!(sent.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_request_says_what_the_call_says() {
    let hub = HubApi::new(service_fn(|request: Request<RequestBody>| async move {
        let (head, body) = request.into_parts();
        let header = |name: &str| head.headers.get(name).and_then(|it| it.to_str().ok());
        let said = format!(
            "{} {} {:?} {:?} {:?} {}",
            head.method,
            head.uri,
            header("accept"),
            header("content-type"),
            header("x-more"),
            String::from_utf8_lossy(&body.collect().await.unwrap().to_bytes()),
        );
        let response = Response::builder().header("warning", "299 - \"old\"");
        Ok::<_, Infallible>(response.body(Full::new(Bytes::from(said))).unwrap())
    }));
    let said = async |call: Call| {
        let answer = hub.call(call).await.unwrap();
        assert_eq!(answer.warnings().collect::<Vec<_>>(), ["old"]);
        String::from_utf8(answer.body.to_vec()).unwrap()
    };
    assert_eq!(
        said(Call::get("/a?b=c").accept(crate::METADATA)).await,
        format!("GET /a?b=c Some({:?}) None None ", crate::METADATA)
    );
    let more = Call::patch("/a", MERGE_PATCH, "{}");
    let more = more.header("x-more".parse().unwrap(), HeaderValue::from_static("m"));
    assert_eq!(
        said(more).await,
        format!("PATCH /a Some({JSON:?}) Some({MERGE_PATCH:?}) Some(\"m\") {{}}")
    );
    assert_eq!(
        said(Call::delete("/a", "")).await,
        format!("DELETE /a Some({JSON:?}) None None ")
    );
}

#[tokio::test]
async fn a_refusal_keeps_the_warnings_of_the_api_server() {
    let hub = HubApi::new(service_fn(|_: Request<RequestBody>| async {
        let response = Response::builder()
            .status(403)
            .header("warning", "299 - \"this field is old\"")
            .header(
                "warning",
                HeaderValue::from_bytes("299 - \"ñ\u{202e}\"".as_bytes()).unwrap(),
            );
        Ok::<_, Infallible>(response.body(Full::<Bytes>::default()).unwrap())
    }));
    let error = hub.call(Call::post("/a", "{}")).await.unwrap_err();
    let refusal = error.refusal().unwrap();
    assert_eq!((refusal.code, refusal.is_status()), (403, false));
    assert_eq!(refusal.warnings, ["this field is old", "ñ?"]);
}

#[tokio::test]
async fn lines_are_read_across_chunks() {
    let hub = HubApi::new(service_fn(|_: Request<RequestBody>| async {
        let chunks = ["{\"a\"", ":1}\n\n{\"b\":2}\n{\"c\"", ":3}"]
            .map(|chunk| Ok::<_, Infallible>(Frame::data(Bytes::from_static(chunk.as_bytes()))));
        Ok::<_, Infallible>(Response::new(StreamBody::new(stream::iter(chunks))))
    }));
    let mut chunks = hub
        .stream(Call::get("/api/v1/namespaces?watch=true"))
        .await
        .unwrap();
    for line in ["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"] {
        assert_eq!(chunks.line().await.unwrap().unwrap(), line);
    }
    assert!(chunks.line().await.unwrap().is_none());
    let chunks = hub.stream(Call::get("/version")).await.unwrap();
    assert_eq!(
        chunks
            .map(|chunk| chunk.unwrap().len())
            .collect::<Vec<_>>()
            .await,
        [4, 17, 3]
    );
}

#[tokio::test]
async fn an_answer_that_is_not_what_was_asked_for_is_an_error() {
    let hub = answers(200, "<html>");
    let answer = hub.call(Call::get("/api/v1/namespaces/c1")).await.unwrap();
    let error = answer.json::<serde_json::Value>().unwrap_err();
    assert!(matches!(error.cause(), Cause::Unreadable(_)));
    assert!(
        error
            .to_string()
            .starts_with("get namespaces c1: the response cannot be read: ")
    );
    let error = hub.call(Call::get("no path")).await.unwrap_err();
    assert!(matches!(error.cause(), Cause::NotSent(_)), "{error}");
}

/// The requests to this server that the process counted so far: code, method and number.
fn counted(host: &str) -> Vec<(String, String, u64)> {
    let registry = prometheus::Registry::new();
    crate::register_requests(&registry).unwrap();
    let mut counted = Vec::new();
    for series in registry.gather().iter().flat_map(MetricFamily::get_metric) {
        let label = |name| {
            let pair = series.get_label().iter().find(|it| it.name() == name);
            pair.unwrap().value().to_owned()
        };
        if label("host") == host {
            let count = series.get_counter().get_value() as u64;
            counted.push((label("code"), label("method"), count));
        }
    }
    counted.sort();
    counted
}

#[tokio::test(start_paused = true)]
async fn every_request_is_counted_as_client_go_counts_it() {
    let service = service_fn(|request: Request<RequestBody>| async move {
        let code = match request.uri().path() {
            "/late" => std::future::pending().await,
            "/closed" => return Err(BoxError::from("connection refused")),
            "/no" => 403,
            _ => 200,
        };
        let response = Response::builder().status(code);
        let body = ResponseBody::boxed(Full::new(Bytes::from_static(b"{}")));
        Ok(response.body(body).unwrap())
    });
    let hub = HubApi::over(Pool {
        service: BoxCloneSyncService::new(service),
        server: "https://counted.example.com:6443".to_owned(),
    });
    let path = |path: &'static str| Call::get(path).within(Duration::from_secs(3));
    hub.call(path("/yes")).await.unwrap();
    hub.clone().stream(path("/yes")).await.unwrap();
    hub.call(path("/no")).await.unwrap_err();
    hub.call(path("/closed")).await.unwrap_err();
    hub.call(path("/late")).await.unwrap_err();
    hub.call(Call::post("/no", "{}")).await.unwrap_err();
    let given_up = hub.call(path("/late"));
    assert!(timeout(Duration::from_secs(1), given_up).await.is_err());
    let error = hub.call(path("/a path")).await.unwrap_err();
    assert!(matches!(error.cause(), Cause::NotSent(_)), "{error}");
    let expected = [
        ("200", "GET", 2),
        ("403", "GET", 1),
        ("403", "POST", 1),
        ("<error>", "GET", 3),
    ];
    let expected =
        expected.map(|(code, method, count)| (code.to_owned(), method.to_owned(), count));
    assert_eq!(counted("counted.example.com:6443"), expected);
}
