//! Clients that do not read, do not write, or vanish, beside callers whose calls must not fail.

use std::future::pending;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_rustls::client::TlsStream;

use crate::faults::calls::{Call, mix};
use crate::faults::length;
use crate::faults::load::{Load, Manner, Target};
use crate::faults::served::Served;
use crate::faults::tally::Report;
use berth_testkit::{eventually, when};

/// The number of clients of each kind.
const CROWD: usize = 60;

/// The fault of a client.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    /// Sends requests continuously, and reads nothing.
    ReadsNothing,
    /// Sends a request, and reads the response one byte at a time.
    ReadsSlowly,
    /// Sends a review one byte at a time.
    WritesSlowly,
    /// Sends half a review, and vanishes.
    GoneInBody,
    GoneInHeader,
    GoneInHandshake,
    /// Connects, and vanishes.
    GoneAtOnce,
    /// Sends one request, and vanishes.
    GoneAfterwards,
}

const ALL: [Trouble; 8] = [
    Trouble::ReadsNothing,
    Trouble::ReadsSlowly,
    Trouble::WritesSlowly,
    Trouble::GoneInBody,
    Trouble::GoneInHeader,
    Trouble::GoneInHandshake,
    Trouble::GoneAtOnce,
    Trouble::GoneAfterwards,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_and_vanished_clients_are_beside_good_ones() {
    let report = Report::begin("slow and vanished clients");
    let served = Served::start().await;
    let load = Load::start(served.target(), Manner::default());
    load.go_on(100).await;
    let before = served.held();
    let rounds = length::times(1);
    for _ in 0..rounds {
        let mut crowd = JoinSet::new();
        for i in 0..CROWD {
            // Clients that send continuously would keep the gate busy, which is not the fault under test.
            for trouble in &ALL[usize::from(i % 10 != 0)..] {
                crowd.spawn(misbehave(served.target(), *trouble));
            }
            load.go_on(1).await;
        }
        // All of them are connected at the same time.
        eventually("all of them", async || {
            when(served.held(), |it| it.files >= before.files + CROWD * 4)
        })
        .await;
        // Longer than one of their reviews may take.
        let until = Instant::now() + Duration::from_secs(6);
        while Instant::now() < until {
            load.go_on(20).await;
        }
        crowd.shutdown().await;
        served.lets_go(before.files + 16).await;
    }
    load.go_on(100).await;
    let held = served.held();
    let tally = load.stop().await;
    assert!(held.most_memory < 128 * 1024, "{held:?}");
    let count = rounds * CROWD * (ALL.len() - 1);
    let beside = format!("{count} clients, at most {} MiB", held.most_memory / 1024);
    report.all_decided(&tally, beside);
}

/// Runs until the gate closes the connection, or forever.
async fn misbehave(target: Target, trouble: Trouble) {
    // The gate decides how it ends.
    let _ = try_to(target, trouble).await;
}

async fn try_to(target: Target, trouble: Trouble) -> std::io::Result<()> {
    let socket = TcpSocket::new_v4()?;
    // Small buffers on the way.
    socket.set_recv_buffer_size(4096)?;
    let mut tcp = socket.connect(target.address).await?;
    match trouble {
        Trouble::GoneAtOnce => return pending().await,
        Trouble::GoneInHandshake => {
            // A ClientHello that never completes.
            tcp.write_all(&[0x16, 3, 1, 1, 0, 1]).await?;
            return pending().await;
        }
        _ => {}
    }
    let mut tls = target.tls(tcp).await?;
    let calls = mix();
    let asked = request(&calls[0]);
    match trouble {
        Trouble::ReadsNothing => loop {
            send(&mut tls, &asked).await?;
            sleep(Duration::from_millis(20)).await;
        },
        Trouble::ReadsSlowly => {
            send(&mut tls, &asked).await?;
            while tls.read(&mut [0]).await? > 0 {
                sleep(Duration::from_millis(50)).await;
            }
            return Ok(());
        }
        Trouble::WritesSlowly => {
            for byte in asked {
                send(&mut tls, &[byte]).await?;
                sleep(Duration::from_millis(50)).await;
            }
        }
        Trouble::GoneInBody => send(&mut tls, &asked[..asked.len() - 100]).await?,
        Trouble::GoneInHeader => send(&mut tls, &asked[..40]).await?,
        _ => send(&mut tls, &asked).await?,
    }
    pending().await
}

async fn send(tls: &mut TlsStream<TcpStream>, bytes: &[u8]) -> std::io::Result<()> {
    tls.write_all(bytes).await?;
    tls.flush().await
}

/// The bytes of a request.
fn request(call: &Call) -> Vec<u8> {
    let (body, _) = call.next();
    let head = format!(
        "POST {}?timeout=5s HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        call.path,
        body.len()
    );
    [head.into_bytes(), body.into_bytes()].concat()
}
