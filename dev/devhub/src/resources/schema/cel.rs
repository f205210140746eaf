//! `x-kubernetes-validations`: rules in CEL.
//!
//! # Promises
//! - A definition is refused if one of its rules does not compile, or calls a function that devhub lacks. Such rules are never
//!   evaluated.
//! - Rules that use `oldSelf` run only if an old value exists.
//!
//! # Caveats
//! Types are not checked, and costs are not estimated or counted. Times are strings: rules with `timestamp()` and `duration()`
//! are refused.

use std::collections::HashMap;
use std::sync::Arc;

use ::cel::objects::Key;
use ::cel::{Context, Program, Value as CelValue};
use serde_json::{Map, Value};

use super::numbers::Num;
use super::walk::walk;
use super::{Schema, Type};
use crate::expressions::{self, ENV};
use crate::object::text_at;
use crate::status::{FieldError, FieldErrorSort};

/// What rules can name.
const VARIABLES: [&str; 2] = ["self", "oldSelf"];

/// One rule, compiled.
pub(super) struct Rule {
    text: String,
    program: Program,
    message: String,
    uses_old: bool,
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Rule({:?})", self.text)
    }
}

impl Rule {
    /// The rules of a schema. Those that do not compile are left out: definitions that have them are refused.
    pub(super) fn all(rest: &Map<String, Value>) -> Vec<Self> {
        let rules = rest.get("x-kubernetes-validations");
        let rules = rules.and_then(Value::as_array).into_iter().flatten();
        rules.filter_map(Self::of).collect()
    }

    fn of(rule: &Value) -> Option<Self> {
        let text = text_at(rule, "rule");
        let program = compile(text).ok()?;
        let uses_old = program.references().has_variable("oldSelf");
        Some(Self {
            text: text.trim().to_owned(),
            uses_old,
            program,
            message: text_at(rule, "message").trim().to_owned(),
        })
    }

    /// The name of the rule in errors of its evaluation.
    fn in_words(&self) -> String {
        if self.message.is_empty() {
            self.text.clone()
        } else {
            self.message.clone()
        }
    }
}

/// A rule's expression.
///
/// # Errors
/// In words.
pub(super) fn compile(expression: &str) -> Result<Program, String> {
    expressions::compile(expression, &VARIABLES)
}

pub(super) fn check(schema: &Schema, value: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(schema, value, old, "", &mut |schema, value, old, at| {
        let has_rules = schema.limits().any_rules && !value.is_null();
        if has_rules {
            run(schema, value, old, at, &mut errors);
        }
        has_rules
    });
    errors
}

/// Runs the rules of one schema.
fn run(
    schema: &Schema,
    value: &Value,
    old: Option<&Value>,
    at: &str,
    errors: &mut Vec<FieldError>,
) {
    let rules = &schema.limits().rules;
    if rules.is_empty() {
        return;
    }
    let place = if at.is_empty() { "<nil>" } else { at };
    let old = old.filter(|old| !old.is_null());
    let this = to_cel(schema, value);
    let before = old.map(|old| to_cel(schema, old));
    for rule in rules {
        if rule.uses_old && before.is_none() {
            continue;
        }
        let mut context = Context::with_env(Arc::clone(&ENV));
        context.add_variable_from_value("self", this.clone());
        if let Some(before) = &before {
            context.add_variable_from_value("oldSelf", before.clone());
        }
        let type_name = || Value::from(schema.r#type.as_str());
        match rule.program.execute(&context) {
            Ok(CelValue::Bool(true)) => {}
            Ok(CelValue::Bool(false)) => {
                // What was wrong before, and has not changed, may stay.
                if rule.uses_old || old != Some(value) {
                    errors.push(broken(schema, rule, value, place));
                }
            }
            Ok(_) => {
                let words = "cel expression must evaluate to a bool";
                errors.push(FieldError::invalid(place, type_name(), words));
            }
            Err(error) => {
                let words = format!("{error} evaluating rule: {}", rule.in_words());
                errors.push(FieldError::invalid(place, type_name(), words));
            }
        }
    }
}

fn broken(schema: &Schema, rule: &Rule, value: &Value, at: &str) -> FieldError {
    let words = match rule.message.as_str() {
        "" => format!("failed rule: {}", rule.text),
        message => message.to_owned(),
    };
    let shown = (!matches!(schema.r#type, Type::Object | Type::Array)).then(|| value.clone());
    FieldError::new(FieldErrorSort::Invalid, at, shown, words)
}

/// A value as rules see it: by its schema an integer or a double, fields by names that CEL can write.
fn to_cel(schema: &Schema, value: &Value) -> CelValue {
    match value {
        Value::Null => CelValue::Null,
        Value::Bool(yes) => CelValue::Bool(*yes),
        Value::Number(number) => match (schema.r#type, Num::of(number)) {
            (Type::Number, number) => CelValue::Float(number.as_f64()),
            (_, number) => number
                .as_int()
                .map_or_else(|| CelValue::Float(number.as_f64()), CelValue::Int),
        },
        Value::String(text) => CelValue::String(Arc::new(text.clone())),
        Value::Array(list) => {
            let nothing = Schema::default();
            let items = schema.items.as_deref().unwrap_or(&nothing);
            CelValue::List(Arc::new(
                list.iter().map(|item| to_cel(items, item)).collect(),
            ))
        }
        Value::Object(fields) => {
            let nothing = Schema::default();
            let map: HashMap<Key, CelValue> = fields
                .iter()
                .filter_map(|(name, value)| {
                    let (name, child) = match schema.properties.get(name) {
                        Some(child) => (escaped(name)?, child),
                        None => (
                            name.clone(),
                            schema.additional.as_deref().unwrap_or(&nothing),
                        ),
                    };
                    Some((Key::String(Arc::new(name)), to_cel(child, value)))
                })
                .collect();
            CelValue::Map(::cel::objects::Map { map: Arc::new(map) })
        }
    }
}

/// The words that CEL keeps to itself.
const RESERVED: &str = "as break const continue else false for function if import in let loop namespace null package return true \
    var void while";

/// A field's name in rules; none for one that rules cannot name.
fn escaped(name: &str) -> Option<String> {
    if RESERVED.split_whitespace().any(|word| word == name) {
        return Some(format!("__{name}__"));
    }
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let fits = |c: char| c.is_ascii_alphanumeric() || "_.-/".contains(c);
    (starts && name.chars().all(fits)).then(|| {
        name.replace("__", "__underscores__")
            .replace('.', "__dot__")
            .replace('-', "__dash__")
            .replace('/', "__slash__")
    })
}
