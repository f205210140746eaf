//! The hub stops and starts; the gate keeps serving.

use std::process::Stdio;

use berth_manifests::webhooks::VALIDATE_CLUSTER;

use super::{carol_accepts, gate, message, review, starting};
use berth_fakes::{FakeHub, Fault};
use berth_testkit::{Gate, berth, eventually, eventually_blocking, when};

const VALIDATE: &str = VALIDATE_CLUSTER.path;

/// Code and text of `/readyz`.
async fn readiness(gate: &Gate) -> (u16, String) {
    let response = gate.get(gate.health_port, "/readyz").await;
    let text = String::from_utf8(response.body().to_vec()).unwrap();
    (response.status().as_u16(), text)
}

async fn becomes_ready(gate: &Gate) {
    eventually("readiness", async || {
        when(readiness(gate).await, |(code, _)| *code == 200)
    })
    .await;
}

#[tokio::test]
async fn ready_once_the_hub_has_answered_and_from_then_on() {
    let mut hub = FakeHub::start();
    hub.stop().await;
    let mut gate = starting(&hub);
    let line = gate.logged(|line| line["message"] == "not ready: no question can be answered");
    let error = line["error"].as_str().unwrap();
    assert!(
        error.starts_with("the hub cannot be reached (create subjectaccessreviews): "),
        "{error}"
    );
    let (code, text) = readiness(&gate).await;
    assert_eq!(code, 503);
    assert!(text.contains("[-]authorizer failed"), "{text}");

    hub.start_again();
    becomes_ready(&gate).await;
    hub.stop().await;
    let response = review(&gate, VALIDATE, &carol_accepts("c1"), "2s").await;
    assert_eq!(response["status"]["code"], 500, "{response}");
    assert_eq!(
        readiness(&gate).await.0,
        200,
        "another replica knows no more"
    );
}

#[tokio::test]
async fn not_ready_without_the_right_to_ask() {
    let hub = FakeHub::start();
    hub.misbehave_at("/subjectaccessreviews", Fault::Refuse);
    let mut gate = starting(&hub);
    let line = gate.logged(|line| line["message"] == "not ready: no question can be answered");
    let error = line["error"].as_str().unwrap();
    assert!(
        error.starts_with("the gate itself may not create subjectaccessreviews"),
        "{error}"
    );
    assert_eq!(readiness(&gate).await.0, 503);
    hub.behave();
    becomes_ready(&gate).await;
}

#[tokio::test]
async fn a_hub_that_was_down_is_used_again_when_it_is_up() {
    let mut hub = FakeHub::start();
    let gate = gate(&hub);
    for _ in 0..3 {
        let response = review(&gate, VALIDATE, &carol_accepts("c1"), "5s").await;
        assert_eq!(response["allowed"], true, "{response}");
        hub.stop().await;
        let response = review(&gate, VALIDATE, &carol_accepts("c1"), "5s").await;
        assert_eq!(response["status"]["code"], 500, "{response}");
        assert_eq!(response["status"]["reason"], "InternalError");
        assert!(
            message(&response).contains("the hub cannot be reached")
                && message(&response).contains("Connection refused"),
            "{response}"
        );
        hub.start_again();
    }
}

#[tokio::test]
async fn a_hub_that_restarts_between_reviews_fails_none() {
    let mut hub = FakeHub::start();
    let gate = gate(&hub);
    for _ in 0..5 {
        let response = review(&gate, VALIDATE, &carol_accepts("c1"), "5s").await;
        assert_eq!(response["allowed"], true, "{response}");
        hub.stop().await;
        hub.start_again();
    }
}

#[tokio::test]
async fn a_connection_that_hung_is_not_used_again() {
    let hub = FakeHub::start();
    let gate = gate(&hub);
    review(&gate, VALIDATE, &carol_accepts("c1"), "5s").await;
    hub.misbehave(|_| Some(Fault::Hang));
    let response = review(&gate, VALIDATE, &carol_accepts("c1"), "1s").await;
    assert_eq!(response["status"]["code"], 500, "{response}");
    // As if what is behind all connections so far had vanished.
    let vanished = hub.asked().iter().map(|asked| asked.connection).max();
    hub.misbehave(move |asked| (Some(asked.connection) <= vanished).then_some(Fault::Hang));
    let response = review(&gate, VALIDATE, &carol_accepts("c1"), "5s").await;
    assert_eq!(response["allowed"], true, "{response}");
}

#[tokio::test]
async fn a_hub_of_another_authority_is_not_believed() {
    let (hub, other) = (FakeHub::start_tls(), FakeHub::start_tls());
    // The kubeconfig of one, with the port of the other.
    let path = hub.kubeconfig();
    let text = std::fs::read_to_string(&path).unwrap();
    let (from, to) = (format!(":{}", hub.port), format!(":{}", other.port));
    std::fs::write(&path, text.replace(&from, &to)).unwrap();
    let gate = Gate::start(&["--kubeconfig", path.to_str().unwrap()]);
    let response = review(&gate, VALIDATE, &carol_accepts("c1"), "5s").await;
    assert_eq!(response["status"]["code"], 500, "{response}");
    assert!(
        message(&response).contains("the hub cannot be reached")
            && message(&response).contains("invalid peer certificate"),
        "{response}"
    );
    assert!(other.asked().is_empty());
}

#[test]
fn a_kubeconfig_that_cannot_be_used_is_refused_at_start() {
    let folder = tempfile::TempDir::new().unwrap();
    let config = |cluster: &str| {
        format!(
            "{{clusters: [{{name: hub, cluster: {{{cluster}}}}}], users: [{{name: gate, user: {{}}}}], \
             contexts: [{{name: hub, context: {{cluster: hub, user: gate}}}}], current-context: hub}}"
        )
    };
    for (case, text, fragment) in [
        ("no such file", None, "No such file or directory"),
        (
            "no kubeconfig",
            Some("[]".to_owned()),
            "it is no kubeconfig",
        ),
        ("empty", Some("{}".to_owned()), "current context"),
        ("no server", Some(config("")), "cluster url is missing"),
        (
            "a proxy of another protocol",
            Some(config(
                "server: 'https://hub', proxy-url: 'socks5://me:secret@proxy:3128'",
            )),
            "a proxy of scheme socks5 is not supported: name an HTTP proxy",
        ),
        (
            "a CA that is none",
            Some(config(
                "server: 'https://hub', certificate-authority-data: aGVsbG8=",
            )),
            "certificate-authority holds no certificate",
        ),
    ] {
        let path = folder.path().join("kubeconfig");
        match text {
            Some(text) => std::fs::write(&path, text).unwrap(),
            None => assert!(!path.exists()),
        }
        let path = path.to_str().unwrap();
        let ports = [
            "--port",
            "auto",
            "--metrics-port",
            "0",
            "--health-probe-port",
            "0",
        ];
        let rest = ["webhook-server", "--self-signed", "--kubeconfig", path];
        let mut child = berth(&[&rest[..], &ports].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // One that is not refused would serve, for ever.
        eventually_blocking(&format!("the end of a gate with {case}"), || {
            child.try_wait().unwrap().ok_or("it still runs")
        });
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{case}: {said}");
        assert!(
            said.contains(&format!("Error: --kubeconfig {path}: ")) && said.contains(fragment),
            "{case}: {said}"
        );
    }
}
