use std::time::Duration;

use berth_certs::issue::{Authority, Issued};
use http::Response;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::admission::testing::{Server, authority, certificate, json as answer};

fn caller() -> Caller {
    Caller::new(Services::new())
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(10)
}

/// An authority, and a server that says yes.
async fn yes() -> (Authority, Server) {
    let authority = authority();
    let server = Server::start(&certificate(&authority), |_| answer(&json!({ "a": 1 }))).await;
    (authority, server)
}

async fn post(caller: &Caller, url: &str, ca: &str) -> Result<Answer, String> {
    let endpoint = Endpoint::url(url, ca.as_bytes()).expect("it is fine");
    caller.post(&endpoint, Bytes::from("{}"), soon()).await
}

#[tokio::test]
async fn a_call_is_made_as_the_api_server_makes_it() {
    let (authority, server) = yes().await;
    let ca = authority.certificate_pem();
    let answer = post(&caller(), &server.url(), ca).await.expect("answered");
    assert_eq!(
        (answer.code, &*answer.media_type),
        (StatusCode::OK, "application/json")
    );
    assert_eq!(&answer.body[..], br#"{"a":1}"#);
    let asked = &server.asked()[0];
    assert_eq!(asked.path, "/hook?timeout=10s");
    let header = |name: &str| asked.headers[name].to_str().expect("text").to_owned();
    assert_eq!(header("content-type"), "application/json");
    assert_eq!(header("accept"), "application/json, */*");
    assert_eq!(header("host"), server.address.to_string());
    assert_eq!(header("content-length"), "2");
}

#[tokio::test]
async fn a_service_is_where_the_hub_says_and_has_its_own_name() {
    let (authority, server) = yes().await;
    let services = [(("ns".to_owned(), "hook".to_owned(), 9443), server.address)];
    let caller = Caller::new(services.into());
    let post = async |name: &str, port: Option<i32>| {
        let ca = authority.certificate_pem().as_bytes();
        let endpoint = Endpoint::service("ns", name, port, Some("/x"), ca).expect("it is fine");
        caller.post(&endpoint, Bytes::from("{}"), soon()).await
    };
    assert!(post("hook", Some(9443)).await.is_ok());
    assert_eq!(server.asked()[0].headers["host"], "hook.ns.svc:9443");
    assert_eq!(
        post("hook", None).await.map(drop),
        Err("Post \"https://hook.ns.svc:443/x?timeout=10s\": no service port 443 found for service \"hook\"".to_owned())
    );
    assert_eq!(
        post("other", None).await.map(drop),
        Err(
            "Post \"https://other.ns.svc:443/x?timeout=10s\": service \"other\" not found"
                .to_owned()
        )
    );
}

#[tokio::test]
async fn connections_are_kept_and_shared() {
    let (authority, server) = yes().await;
    let caller = caller();
    for _ in 0..3 {
        post(&caller, &server.url(), authority.certificate_pem())
            .await
            .expect("answered");
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_connection_that_died_while_idle_fails_no_call() {
    let (authority, server) = yes().await;
    let caller = caller();
    for round in 1..=20 {
        post(&caller, &server.url(), authority.certificate_pem())
            .await
            .expect("answered");
        assert_eq!(server.connections(), round);
        // The client may or may not have noticed when it makes the next call.
        server.hang_up();
        if round % 2 == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test]
async fn another_bundle_gets_another_connection() {
    let (authority, server) = yes().await;
    let caller = caller();
    let both = format!(
        "{}{}",
        self::authority().certificate_pem(),
        authority.certificate_pem()
    );
    let other = self::authority();
    post(&caller, &server.url(), authority.certificate_pem())
        .await
        .expect("answered");
    post(&caller, &server.url(), &both).await.expect("answered");
    assert_eq!(server.connections(), 2);
    // A connection made with a bundle that trusts the server is of no use to one that does not.
    let error = post(&caller, &server.url(), other.certificate_pem())
        .await
        .expect_err("not trusted");
    let url = server.url();
    assert_eq!(
        error,
        format!("Post \"{url}?timeout=10s\": {}", failure::UNKNOWN_AUTHORITY)
    );
}

#[tokio::test]
async fn connections_of_forgotten_endpoints_are_closed() {
    let (authority, server) = yes().await;
    let caller = caller();
    let endpoint = |ca: &str| Endpoint::url(&server.url(), ca.as_bytes()).expect("it is fine");
    let ours = endpoint(authority.certificate_pem());
    caller
        .post(&ours, Bytes::from("{}"), soon())
        .await
        .expect("answered");
    caller.forget_all_but([&ours].into_iter());
    caller
        .post(&ours, Bytes::from("{}"), soon())
        .await
        .expect("answered");
    assert_eq!(server.connections(), 1);
    caller.forget_all_but([].into_iter());
    caller
        .post(&ours, Bytes::from("{}"), soon())
        .await
        .expect("answered");
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn certificates_are_verified() {
    let authority = authority();
    let ca = authority.certificate_pem();
    let now = Timestamp::now();
    let hour = Duration::from_secs(3600);
    let leaf = |names: &[&str], at| {
        let authority = Authority::new("a", 10 * hour, at).expect("made");
        (
            authority.leaf(names, &[], hour, at).expect("issued"),
            authority.certificate_pem().to_owned(),
        )
    };
    let expired = leaf(&["x"], now - SignedDuration::from_hours(3));
    let misnamed = leaf(&["a.example", "b.example"], now);
    let not_verified = "tls: failed to verify certificate: x509: ";
    let rows: [(&(Issued, String), &str, &str); 3] = [
        (&expired, &expired.1, not_verified),
        (&misnamed, &misnamed.1, not_verified),
        (&misnamed, ca, failure::UNKNOWN_AUTHORITY),
    ];
    for ((issued, _), trusted, expected) in rows {
        let server = Server::start(issued, |_| answer(&json!({}))).await;
        let error = post(&caller(), &server.url(), trusted)
            .await
            .expect_err(expected);
        let url = server.url();
        assert!(
            error.starts_with(&format!("Post \"{url}?timeout=10s\": {expected}")),
            "{error}"
        );
    }
    // A Service's name.
    let server = Server::start(&misnamed.0, |_| answer(&json!({}))).await;
    let services = [(("ns".to_owned(), "hook".to_owned(), 443), server.address)];
    let endpoint = Endpoint::service("ns", "hook", None, None, misnamed.1.as_bytes());
    let error = Caller::new(services.into())
        .post(&endpoint.expect("it is fine"), Bytes::from("{}"), soon())
        .await
        .expect_err("another name");
    let expected = format!("Post \"https://hook.ns.svc:443/?timeout=10s\": {not_verified}");
    assert!(error.starts_with(&expected), "{error}");
}

#[tokio::test]
async fn nobody_is_trusted_without_a_bundle() {
    let (_, server) = yes().await;
    let error = post(&caller(), &server.url(), "")
        .await
        .expect_err("not trusted");
    assert!(error.ends_with(failure::UNKNOWN_AUTHORITY), "{error}");
}

#[tokio::test]
async fn where_nobody_listens_the_connection_is_refused() {
    let address = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("bound");
        listener.local_addr().expect("an address")
    };
    let authority = authority();
    let url = format!("https://{address}/x");
    let error = post(&caller(), &url, authority.certificate_pem())
        .await
        .expect_err("refused");
    assert_eq!(
        error,
        format!("Post \"{url}?timeout=10s\": dial tcp {address}: connect: connection refused")
    );
}

#[tokio::test]
async fn a_host_without_an_address_is_named() {
    let url = "https://nobody.invalid/x";
    let error = post(&caller(), url, authority().certificate_pem())
        .await
        .expect_err("no such host");
    assert_eq!(
        error,
        format!("Post \"{url}?timeout=10s\": dial tcp: lookup nobody.invalid: no such host")
    );
}

/// A server that reads a request, writes `bytes`, and closes the connection, or (`silent`) leaves it open.
async fn writes(authority: &Authority, bytes: &'static [u8], silent: bool) -> Server {
    Server::misbehaving(&certificate(authority), move |mut stream| async move {
        let mut buffer = [0; 4096];
        let _ = stream.read(&mut buffer).await;
        let _ = stream.write_all(bytes).await;
        let _ = stream.flush().await;
        if silent {
            std::future::pending::<()>().await;
        }
        let _ = stream.shutdown().await;
    })
    .await
}

#[tokio::test]
async fn answers_that_are_none_fail_the_call_in_gos_words() {
    let authority = authority();
    let rows: [(&[u8], &str, bool); 4] = [
        (b"", "EOF", true),
        (b"garbage\r\n\r\n", "invalid HTTP version parsed", true),
        (b"HTTP/1.1 200 OK\r\n", "EOF", true),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
            "unexpected error when reading response body. Please retry. Original error: unexpected EOF",
            false,
        ),
    ];
    for (bytes, expected, before_the_head) in rows {
        let server = writes(&authority, bytes, false).await;
        let error = post(&caller(), &server.url(), authority.certificate_pem())
            .await
            .expect_err(expected);
        let prefix = format!("Post \"{}?timeout=10s\": ", server.url());
        let expected = if before_the_head {
            format!("{prefix}{expected}")
        } else {
            expected.to_owned()
        };
        assert!(error.starts_with(&expected), "{error}");
        // On a connection that was made for the call, it is made once.
        assert_eq!(server.connections(), 1, "{expected}");
    }
}

#[tokio::test]
async fn a_call_ends_at_its_deadline_wherever_it_hangs() {
    let authority = authority();
    let body = "unexpected error when reading response body. Please retry. Original error: ";
    for (bytes, in_the_body) in [
        (&b""[..], false),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", true),
    ] {
        let server = writes(&authority, bytes, true).await;
        let ca = authority.certificate_pem().as_bytes();
        let endpoint = Endpoint::url(&server.url(), ca).expect("it is fine");
        let begun = Instant::now();
        let deadline = begun + Duration::from_millis(300);
        let error = caller()
            .post(&endpoint, Bytes::from("{}"), deadline)
            .await
            .expect_err("too late");
        let prefix = if in_the_body {
            body.to_owned()
        } else {
            format!("Post \"{}?timeout=1s\": ", server.url())
        };
        assert_eq!(error, format!("{prefix}context deadline exceeded"));
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
}

#[tokio::test]
async fn a_server_without_tls_is_told_apart() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("bound");
    let address = listener.local_addr().expect("an address");
    let task = tokio::spawn(async move {
        let (mut tcp, _) = listener.accept().await.expect("accepted");
        let _ = tcp.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        let mut buffer = [0; 4096];
        while tcp.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
    });
    let url = format!("https://{address}/x");
    let error = post(&caller(), &url, authority().certificate_pem())
        .await
        .expect_err("no TLS");
    assert!(error.contains("?timeout=10s\": tls: "), "{error}");
    task.await.expect("no panic");
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_not_read() {
    let authority = authority();
    let large = Bytes::from(vec![b' '; MAX_ANSWER + 1]);
    let server = Server::start(&certificate(&authority), move |_| {
        Response::new(Full::new(large.clone()))
    })
    .await;
    let error = post(&caller(), &server.url(), authority.certificate_pem())
        .await
        .expect_err("too large");
    assert!(
        error.ends_with("response body is larger than 16777216 bytes"),
        "{error}"
    );
}

#[test]
fn timeouts_are_told_in_whole_seconds() {
    let rows = [(0, 0), (1, 1), (999, 1), (1000, 1), (1001, 2), (30_000, 30)];
    for (millis, seconds) in rows {
        assert_eq!(
            whole_seconds(Duration::from_millis(millis)),
            seconds,
            "{millis}"
        );
    }
}
