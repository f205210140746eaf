//! The log lines about reviews.

use serde_json::json;

use berth_testkit::reviews::{PATH, UID, text, with};
use berth_testkit::{Gate, response};

#[tokio::test]
async fn a_denial_is_one_line_of_json_without_secrets() {
    let mut gate = Gate::with_files(&[]);
    let denied = with(|request| {
        request["userInfo"]["extra"]["scopes"] = json!(["a-secret-scope"]);
        let object = &mut request["object"];
        object["spec"]["hubAcceptsClient"] = false.into();
        object["metadata"]["annotations"]["token"] = "a-secret-token".into();
        object["metadata"]["labels"]["cluster.open-cluster-management.io/clusterset"] =
            "set-b".into();
    });
    gate.review(PATH, text()).await;
    let answer = gate.review(PATH, denied).await;
    let message = &response(&answer)["status"]["message"];
    assert_eq!(message.as_str().unwrap().lines().count(), 3);

    let line = gate.logged(|line| line["message"] == "denied");
    let duration = line["duration_ms"].as_f64().unwrap();
    assert!(duration > 0.0 && duration < 10_000.0, "{duration}");
    let mut expected = json!({
        "level": "INFO",
        "message": "denied",
        "uid": UID,
        "user": "bob",
        "kind": "ManagedCluster",
        "namespace": "",
        "name": "c1",
        "operation": "UPDATE",
        "dry_run": false,
        "code": 403,
        "reason": "accept,join,join",
        "answer": message,
    });
    for field in ["timestamp", "target", "duration_ms"] {
        expected[field] = line[field].clone();
    }
    assert_eq!(line, expected);
    let log = json!(gate.log()).to_string();
    assert!(!log.contains("a-secret"), "{log}");
    assert!(!log.contains("credential-id"), "{log}");
    let about_it = gate
        .log()
        .into_iter()
        .filter(|line| line["uid"] == UID)
        .count();
    assert_eq!(about_it, 1, "what is allowed is not logged: {log}");
}

#[tokio::test]
async fn every_refusal_is_logged_by_its_kind() {
    let mut gate = Gate::with_files(&[]);
    gate.review(PATH, with(|request| request["operation"] = "PATCH".into()))
        .await;
    let line = gate.logged(|line| line["message"] == "malformed");
    assert_eq!(
        (&line["uid"], &line["code"], &line["reason"]),
        (&UID.into(), &400.into(), &"undecodable".into())
    );
    assert_eq!(line["answer"], "unknown operation \"PATCH\"");
}
