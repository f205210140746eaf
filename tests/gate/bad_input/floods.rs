//! More clients than the gate has places for: useful connections stay, and useful clients can connect.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use berth_webhooks::Limits;
use futures::future::select_all;
use http_body_util::BodyExt;
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::bad_input::connections::{chunk, head, is_served};
use crate::bad_input::memory::{Peak, limited};
use berth_testkit::in_process::{Client, Held, Running, Setup, connect, metric};
use berth_testkit::reviews::{PATH, asking, text};
use berth_testkit::{Gate, eventually, post, repository, response, when, where_to_serve};

type Body = http_body_util::Full<hyper::body::Bytes>;

/// A body of so many bytes that is sent in pieces: a good review with blanks at its end.
fn of_length(length: usize) -> String {
    let text = text();
    let blanks = " ".repeat(length - text.len());
    text + &blanks
}

#[tokio::test]
async fn a_flood_of_idle_connections_keeps_nobody_out() {
    let limits = Limits {
        connections: 20,
        ..Limits::default()
    };
    let server = Setup {
        limits,
        ..Setup::default()
    }
    .start()
    .await;
    let (mut useful, connection) =
        hyper::client::conn::http1::handshake::<_, Body>(TokioIo::new(server.connect().await))
            .await
            .unwrap();
    let connection = tokio::spawn(connection);
    let mut ask = async || {
        useful.ready().await.unwrap();
        let answer = useful.send_request(post(PATH, text())).await.unwrap();
        answer.into_body().collect().await.unwrap();
    };
    ask().await;
    let mut idle = Vec::new();
    for _ in 0..60 {
        idle.push(TcpStream::connect(server.address).await.unwrap());
    }
    let mut idle_tls = Vec::new();
    for _ in 0..60 {
        idle_tls.push(server.connect().await);
        ask().await;
    }
    is_served(&server).await;
    ask().await;
    connection.abort();
    assert!(server.metric(r#"berth_webhook_connections_closed_total{reason="evicted"}"#) >= 100.0);
    assert_eq!(
        server.metric(r#"berth_webhook_connections_closed_total{reason="refused"}"#),
        0.0
    );
    assert!(server.metric("berth_webhook_connections") <= 20.0);
}

#[tokio::test]
async fn a_flood_of_trickling_bodies_keeps_nobody_out() {
    let limits = Limits {
        connections: 20,
        reviews: 5,
        ..Limits::default()
    };
    let server = Setup {
        limits,
        ..Setup::default()
    }
    .start()
    .await;
    let mut slow = Vec::new();
    for _ in 0..15 {
        let mut stream = server.connect().await;
        stream.write_all(head("30s").as_bytes()).await.unwrap();
        stream
            .write_all(chunk(&text()[..200]).as_bytes())
            .await
            .unwrap();
        slow.push(stream);
    }
    // There are places for connections, and reviews that have not come are none that are being decided.
    is_served(&server).await;
    for _ in 0..15 {
        let mut stream = server.connect().await;
        stream.write_all(head("30s").as_bytes()).await.unwrap();
        slow.push(stream);
        is_served(&server).await;
    }
    assert!(server.metric(r#"berth_webhook_connections_closed_total{reason="evicted"}"#) >= 10.0);
}

/// Every place is taken, and every client waits for an answer.
#[tokio::test]
async fn connections_at_work_are_not_given_up_for_new_ones() {
    let limits = Limits {
        connections: 2,
        ..Limits::default()
    };
    let held = Held::new();
    let server = Setup {
        limits,
        answerer: Arc::clone(&held) as _,
        ..Setup::default()
    }
    .start()
    .await;
    let server = Arc::new(server);
    let ask = || {
        let server = Arc::clone(&server);
        tokio::spawn(async move { server.review(PATH, asking()).await })
    };
    let answers = [ask(), ask()];
    in_flight(&server, 2.0).await;
    let refused = connect(
        server.address,
        Client::trusting(server.authority.certificate_pem()).config(),
    )
    .await;
    assert!(refused.is_err());
    assert_eq!(
        server.metric(r#"berth_webhook_connections_closed_total{reason="refused"}"#),
        1.0
    );
    held.let_go();
    for answer in answers {
        assert_eq!(response(&answer.await.unwrap())["allowed"], true);
    }
    is_served(&server).await;
}

async fn in_flight(server: &Running, number: f64) {
    let metric = format!("controller_runtime_webhook_requests_in_flight{{webhook=\"{PATH}\"}}");
    eventually(&format!("{number} reviews in flight"), async || {
        when(server.metric(&metric), |it| *it == number)
    })
    .await;
}

async fn http2(server: &Running) -> SendRequest<Body> {
    let client = Client {
        alpn: &["h2"],
        ..Client::trusting(server.authority.certificate_pem())
    };
    let io = TokioIo::new(connect(server.address, client.config()).await.unwrap());
    let (sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io)
        .await
        .unwrap();
    tokio::spawn(connection);
    sender
}

fn http2_post(body: String) -> http::Request<Body> {
    let mut request = post(&format!("https://localhost{PATH}"), body);
    request.headers_mut().remove("host");
    request
}

#[tokio::test]
async fn over_http_2_a_connection_is_at_work_until_its_last_request_is_done() {
    let limits = Limits {
        connections: 1,
        ..Limits::default()
    };
    let held = Held::new();
    let server = Setup {
        limits,
        answerer: Arc::clone(&held) as _,
        ..Setup::default()
    }
    .start()
    .await;
    let mut sender = http2(&server).await;
    let first = tokio::spawn(sender.send_request(http2_post(asking())));
    let second = tokio::spawn(sender.send_request(http2_post(asking())));
    in_flight(&server, 2.0).await;
    held.0.add_permits(1);
    in_flight(&server, 1.0).await;
    // One is answered, the other is not: the connection makes no room.
    assert!(
        connect(
            server.address,
            Client::trusting(server.authority.certificate_pem()).config()
        )
        .await
        .is_err()
    );
    held.let_go();
    for answer in [first, second] {
        assert_eq!(answer.await.unwrap().unwrap().status(), 200);
    }
}

#[tokio::test]
async fn over_http_2_a_request_given_up_leaves_nothing_behind() {
    let limits = Limits {
        connections: 1,
        ..Limits::default()
    };
    let held = Held::new();
    let server = Setup {
        limits,
        answerer: Arc::clone(&held) as _,
        ..Setup::default()
    }
    .start()
    .await;
    let mut sender = http2(&server).await;
    let given_up = tokio::spawn(sender.send_request(http2_post(asking())));
    in_flight(&server, 1.0).await;
    given_up.abort();
    in_flight(&server, 0.0).await;
    // Its connection does nothing any more, and makes room.
    is_served(&server).await;
    assert_eq!(
        server.metric(r#"berth_webhook_connections_closed_total{reason="evicted"}"#),
        1.0
    );
}

/// As in a container whose processes may have few files open: what does not come from clients still has some.
#[tokio::test]
async fn clients_do_not_use_up_the_files_of_the_process() {
    let certs = TempDir::new().unwrap();
    let mut command = Command::new("sh");
    command
        .args([
            "-c",
            "ulimit -n 256; exec \"$0\" \"$@\"",
            berth_testkit::program().to_str().unwrap(),
            "webhook-server",
        ])
        .args(["--self-signed", "--hub-files"])
        .arg(repository("examples/hub"))
        .args(where_to_serve(certs.path()));
    let gate = Gate::run(command, certs);
    let mut idle = Vec::new();
    for _ in 0..400 {
        idle.push(TcpStream::connect(("127.0.0.1", gate.port)).await.unwrap());
    }
    assert_eq!(gate.review(PATH, text()).await["response"]["allowed"], true);
    assert_eq!(gate.get(gate.health_port, "/readyz").await.status(), 200);
    assert!(metric(&gate.metrics().await, "berth_webhook_connections") <= 128.0);
}

/// Ten connections that send all but the end of the largest bodies would hold all memory for bodies.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_send_halves_do_not_take_the_memory_of_others() {
    let gate = limited();
    let path = format!("{PATH}?timeout=30s");
    let peak = Peak::begin(&gate);
    let large = of_length(7 * 1024 * 1024 - 1024);
    let mut halves = Vec::new();
    for _ in 0..12 {
        let mut stream = gate.tls().await;
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            large.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        // The slowest are let go meanwhile, and then their connection may end.
        let _ = stream.write_all(&large.as_bytes()[..large.len() - 1]).await;
        let _ = stream.flush().await;
        halves.push(stream);
    }
    // Writes as an API server makes them, small and large ones.
    for round in 0..20 {
        for body in [text(), of_length(60 * 1024), of_length(1024 * 1024)] {
            let length = body.len();
            let answer = gate.review(PATH, body).await;
            let allowed = &response(&answer)["allowed"];
            assert_eq!(*allowed, true, "{length} bytes, round {round}: {answer}");
        }
    }
    // Those that were let go are told so, long before the others are too slow.
    let answers = halves.into_iter().map(|mut stream| {
        Box::pin(async move {
            let mut answer = vec![0; 4096];
            let length = stream.read(&mut answer).await.unwrap_or_default();
            String::from_utf8_lossy(&answer[..length]).into_owned()
        })
    });
    let (first, _, _others) = select_all(answers).await;
    assert!(first.contains("\"code\":429"), "{first}");
    let grown = peak.grown();
    assert!(grown < 200 * 1024, "{grown} KiB");
    println!("{grown} KiB at most");
}

/// Small bodies that trickle do not take the memory of other small ones.
#[tokio::test]
async fn small_bodies_that_trickle_make_room() {
    let limits = Limits {
        small_body_memory: 200 * 1024,
        ..Limits::default()
    };
    let server = Setup {
        limits,
        ..Setup::default()
    }
    .start()
    .await;
    let mut slow = Vec::new();
    for _ in 0..10 {
        let mut stream = server.connect().await;
        stream.write_all(head("30s").as_bytes()).await.unwrap();
        let piece = chunk(&of_length(60 * 1024)[..50 * 1024]);
        stream.write_all(piece.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        slow.push(stream);
    }
    for _ in 0..10 {
        // It has come in several pieces.
        let answer = server.review(PATH, of_length(60 * 1024)).await;
        assert_eq!(response(&answer)["allowed"], true, "{answer}");
    }
}

/// Requests that send headers and no body, over many connections with many streams each.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_without_bodies_hold_little() {
    const CONNECTIONS: usize = 100;
    let gate = limited();
    gate.review(PATH, text()).await;
    let peak = Peak::begin(&gate);
    let mut config = gate.client_config();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let address = ([127, 0, 0, 1], gate.port).into();
    let mut held = Vec::new();
    for _ in 0..CONNECTIONS {
        let io = TokioIo::new(connect(address, config.clone()).await.unwrap());
        let (sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io)
            .await
            .unwrap();
        tokio::spawn(connection);
        for stream in 0..100 {
            let mut sender: SendRequest<Silent> = sender.clone();
            let mut request = http::Request::post(format!("https://localhost{PATH}?timeout=30s"))
                .header("content-type", "application/json");
            // 3 KiB of headers, indexed: a few bytes on the wire.
            for i in 0..30 {
                request = request.header(format!("x-{i}"), "v".repeat(60));
            }
            let request = request.body(Silent).unwrap();
            let answer = tokio::spawn(async move { sender.send_request(request).await });
            held.push(answer);
            if stream % 20 == 19 {
                tokio::task::yield_now().await;
            }
        }
    }
    for _ in 0..50 {
        let answer = gate.review(PATH, text()).await;
        assert_eq!(response(&answer)["allowed"], true);
        sleep(Duration::from_millis(10)).await;
    }
    let grown = peak.grown();
    println!("{CONNECTIONS} connections: {grown} KiB at most");
    assert!(grown < 100 * 1024, "{grown} KiB");
    for answer in held {
        answer.abort();
    }
}

/// A body that never comes.
struct Silent;

impl hyper::body::Body for Silent {
    type Data = hyper::body::Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Self::Data>, Self::Error>>> {
        std::task::Poll::Pending
    }
}

#[tokio::test]
async fn over_http_2_headers_have_a_bound() {
    let server = Setup::default().start().await;
    let mut sender = http2(&server).await;
    for (sentence, length, good) in [("a kibibyte", 1_000, true), ("six", 6_000, false)] {
        let mut request = http2_post(text());
        let value = "v".repeat(length).parse().unwrap();
        request.headers_mut().insert("x-long", value);
        let served = match sender.send_request(request).await {
            Ok(answer) => answer.status() == 200,
            // It may be refused before it is a request.
            Err(_) => false,
        };
        assert_eq!(served, good, "{sentence}");
    }
    is_served(&server).await;
}
