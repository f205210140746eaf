//! `/work webhook-server`, as OCM's operator starts it.

use std::process::Command;

use berth_manifests::webhooks::{VALIDATE_CLUSTER, VALIDATE_REPLICA_SET, VALIDATE_WORK};
use berth_testkit::{Gate, post, program, repository, where_to_serve};
use http::StatusCode;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A server under this name, with these flags.
fn started(name: &str, words: &[&str]) -> Gate {
    let certs = TempDir::new().unwrap();
    let at = certs.path().join(name);
    std::os::unix::fs::symlink(program(), &at).unwrap();
    let hub = repository("examples/hub");
    let mut command = Command::new(&at);
    command
        .args(words)
        .args(["--self-signed", "--hub-files", hub.to_str().unwrap()])
        .args(where_to_serve(certs.path()));
    Gate::run(command, certs)
}

fn review(kind: &str, object: &Value) -> String {
    let (group, version) = object["apiVersion"]
        .as_str()
        .unwrap()
        .split_once('/')
        .unwrap();
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u1",
            "resource": { "group": group, "version": version, "resource": kind },
            "operation": "CREATE",
            "name": "w",
            "namespace": "c1",
            "userInfo": { "username": "bob" },
            "object": object,
        },
    })
    .to_string()
}

fn work(manifests: &Value) -> String {
    let object = json!({
        "apiVersion": "work.open-cluster-management.io/v1",
        "kind": "ManifestWork",
        "metadata": { "name": "w", "namespace": "c1" },
        "spec": { "workload": { "manifests": manifests } },
    });
    review("manifestworks", &object)
}

#[tokio::test]
async fn the_work_webhook_serves_the_work_api_alone() {
    let flags = [
        "webhook-server",
        "--manifestLimit=100",
        "--feature-gates=ManifestWorkReplicaSet=true,CloudEventsDrivers=false,NilExecutorValidating=true",
    ];
    for (name, words) in [
        ("work", &flags[..]),
        ("berth", &[&["work"], &flags[..]].concat()),
    ] {
        let gate = started(name, words);
        let config_map = |name: &str| json!([{ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } }]);
        let path = VALIDATE_WORK.path;
        // The gate NilExecutorValidating is on, and bob has no permission.
        let denied = gate.review(path, work(&config_map("a"))).await;
        assert_eq!(denied["response"]["status"]["code"], 403, "{denied}");
        assert_eq!(
            denied["response"]["status"]["message"],
            "user bob cannot manipulate the Manifestwork with executor /klusterlet-work-sa in namespace c1: needs verb \"execute-as\" on \
             manifestworks, name \"system:serviceaccount::klusterlet-work-sa\" in namespace \"c1\"; check: kubectl auth can-i execute-as \
             manifestworks.work.open-cluster-management.io/system:serviceaccount::klusterlet-work-sa -n c1"
        );
        let large = gate.review(path, work(&config_map(&"a".repeat(100)))).await;
        assert_eq!(
            large["response"]["status"]["message"],
            "the size of manifests is 164 bytes which exceeds the 100 limit"
        );
        let replica_set = json!({
            "apiVersion": "work.open-cluster-management.io/v1alpha1",
            "kind": "ManifestWorkReplicaSet",
            "metadata": { "name": "w", "namespace": "c1" },
            "spec": {},
        });
        let body = review("manifestworkreplicasets", &replica_set);
        let refused = gate.review(VALIDATE_REPLICA_SET.path, body).await;
        assert_eq!(refused["response"]["status"]["code"], 400, "{refused}");

        let elsewhere = gate.send(post(VALIDATE_CLUSTER.path, String::new())).await;
        assert_eq!(elsewhere.status(), StatusCode::NOT_FOUND);
        let text = String::from_utf8(elsewhere.body().to_vec()).unwrap();
        let paths = format!("{path}\n{}\n", VALIDATE_REPLICA_SET.path);
        assert!(
            text.ends_with(&format!("the webhooks are:\n{paths}")),
            "{text}"
        );
    }
}
