//! The console in a pod: its flags are those of the command, and the values in its pages are values.

use std::fs;
use std::process::Command;

use berth_manifests::Hub;
use berth_manifests::values::HubValues;
use serde_json::{Value, json};

use super::helm::{HUB, programs};
use crate::manifests::files::{documents, in_repository};
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

/// The YAML blocks of a page.
fn blocks(page: &str) -> Vec<Value> {
    let text = fs::read_to_string(in_repository(page)).expect("there is a page");
    let blocks = text.split("```yaml\n").skip(1);
    let blocks = blocks.filter_map(|rest| rest.split_once("```"));
    blocks
        .flat_map(|(block, _)| documents(page, block))
        .collect()
}

#[test]
fn the_values_in_the_pages_install_the_console() {
    for (page, count) in [("docs/console.md", 1), ("docs/console-proxy.md", 1)] {
        let blocks = blocks(page);
        let values: Vec<_> = blocks
            .iter()
            .filter(|it| it["console"].is_object())
            .collect();
        assert_eq!(values.len(), count, "{page}");
        for values in values {
            let (code, said) = said_with(&values["console"]);
            assert_eq!(code, Some(1), "{page}: {said}");
            for program in programs() {
                let objects = HUB.rendered(program, values);
                assert!(args(&objects, CONSOLE).is_array(), "{page}");
            }
        }
    }
}

/// The API server and the console name the same issuer and the same client.
#[test]
fn the_api_server_of_the_page_trusts_the_consoles_provider() {
    let blocks = blocks("docs/console.md");
    let server = blocks
        .iter()
        .find(|it| it["kind"] == "AuthenticationConfiguration");
    let issuer = &server.expect("the API server's configuration")["jwt"][0]["issuer"];
    let values = blocks.iter().find(|it| it["console"].is_object());
    let oidc = &values.expect("the values")["console"]["oidc"];
    assert_eq!(issuer["url"], oidc["issuerUrl"]);
    assert_eq!(issuer["audiences"], json!([oidc["clientId"]]));
    let page = fs::read_to_string(in_repository("docs/console.md")).expect("there is a page");
    for (flag, value) in [
        ("issuer-url", &oidc["issuerUrl"]),
        ("client-id", &oidc["clientId"]),
    ] {
        let flag = format!("--oidc-{flag}={}", value.as_str().expect("a text"));
        assert!(page.contains(&flag), "{flag}");
    }
}
