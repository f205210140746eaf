//! Properties that hold for every template.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{config_map, deployment, rendering, template};
use crate::template::{Unrenderable, check};

/// Text with braces at any place, names that exist, and names that do not.
fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("{".to_owned()),
        Just("}".to_owned()),
        Just("{{".to_owned()),
        Just("}}".to_owned()),
        Just("{{CLUSTER_NAME}}".to_owned()),
        Just("{{A}}".to_owned()),
        Just("é\"\\".to_owned()),
        "[a-zA-Z {}]{0,3}",
    ];
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        text().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(text(), inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn rendering_is_deterministic_and_never_panics(data in value(), pod in value(), variable in text()) {
        let pod = if pod.is_object() { pod } else { json!({"containers": pod}) };
        let mut workload = deployment(json!({}));
        workload["spec"]["template"]["spec"] = pod;
        let template = template(&[config_map(data), workload], json!({"registration": [{"type": "KubeClient"}]}));
        let config = super::config(json!({"customizedVariables": [{"name": "A", "value": variable}]}));
        let first = rendering(&template, Some(&config));
        prop_assert_eq!(&first, &rendering(&template, Some(&config)));
        // The check finds every mistake of the manifests before a cluster has them. Only which keys become one, the values decide.
        let findings = check::template(&template, &[&config]);
        let is_of_values = |error: &String| error.contains("occurs twice");
        let errors = first.err().map_or_else(Vec::new, Unrenderable::into_lines);
        let found = !findings.errors.is_empty();
        if found {
            prop_assert!(!errors.is_empty(), "{:?}", findings);
        } else {
            prop_assert!(errors.iter().all(is_of_values), "{:?}", errors);
        }
    }

    #[test]
    fn a_text_without_braces_stays(data in "[^{]{0,40}") {
        let template = template(&[config_map(json!({"k": data}))], json!({}));
        let rendering = rendering(&template, None).unwrap();
        prop_assert_eq!(&rendering.objects[0].object["data"]["k"], &json!(data));
    }

    #[test]
    fn a_value_is_in_the_text_as_it_is(value in text()) {
        let template = template(&[config_map(json!({"k": "<{{A}}>"}))], json!({}));
        let config = super::config(json!({"customizedVariables": [{"name": "A", "value": value}]}));
        let rendering = rendering(&template, Some(&config)).unwrap();
        let expected = format!("<{value}>");
        prop_assert_eq!(&rendering.objects[0].object["data"]["k"], &json!(expected));
    }
}
