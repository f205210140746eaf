//! The kustomizations build, and the overlays add what they are for.

use std::io::ErrorKind;
use std::process::Command;

use serde_json::{Value, json};

use crate::files::{documents, in_repository, read};
use crate::objects::{Certificate, assert_is_its_kind};

/// What `kubectl kustomize` makes of a folder; `None` if there is no kubectl.
fn build(folder: &str) -> Option<Vec<Value>> {
    let output = match Command::new("kubectl")
        .arg("kustomize")
        .arg(in_repository(folder))
        .output()
    {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        output => output.expect("kubectl can be started"),
    };
    let (built, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{folder}: {errors}");
    Some(documents(folder, &built))
}

#[test]
fn kustomizations_build_the_objects() {
    for (folder, expected) in [
        ("manifests", 23),
        ("manifests/overlays/cert-manager", 23),
        ("manifests/overlays/replace-ocm", 4),
        ("manifests/monitoring", 4),
    ] {
        let Some(objects) = build(folder) else {
            eprintln!("SKIPPED: no kubectl on PATH, the kustomizations were not built");
            return;
        };
        assert_eq!(objects.len(), expected, "{folder}");
        for object in &objects {
            assert_is_its_kind(folder, object);
        }
    }
}

#[test]
fn with_cert_manager_every_registration_gets_the_ca_of_the_serving_certificate() {
    let Some(objects) = build("manifests/overlays/cert-manager") else {
        eprintln!("SKIPPED: no kubectl on PATH, the kustomizations were not built");
        return;
    };
    let registrations: Vec<_> = objects
        .iter()
        .filter(|object| object.get("webhooks").is_some())
        .collect();
    assert_eq!(registrations.len(), 5);
    for registration in registrations {
        assert_eq!(
            registration["metadata"]["annotations"]["cert-manager.io/inject-ca-from"],
            "open-cluster-management-hub/registration-webhook-serving-cert"
        );
    }
}

#[test]
fn the_serving_certificate_names_the_service_and_lands_in_the_mounted_secret() {
    let objects = read("manifests/overlays/cert-manager/server/certificate.yaml");
    let certificate = objects
        .iter()
        .find(|object| object["metadata"]["name"] == "registration-webhook-serving-cert")
        .expect("there is a serving certificate");
    let spec: Certificate = serde_json::from_value(certificate["spec"].clone())
        .expect("the tests of objects found it to be one");
    assert!(!spec.is_ca);
    let service = &read("manifests/server/service.yaml")[0]["metadata"];
    let name = format!(
        "{}.{}.svc",
        service["name"].as_str().expect("it has a name"),
        service["namespace"].as_str().expect("it has a namespace")
    );
    assert!(spec.dns_names.contains(&name), "{:?}", spec.dns_names);
    let patch = read("manifests/overlays/cert-manager/server/deployment.yaml");
    let volume = &patch[0]["spec"]["template"]["spec"]["volumes"][0];
    assert_eq!(volume["secret"]["secretName"], json!(spec.secret_name));
}

#[test]
fn with_cert_manager_the_gate_serves_what_is_mounted_and_makes_no_certificate() {
    let Some(objects) = build("manifests/overlays/cert-manager") else {
        eprintln!("SKIPPED: no kubectl on PATH, the kustomizations were not built");
        return;
    };
    let deployment = objects.iter().find(|it| it["kind"] == "Deployment");
    let pod = &deployment.expect("there is one")["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    assert_eq!(container["args"], json!(["hub"]));
    assert_eq!(container["image"], "berth", "what the patch leaves alone");
    let mount = &container["volumeMounts"][0];
    assert_eq!(mount["mountPath"], "/tmp/k8s-webhook-server/serving-certs");
    assert_eq!(mount["name"], pod["volumes"][0]["name"]);
    let secret = &pod["volumes"][0]["secret"];
    assert_eq!(secret["secretName"], "registration-webhook-serving-cert");
    assert_eq!(secret["defaultMode"], 0o440);
    let is_of_certificates = |object: &&Value| {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        name.ends_with("berth-registration:certificates")
    };
    assert_eq!(objects.iter().filter(is_of_certificates).count(), 0);
    let base = build("manifests").expect("there is kubectl");
    assert_eq!(base.iter().filter(is_of_certificates).count(), 4);
}
