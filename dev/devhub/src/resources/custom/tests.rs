#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{checks, resources};
use crate::object::Object;
use crate::resources::Behaviour;
use crate::status::FieldError;

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn definition(file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../manifests/crds")
        .join(file);
    serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn errors(json: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut object = Object::try_from(json.clone()).unwrap();
    super::Definitions.default(&mut object);
    checks::errors(&object.to_value(), old)
}

/// The real server's verdicts; its words are its own.
#[test]
fn definitions_are_refused_where_the_real_server_refuses_them() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/crds.tsv");
    for line in fs::read_to_string(path).unwrap().lines() {
        let Some((sent, expected)) = line.split_once('\t') else {
            continue;
        };
        let found = errors(&parse(sent), None);
        assert_eq!(found.is_empty(), expected == "OK", "{sent}: {found:?}");
    }
}

#[test]
fn a_conversion_names_its_webhook_or_has_none() {
    let service = json!({"service": {"name": "gate", "namespace": "hub"}});
    for (sentence, conversion, fields) in [
        (
            "complete",
            json!({"strategy": "Webhook", "webhook": {"clientConfig": service, "conversionReviewVersions": ["v1"]}}),
            &[][..],
        ),
        (
            "nothing to call",
            json!({"strategy": "Webhook"}),
            &[
                "spec.conversion.webhookClientConfig",
                "spec.conversion.conversionReviewVersions",
            ],
        ),
        (
            "left over",
            json!({"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}}),
            &["spec.conversion.webhookClientConfig"],
        ),
        (
            "unknown",
            json!({"strategy": "Other"}),
            &["spec.conversion.strategy"],
        ),
    ] {
        let mut json = definition("cluster.open-cluster-management.io_managedclustersets.yaml");
        json["spec"]["conversion"] = conversion;
        let found = errors(&json, None);
        let found: Vec<&str> = found.iter().map(|it| it.field.as_str()).collect();
        assert_eq!(found, fields, "{sentence}");
    }
}

#[test]
fn of_converted_versions_only_the_stored_one_is_served() {
    let mut json = definition("addons/addon.open-cluster-management.io_managedclusteraddons.yaml");
    json["status"] = json!({"conditions": [{"type": "Established", "status": "True"}]});
    let versions = |json: &Value| -> Vec<String> {
        let served = resources(&serde_json::from_value(json.clone()).unwrap()).unwrap();
        served.iter().map(|it| it.version.clone()).collect()
    };
    assert_eq!(versions(&json), ["v1alpha1"]);
    json["spec"]["conversion"] = json!({"strategy": "None"});
    assert_eq!(versions(&json), ["v1alpha1", "v1beta1"]);
}

#[test]
fn names_of_custom_objects_can_be_restricted_and_their_metadata_is_known() {
    let json = parse(
        &fs::read_to_string(
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/widget-crd.json"),
        )
        .unwrap(),
    );
    let served = resources(&serde_json::from_value(json).unwrap()).unwrap();
    let schema = Arc::clone(&served[0].schema);
    let object = |name: &str| {
        json!({"apiVersion": "test.dev/v1", "kind": "Widget", "spec": {"url": "hh"},
            "metadata": {"name": name, "ownerReferences": [{"uid": "x"}, {"uid": "x"}]}})
    };
    assert_eq!(schema.check(&object("abc"), None), []);
    let errors = schema.check(&object("a1"), None);
    assert_eq!(errors[0].field, "metadata.name");
    assert_eq!(
        errors[0].detail,
        "metadata.name in body should match '^[a-z]+$'"
    );
    let finalizers = &schema.properties["metadata"].properties["finalizers"];
    assert_eq!(finalizers.list, crate::resources::schema::ListKind::Set);
}
