//! `berth join --output-values`: from these values Helm renders what `berth join` installs.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::charts::programs;
use crate::house::House;
use crate::join::{OBJECTS, Printed, cluster_name};
use berth_testkit::cluster::{Output, finish};
use berth_testkit::transcript::words;

const NAMESPACE: &str = "open-cluster-management-agent";

/// Runs a line that begins with `berth`, without a managed cluster.
async fn types<C: std::ops::Deref<Target = berth_testkit::cluster::Cluster>>(
    house: &House<C>,
    line: &str,
) -> Output {
    let words = words(&format!("{line} --kubeconfig /nowhere"));
    let args: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    house.admin.berth(&args).await
}

/// The objects by what they are, without the namespace of the release and the labels and annotations of Helm.
fn by_identity(text: &str) -> BTreeMap<String, Value> {
    let mut objects: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
    objects.retain(|it| !it.is_null());
    let mut found = BTreeMap::new();
    for mut object in objects {
        let metadata = object["metadata"].as_object_mut().unwrap();
        for group in ["labels", "annotations"] {
            let Some(entries) = metadata.get_mut(group).and_then(Value::as_object_mut) else {
                continue;
            };
            entries.retain(|key, _| {
                !key.starts_with("helm.sh/") && !key.starts_with("app.kubernetes.io/")
            });
            if entries.is_empty() {
                metadata.remove(group);
            }
        }
        whole(&mut object);
        let identity = ["apiVersion", "kind"]
            .map(|it| object[it].to_string())
            .join(" ");
        let place = ["namespace", "name"].map(|it| object["metadata"][it].to_string());
        let twice = found.insert(format!("{identity} {}", place.join("/")), object);
        assert!(twice.is_none(), "{twice:?} is there twice");
    }
    found.remove(&format!("\"v1\" \"Namespace\" null/\"{NAMESPACE}\""));
    found
}

/// Helm writes some whole numbers as 1.0.
fn whole(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(whole),
        Value::Array(items) => items.iter_mut().for_each(whole),
        Value::Number(number) => {
            if let Some(float) = number.as_f64().filter(|it| it.fract() == 0.0) {
                *value = Value::from(float);
            }
        }
        _ => {}
    }
}

#[tokio::test]
async fn helm_renders_from_the_values_what_join_installs() {
    let house = House::shared().await;
    let (printed, name) = (Printed::of(&house).await, cluster_name());
    let bare = printed.without_image(&name);
    let digest = format!("@sha256:{}", "a".repeat(64));
    for (image, more) in [
        ("registry.example.com:5000/fleet/berth:1.10", ""),
        (
            "berth:dev",
            "--feature-gates ClusterProperty=true,AddonManagement=false --feature-gates RawFeedbackJsonString=true \
             --client-cert-expiration-seconds 7200 --klusterlet-annotation a=b",
        ),
        (
            &format!("quay.io/me/berth:v1{digest}"),
            "--klusterlet-annotation on=yes",
        ),
    ] {
        let line = format!("{bare} --image {image} {more}");
        let manifests = types(&house, &format!("{line} --output-manifests")).await;
        let installed = by_identity(manifests.ok());
        assert_eq!(installed.len(), OBJECTS - 1);
        let output = types(&house, &format!("{line} --output-values --include-token")).await;
        let values = output.ok();
        let note =
            "Note: these values contain the token (bootstrap.kubeconfig)\nNothing was changed.\n";
        assert!(output.stderr.ends_with(note), "{output:?}");
        for program in programs() {
            let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/berth-agent");
            let mut helm = Command::new(program);
            helm.args(["template", "release", chart.to_str().unwrap()])
                .args(["--namespace", NAMESPACE, "--values", "-"]);
            let rendered = finish(helm, values).await;
            let rendered = by_identity(rendered.ok());
            let names = |objects: &BTreeMap<String, Value>| -> Vec<String> {
                objects.keys().cloned().collect()
            };
            assert_eq!(names(&rendered), names(&installed), "{program}: {line}");
            for (identity, object) in &rendered {
                assert_eq!(
                    object, &installed[identity],
                    "{program}: {identity}: {values}"
                );
            }
        }
    }
}

#[tokio::test]
async fn the_token_is_among_the_values_only_on_request() {
    let house = House::shared().await;
    let (printed, name) = (Printed::of(&house).await, cluster_name());
    let line = printed.command(&name);
    let output = types(&house, &format!("{line} --output-values")).await;
    let said = format!("{}{}", output.ok(), output.stderr);
    assert!(!said.contains(printed.token()), "{said}");
    assert!(!output.ok().contains("bootstrap"), "{output:?}");
    let note = "Note: these values contain no bootstrap kubeconfig: create Secret bootstrap-hub-kubeconfig in namespace \
                open-cluster-management-agent, or add --include-token\n";
    assert!(output.stderr.contains(note), "{output:?}");

    // Into a file that only the user can read.
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("values.yaml");
    let flags = format!(
        "--output-values --include-token --output-file {}",
        file.display()
    );
    let output = types(&house, &format!("{line} {flags}")).await;
    assert_eq!(output.ok(), "");
    assert!(
        std::fs::read_to_string(&file)
            .unwrap()
            .contains(printed.token())
    );
    let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);

    for (flags, words) in [
        ("--include-token", "--output-values"),
        ("--output-values --output-manifests", "cannot be used with"),
        ("--output-values --dry-run=server", "cannot be used with"),
        ("--output-values --wait", "cannot be used with"),
    ] {
        let output = types(&house, &format!("{line} {flags}")).await;
        assert_eq!(output.code, 2, "{output:?}");
        assert!(output.stderr.contains(words), "{output:?}");
    }
}
