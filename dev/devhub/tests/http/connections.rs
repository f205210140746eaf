use std::time::Duration;

use http::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{Client, PATIENCE, event, hub};

fn address(url: &str) -> &str {
    url.strip_prefix("https://").unwrap()
}

#[tokio::test]
async fn plain_http_is_told_so() {
    let hub = hub(10).await;
    let mut tcp = TcpStream::connect(address(&hub.url())).await.unwrap();
    tcp.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    tcp.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.0 400 Bad Request"));
    assert!(answer.ends_with("Client sent an HTTP request to an HTTPS server.\n"));
}

#[tokio::test]
async fn both_versions_of_http_are_served() {
    let hub = hub(10).await;
    for http2 in [false, true] {
        let client = Client::new(&hub, Some(("root", &["system:masters"])), http2);
        assert_eq!(client.get("/version").await.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn a_hub_that_is_shut_down_is_gone() {
    let hub = hub(10).await;
    let url = hub.url();
    let client = Client::admin(&hub);
    let mut watch = client.watch("").await;
    let silent = TcpStream::connect(address(&url)).await.unwrap();
    let metrics = tokio::runtime::Handle::current().metrics();
    let shutdown = tokio::time::timeout(PATIENCE, hub.shutdown()).await;
    shutdown.expect("nobody holds a hub up");
    assert!(watch.next().await.is_none());
    assert!(TcpStream::connect(address(&url)).await.is_err());
    drop((client, silent, watch));
    until(|| metrics.num_alive_tasks() == 0).await;
}

#[tokio::test]
async fn a_hub_that_is_dropped_is_gone() {
    let hub = hub(10).await;
    let url = hub.url();
    let client = Client::admin(&hub);
    client.create("a", "x").await;
    let mut watch = client.watch("").await;
    assert_eq!(watch.next_name().await, event("ADDED", "a"));
    drop(hub);
    assert!(watch.next().await.is_none());
    let metrics = tokio::runtime::Handle::current().metrics();
    drop((client, watch));
    until(|| metrics.num_alive_tasks() == 0).await;
    assert!(TcpStream::connect(address(&url)).await.is_err());
}

#[tokio::test]
async fn a_port_that_is_taken_is_an_error() {
    let hub = hub(10).await;
    let options = berth_devhub::Options {
        bind: address(&hub.url()).parse().unwrap(),
        ..berth_devhub::Options::default()
    };
    let error = berth_devhub::DevHub::start(options).await.unwrap_err();
    assert!(
        error.to_string().starts_with("cannot listen on 127.0.0.1:"),
        "{error}"
    );
}

async fn until(mut is_so: impl FnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !is_so() {
        assert!(tokio::time::Instant::now() < deadline, "tasks are left");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
