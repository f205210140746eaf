#![allow(clippy::unwrap_used, reason = "tests")]

use axum::body::Bytes;
use berth_admin::answers::Hub;
use berth_hub::{HubApi, RequestBody};
use futures::StreamExt;
use http::Method;
use http::header::{HOST, SET_COOKIE};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::{ServiceExt, service_fn};

use super::*;
use crate::app::Settings;
use crate::cookie::Cookie;
use crate::entry::Entry;
use crate::guard::Guard;
use crate::live::Tasks;
use crate::random::random;
use crate::sessions::Limits;

const ADDRESS: &str = "127.0.0.1:4321";

/// A hub with the cluster c1, whose user may look at all, and accept nothing.
fn api() -> HubApi {
    HubApi::new(service_fn(
        |request: http::Request<RequestBody>| async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let (code, answer) = answer(&parts.method, parts.uri.path(), &body);
            let response = http::Response::builder().status(code);
            Ok::<_, std::convert::Infallible>(
                response
                    .body(Full::new(Bytes::from(answer.to_string())))
                    .unwrap(),
            )
        },
    ))
}

fn answer(method: &Method, path: &str, body: &[u8]) -> (u16, Value) {
    let status = |code: u16, reason: &str, message: &str| {
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure",
            "code": code, "reason": reason, "message": message, "details": {"name": "x"},
        });
        (code, status)
    };
    let c1 = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": {"name": "c1", "resourceVersion": "7", "labels": {"a": "<b>\u{202e}"}},
    });
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    match (method.as_str(), path) {
        ("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews") => (
            201,
            json!({"status": {"userInfo": {"username": "dev", "groups": ["team"]}}}),
        ),
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews") => {
            let is_accept = body["spec"]["resourceAttributes"]["subresource"] == "accept";
            (201, json!({"status": {"allowed": !is_accept}}))
        }
        ("GET", "/apis/cluster.open-cluster-management.io/v1/managedclusters/c1") => (200, c1),
        ("PATCH", "/apis/cluster.open-cluster-management.io/v1/managedclusters/c1") => status(
            403,
            "Forbidden",
            "admission webhook \"a.b\" denied the request: user \"dev\" may not accept c1",
        ),
        ("GET", "/apis/cluster.open-cluster-management.io/v1/managedclusters") => (
            200,
            json!({"metadata": {"resourceVersion": "7"}, "items": [c1]}),
        ),
        ("GET", path) if path.ends_with("s") || path.ends_with("events") => (
            200,
            json!({"metadata": {"resourceVersion": "7"}, "items": []}),
        ),
        _ => status(404, "NotFound", "not found"),
    }
}

struct Browser {
    server: Arc<Server>,
    router: Router,
    cookie: Option<String>,
}

impl Browser {
    fn new(read_only: bool) -> Self {
        let settings = Settings {
            context: None,
            read_only,
        };
        let tasks = Tasks::default();
        let user = App::new(Hub::over(api()), settings, tasks.clone());
        let guard = Guard::new(ADDRESS.parse().unwrap());
        let cookie = Cookie::of_port(&random(6).unwrap());
        let entry = Entry::Code(user);
        let server = Server::new(guard, cookie, entry, Limits::OF_ONE_USER, tasks);
        Self {
            router: router(Arc::clone(&server)),
            server,
            cookie: None,
        }
    }

    async fn signed_in(read_only: bool) -> Self {
        let mut browser = Self::new(read_only);
        let code = browser.code();
        let response = browser.post("/api/session", json!({"code": code})).await;
        assert_eq!(response.status(), StatusCode::NO_CONTENT);
        let cookie = response.headers()[SET_COOKIE].to_str().unwrap();
        assert!(
            cookie.contains("; Path=/; HttpOnly; SameSite=Strict"),
            "{cookie}"
        );
        browser.cookie = Some(cookie.split(';').next().unwrap().to_owned());
        browser
    }

    fn code(&self) -> String {
        let address = self.server.new_address().unwrap();
        let (page, code) = address.split_once("#code=").unwrap();
        assert_eq!(page, format!("http://{ADDRESS}/"));
        code.to_owned()
    }

