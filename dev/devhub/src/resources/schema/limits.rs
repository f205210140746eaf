//! The limits that a schema sets for values, read from [`Schema::rest`] once.

use std::sync::{Arc, OnceLock};

use regex::Regex;
use serde_json::{Map, Value};

use super::cel::Rule;
use super::{Schema, formats, read};

/// The limits of one schema, made when they are first asked for. A clone makes its own: clones are made to be changed.
#[derive(Debug, Default)]
pub(crate) struct Cached(OnceLock<Arc<Limits>>);

impl Clone for Cached {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[derive(Debug, Default)]
pub(super) struct Limits {
    pub(super) max_length: Option<u64>,
    pub(super) min_length: Option<u64>,
    pub(super) pattern: Option<Pattern>,
    /// The format, if it is one that is checked.
    pub(super) format: Option<String>,
    pub(super) multiple_of: Option<f64>,
    pub(super) maximum: Option<Bound>,
    pub(super) minimum: Option<Bound>,
    pub(super) max_items: Option<u64>,
    pub(super) min_items: Option<u64>,
    pub(super) max_properties: Option<u64>,
    pub(super) min_properties: Option<u64>,
    pub(super) options: Vec<Value>,
    pub(super) all_of: Vec<Schema>,
    pub(super) any_of: Vec<Schema>,
    pub(super) one_of: Vec<Schema>,
    pub(super) not: Option<Box<Schema>>,
    pub(super) rules: Vec<Rule>,
    /// True if there are rules here or below.
    pub(super) any_rules: bool,
}

/// A limit of numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) limit: f64,
    /// True if the limit itself is beyond it.
    pub(super) exclusive: bool,
}

/// A pattern, as written and compiled.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) text: String,
    pub(super) regex: Regex,
}

impl Schema {
    pub(super) fn limits(&self) -> &Limits {
        self.limits.0.get_or_init(|| Arc::new(Limits::of(self)))
    }
}

impl Limits {
    fn of(schema: &Schema) -> Self {
        let rest = &schema.rest;
        let rules = Rule::all(rest);
        let below = schema
            .properties
            .values()
            .chain(schema.additional.as_deref())
            .chain(schema.items.as_deref())
            .any(|child| child.limits().any_rules);
        let format = &schema.format;
        Self {
            max_length: count(rest, "maxLength"),
            min_length: count(rest, "minLength"),
            pattern: rest
                .get("pattern")
                .and_then(Value::as_str)
                .and_then(|text| {
                    // Definitions with patterns that do not compile are refused.
                    let regex = Regex::new(text).ok()?;
                    Some(Pattern {
                        text: text.to_owned(),
                        regex,
                    })
                }),
            format: formats::is_known(format, schema.r#type).then(|| format.clone()),
            multiple_of: rest.get("multipleOf").and_then(Value::as_f64),
            maximum: bound(rest, "maximum", "exclusiveMaximum"),
            minimum: bound(rest, "minimum", "exclusiveMinimum"),
            max_items: count(rest, "maxItems"),
            min_items: count(rest, "minItems"),
            max_properties: count(rest, "maxProperties"),
            min_properties: count(rest, "minProperties"),
            options: list(rest, "enum").to_vec(),
            all_of: schemas(rest, "allOf"),
            any_of: schemas(rest, "anyOf"),
            one_of: schemas(rest, "oneOf"),
            not: rest.get("not").map(|not| Box::new(read::schema(not))),
            any_rules: below || !rules.is_empty(),
            rules,
        }
    }
}

fn count(rest: &Map<String, Value>, name: &str) -> Option<u64> {
    rest.get(name).and_then(Value::as_u64)
}

fn bound(rest: &Map<String, Value>, name: &str, exclusive: &str) -> Option<Bound> {
    Some(Bound {
        limit: rest.get(name)?.as_f64()?,
        exclusive: rest
            .get(exclusive)
            .and_then(Value::as_bool)
            .unwrap_or_default(),
    })
}

fn list<'a>(rest: &'a Map<String, Value>, name: &str) -> &'a [Value] {
    rest.get(name)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

fn schemas(rest: &Map<String, Value>, name: &str) -> Vec<Schema> {
    list(rest, name).iter().map(read::schema).collect()
}
