//! The server stops: every request that arrives meanwhile gets a response.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio::time::timeout;

use berth_testkit::in_process::{Client, Held, Running, Setup, connect};
use berth_testkit::reviews::{PATH, asking, text};
use berth_testkit::{Gate, eventually, post, response, when};

type Body = http_body_util::Full<hyper::body::Bytes>;

/// Asks over one connection until it is told to close it, and then over the next, until there is none to be had. Returns
/// an error when something that was asked was not answered.
async fn keep_asking(
    address: SocketAddr,
    client: Arc<Client>,
    asked: Arc<AtomicUsize>,
) -> Result<(), String> {
    loop {
        // Without a connection nothing was asked: such a client goes to another server.
        let Ok(stream) = connect(address, client.config()).await else {
            return Ok(());
        };
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake::<_, Body>(TokioIo::new(stream))
                .await
                .map_err(|error| error.to_string())?;
        let connection = tokio::spawn(connection);
        loop {
            sender
                .ready()
                .await
                .map_err(|error| format!("closed without a word: {error:?}"))?;
            let answer = sender
                .send_request(post(PATH, text()))
                .await
                .map_err(|error| format!("no answer: {error:?}"))?;
            let closes = answer
                .headers()
                .get("connection")
                .is_some_and(|value| value == "close");
            let body = answer
                .into_body()
                .collect()
                .await
                .map_err(|error| format!("half an answer: {error:?}"))?;
            let answer =
                serde_json::from_slice(&body.to_bytes()).map_err(|error| error.to_string())?;
            if response(&answer)["allowed"] != true {
                return Err(answer.to_string());
            }
            asked.fetch_add(1, Ordering::Relaxed);
            if closes {
                break;
            }
        }
        connection
            .await
            .unwrap()
            .map_err(|error| error.to_string())?;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_told_to_stop_loses_no_request() {
    let mut gate = Gate::with_files(&["--shutdown-delay", "3s"]);
    let ca = std::fs::read_to_string(gate.certs.path().join("ca.crt")).unwrap();
    let client = Arc::new(Client::trusting(&ca));
    let address = SocketAddr::from(([127, 0, 0, 1], gate.port));
    let asked = Arc::new(AtomicUsize::new(0));
    let mut clients = JoinSet::new();
    for _ in 0..8 {
        clients.spawn(keep_asking(
            address,
            Arc::clone(&client),
            Arc::clone(&asked),
        ));
    }
    let enough = |least| {
        let asked = Arc::clone(&asked);
        async move {
            eventually("more answers", async || {
                when(asked.load(Ordering::Relaxed), |it| *it >= least)
            })
            .await;
        }
    };
    enough(100).await;
    gate.signal("TERM");
    let told = Instant::now();
    eventually("a gate that is not ready", async || {
        let answer = gate.get(gate.health_port, "/readyz").await;
        when(answer.status(), |it| *it == 503)
    })
    .await;
    // New clients are served meanwhile, and told to close.
    enough(asked.load(Ordering::Relaxed) + 20).await;
    let answer = gate.send(post(PATH, text())).await;
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["connection"]),
        (200, &"close".parse().unwrap())
    );
    assert!(
        told.elapsed() < Duration::from_millis(2900),
        "{:?}: too slow a machine for this",
        told.elapsed()
    );

    while let Some(result) = clients.join_next().await {
        result.unwrap().unwrap();
    }
    let took = told.elapsed();
    assert!(
        took > Duration::from_millis(2900) && took < Duration::from_secs(10),
        "{took:?}"
    );
    assert_eq!(gate.ended().await.code(), Some(0));
    let messages: Vec<_> = gate
        .log()
        .iter()
        .map(|line| line["message"].clone())
        .collect();
    let life = [
        "serving",
        "ready: questions are answered",
        "shutting down: not ready, still serving",
        "draining",
        "stopped",
    ];
    assert_eq!(
        messages
            .iter()
            .filter(|message| life.iter().any(|step| message == step))
            .collect::<Vec<_>>(),
        life
    );
}

