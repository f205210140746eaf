#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::json;

use super::*;

fn trimmed(value: &Value, keep: &Keep<'_>) -> Value {
    trim(&value.to_string(), keep).unwrap()
}

#[test]
fn what_is_not_kept_is_skipped() {
    let object = json!({
        "kind": "K",
        "metadata": {"name": "a", "managedFields": [{"manager": "m"}], "labels": {"managedFields": "x"}},
        "spec": {"text": "käse", "list": [1, {"a": -2.5}], "null": null},
        "status": {"much": ["x"]},
    });
    for (keep, expected) in [
        (Keep::Whole, object.clone()),
        (
            Keep::But(&[
                ("metadata", Keep::But(&[("managedFields", Keep::Nothing)])),
                ("status", Keep::Nothing),
            ]),
            json!({"kind": "K", "metadata": {"name": "a", "labels": {"managedFields": "x"}}, "spec": object["spec"]}),
        ),
        (
            Keep::Fields(&[(
                "spec",
                Keep::Fields(&[("text", Keep::Text(2)), ("list", Keep::Whole)]),
            )]),
            json!({"spec": {"text": "k", "list": [1, {"a": -2.5}]}}),
        ),
        (Keep::Fields(&[]), json!({})),
        (Keep::Nothing, Value::Null),
    ] {
        assert_eq!(trimmed(&object, &keep), expected, "{keep:?}");
    }
    let fields = Keep::Fields(&[("a", Keep::Whole)]);
    for (odd, kept) in [
        (json!(7), json!(7)),
        (json!([7]), json!([])),
        (json!("x"), json!("x")),
    ] {
        assert_eq!(trimmed(&odd, &fields), kept);
    }
}

#[test]
fn what_is_skipped_may_be_nested_as_deep_as_it_likes() {
    let deep = format!(
        r#"{{"a":{}{},"b":1}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let keep = Keep::Fields(&[("b", Keep::Whole)]);
    assert_eq!(trim(&deep, &keep).unwrap(), json!({"b": 1}));
    assert!(trim(&deep, &Keep::Whole).is_err());
    assert!(trim("{} x", &keep).is_err());
}

#[test]
fn of_many_labels_those_are_kept_that_selectors_name() {
    let keys = LabelKeys::default();
    let mut few = json!({"a": "1", "b": 7});
    assert!(!keys.need(["a"]));
    keys.cut(&mut few, 1000);
    assert_eq!(
        trimmed(&few, &Keep::Labels(&keys)),
        few,
        "few labels are all kept"
    );
    assert!(!keys.need(["b"]), "nothing was left out");
    let many: Map<String, Value> = (0..1000)
        .map(|i| (format!("label{i:03}"), json!("x")))
        .collect();
    let mut many = Value::from(many);
    many["a"] = json!("1");
    many["z"] = json!("2");
    assert_eq!(trimmed(&many, &Keep::Labels(&keys)), json!({"a": "1"}));
    assert!(!keys.need(["a", "b"]), "they were known");
    assert!(keys.need(["z"]), "it was left out");
    keys.cut(&mut few, 100);
    assert_eq!(few, json!({"a": "1", "b": 7}), "both are named");
    let mut three = json!({"a": "1", "c": "2", "d": "3"});
    keys.cut(&mut three, 100);
    assert_eq!(three, json!({"a": "1"}));
    assert_eq!(
        trimmed(&many, &Keep::Labels(&keys)),
        json!({"a": "1", "z": "2"})
    );
}

#[test]
fn short_labels_count_with_the_memory_that_they_take() {
    let keys = LabelKeys::default();
    let many: Map<String, Value> = (0..1000).map(|i| (format!("{i:x}"), json!(""))).collect();
    let kept = trimmed(&many.into(), &Keep::Labels(&keys));
    assert_eq!(kept, json!({}), "a thousand entries take 100 kB");
}

#[test]
fn of_many_claims_those_are_kept_that_are_named() {
    let keys = LabelKeys::default();
    let few = json!([{"name": "a", "value": "1"}]);
    assert_eq!(trimmed(&few, &Keep::Named(&keys)), few);
    let claim = |i: usize| json!({"name": format!("c{i}"), "value": "x".repeat(100)});
    let many: Vec<_> = (0..1000).map(claim).collect();
    let many = Value::from(many);
    assert_eq!(trimmed(&many, &Keep::Named(&keys)), json!([]));
    assert!(!keys.takes_in());
    keys.note(["c7", "c999"]);
    assert!(keys.takes_in() && !keys.takes_in());
    let kept = trimmed(&many, &Keep::Named(&keys));
    assert_eq!(kept, json!([claim(7), claim(999)]));
    keys.note(["c7"]);
    assert!(!keys.takes_in(), "it was known");
}

#[test]
fn of_a_long_list_the_first_items_are_kept_and_those_that_count_always() {
    let is_last = |item: &Value| item["key"] == "k899";
    let taint = |i: usize| json!({"key": format!("k{i}"), "value": "x".repeat(1000)});
    let many: Vec<_> = (0..900).map(taint).collect();
    let first = First::new(4096, Keep::Whole, is_last);
    let kept = trimmed(&Value::from(many), &Keep::First(&first));
    let keys: Vec<_> = (kept.as_array().unwrap().iter())
        .map(|it| it["key"].as_str().unwrap())
        .collect();
    assert_eq!(keys, ["k0", "k1", "k2", "k899"]);
    assert!(first.left_out());
    let first = First::new(4096, Keep::Fields(&[("key", Keep::Whole)]), is_last);
    let few = Value::from(vec![taint(0), taint(1)]);
    let kept = trimmed(&few, &Keep::First(&first));
    assert_eq!(kept, json!([{"key": "k0"}, {"key": "k1"}]));
    assert!(!first.left_out());
}
