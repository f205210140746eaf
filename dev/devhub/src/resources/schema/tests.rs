//! Against what a real kube-apiserver said, recorded in `tests/data`.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Secret, Service};
use k8s_openapi::api::rbac::v1::ClusterRole;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

use super::Schema;
use crate::status::FieldError;

/// The rows of a recording: columns, the last of which is what the server said.
fn recorded(file: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(file);
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect()
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The schema of `widget-crd.json`.
fn widget() -> Schema {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/widget-crd.json");
    let definition = parse(&fs::read_to_string(path).unwrap());
    let json = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    Schema::read(json, "spec.validation.openAPIV3Schema").unwrap()
}

/// Fails with all rows that differ, not just the first. The verdicts are the real server's; its words are its own.
fn compare<E: std::fmt::Debug>(rows: impl IntoIterator<Item = (String, String, Option<E>)>) {
    let wrong: Vec<String> = rows
        .into_iter()
        .filter(|(_, expected, found)| (expected == "OK") != found.is_none())
        .map(|(of, expected, found)| format!("{of}\n  expected {expected}\n  found    {found:?}"))
        .collect();
    assert!(
        wrong.is_empty(),
        "{}\n{} differ",
        wrong.join("\n"),
        wrong.len()
    );
}

fn some(errors: Vec<FieldError>) -> Option<Vec<FieldError>> {
    (!errors.is_empty()).then_some(errors)
}

#[test]
fn custom_objects_are_refused_where_the_real_server_refuses_them() {
    let schema = widget();
    compare(recorded("widget-specs.tsv").into_iter().map(|row| {
        let mut object =
            json!({"apiVersion": "test.dev/v1", "kind": "Widget", "metadata": {"name": "a"}});
        object["spec"] = parse(&row[0]);
        schema.fill_in(&mut object);
        let found = some(schema.check(&object, None));
        (row[0].clone(), row[1].clone(), found)
    }));
}

#[test]
fn schemas_of_definitions_are_refused_where_the_real_server_refuses_them() {
    compare(recorded("crd-schemas.tsv").into_iter().map(|row| {
        let read = Schema::read(&parse(&row[0]), "spec.validation.openAPIV3Schema");
        (row[0].clone(), row[1].clone(), read.err())
    }));
}

#[test]
fn what_does_not_decode_is_refused_where_the_real_server_refuses_it() {
    compare(recorded("decode-errors.tsv").into_iter().map(|row| {
        let schema = match row[0].rsplit('/').next().unwrap() {
            "configmaps" => Schema::of::<ConfigMap>(),
            "secrets" => Schema::of::<Secret>(),
            "services" => Schema::of::<Service>(),
            "nodes" => Schema::of::<Node>(),
            "leases" => Schema::of::<Lease>(),
            "clusterroles" => Schema::of::<ClusterRole>(),
            "customresourcedefinitions" => Schema::of::<CustomResourceDefinition>(),
            "certificatesigningrequests" => Schema::of::<CertificateSigningRequest>(),
            "widgets" => widget(),
            other => panic!("no schema for {other}"),
        };
        let found = schema.decode_error(&parse(&row[1]));
        (row[1].clone(), row[2].clone(), found)
    }));
}

fn repository_definitions() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../manifests/crds");
    ["", "agent"]
        .iter()
        .flat_map(|part| fs::read_dir(folder.join(part)).unwrap())
        .map(|file| file.unwrap().path())
        .filter(|path| path.to_string_lossy().contains("open-cluster-management"))
        .map(|path| serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap())
        .collect()
}

#[test]
fn definitions_of_this_repository_are_read_and_published_as_they_are() {
    let definitions = repository_definitions();
    assert_eq!(definitions.len(), 4);
    for definition in definitions {
        for version in definition["spec"]["versions"].as_array().unwrap() {
            let json = &version["schema"]["openAPIV3Schema"];
            let schema = Schema::read(json, "schema").unwrap();
            assert_eq!(
                schema.publish(),
                *json,
                "{}",
                definition["metadata"]["name"]
            );
        }
    }
}

