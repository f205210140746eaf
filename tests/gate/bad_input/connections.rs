//! Clients that stop halfway, and clients that do not speak TLS or HTTP.

use std::time::{Duration, Instant};

use berth_webhooks::Limits;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use berth_testkit::in_process::{Running, Setup, metric};
use berth_testkit::reviews::{PATH, UID, text};
use berth_testkit::{Gate, eventually, response, when};

/// The head of a request whose body comes in chunks.
pub(crate) fn head(timeout: &str) -> String {
    format!(
        "POST {PATH}?timeout={timeout} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         transfer-encoding: chunked\r\n\r\n"
    )
}

pub(crate) fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// Everything up to the end of the connection, which comes within a few seconds.
async fn rest(stream: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let mut rest = Vec::new();
    let end = timeout(Duration::from_secs(15), stream.read_to_end(&mut rest)).await;
    // Without a farewell is an end as well.
    drop(end.expect("the server ends the connection"));
    rest
}

pub(crate) async fn is_served(server: &Running) {
    let answer = server.review(PATH, text()).await;
    assert_eq!(response(&answer)["allowed"], true);
}

#[tokio::test]
async fn a_body_that_trickles_is_answered_in_time() {
    let gate = Gate::with_files(&[]);
    let mut stream = gate.tls().await;
    let begun = Instant::now();
    stream.write_all(head("1s").as_bytes()).await.unwrap();
    stream
        .write_all(chunk(&text()[..200]).as_bytes())
        .await
        .unwrap();
    let (mut reader, mut writer) = tokio::io::split(stream);
    let trickle = async {
        for byte in text()[200..].chars() {
            sleep(Duration::from_millis(50)).await;
            if writer
                .write_all(chunk(&byte.to_string()).as_bytes())
                .await
                .is_err()
            {
                break;
            }
        }
    };
    let answer = tokio::select! {
        answer = rest(&mut reader) => String::from_utf8(answer).unwrap(),
        () = trickle => panic!("no answer"),
    };
    assert!(
        begun.elapsed() < Duration::from_secs(3),
        "{:?}",
        begun.elapsed()
    );
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    let answer: Value = serde_json::from_str(body).unwrap();
    let response = response(&answer);
    assert_eq!(response["uid"], UID);
    assert_eq!(
        response["status"],
        json!({
            "status": "Failure",
            "code": 500,
            "reason": "InternalError",
            "message": "the review did not arrive in time: this is not a denial, try again",
            "details": {"retryAfterSeconds": 1},
        })
    );
    assert_eq!(
        response["auditAnnotations"],
        json!({"outcome": "undecided", "reason": "too-slow"})
    );
    assert_eq!(gate.review(PATH, text()).await["response"]["allowed"], true);
}

#[tokio::test]
async fn a_body_that_breaks_off_hurts_nobody() {
    let gate = Gate::with_files(&[]);
    let mut stream = gate.tls().await;
    stream.write_all(head("10s").as_bytes()).await.unwrap();
    stream
        .write_all(chunk(&text()[..200]).as_bytes())
        .await
        .unwrap();
    drop(stream);
    let mut stream = gate.tls().await;
    stream.write_all(head("10s").as_bytes()).await.unwrap();
    stream.write_all(b"no chunk at all\r\n").await.unwrap();
    let answer = String::from_utf8(rest(&mut stream).await).unwrap();
    assert!(answer.contains("request body broke off"), "{answer}");
    assert_eq!(gate.review(PATH, text()).await["response"]["allowed"], true);
}

#[tokio::test]
async fn what_is_no_http_is_told_so() {
    let gate = Gate::with_files(&[]);
    // Well below what all connections together could hold of headers that never end.
    let long = format!("GET / HTTP/1.1\r\nhost: {}", "x".repeat(40 * 1024));
    for (sent, status) in [
        ("\x16\x03\x01 hello\r\n\r\n", "400"),
        ("GET / HTTP/9.9\r\n\r\n", "400"),
        (long.as_str(), "431"),
    ] {
        let mut stream = gate.tls().await;
        // The answer may come before all has been sent.
        let _ = stream.write_all(sent.as_bytes()).await;
        let answer = String::from_utf8(rest(&mut stream).await).unwrap();
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{answer}"
        );
    }
    assert_eq!(gate.review(PATH, text()).await["response"]["allowed"], true);
}

