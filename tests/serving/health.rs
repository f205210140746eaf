//! Health and readiness.

use std::fs;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::time::sleep;

use crate::in_process::{Held, Setup};
use crate::reviews::{PATH, text};
use crate::support::{Gate, response};

#[tokio::test]
async fn a_gate_that_can_decide_is_ready() {
    let mut gate = Gate::with_files(&[]);
    gate.logged(|line| line["message"] == "ready: questions are answered");
    for path in [
        "/healthz",
        "/healthz/healthz-ping",
        "/livez",
        "/readyz",
        "/readyz/readyz-ping",
    ] {
        let answer = gate.get(gate.health_port, path).await;
        assert_eq!(
            (answer.status().as_u16(), &answer.body()[..]),
            (200, &b"ok"[..]),
            "{path}"
        );
    }
    assert_eq!(gate.get(gate.health_port, "/metrics").await.status(), 404);
    assert_eq!(gate.get(gate.metrics_port, "/healthz").await.status(), 404);
}

#[tokio::test]
async fn a_gate_whose_hub_does_not_answer_lives_and_is_not_ready() {
    let nobody = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let folder = TempDir::new().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let cluster = format!("{{name: hub, cluster: {{server: 'http://{nobody}'}}}}");
    let context = "{name: hub, context: {cluster: hub, user: gate}}";
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: hub\nclusters: [{cluster}]\ncontexts: [{context}]\n\
         users: [{{name: gate, user: {{}}}}]\n"
    );
    fs::write(&kubeconfig, text).unwrap();
    let mut gate = Gate::start(&["--kubeconfig", kubeconfig.to_str().unwrap()]);
    let told = gate.logged(|line| line["message"] == "not ready: no question can be answered");
    assert_eq!(told["level"], "WARN");
    assert!(told["error"].is_string(), "{told}");
    assert_eq!(gate.get(gate.health_port, "/healthz").await.status(), 200);
    let answer = gate.get(gate.health_port, "/readyz").await;
    assert_eq!(answer.status(), 503);
    assert_eq!(
        std::str::from_utf8(answer.body()).unwrap(),
        "[+]certificate ok\n[+]listener ok\n[-]authorizer failed\n[+]shutdown ok\n"
    );
}

#[tokio::test]
async fn a_gate_whose_certificate_expires_is_ready_no_longer() {
    let server = Setup {
        validity: Duration::from_secs(1),
        ..Setup::default()
    }
    .start()
    .await;
    assert_eq!(server.health("/readyz").await.status(), 200);
    let patience = Instant::now() + Duration::from_secs(10);
    let answer = loop {
        let answer = server.health("/readyz").await;
        if answer.status() == 503 {
            break answer;
        }
        assert!(Instant::now() < patience);
        sleep(Duration::from_millis(50)).await;
    };
    assert!(
        answer
            .body()
            .starts_with(b"[-]certificate failed\n[+]listener ok\n")
    );
    assert_eq!(server.health("/healthz").await.status(), 200);
}

#[tokio::test]
async fn a_gate_that_was_told_to_stop_serves_and_is_not_ready() {
    let server = Setup {
        shutdown_delay: Duration::from_millis(500),
        ..Setup::default()
    }
    .start()
    .await;
    server.shutdown.cancel();
    sleep(Duration::from_millis(20)).await;
    let answer = server.health("/readyz").await;
    assert_eq!(answer.status(), 503);
    assert!(answer.body().ends_with(b"[-]shutdown failed\n"));
    assert_eq!(server.health("/healthz").await.status(), 200);
    assert_eq!(
        response(&server.review(PATH, text()).await)["allowed"],
        true
    );
    assert_eq!(server.metric("berth_draining"), 1.0);
    server.stop().await;
}

/// What is asked about the gate is answered until the gate itself has drained.
#[tokio::test]
async fn health_is_told_until_the_last_answer() {
    let held = Held::new();
    let server = Setup {
        answerer: held.clone(),
        ..Setup::default()
    }
    .start()
    .await;
    let mut asking = Box::pin(server.review(PATH, crate::reviews::asking()));
    tokio::select! {
        _ = &mut asking => panic!("nobody answers yet"),
        () = sleep(Duration::from_millis(200)) => server.shutdown.cancel(),
    }
    tokio::select! {
        _ = &mut asking => panic!("nobody answers yet"),
        () = sleep(Duration::from_millis(200)) => {}
    }
    assert_eq!(server.health("/healthz").await.status(), 200);
    held.let_go();
    assert_eq!(response(&asking.await)["allowed"], true);
    server.stop().await;
}