#[tokio::test]
async fn interrupting_is_telling_to_stop() {
    let mut gate = Gate::with_files(&["--shutdown-delay", "0s"]);
    gate.signal("INT");
    assert_eq!(gate.ended().await.code(), Some(0));
}

#[tokio::test]
async fn told_twice_it_ends_at_once() {
    let mut gate = Gate::with_files(&["--shutdown-delay", "1m"]);
    gate.signal("TERM");
    gate.logged(|line| line["message"] == "shutting down: not ready, still serving");
    let begun = Instant::now();
    gate.signal("TERM");
    assert_eq!(gate.ended().await.code(), Some(1));
    assert!(begun.elapsed() < Duration::from_secs(5));
}

/// Waits until so many reviews are in flight.
async fn in_flight(server: &Running, number: f64) {
    let metric = format!("controller_runtime_webhook_requests_in_flight{{webhook=\"{PATH}\"}}");
    eventually(&format!("{number} reviews in flight"), async || {
        when(server.metric(&metric), |it| *it == number)
    })
    .await;
}

/// Waits until it takes no new requests.
async fn drains(server: &Running) {
    eventually("draining", async || {
        when(server.metric("berth_draining"), |it| *it == 1.0)
    })
    .await;
}

#[tokio::test]
async fn requests_under_way_are_answered() {
    let held = Held::new();
    let server = Setup {
        answerer: held.clone(),
        ..Setup::default()
    }
    .start()
    .await;
    let client = Client {
        alpn: &["h2"],
        ..Client::trusting(server.authority.certificate_pem())
    };
    let io = TokioIo::new(connect(server.address, client.config()).await.unwrap());
    let (mut sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io)
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    let mut request = post(&format!("https://localhost{PATH}"), asking());
    request.headers_mut().remove("host");
    let over_http2 = tokio::spawn(sender.send_request(request));
    let server = Arc::new(server);
    let over_http1 = tokio::spawn({
        let server = Arc::clone(&server);
        async move { server.review(PATH, asking()).await }
    });
    in_flight(&server, 2.0).await;
    server.shutdown.cancel();
    drains(&server).await;
    held.let_go();
    assert_eq!(response(&over_http1.await.unwrap())["allowed"], true);
    assert_eq!(over_http2.await.unwrap().unwrap().status(), 200);
    // And the client of HTTP/2 is told that there will be no more.
    timeout(Duration::from_secs(5), connection)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    Arc::into_inner(server).unwrap().stop().await;
}

#[tokio::test]
async fn who_has_only_just_connected_is_answered() {
    let server = Setup::default().start().await;
    let mut connections = Vec::new();
    for _ in 0..3 {
        connections.push(server.connect().await);
    }
    let mut used = server.connect().await;
    let request = format!("POST {PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n");
    used.write_all(request.as_bytes()).await.unwrap();
    assert!(used.read(&mut [0; 4096]).await.unwrap() > 0);
    server.shutdown.cancel();
    // A connection that was used and is idle ends at once.
    timeout(
        Duration::from_millis(500),
        used.read_to_end(&mut Vec::new()),
    )
    .await
    .unwrap()
    .unwrap();
    let mut silent = connections.pop().unwrap();
    for connection in connections {
        let answer = berth_testkit::send(connection, post(PATH, text())).await;
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()["connection"], "close");
    }
    // Who says nothing is not waited for.
    let begun = Instant::now();
    server.stop().await;
    assert!(
        begun.elapsed() < Duration::from_secs(4),
        "{:?}",
        begun.elapsed()
    );
    let _ = silent.read_to_end(&mut Vec::new()).await;
}

#[tokio::test]
async fn half_a_request_does_not_hold_up_the_end() {
    let server = Setup::default().start().await;
    let mut half = server.connect().await;
    half.write_all(b"POST / HTTP/1.1\r\nhost: lo")
        .await
        .unwrap();
    eventually("its connection", async || {
        when(server.metric("berth_webhook_connections"), |it| *it == 1.0)
    })
    .await;
    let begun = Instant::now();
    server.stop().await;
    assert!(
        begun.elapsed() < Duration::from_secs(4),
        "{:?}",
        begun.elapsed()
    );
}
