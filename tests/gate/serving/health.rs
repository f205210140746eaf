//! Health and readiness.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use berth_review::{Answerer, Finding, Requester};
use berth_rules::Question;

use tempfile::TempDir;

use berth_testkit::in_process::{HOUR, Held, Setup};
use berth_testkit::reviews::{PATH, asking, text};
use berth_testkit::{Gate, eventually, eventually_blocking, response, when};

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
    let answer = eventually("a gate that is not ready", async || {
        when(server.health("/readyz").await, |it| it.status() == 503)
    })
    .await;
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
        shutdown_delay: HOUR,
        ..Setup::default()
    }
    .start()
    .await;
    server.shutdown.cancel();
    let answer = eventually("a gate that is not ready", async || {
        when(server.health("/readyz").await, |it| it.status() == 503)
    })
    .await;
    assert!(answer.body().ends_with(b"[-]shutdown failed\n"));
    assert_eq!(server.health("/healthz").await.status(), 200);
    assert_eq!(
        response(&server.review(PATH, text()).await)["allowed"],
        true
    );
    assert_eq!(server.metric("berth_draining"), 1.0);
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
    let mut asking = Box::pin(server.review(PATH, berth_testkit::reviews::asking()));
    let in_flight = format!("controller_runtime_webhook_requests_in_flight{{webhook=\"{PATH}\"}}");
    let drains = async {
        eventually("a review in flight", async || {
            when(server.metric(&in_flight), |it| *it == 1.0)
        })
        .await;
        server.shutdown.cancel();
        eventually("draining", async || {
            when(server.metric("berth_draining"), |it| *it == 1.0)
        })
        .await;
    };
    tokio::select! {
        _ = &mut asking => panic!("nobody answers yet"),
        () = drains => {}
    }
    assert_eq!(server.health("/healthz").await.status(), 200);
    held.let_go();
    assert_eq!(response(&asking.await)["allowed"], true);
    server.stop().await;
}

/// Keeps the thread that asks it busy until it is told to stop.
#[derive(Debug)]
struct Busy {
    threads: AtomicUsize,
    stop: std::sync::RwLock<bool>,
}

impl Answerer for Busy {
    fn answer<'a>(
        &'a self,
        _: &'a Requester,
        _: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Finding> + Send + 'a>> {
        Box::pin(async {
            self.threads.fetch_add(1, Ordering::SeqCst);
            while !*self.stop.read().unwrap() {
                std::thread::sleep(Duration::from_millis(5));
            }
            Finding::sure(true)
        })
    }

    fn probe(&self) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>> {
        Box::pin(async { Ok(()) })
    }
}

/// Both threads of the runtime do nothing but decide.
#[test]
fn health_is_answered_however_busy_the_threads_are() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let busy = Arc::new(Busy {
        threads: AtomicUsize::new(0),
        stop: std::sync::RwLock::new(false),
    });
    let answerer = Arc::clone(&busy) as Arc<dyn Answerer>;
    let server = runtime.block_on(async {
        let setup = Setup {
            answerer,
            ..Setup::default()
        };
        // On a worker, as all that it spawns.
        Arc::new(tokio::spawn(setup.start()).await.unwrap())
    });
    let mut asked = Vec::new();
    for threads in 1..=2 {
        let server = Arc::clone(&server);
        asked.push(runtime.spawn(async move { server.review(PATH, asking()).await }));
        eventually_blocking(&format!("{threads} busy threads"), || {
            when(busy.threads.load(Ordering::SeqCst), |it| *it >= threads)
        });
    }
    for path in ["/healthz", "/readyz"] {
        let mut stream = TcpStream::connect(server.health).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{path}: {answer}");
    }
    *busy.stop.write().unwrap() = true;
    for asked in asked {
        let answer = runtime.block_on(asked).unwrap();
        assert_eq!(response(&answer)["allowed"], true);
    }
}