#[test]
fn unknown_fields_go_and_are_named_in_the_real_servers_order() {
    let mut object = json!({
        "apiVersion": "test.dev/v1", "kind": "Widget",
        "metadata": {"name": "a", "foo": 1, "ownerReferences": [{"z": 1}]},
        "spec": {
            "url": "hh", "zap": {"x": 1}, "map": [{"k": "a", "y": 3}], "any": {"x": {"y": 1}},
            "emb": {"apiVersion": "v1", "kind": "x", "metadata": {"u": 1}, "more": {"x": 1}},
        },
        "foo": 1,
    });
    let removed = widget().prune(&mut object);
    let expected = [
        "metadata.foo",
        "metadata.ownerReferences[0].z",
        "foo",
        "spec.map[0].y",
        "spec.zap",
        "spec.emb.metadata.u",
    ];
    assert_eq!(removed, expected);
    let left = json!({
        "url": "hh", "map": [{"k": "a"}], "any": {"x": {"y": 1}},
        "emb": {"apiVersion": "v1", "kind": "x", "metadata": {}, "more": {"x": 1}},
    });
    assert_eq!(object["spec"], left);
    assert_eq!(
        object["metadata"],
        json!({"name": "a", "ownerReferences": [{}]})
    );
}

#[test]
fn unknown_fields_of_kubernetes_kinds_are_found_at_any_depth() {
    let mut object = json!({
        "metadata": {"name": "a", "foo": 1}, "spec": {"a": 1}, "data": {"a": "b"}, "zap": [1],
    });
    let removed = Schema::of::<ConfigMap>().prune(&mut object);
    assert_eq!(removed, ["metadata.foo", "spec", "zap"]);
    // A schema within a schema.
    let mut definition = json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": {
        "properties": {"spec": {"type": "object", "foo": 1, "default": {"any": 1}, "items": {"bar": 1},
            "additionalProperties": true, "x-kubernetes-validations": [{"rule": "x"}]}},
    }}}]}});
    let removed = Schema::of::<CustomResourceDefinition>().prune(&mut definition);
    let at = "spec.versions[0].schema.openAPIV3Schema.properties.spec";
    assert_eq!(removed, [format!("{at}.foo"), format!("{at}.items.bar")]);
}

#[test]
fn defaults_are_filled_in_and_nulls_are_no_values() {
    let mut object = json!({
        "metadata": {"name": "a", "creationTimestamp": null},
        "spec": {"url": null, "b": null, "nul": null, "e": null, "map": null},
    });
    let mut schema = widget();
    schema
        .properties
        .insert("metadata".to_owned(), super::object_meta().as_ref().clone());
    schema.fill_in(&mut object);
    let expected = json!({
        "metadata": {"name": "a"}, "spec": {"b": true, "def": "d", "nul": null},
    });
    assert_eq!(object, expected);
    // Where the object is not, its defaults are not.
    let mut empty = json!({});
    schema.fill_in(&mut empty);
    assert_eq!(empty, json!({}));
}

#[test]
fn transition_rules_compare_with_the_old_value() {
    let schema = widget();
    let object =
        |im: &str| json!({"metadata": {"name": "a"}, "spec": {"url": "hh", "cel": {"im": im}}});
    assert_eq!(schema.check(&object("x"), None), []);
    assert_eq!(schema.check(&object("x"), Some(&object("x"))), []);
    let errors = schema.check(&object("y"), Some(&object("x")));
    let expected = FieldError::invalid("spec.cel.im", "y", "im is immutable");
    assert_eq!(errors, [expected]);
    // No old value there: nothing to compare with.
    let none = json!({"metadata": {"name": "a"}, "spec": {"url": "hh", "cel": {}}});
    assert_eq!(schema.check(&object("y"), Some(&none)), []);
}

#[test]
fn what_was_wrong_and_has_not_changed_may_stay() {
    let schema = widget();
    let object = |url: &str, min: i64| json!({"metadata": {"name": "a"}, "spec": {"url": "x", "one": {"a": url}, "map": [{"k": "a"}, {"k": "a"}], "cel": {"min": min, "max": 1}}});
    assert_eq!(schema.check(&object("u", 3), None).len(), 3);
    assert_eq!(schema.check(&object("v", 3), Some(&object("u", 3))), []);
    let errors = schema.check(&object("u", 4), Some(&object("u", 3)));
    let expected = FieldError::new(
        crate::status::FieldErrorSort::Invalid,
        "spec.cel",
        None,
        "min must not be more than max",
    );
    assert_eq!(errors, [expected]);
}

