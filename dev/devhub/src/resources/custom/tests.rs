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
fn conversion_by_webhook_is_refused() {
    let mut json = definition("cluster.open-cluster-management.io_managedclustersets.yaml");
    json["spec"]["conversion"] =
        json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}});
    let found = errors(&json, None);
    let [error] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!(error.field, "spec.conversion.strategy");
    assert!(error.detail.starts_with("devhub does not implement"));
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
