//! The console in a pod: its flags are those of the command.

use std::process::Command;

use berth_manifests::Hub;
use berth_manifests::values::HubValues;
use serde_json::{Value, json};

use crate::manifests::overlays::{CONSOLE, args};

/// What the command says with the arguments of the Deployment. It has no hub, which it finds out when it has read all of them.
fn said_with(console: &Value) -> (Option<i32>, String) {
    let values = json!({ "console": console });
    let read: HubValues = serde_json::from_value(values.clone()).expect("values");
    assert_eq!(read.contradictions(), [""; 0], "{values}");
    let objects: Vec<Value> = Hub::with(&read, "berth").objects().cloned().collect();
    let args = args(&objects, CONSOLE);
    let args = args.as_array().expect("arguments").iter();
    let output = Command::new(berth_testkit::program())
        .args(args.map(|it| it.as_str().expect("a text")))
        .args(["--kubeconfig", "/nowhere"])
        .output()
        .expect("berth can be started");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

#[test]
fn the_command_takes_the_arguments_of_the_pod() {
    let proxy = json!({"enabled": true, "clientCaSecret": "ca", "allowedNames": ["a", "b"], "groupSeparator": ","});
    let oidc = json!({
        "issuerUrl": "https://login.example.com/realms/fleet", "clientId": "berth", "clientSecretName": "secret", "caConfigMap": "ca",
        "extraScopes": ["email", "offline_access"],
    });
    for mut console in [
        json!({}),
        json!({"readOnly": true, "tlsSecretName": "tls", "publicUrl": "https://console.example.com"}),
        json!({"insecureHttp": true, "publicUrl": "http://localhost:8090/"}),
        json!({ "oidc": oidc }),
        json!({"oidc": oidc, "tokens": false}),
        json!({"impersonation": proxy, "tokens": false}),
    ] {
        console["enabled"] = json!(true);
        let (code, said) = said_with(&console);
        assert_eq!(code, Some(1), "{console}: {said}");
        assert!(said.contains("/nowhere"), "{console}: {said}");
    }
    let wrong = json!({"enabled": true, "pods": {"extraArgs": ["--max-session=2"]}});
    let (code, said) = said_with(&wrong);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--max-session"), "{said}");
}