    fn request(&self, method: &str, path: &str) -> http::request::Builder {
        let request = http::Request::builder().method(method).uri(path);
        let request = request.header(HOST, ADDRESS);
        match &self.cookie {
            Some(cookie) => request.header("cookie", cookie),
            None => request,
        }
    }

    async fn send(&self, request: http::Request<Body>) -> Response {
        self.router.clone().oneshot(request).await.unwrap()
    }

    async fn get(&self, path: &str) -> Response {
        let request = self.request("GET", path).body(Body::empty());
        self.send(request.unwrap()).await
    }

    async fn post(&self, path: &str, body: Value) -> Response {
        let request = self.request("POST", path);
        let request = request
            .header("x-berth-console", "1")
            .header("content-type", "application/json");
        let body = Body::from(body.to_string());
        self.send(request.body(body).unwrap()).await
    }
}

async fn read(response: Response) -> (u16, Value) {
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap())
}

async fn refused(response: Response) -> (u16, String) {
    let (code, answer) = read(response).await;
    assert_eq!(answer["error"]["code"], code);
    (code, answer["error"]["reason"].as_str().unwrap().to_owned())
}

/// The first events of a stream, until one has this name.
async fn events_until(response: Response, name: &str) -> Vec<(String, Value)> {
    let mut body = response.into_body().into_data_stream();
    let mut text = String::new();
    let mut events = Vec::new();
    while let Some(chunk) = body.next().await {
        text.push_str(std::str::from_utf8(&chunk.unwrap()).unwrap());
        while let Some((event, rest)) = text.split_once("\n\n") {
            let field = |key: &str| {
                let mut lines = event.lines();
                lines.find_map(|line| {
                    line.strip_prefix(key)?
                        .strip_prefix(": ")
                        .map(str::to_owned)
                })
            };
            let told = field("event").unwrap();
            events.push((
                told.clone(),
                serde_json::from_str(&field("data").unwrap()).unwrap(),
            ));
            text = rest.to_owned();
            if told == name {
                return events;
            }
        }
    }
    panic!("the stream has ended: {events:?}");
}

#[tokio::test]
async fn a_code_signs_in_once_and_a_cookie_is_worthless_after_the_sign_out() {
    let browser = Browser::signed_in(false).await;
    let (code, session) = read(browser.get("/api/session").await).await;
    assert_eq!(code, 200);
    assert_eq!(
        (&session["user"], &session["groups"]),
        (&json!("dev"), &json!(["team"]))
    );
    // Another browser with the same code, which was traded.
    let mut other = Browser {
        server: Arc::clone(&browser.server),
        router: browser.router.clone(),
        cookie: None,
    };
    let code = other.code();
    assert_eq!(
        other
            .post("/api/session", json!({"code": code}))
            .await
            .status(),
        204
    );
    let again = other.post("/api/session", json!({"code": code})).await;
    assert_eq!(refused(again).await, (401, "WrongCode".to_owned()));
    // Sign-out.
    let request = browser
        .request("DELETE", "/api/session")
        .header("x-berth-console", "1");
    let response = browser.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::NO_CONTENT);
    other.cookie.clone_from(&browser.cookie);
    for path in [
        "/api/session",
        "/api/stream?screen=clusters",
        "/api/clusters/c1",
    ] {
        assert_eq!(
            refused(other.get(path).await).await,
            (401, "NotSignedIn".to_owned()),
            "{path}"
        );
    }
}

#[tokio::test]
async fn without_a_session_only_the_page_is_answered() {
    let browser = Browser::new(false);
    for path in ["/", "/clusters/c1", "/anything"] {
        let response = browser.get(path).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        assert_eq!(
            response.headers()["content-type"],
            "text/html; charset=utf-8"
        );
        let policy = response.headers()["content-security-policy"]
            .to_str()
            .unwrap();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self';"),
            "{policy}"
        );
        assert!(
            policy.contains("require-trusted-types-for 'script'"),
            "{policy}"
        );
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(response.headers()[name], value, "{path}");
        }
    }
    for (path, expected) in [
        ("/api/session", (401, "NotSignedIn")),
        ("/api/requests", (401, "NotSignedIn")),
        ("/api/clusters/c1/yaml", (401, "NotSignedIn")),
        ("/api/nothing", (404, "NoSuchRoute")),
    ] {
        let (code, reason) = refused(browser.get(path).await).await;
        assert_eq!((code, &*reason), expected, "{path}");
    }
    assert_eq!(browser.get("/assets/none.js").await.status(), 404);
    let accept = browser
        .post("/api/clusters/c1/accept", json!({"dryRun": false}))
        .await;
    assert_eq!(refused(accept).await, (401, "NotSignedIn".to_owned()));
}

