//! Files and memory at their limit: useful calls go on.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::faults::calls::mix;
use crate::faults::length;
use crate::faults::load::{Load, Manner, Target};
use crate::faults::served::Served;
use crate::faults::tally::Report;

/// A low limit of open files. Half of them are for connections.
const FILES: usize = 80;

/// A little less than the largest body that is read.
const LARGE: usize = 7 * 1024 * 1024 - 16 * 1024;

/// Far less than the manifests give a pod (512 MiB).
const MOST_MEMORY: usize = 300 * 1024;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_connections_take_all_files_and_more() {
    let report = Report::begin("more connections than files");
    let served = Served::with_files(FILES).await;
    let before = served.held().files;
    // New connections all the time, beside the kept ones.
    let [kept, fresh] = [usize::MAX, 1].map(|each| {
        let manner = Manner {
            each,
            connections: 4,
            ..Manner::default()
        };
        Load::start(served.target(), manner)
    });
    kept.go_on(50).await;
    let rounds = length::times(1);
    let (mut most, mut count) = (0, 0);
    for _ in 0..rounds {
        let mut idle = Vec::new();
        while idle.len() < 4 * FILES {
            let tcp = TcpStream::connect(served.target().address).await;
            let tcp = tcp.unwrap();
            // One in four begins a handshake. Some are closed during it.
            if idle.len() % 4 == 0 {
                if let Ok(tls) = served.target().tls(tcp).await {
                    idle.push(Idle::Open(Box::new(tls)));
                    continue;
                }
                idle.push(Idle::Gone);
            } else {
                idle.push(Idle::Silent(tcp));
            }
            most = most.max(served.held().files);
        }
        count += idle.len();
        kept.go_on(100).await;
        fresh.go_on(100).await;
        most = most.max(served.held().files);
    }
    assert!(most <= FILES && most > FILES / 2, "{most}");
    let closed = served.closed().await;
    assert!(closed["evicted"] > 0, "{closed:?}");
    let mut tally = kept.stop().await;
    tally.add(&fresh.stop().await);
    served.lets_go(before + 48).await;
    report.all_decided(
        &tally,
        format!("{count} idle, at most {most} files of {FILES}"),
    );
}

/// A connection that is kept open.
enum Idle {
    Open(
        #[expect(dead_code, reason = "it is held")] Box<tokio_rustls::client::TlsStream<TcpStream>>,
    ),
    Silent(#[expect(dead_code, reason = "it is held")] TcpStream),
    Gone,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_largest_bodies_come_all_at_once() {
    // The memory is enough for nine.
    const AT_ONCE: usize = 12;
    let report = Report::begin("the largest bodies at once");
    let served = Served::start().await;
    // The default timeout of API servers: both sides need processor time to encrypt and read all that.
    let manner = Manner {
        patience: Duration::from_secs(10),
        ..Manner::default()
    };
    let load = Load::start(served.target(), manner);
    load.go_on(50).await;
    let call = &mix()[0];
    let path = call.path;
    let large = Bytes::from(call.with_padding(LARGE));
    let (mut decided, mut turned_away) = (0, 0);
    let rounds = length::times(1);
    for _ in 0..rounds {
        let mut senders = JoinSet::new();
        let all = Arc::new(Barrier::new(AT_ONCE));
        for _ in 0..AT_ONCE {
            let (target, all) = (served.target(), Arc::clone(&all));
            senders.spawn(sent(target, path, large.clone(), all));
        }
        while let Some(answer) = senders.join_next().await {
            match answer.unwrap() {
                200 => decided += 1,
                // Too many at once, or too slow.
                429 | 500 => turned_away += 1,
                other => panic!("{other}"),
            }
        }
        load.go_on(20).await;
    }
    let held = served.held();
    assert!(held.most_memory < MOST_MEMORY, "{held:?}");
    assert!(decided > 0 && turned_away > 0, "{decided}, {turned_away}");
    let tally = load.stop().await;
    let beside = format!(
        "{decided} decided, {turned_away} told to come again, at most {} MiB",
        held.most_memory / 1024
    );
    report.all_decided(&tally, beside);
}

/// The code of the response to a large review, whose last bytes wait for the others.
async fn sent(target: Target, path: &str, body: Bytes, all: Arc<Barrier>) -> u64 {
    let tcp = TcpStream::connect(target.address).await.unwrap();
    let mut tls = target.tls(tcp).await.unwrap();
    let head = format!(
        "POST {path}?timeout=30s HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let (most, end) = body.split_at(body.len() - 1);
    tls.write_all(head.as_bytes()).await.unwrap();
    tls.write_all(most).await.unwrap();
    tls.flush().await.unwrap();
    all.wait().await;
    tls.write_all(end).await.unwrap();
    tls.flush().await.unwrap();
    let mut answer = Vec::new();
    tls.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    let answer: Value = serde_json::from_str(body).unwrap();
    let response = &answer["response"];
    if response["allowed"] == true {
        return 200;
    }
    assert!(
        response["status"]["details"]["retryAfterSeconds"].is_number(),
        "{answer}"
    );
    let code = response["status"]["code"].as_u64();
    code.unwrap_or_else(|| panic!("{answer}"))
}
