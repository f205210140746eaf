use http::HeaderValue;
use serde_json::json;

use super::*;
use crate::Call;

const CLUSTERS: &str = "/apis/cluster.open-cluster-management.io/v1/managedclusters";
const GROUP: &str = "cluster.open-cluster-management.io";

fn refused(call: &Call, code: u16, body: &str) -> CallError {
    let code = StatusCode::from_u16(code).unwrap();
    let refusal = Refusal::of(code, &HeaderMap::new(), body.as_bytes());
    CallError::new(call.asked(), Cause::Refused(Box::new(refusal)))
}

fn status(code: u16, reason: &str, details: serde_json::Value) -> String {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
        "message": format!("it is {reason}"), "details": details})
    .to_string()
}

#[test]
fn only_the_api_server_says_that_something_is_absent() {
    let get = Call::get(format!("{CLUSTERS}/c1"));
    let list = Call::get(CLUSTERS);
    let create = Call::post("/api/v1/namespaces/c1/secrets", "{}");
    let approve = Call::put(format!("{CLUSTERS}/c1/accept"), "{}");
    let found = |name: &str, kind: &str, group: &str| {
        status(
            404,
            "NotFound",
            json!({"name": name, "kind": kind, "group": group}),
        )
    };
    // (sentence, call, code, body, the object is absent, the kind is absent)
    let rows = [
        (
            "the object",
            &get,
            404,
            found("c1", "managedclusters", GROUP),
            true,
            false,
        ),
        (
            "its subresource",
            &approve,
            404,
            found("c1", "managedclusters", GROUP),
            true,
            false,
        ),
        (
            "a Status without kind and group",
            &get,
            404,
            status(404, "NotFound", json!({"name": "c1"})),
            true,
            false,
        ),
        (
            "another object",
            &get,
            404,
            found("c2", "managedclusters", GROUP),
            false,
            false,
        ),
        (
            "another kind",
            &get,
            404,
            found("c1", "namespaces", ""),
            false,
            false,
        ),
        (
            "another group",
            &get,
            404,
            found("c1", "managedclusters", "x.io"),
            false,
            false,
        ),
        (
            "the namespace of what is created",
            &create,
            404,
            found("c1", "namespaces", ""),
            false,
            false,
        ),
        (
            "about nothing",
            &get,
            404,
            status(404, "NotFound", json!(null)),
            false,
            false,
        ),
        (
            "a list",
            &list,
            404,
            status(404, "NotFound", json!({})),
            false,
            false,
        ),
        (
            "another reason",
            &get,
            404,
            status(404, "Gone", json!({"name": "c1"})),
            false,
            false,
        ),
        (
            "another code",
            &get,
            410,
            found("c1", "managedclusters", GROUP),
            false,
            false,
        ),
        (
            "the kind",
            &get,
            404,
            "404 page not found\n".to_owned(),
            false,
            true,
        ),
        (
            "the kind of a list",
            &list,
            404,
            "404 page not found".to_owned(),
            false,
            true,
        ),
        (
            "a proxy's page",
            &get,
            404,
            "<html>404 page not found</html>".to_owned(),
            false,
            false,
        ),
        ("an empty 404", &get, 404, String::new(), false, false),
        (
            "JSON of a gateway",
            &get,
            404,
            r#"{"reason":"NotFound","details":{"name":"c1"}}"#.to_owned(),
            false,
            false,
        ),
        (
            "a Status of another API",
            &get,
            404,
            found("c1", "managedclusters", GROUP).replace("\"v1\"", "\"v2\""),
            false,
            false,
        ),
        (
            "forbidden",
            &get,
            403,
            status(403, "Forbidden", json!({"name": "c1"})),
            false,
            false,
        ),
    ];
    for (sentence, call, code, body, absent, kind_absent) in rows {
        let error = refused(call, code, &body);
        assert_eq!(error.is_absent(), absent, "{sentence}");
        assert_eq!(error.kind_is_absent(), kind_absent, "{sentence}");
        assert_eq!(optional::<()>(Err(error)).is_ok(), absent, "{sentence}");
    }
    let late = CallError::new(get.asked(), Cause::Late(Duration::from_secs(1)));
    assert!(!late.is_absent() && !late.kind_is_absent());
}