#[tokio::test]
async fn the_page_gets_each_file_that_it_names() {
    let browser = Browser::new(false);
    let named = page::named();
    assert!(named.len() >= 2, "{named:?}");
    for path in named {
        let response = browser.get(&path).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        let caching = response.headers()["cache-control"].to_str().unwrap();
        assert!(
            path.contains('?') && caching.ends_with("immutable"),
            "{path}: {caching}"
        );
        let kind = response.headers()["content-type"].to_str().unwrap();
        let expected = if path.contains(".js") {
            "text/javascript"
        } else {
            "text/css"
        };
        assert!(kind.starts_with(expected), "{path}: {kind}");
    }
}

#[tokio::test]
async fn attacks_are_refused_with_a_session_as_well() {
    let browser = Browser::signed_in(false).await;
    let attack = async |method: &str, headers: &[(&str, &str)]| {
        let mut request = http::Request::builder()
            .method(method)
            .uri("/api/clusters/c1/accept")
            .header("cookie", browser.cookie.as_ref().unwrap());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = Body::from(r#"{"dryRun":false}"#);
        refused(browser.send(request.body(body).unwrap()).await)
            .await
            .1
    };
    let own = ("host", ADDRESS);
    let json = ("content-type", "application/json");
    let marked = ("x-berth-console", "1");
    assert_eq!(
        attack("POST", &[("host", "evil.example"), json, marked]).await,
        "ForeignHost"
    );
    assert_eq!(
        attack(
            "POST",
            &[own, json, marked, ("origin", "http://evil.example")]
        )
        .await,
        "ForeignOrigin"
    );
    assert_eq!(attack("POST", &[own, json]).await, "NotMarked");
    assert_eq!(
        attack("POST", &[own, marked, ("content-type", "text/plain")]).await,
        "NotJSON"
    );
    // A refused request has the headers, too.
    let request = http::Request::builder()
        .uri("/")
        .header("host", "evil.example");
    let response = browser.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(response.status(), 421);
    assert_eq!(response.headers()["x-content-type-options"], "nosniff");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_action_has_the_words_of_the_gate_and_what_is_missing() {
    let browser = Browser::signed_in(false).await;
    let response = browser
        .post("/api/clusters/c1/accept", json!({"dryRun": true}))
        .await;
    let (code, answer) = read(response).await;
    let error = &answer["error"];
    assert_eq!(
        (code, &error["reason"]),
        (403, &json!("Denied")),
        "{answer}"
    );
    assert_eq!(error["message"], "user \"dev\" may not accept c1");
    let missing = &error["missing"];
    assert_eq!(missing["role"], "open-cluster-management:berth:accept");
    assert_eq!(
        missing["command"],
        "berth can-i accept c1 --as dev -o yaml | kubectl apply -f -"
    );
    assert!(
        error["remedy"]
            .as_str()
            .unwrap()
            .starts_with("ask an admin to run: berth can-i")
    );
}

#[tokio::test]
async fn bad_input_gets_a_precise_error() {
    let browser = Browser::signed_in(false).await;
    let act = "/api/clusters/c1/accept";
    for (path, body, expected) in [
        (act, json!({}), (400, "BadBody")),
        (act, json!({"dryRun": "no"}), (400, "BadBody")),
        (act, json!({"dryRun": true, "now": true}), (400, "BadBody")),
        (
            act,
            json!({"dryRun": true, "x": "x".repeat(5000)}),
            (413, "TooLarge"),
        ),
        (
            "/api/clusters/c1/reboot",
            json!({"dryRun": true}),
            (404, "NoSuchRoute"),
        ),
        ("/api/requests", json!({}), (405, "MethodNotAllowed")),
    ] {
        let (code, reason) = refused(browser.post(path, body).await).await;
        assert_eq!((code, &*reason), expected, "{path}");
    }
    let (code, reason) = refused(browser.get("/api/clusters/c2").await).await;
    assert_eq!((code, &*reason), (404, "NotFound"));
}

#[tokio::test]
async fn a_read_only_console_writes_nothing_and_says_so() {
    let browser = Browser::signed_in(true).await;
    for path in [
        "/api/clusters/c1/accept",
        "/api/clusters/c1/cordon",
        "/api/clusters/c1/set",
        "/api/clusters/c1/label",
        "/api/sets/prod/bindings/team-a/bind",
        "/api/sets/prod/bindings/team-a/unbind",
        "/api/placements/team-a/app/replace",
        "/api/replicasets/team-a/what-if/pause",
        "/api/clusters/c1/what-if",
        "/api/nothing",
    ] {
        let response = browser.post(path, json!({"dryRun": true})).await;
        let expected = match path {
            "/api/nothing" => (404, "NoSuchRoute".to_owned()),
            _ => (403, "ReadOnly".to_owned()),
        };
        assert_eq!(refused(response).await, expected, "{path}");
    }
    // A question is answered.
    let asked = json!({"yaml": "kind: Placement"});
    let response = browser
        .post("/api/placements/team-a/app/what-if", asked)
        .await;
    let (code, answer) = read(response).await;
    assert_eq!(code, 200, "{answer}");
    assert!(
        answer["mistakes"][0]
            .as_str()
            .unwrap()
            .starts_with("expected a Placement of "),
        "{answer}"
    );
    let (_, answer) = read(browser.get("/api/clusters/c1").await).await;
    let offers = answer["actions"].as_array().unwrap();
    assert!(!offers.is_empty());
    for offer in offers {
        assert_eq!(offer["allowed"], false, "{offer}");
        assert!(
            offer["why"].as_str().unwrap().contains("--read-only"),
            "{offer}"
        );
    }
}

#[tokio::test]
async fn a_stream_has_a_window_and_says_what_is_wrong_with_a_query() {
    let browser = Browser::signed_in(false).await;
    let events = events_until(
        browser.get("/api/stream?screen=clusters&q=pending").await,
        "window",
    )
    .await;
    assert_eq!(events[0].0, "hub");
    let window = &events.last().unwrap().1;
    assert_eq!(window["rows"][0]["name"], "c1");
    assert_eq!(
        (&window["matched"], &window["counts"]["pending"]),
        (&json!(1), &json!(1))
    );
    let events = events_until(
        browser.get("/api/stream?screen=clusters&q=a%20foo:b").await,
        "failure",
    )
    .await;
    let error = &events[0].1["error"];
    assert_eq!(
        (&error["reason"], &error["at"]),
        (&json!("BadQuery"), &json!(2))
    );
    // The text of others is escaped.
    let events = events_until(
        browser.get("/api/stream?screen=cluster&name=c1").await,
        "answer",
    )
    .await;
    assert_eq!(
        events.last().unwrap().1["labels"][0]["value"],
        "<b>\\u{202e}"
    );
    let events = events_until(browser.get("/api/stream?screen=requests").await, "answer").await;
    assert_eq!(
        events.last().unwrap().1["clusters"][0]["actions"][0]["allowed"],
        false
    );
}

#[tokio::test]
async fn streams_are_counted_and_end_with_the_session() {
    let browser = Browser::signed_in(false).await;
    let mut streams = Vec::new();
    for _ in 0..4 {
        streams.push(browser.get("/api/stream?screen=clusters").await);
    }
    let fifth = browser.get("/api/stream?screen=clusters").await;
    assert_eq!(refused(fifth).await, (429, "TooManyStreams".to_owned()));
    streams.pop();
    let last = browser.get("/api/stream?screen=clusters").await;
    assert_eq!(last.status(), StatusCode::OK);
    let request = browser
        .request("DELETE", "/api/session")
        .header("x-berth-console", "1");
    browser.send(request.body(Body::empty()).unwrap()).await;
    // The body ends.
    last.into_body().collect().await.unwrap();
}