#[tokio::test]
async fn who_speaks_plain_http_is_told_so() {
    let gate = Gate::with_files(&[]);
    let mut answered = 0.0;
    for body in ["", &"x".repeat(1024 * 1024)] {
        let mut stream = TcpStream::connect(("127.0.0.1", gate.port)).await.unwrap();
        let head = format!(
            "POST {PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(body.as_bytes()).await.unwrap();
        // The whole answer is on its way: from now on a reset could overtake it.
        let counted = r#"berth_tls_handshakes_total{outcome="plain-http"}"#;
        eventually("its count", async || {
            when(metric(&gate.metrics().await, counted), |it| *it > answered)
        })
        .await;
        answered += 1.0;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(
            answer.starts_with("HTTP/1.0 400 Bad Request\r\n"),
            "{answer}"
        );
        assert!(
            answer.ends_with("\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"),
            "{answer}"
        );
    }
    assert_eq!(
        metric(
            &gate.metrics().await,
            r#"berth_tls_handshakes_total{outcome="plain-http"}"#
        ),
        2.0
    );
    assert_eq!(gate.review(PATH, text()).await["response"]["allowed"], true);
}

#[tokio::test]
async fn tls_1_1_is_refused_by_an_alert() {
    let gate = Gate::with_files(&[]);
    let signature_algorithms = [0, 13, 0, 4, 0, 2, 4, 3];
    // (what is sent, its extensions, the alert: protocol_version or handshake_failure)
    for (sentence, extensions, alert) in [
        ("TLS 1.1 as it was", &[][..], 40),
        (
            "TLS 1.1 of a client that knows TLS 1.2",
            &signature_algorithms,
            70,
        ),
    ] {
        // TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, no compression.
        let length = u8::try_from(extensions.len()).unwrap();
        let body = [
            &[3, 2][..],
            &[7; 32],
            &[0, 0, 2, 0xc0, 0x09, 1, 0, 0, length],
            extensions,
        ]
        .concat();
        let length = u8::try_from(body.len()).unwrap();
        let hello = [&[0x16, 3, 1, 0, length + 4, 1, 0, 0, length][..], &body].concat();
        let mut stream = TcpStream::connect(("127.0.0.1", gate.port)).await.unwrap();
        stream.write_all(&hello).await.unwrap();
        let answer = rest(&mut stream).await;
        // An alert (21), two bytes long, fatal (2).
        assert_eq!(
            (answer[0], &answer[3..]),
            (21, &[0, 2, 2, alert][..]),
            "{sentence}: {answer:?}"
        );
    }
    // Counted once the alert has been sent.
    let failed = r#"berth_tls_handshakes_total{outcome="failed"}"#;
    eventually("two failed handshakes", async || {
        when(metric(&gate.metrics().await, failed), |it| *it >= 2.0)
    })
    .await;
    assert_eq!(gate.review(PATH, text()).await["response"]["allowed"], true);
}

#[tokio::test]
async fn whoever_does_not_get_on_with_it_is_sent_away() {
    let short = Duration::from_millis(300);
    for (sentence, limits, reason, sent) in [
        (
            "half a handshake",
            Limits {
                handshake: short,
                ..Limits::default()
            },
            "handshake-timeout",
            None,
        ),
        (
            "half a request",
            Limits {
                header: short,
                ..Limits::default()
            },
            "request-timeout",
            Some("POST / HTTP/1.1\r\nhost: loc"),
        ),
        (
            "no request",
            Limits {
                idle: short,
                ..Limits::default()
            },
            "idle",
            Some(""),
        ),
    ] {
        let server = Setup {
            limits,
            ..Setup::default()
        }
        .start()
        .await;
        let begun = Instant::now();
        if let Some(sent) = sent {
            let mut stream = server.connect().await;
            stream.write_all(sent.as_bytes()).await.unwrap();
            rest(&mut stream).await;
        } else {
            let mut stream = TcpStream::connect(server.address).await.unwrap();
            stream.write_all(&[0x16, 3, 1]).await.unwrap();
            rest(&mut stream).await;
        }
        assert!(begun.elapsed() < Duration::from_secs(5), "{sentence}");
        let closed = format!("berth_webhook_connections_closed_total{{reason=\"{reason}\"}}");
        assert_eq!(server.metric(&closed), 1.0, "{sentence}");
        is_served(&server).await;
        server.stop().await;
    }
}