#[test]
fn rules_that_devhub_cannot_run_are_refused() {
    let with = |rule: &str| {
        let json = json!({"type": "object", "properties": {"spec": {
            "type": "object",
            "properties": {"a": {"type": "string"}, "x-y": {"type": "string"}, "m": {"type": "object", "additionalProperties": {"type": "integer"}}},
            "x-kubernetes-validations": [{"rule": rule}],
        }}});
        let errors = Schema::read(&json, "schema").err().unwrap_or_default();
        errors
            .into_iter()
            .map(|error| (error.field, error.detail))
            .next()
    };
    for fine in [
        "self.a == 'x'",
        "!has(self.a) || self.a.startsWith('x') && self.a.matches('^x+$')",
        "self.m.all(k, self.m[k] > 0 && k.size() < 3)",
        "self.a in ['a', 'b'] ? true : double(size(self.a)) < 1.5",
        "self.x__dash__y.lowerAscii().split('-').exists(part, part == 'a')",
        "oldSelf.a == self.a && type(self.a) == string",
        "[self.a].filter(s, s != '').map(s, s + 'x').size() == 1",
        "self.a.substring(1).indexOf('a') >= 0 && self.a.replace('a', 'b').trim() != self.a.upperAscii().charAt(0)",
    ] {
        assert_eq!(with(fine), None, "{fine}");
    }
    let at = "schema.properties[spec].x-kubernetes-validations[0].rule".to_owned();
    for (rule, name) in [
        ("slef.a == 'x'", "slef"),
        ("foo(self.a)", "foo"),
        (
            "timestamp(self.a) > timestamp('2026-01-01T00:00:00Z')",
            "timestamp",
        ),
        ("isURL(self.a)", "isURL"),
        ("self.m.all(k, j > 1)", "j"),
    ] {
        let (field, detail) = with(rule).unwrap();
        assert_eq!(field, at);
        assert_eq!(
            detail,
            format!("compilation failed: undeclared reference to '{name}'"),
            "{rule}"
        );
    }
    let (_, detail) = with("self.a == ").unwrap();
    assert!(
        detail.starts_with("compilation failed: ERROR: "),
        "{detail}"
    );
}

mod whatever {
    use proptest::prelude::*;

    use super::*;

    /// JSON of the words that schemas are made of.
    fn json() -> impl Strategy<Value = Value> {
        let words = prop::sample::select(vec![
            "object",
            "array",
            "string",
            "integer",
            "number",
            "date-time",
            "int32",
            "^a(",
            "self.a == 'x'",
            "set",
            "map",
            "",
        ]);
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            words.prop_map(Value::from),
        ];
        let names = prop::sample::select(vec![
            "type",
            "properties",
            "additionalProperties",
            "items",
            "required",
            "default",
            "enum",
            "format",
            "pattern",
            "minimum",
            "maximum",
            "multipleOf",
            "maxLength",
            "anyOf",
            "allOf",
            "oneOf",
            "not",
            "nullable",
            "metadata",
            "spec",
            "a",
            "x-kubernetes-list-type",
            "x-kubernetes-list-map-keys",
            "x-kubernetes-validations",
            "rule",
            "x-kubernetes-embedded-resource",
            "x-kubernetes-preserve-unknown-fields",
            "x-kubernetes-int-or-string",
        ]);
        leaf.prop_recursive(6, 64, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(names.clone(), inner, 0..6).prop_map(|fields| {
                    Value::Object(
                        fields
                            .into_iter()
                            .map(|(name, value)| (name.to_owned(), value))
                            .collect(),
                    )
                }),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn nothing_panics(schema in json(), value in json(), old in json()) {
            let _ = Schema::read(&schema, "schema");
            let schema = Schema::as_it_is(&schema);
            let mut pruned = value.clone();
            schema.prune(&mut pruned);
            schema.fill_in(&mut pruned);
            let _ = schema.check(&value, None);
            let _ = schema.check(&value, Some(&old));
            let _ = schema.decode_error(&value);
            let _ = Schema::of::<MutatingWebhookConfiguration>().decode_error(&value);
            // What has been published is read as the same.
            let published = schema.publish();
            prop_assert_eq!(Schema::as_it_is(&published).publish(), published);
        }
    }
}
