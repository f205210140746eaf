//! The conversion of add-ons: beside the webhooks, and alone as `/addon webhook-server`, as OCM's operator starts it.

use std::process::Command;

use berth_api::crds::CONVERSION_PATH;
use berth_manifests::webhooks::VALIDATE_CLUSTER;
use berth_testkit::{Gate, post, program, where_to_serve};
use http::StatusCode;
use serde_json::{Value, json};
use tempfile::TempDir;

const REGISTRATIONS: usize = 10_000;

/// `/addon webhook-server`, without a hub.
pub(crate) fn alone() -> Gate {
    let certs = TempDir::new().unwrap();
    let at = certs.path().join("addon");
    std::os::unix::fs::symlink(program(), &at).unwrap();
    let mut command = Command::new(&at);
    command
        .args([
            "webhook-server",
            "--tls-min-version=VersionTLS12",
            "--self-signed",
        ])
        .args(where_to_serve(certs.path()));
    Gate::run(command, certs)
}

/// As the API server writes it: the uid before the objects.
pub(crate) fn review(objects: &Value) -> String {
    let to = "addon.open-cluster-management.io/v1beta1";
    format!(
        r#"{{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{{"uid":"u1","desiredAPIVersion":"{to}","objects":{objects}}}}}"#
    )
}

/// An add-on of v1alpha1.
pub(crate) fn addon() -> Value {
    json!({
        "apiVersion": "addon.open-cluster-management.io/v1alpha1",
        "kind": "ManagedClusterAddOn",
        "metadata": {"name": "a", "namespace": "c1"},
        "spec": {"installNamespace": "x"},
    })
}

#[tokio::test]
async fn the_gate_and_the_addon_webhook_convert() {
    for gate in [Gate::with_files(&[]), alone()] {
        let answer = gate
            .review(CONVERSION_PATH, review(&json!([addon()])))
            .await;
        let expected = json!({
            "kind": "ConversionReview",
            "apiVersion": "apiextensions.k8s.io/v1",
            "response": {
                "uid": "u1",
                "result": {"status": "Success"},
                "convertedObjects": [{
                    "apiVersion": "addon.open-cluster-management.io/v1beta1",
                    "kind": "ManagedClusterAddOn",
                    "metadata": {
                        "name": "a",
                        "namespace": "c1",
                        "annotations": {"addon.open-cluster-management.io/v1alpha1-install-namespace": "x"},
                    },
                    "spec": {},
                }],
            },
        });
        assert_eq!(answer, expected);
        let ready = gate.get(gate.health_port, "/readyz").await;
        assert_eq!(ready.status(), StatusCode::OK);
    }
}

#[tokio::test]
async fn the_addon_webhook_serves_nothing_else() {
    let gate = alone();
    let elsewhere = gate.send(post(VALIDATE_CLUSTER.path, String::new())).await;
    assert_eq!(elsewhere.status(), StatusCode::NOT_FOUND);
    let text = String::from_utf8(elsewhere.body().to_vec()).unwrap();
    let end = format!("the webhooks are:\n{CONVERSION_PATH}\n");
    assert!(text.ends_with(&end), "{text}");
}

/// A status that an agent may write has room for that many.
#[tokio::test]
async fn an_object_of_many_small_items_is_converted() {
    let gate = Gate::with_files(&[]);
    let mut object = addon();
    object["status"] =
        json!({"registrations": vec![json!({"signerName": "s.io/x"}); REGISTRATIONS]});
    let answer = gate.review(CONVERSION_PATH, review(&json!([object]))).await;
    assert_eq!(answer["response"]["result"], json!({"status": "Success"}));
    let converted = &answer["response"]["convertedObjects"][0]["status"]["registrations"];
    assert_eq!(converted.as_array().map(Vec::len), Some(REGISTRATIONS));
    assert_eq!(
        converted[REGISTRATIONS - 1],
        json!({"type": "customSigner", "customSigner": {"signerName": "s.io/x"}})
    );
}
