//! A second reader: the crate `cel` (cel-rust) evaluates the rows of `expressions.txt`, and generated expressions, too.
//!
//! Both readers agree, but for the rows of `differences.txt`, which has a reason for each. Functions that cel-rust lacks are not
//! compared: those of Kubernetes and of OCM.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cel::{Context, Env, ExecutionError, extensions};
use proptest::prelude::*;

use super::{cluster_json, rows, says};

/// The rows that the readers see differently, each below its reason.
const DIFFERENCES: &str = include_str!("differences.txt");

/// The rows that both readers evaluate, of all rows. README.md of the crate has the figures.
const COMPARED: (usize, usize) = (150, 257);

/// What cel-rust says: `yes`, `no`, `fails` or `invalid`. None if it lacks a function of the expression.
fn second(text: &str) -> Option<&'static str> {
    let mut env = Env::stdlib();
    // On a fresh environment, no name is taken.
    let _ = env.add_extension(extensions::strings);
    let env = Arc::new(env);
    let evaluate = || {
        let Ok(program) = env.compile(text) else {
            return Some("invalid");
        };
        let mut context = Context::with_env(Arc::clone(&env));
        context.add_variable_from_value("managedCluster", value(&cluster_json()));
        match program.execute(&context) {
            Ok(cel::Value::Bool(true)) => Some("yes"),
            Ok(cel::Value::Bool(false)) => Some("no"),
            Err(
                ExecutionError::UndeclaredReference(_)
                | ExecutionError::NotSupportedAsMethod { .. },
            ) => None,
            _ => Some("fails"),
        }
    };
    catch_unwind(AssertUnwindSafe(evaluate)).unwrap_or(Some("panics"))
}

fn value(json: &serde_json::Value) -> cel::Value {
    match json {
        serde_json::Value::Null => cel::Value::Null,
        serde_json::Value::Bool(it) => (*it).into(),
        serde_json::Value::String(it) => it.as_str().into(),
        serde_json::Value::Number(it) => it.as_i64().expect("the cluster has whole numbers").into(),
        serde_json::Value::Array(items) => items.iter().map(value).collect::<Vec<_>>().into(),
        serde_json::Value::Object(fields) => {
            let fields = fields.iter().map(|(key, it)| (key.clone(), value(it)));
            fields.collect::<HashMap<_, _>>().into()
        }
    }
}

#[test]
fn both_readers_agree_but_for_listed_differences() {
    let listed: Vec<_> = DIFFERENCES
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let (mut wrong, mut differ, mut compared) = (Vec::new(), Vec::new(), 0);
    for (_, text) in rows() {
        let Some(second) = second(text) else {
            continue;
        };
        compared += 1;
        let (first, why) = says(text);
        if first != second {
            differ.push(text);
            if !listed.contains(&text) {
                wrong.push(format!("{text}: {first} ({why}), cel-rust: {second}"));
            }
        }
    }
    for text in listed {
        if !differ.contains(&text) {
            wrong.push(format!(
                "{text}: listed in differences.txt, but no difference"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!((compared, rows().count()), COMPARED);
}

/// Expressions of numbers, in text.
fn numbers() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (-3_i64..4).prop_map(|it| it.to_string()),
        Just("9223372036854775807".to_owned()),
        Just("[1, 2, 3][1]".to_owned()),
        Just("size(\"abc\")".to_owned()),
    ];
    leaf.prop_recursive(3, 12, 2, |inner| {
        let operator = prop::sample::select(vec!["+", "-", "*", "/", "%"]);
        (inner.clone(), operator, inner)
            .prop_map(|(left, operator, right)| format!("({left} {operator} {right})"))
    })
}

/// Expressions of conditions, in text.
fn conditions() -> impl Strategy<Value = String> {
    let operator = prop::sample::select(vec!["<", "<=", "==", "!=", ">=", ">"]);
    let leaf = prop_oneof![
        (numbers(), operator, numbers())
            .prop_map(|(left, operator, right)| format!("{left} {operator} {right}")),
        numbers().prop_map(|it| format!("{it} in [1, 2, 3]")),
        numbers().prop_map(|it| format!("[1, 2, 3].exists(x, x == {it})")),
        Just("managedCluster.metadata.labels.zone == \"a\"".to_owned()),
        Just("has(managedCluster.metadata.labels.region)".to_owned()),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("({left} && {right})")),
            (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("({left} || {right})")),
            inner.clone().prop_map(|it| format!("!({it})")),
            (inner.clone(), inner.clone(), inner)
                .prop_map(|(is, yes, no)| format!("({is} ? {yes} : {no})")),
        ]
    })
}

proptest! {
    #[test]
    fn both_readers_agree_about_generated_expressions(text in conditions()) {
        let (first, why) = says(&text);
        prop_assert_eq!(Some(first), second(&text), "{}: {}", text, why);
    }
}
