//! What kube-apiserver 1.36 made of patches, and what is made of them here.

#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::writes::apply::tests::schema;

fn goldens() -> Map<String, Value> {
    serde_json::from_str(include_str!("goldens/patches.json")).unwrap()
}

/// Go structs keep no nulls, and neither empty lists nor maps, where those may be left out; nor directives within lists that
/// were replaced.
fn without_empty(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .filter(|(name, _)| *name != PATCH)
                .map(|(name, value)| (name.clone(), without_empty(value)))
                .filter(|(_, value)| {
                    !value.is_null() && *value != json!({}) && *value != json!([])
                });
            Value::Object(fields.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_empty).collect()),
        scalar => scalar.clone(),
    }
}

#[test]
fn patches_do_what_they_do_on_kube_apiserver() {
    let mut wrong = Vec::new();
    for (kind, golden) in goldens() {
        let schema = schema(&kind);
        for step in golden["patches"].as_array().unwrap() {
            let merged = merge(&golden["object"], &step["patch"], &schema);
            let (expected, actual) = match (&merged, step.get("result")) {
                (Ok(merged), Some(result)) => (without_empty(result), without_empty(merged)),
                // What a patch makes may not be what the kind can be; that is found later.
                (Ok(_), None) if step["error"]["code"] == 422 => continue,
                (Ok(merged), None) => (step["error"].clone(), merged.clone()),
                (Err(error), _) => {
                    let error = json!({
                        "code": error.code.as_u16(),
                        "reason": error.reason,
                    });
                    let mut expected = step.get("error").unwrap_or(&step["result"]).clone();
                    // The words are the real server's own.
                    if let Some(fields) = expected.as_object_mut() {
                        fields.remove("message");
                    }
                    (expected, error)
                }
            };
            if expected != actual {
                wrong.push(format!(
                    "{kind}: {}\nexpected {expected}\nactual   {actual}",
                    step["title"]
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn lists_of_lists_are_refused() {
    let metadata = |finalizer: &str| json!({"metadata": {"finalizers": [[finalizer]]}});
    let error = merge(&metadata("a"), &metadata("b"), &Schema::default()).unwrap_err();
    assert_eq!(
        (error.code.as_u16(), error.reason.as_str()),
        (422, "Invalid")
    );
}

fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(json!(1)),
        Just(json!("a")),
        Just(json!(true)),
        Just(Value::Null),
        Just(json!("delete")),
        Just(json!("replace")),
    ];
    scalar.prop_recursive(4, 24, 4, |inner| {
        let name = prop_oneof![
            Just("metadata"),
            Just("finalizers"),
            Just("ownerReferences"),
            Just("uid"),
            Just("$patch"),
            Just("$retainKeys"),
            Just("$setElementOrder/finalizers"),
            Just("$setElementOrder/ownerReferences"),
            Just("$deleteFromPrimitiveList/finalizers"),
        ];
        let name = name.prop_map(str::to_owned);
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            proptest::collection::btree_map(name, inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn an_empty_patch_changes_nothing(object in value()) {
        prop_assume!(object.is_object());
        prop_assert_eq!(merge(&object, &json!({}), &Schema::default()).unwrap(), object);
    }

    #[test]
    fn no_patch_is_too_strange(object in value(), patch in value()) {
        let _ = merge(&object, &patch, &Schema::default());
        let wrapped = |value| json!({ "metadata": value });
        let _ = merge(&wrapped(object), &wrapped(patch), &Schema::default());
    }
}