#[test]
fn an_error_names_what_was_asked_and_why() {
    let get = Call::get(format!("{CLUSTERS}/c1"));
    let what = format!("get managedclusters.{GROUP} c1: ");
    let rows = [
        (
            refused(&get, 403, &status(403, "Forbidden", json!({}))),
            "it is Forbidden (Forbidden)",
        ),
        (
            refused(&get, 401, &status(401, "Unauthorized", json!({}))),
            "it is Unauthorized (Unauthorized); the API server does not accept these credentials: check the kubeconfig or \
             service account",
        ),
        (
            refused(&get, 502, ""),
            "HTTP 502 that is not the API server's: empty",
        ),
        (
            refused(&get, 502, "a\x1bb"),
            "HTTP 502 that is not the API server's: a?b",
        ),
        (
            refused(&get, 404, "404 page not found\n"),
            "the API server does not serve this kind (404 page not found)",
        ),
        (
            CallError::new(get.asked(), Cause::Late(Duration::from_secs(10))),
            "no response within 10.0s",
        ),
        (
            CallError::new(get.asked(), Cause::TooLarge(8 << 20)),
            "the response is longer than 8 MiB",
        ),
        (
            get.not_sent("another process leads now"),
            "another process leads now",
        ),
    ];
    for (error, words) in rows {
        assert_eq!(error.to_string(), format!("{what}{words}"));
    }
}

#[test]
fn a_refusal_says_when_to_ask_again() {
    let mut headers = HeaderMap::new();
    let body = status(429, "TooManyRequests", json!({"retryAfterSeconds": 7}));
    let retry = |headers: &HeaderMap, body: &str| {
        Refusal::of(StatusCode::TOO_MANY_REQUESTS, headers, body.as_bytes()).retry_after
    };
    assert_eq!(retry(&headers, &body), Some(Duration::from_secs(7)));
    assert_eq!(retry(&headers, "busy"), None);
    headers.insert(RETRY_AFTER, HeaderValue::from_static("3"));
    assert_eq!(retry(&headers, &body), Some(Duration::from_secs(3)));
    headers.insert(
        RETRY_AFTER,
        HeaderValue::from_static("Fri, 31 Dec 1999 23:59:59 GMT"),
    );
    assert_eq!(retry(&headers, "busy"), None);
}

#[test]
fn what_may_pass_is_told_from_what_will_not() {
    let get = Call::get(format!("{CLUSTERS}/c1"));
    let of = |code: u16| refused(&get, code, &status(code, "Any", json!({}))).may_pass();
    assert!([429, 500, 502, 503, 504].into_iter().all(of));
    assert!(![400, 401, 403, 404, 409, 410, 422].into_iter().any(of));
    assert!(refused(&get, 404, "a page").may_pass());
    assert!(CallError::new(get.asked(), Cause::Late(Duration::ZERO)).may_pass());
    assert!(!CallError::new(get.asked(), Cause::Credentials(String::new())).may_pass());
}

#[test]
fn what_a_plugin_printed_is_in_no_message() {
    let output = std::process::Command::new("sh")
        .args(["-c", "echo my-secret; echo not logged in >&2; exit 3"])
        .output()
        .unwrap();
    let error = kube::client::AuthError::AuthExecRun {
        cmd: "TOKEN=my-secret login".to_owned(),
        out: Box::new(output),
    };
    let asked = Call::get("/version").asked();
    let error = CallError::no_response(asked, Box::new(error));
    assert_eq!(
        error.to_string(),
        "get /version: no credentials for the API server: the kubeconfig's exec plugin failed with exit status: 3: not logged in"
    );
}

#[test]
fn warnings_are_read_as_the_api_server_writes_them() {
    for (header, text) in [
        (r#"299 - "plain""#, Some("plain")),
        (r#"299 - "a \"b\" \\ c""#, Some(r#"a "b" \ c"#)),
        ("299 - \"tab\there\"", Some("tab?here")),
        (r#"299 - "open"#, None),
        ("299", None),
        ("", None),
    ] {
        assert_eq!(warning(header).as_deref(), text, "{header}");
    }
}
