//! Compares what helm renders with what kustomize builds.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::helm::{Chart, programs};
use crate::manifests::objects::{assert_is_its_kind, difference};
use crate::manifests::overlays::build;

/// Builds the folders; `None`, reported, if there is no kubectl. The namespace of the release is Helm's to make, so it is left out.
#[allow(
    clippy::print_stderr,
    reason = "a test that skips itself says so, clippy.toml allows it in test functions"
)]
pub(super) fn built(chart: Chart, folders: &[&str]) -> Option<Vec<Value>> {
    let mut objects = Vec::new();
    for folder in folders {
        let Some(more) = build(folder) else {
            eprintln!("SKIPPED: no kubectl on PATH, the kustomizations were not built");
            return None;
        };
        objects.extend(more);
    }
    objects.retain(|it| it["kind"] != "Namespace" || it["metadata"]["name"] != chart.namespace);
    Some(objects)
}

/// Fails unless each helm renders exactly these objects with the values, but for the labels of Helm and the image.
pub(super) fn assert_renders(chart: Chart, values: &Value, expected: &[Value]) {
    let expected = by_identity(expected);
    for program in programs() {
        let rendered = chart.rendered(program, values);
        for object in &rendered {
            assert_is_its_kind(chart.name, object);
            assert_labelled(object);
        }
        let rendered = by_identity(&rendered);
        let missing: Vec<_> = expected
            .keys()
            .filter(|it| !rendered.contains_key(*it))
            .collect();
        let more: Vec<_> = rendered
            .keys()
            .filter(|it| !expected.contains_key(*it))
            .collect();
        assert!(
            missing.is_empty() && more.is_empty(),
            "{program}: {values}: missing: {missing:#?}, too many: {more:#?}"
        );
        for (identity, object) in &rendered {
            let expected = &expected[identity];
            // Helm writes some whole numbers as 1.0, which these take for equal.
            let differs =
                difference(object, expected, "").or_else(|| difference(expected, object, ""));
            if let Some(pointer) = differs {
                panic!(
                    "{program}: {values}: {identity}: {pointer} is {:?} instead of {:?}",
                    object.pointer(&pointer),
                    expected.pointer(&pointer)
                );
            }
        }
    }
}

/// Fails unless the metadata has the recommended labels, and no selector uses one.
fn assert_labelled(object: &Value) {
    let labels = &object["metadata"]["labels"];
    let (kind, name) = (&object["kind"], &object["metadata"]["name"]);
    for (label, value) in [
        ("name", json!("berth")),
        ("instance", json!("release")),
        ("version", json!(env!("CARGO_PKG_VERSION"))),
        ("part-of", json!("open-cluster-management")),
        ("managed-by", json!("Helm")),
    ] {
        assert_eq!(
            labels[format!("app.kubernetes.io/{label}")],
            value,
            "{kind} {name}"
        );
    }
    assert!(
        labels["app.kubernetes.io/component"].is_string(),
        "{kind} {name}"
    );
    let selector = object["spec"]["selector"].to_string();
    assert!(
        !selector.contains("app.kubernetes.io/"),
        "{kind} {name}: {selector}"
    );
}

/// Each object by what it is, without what may differ.
fn by_identity(objects: &[Value]) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for object in objects {
        let mut object = object.clone();
        let labelled = has_recommended_labels(&object);
        normalize(&mut object, labelled);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let identity = [
            text(&object["apiVersion"]),
            text(&object["kind"]),
            text(&object["metadata"]["namespace"]),
            text(&object["metadata"]["name"]),
        ]
        .join(" ");
        let twice = found.insert(identity.clone(), object);
        assert!(twice.is_none(), "{identity} is there twice");
    }
    found
}

/// Those that are generated have none: CRDs, policies with their registration, and the roles that agents share.
fn has_recommended_labels(object: &Value) -> bool {
    let generated = object["kind"] == "CustomResourceDefinition"
        || object["metadata"]["annotations"]["berth.open-cluster-management.io/policies"]
            .is_string()
        || object["metadata"]["labels"]["open-cluster-management.io/cluster-name"].is_string();
    !generated
}

fn normalize(object: &mut Value, labelled: bool) {
    for group in ["labels", "annotations"] {
        let metadata = object["metadata"]
            .as_object_mut()
            .expect("an object has metadata");
        let Some(entries) = metadata.get_mut(group).and_then(Value::as_object_mut) else {
            continue;
        };
        entries.retain(|key, _| {
            let is_of_helm = key.starts_with("helm.sh/")
                || ["instance", "version", "managed-by"]
                    .iter()
                    .any(|it| *key == format!("app.kubernetes.io/{it}"));
            let is_more = !labelled && key.starts_with("app.kubernetes.io/");
            !is_of_helm && !is_more
        });
        if entries.is_empty() {
            metadata.remove(group);
        }
    }
    if let Some(container) = object.pointer_mut("/spec/template/spec/containers/0") {
        assert!(
            container["image"]
                .as_str()
                .is_some_and(|it| it.starts_with("berth"))
        );
        container["image"] = json!("berth");
    }
}
