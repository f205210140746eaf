//! Values against schemas, in kube-apiserver's words and order.
//!
//! Own code, and no library for JSON schemas: what is checked after what, what is said of it, and how much of a failed
//! `anyOf` is told, is what clients see, and no library's errors can be turned into it.

use serde_json::{Map, Value};

use super::limits::{Bound, Limits};
use super::numbers::{self, Num};
use super::{ListKind, OBJECT_META, Schema, Type, cel, embedded, formats, lists};
use crate::status::{FieldError, FieldErrorSort};

/// What kube-apiserver calls the object as a whole.
const WHOLE: &str = "<nil>";

const UNCHECKED_RULES: &str = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

pub(super) fn check(schema: &Schema, value: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = against(schema, value, old, &Place::root()).errors;
    errors.extend(embedded::check(schema, value));
    if old.is_none_or(|old| lists::check(schema, old).is_empty()) {
        errors.extend(lists::check(schema, value));
    }
    if schema.limits().any_rules {
        if errors.iter().any(blocks_rules) {
            errors.push(FieldError::invalid(WHOLE, Value::Null, UNCHECKED_RULES));
        } else {
            errors.extend(cel::check(schema, value, old));
        }
    }
    errors
}

/// Whether rules could meet a value that they are not written for.
fn blocks_rules(error: &FieldError) -> bool {
    use FieldErrorSort as S;
    matches!(
        error.sort,
        S::NotSupported | S::Required | S::TooLong | S::TooMany | S::TypeInvalid
    )
}

/// Required fields that are absent.
pub(super) fn missing(schema: &Schema, value: &Value, at: &str) -> Vec<FieldError> {
    let below = |name: &str| lists::field(at, name);
    match value {
        Value::Object(fields) => {
            let absent = schema.required.iter().filter(|name| {
                let field = fields.get(*name);
                field.is_none_or(Value::is_null)
            });
            let mut errors: Vec<_> = absent
                .map(|name| FieldError::required(below(name), ""))
                .collect();
            for (name, value) in fields.iter().filter(|(name, _)| *name != "metadata") {
                if let Some(child) = schema.child(name) {
                    errors.extend(missing(child, value, &below(name)));
                }
            }
            errors
        }
        Value::Array(list) => {
            let items = schema.items.iter().flat_map(|schema| {
                let items = list.iter().enumerate();
                items.flat_map(|(index, item)| missing(schema, item, &format!("{at}[{index}]")))
            });
            items.collect()
        }
        _ => Vec::new(),
    }
}

/// What is wrong with the default of a schema.
pub(super) fn check_default(schema: &Schema, default: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = against(schema, default, None, &Place::root()).errors;
    if errors.is_empty() {
        errors = cel::check(schema, default, Some(default));
    }
    for error in &mut errors {
        error.field = match error.field.as_str() {
            WHOLE => at.to_owned(),
            path if path.starts_with('[') => format!("{at}{path}"),
            "" => at.to_owned(),
            path => format!("{at}.{path}"),
        };
    }
    errors
}

/// Where a value is, as these errors write it: keys of maps after a dot, like fields.
#[derive(Clone)]
struct Place(String);

impl Place {
    fn root() -> Self {
        Self(String::new())
    }

    fn field(&self, name: &str) -> Self {
        if self.0.is_empty() {
            Self(name.to_owned())
        } else {
            Self(format!("{}.{name}", self.0))
        }
    }

    fn item(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }
}

/// What a check found.
#[derive(Default)]
struct Report {
    errors: Vec<FieldError>,
    /// How much was right: of several schemas that fail, the one with most is told of.
    matched: u32,
}

impl Report {
    fn merge(&mut self, other: Self) {
        self.errors.extend(other.errors);
        self.matched += other.matched;
    }

    fn push(&mut self, error: FieldError) {
        self.errors.push(error);
    }

    /// An error without a place of its own.
    fn whole(&mut self, words: String) {
        self.push(FieldError::invalid(WHOLE, "", words));
    }
}

fn against(schema: &Schema, value: &Value, old: Option<&Value>, at: &Place) -> Report {
    // What has not changed is not checked again.
    if old.is_some_and(|old| old == value) {
        return Report::default();
    }
    let limits = schema.limits();
    let mut report = Report::default();
    if value.is_null() {
        if schema.r#type != Type::Any && !schema.nullable {
            report.push(wrong_type(at, type_names(schema.r#type), "null"));
        }
        options(limits, value, at, &mut report);
        return report;
    }
    if schema.r#type != Type::Any || limits.format.is_some() {
        report.merge(of_type(schema, limits, value, at));
        report.matched += 1;
    }
    report.merge(combined(limits, value, at));
    report.matched += 1;
    match value {
        Value::String(text) => {
            report.merge(string(limits, text, at));
            report.matched += 1;
            if let Some(format) = &limits.format {
                if !formats::matches(format, text) {
                    report.push(wrong_type(at, format, text));
                }
                report.matched += 1;
            }
        }
        Value::Number(value) => {
            report.merge(number(schema, limits, Num::of(value), at));
            report.matched += 1;
        }
        Value::Array(list) => {
            report.merge(items(schema, limits, list, old, at));
            report.matched += 1;
        }
        _ => {}
    }
    options(limits, value, at, &mut report);
    report.matched += 1;
    if let Value::Object(fields) = value {
        report.merge(object(schema, limits, fields, old, at));
        report.matched += 1;
    }
    report.matched += 1;
    report
}

fn wrong_type(at: &Place, expected: &str, found: &str) -> FieldError {
    let words = format!("{} in body must be of type {expected}: {found:?}", at.0);
    let sort = FieldErrorSort::TypeInvalid;
    FieldError::new(sort, field(at), Value::from(found), words)
}

fn field(at: &Place) -> String {
    if at.0.is_empty() {
        WHOLE.to_owned()
    } else {
        at.0.clone()
    }
}

fn invalid(at: &Place, value: Value, words: &str) -> FieldError {
    FieldError::invalid(field(at), value, format!("{} in body {words}", at.0))
}

fn type_names(r#type: Type) -> &'static str {
    match r#type {
        Type::IntOrString => "integer,string",
        known => known.as_str(),
    }
}

fn of_type(schema: &Schema, limits: &Limits, value: &Value, at: &Place) -> Report {
    let expected = schema.r#type;
    let (found, found_format) = match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Number(number) => match Num::of(number) {
            Num::Int(_) => ("integer", "int64"),
            Num::Float(_) => ("number", "float64"),
        },
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    };
    let is_whole_float = matches!(value, Value::Number(number)
        if number.as_i64().is_none() && number.as_f64().is_some_and(numbers::is_whole));
    let fits = match expected {
        Type::Any => false,
        Type::IntOrString => found == "integer" || found == "string" || is_whole_float,
        Type::Integer => found == "integer" || is_whole_float,
        Type::Number => found == "number" || found == "integer",
        other => found == other.as_str(),
    };
    let mut report = Report::default();
    let is_sequence = matches!(value, Value::String(_) | Value::Array(_));
    if let Some(format) = &limits.format {
        if !is_sequence && !fits && found_format != format {
            report.push(wrong_type(at, format, found_format));
            return report;
        }
        // Whatever is written as a string is the format's business.
        if is_sequence && !matches!(expected, Type::Number | Type::Integer) {
            report.matched = 1;
            return report;
        }
    }
    if fits || expected == Type::Any {
        report.matched = 1;
    } else {
        report.push(wrong_type(at, type_names(expected), found));
    }
    report
}

/// `anyOf`, `oneOf`, `allOf`, `not`
fn combined(limits: &Limits, value: &Value, at: &Place) -> Report {
    let mut report = Report {
        matched: 1,
        ..Report::default()
    };
    let path = &at.0;
    let run = |schema: &Schema| against(schema, value, None, at);
    if !limits.any_of.is_empty() {
        let (valid, telling) = first_or_best(limits.any_of.iter().map(run), true);
        if valid == 0 {
            report.whole(format!(
                "{path:?} must validate at least one schema (anyOf)"
            ));
        }
        report.merge(telling);
    }
    if !limits.one_of.is_empty() {
        let (valid, telling) = first_or_best(limits.one_of.iter().map(run), false);
        if valid != 1 {
            let found = match valid {
                0 => "Found none valid".to_owned(),
                many => format!("Found {many} valid alternatives"),
            };
            report.whole(format!(
                "{path:?} must validate one and only one schema (oneOf). {found}"
            ));
        }
        if valid < 2 {
            report.merge(telling);
        }
    }
    if !limits.all_of.is_empty() {
        let mut valid = 0;
        for schema in &limits.all_of {
            let one = run(schema);
            valid += usize::from(one.errors.is_empty());
            report.merge(one);
        }
        if valid != limits.all_of.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            report.whole(format!(
                "{path:?} must validate all the schemas (allOf){none}"
            ));
        }
    }
    if let Some(not) = &limits.not
        && run(not).errors.is_empty()
    {
        report.whole(format!("{path:?} must not validate the schema (not)"));
    }
    report
}

/// How many reports are without errors, and the first of these, or else the one with most that is right.
fn first_or_best(reports: impl Iterator<Item = Report>, stop: bool) -> (usize, Report) {
    let mut valid = 0;
    let mut told: Option<Report> = None;
    for report in reports {
        if report.errors.is_empty() {
            valid += 1;
            if valid == 1 {
                told = Some(report);
            }
            if stop {
                break;
            }
        } else if valid == 0
            && told
                .as_ref()
                .is_none_or(|best| report.matched > best.matched)
        {
            told = Some(report);
        }
    }
    (valid, told.unwrap_or_default())
}

fn string(limits: &Limits, text: &str, at: &Place) -> Report {
    let mut report = Report::default();
    let length = || u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
    if let Some(max) = limits.max_length
        && length() > max
    {
        report.push(too_long(at, max));
    } else if let Some(min) = limits.min_length
        && length() < min
    {
        let words = format!("should be at least {min} chars long");
        report.push(invalid(at, text.into(), &words));
    } else if let Some(pattern) = &limits.pattern
        && !pattern.regex.is_match(text)
    {
        let words = format!("should match '{}'", pattern.text);
        report.push(invalid(at, text.into(), &words));
    }
    report
}

fn too_long(at: &Place, max: u64) -> FieldError {
    let unit = if max == 1 { "byte" } else { "bytes" };
    let words = format!("may not be more than {max} {unit}");
    FieldError::new(FieldErrorSort::TooLong, field(at), None, words)
}

fn too_many(at: &Place, found: usize, max: u64) -> FieldError {
    let unit = if max == 1 { "item" } else { "items" };
    let words = format!("must have at most {max} {unit}");
    FieldError::new(
        FieldErrorSort::TooMany,
        field(at),
        Value::from(found),
        words,
    )
}

fn number(schema: &Schema, limits: &Limits, value: Num, at: &Place) -> Report {
    let mut report = Report {
        matched: 1,
        ..Report::default()
    };
    let range = |prefix: &str, value: Num| range_error(schema.r#type, limits, value, prefix, at);
    if let Some(words) = range("Checked", value) {
        report.whole(words);
    }
    if let Some(factor) = limits.multiple_of {
        let wrong = range("MultipleOf", Num::Float(factor));
        let as_float = wrong.is_some();
        wrong.into_iter().for_each(|words| report.whole(words));
        report.push_multiple_of(value, factor, as_float, at);
    }
    // Go compares integers with the limit cut to an integer, and says so.
    let compare = |prefix: &str, bound: Bound, below: bool, report: &mut Report| {
        let wrong = range(prefix, Num::Float(bound.limit));
        let (beyond, limit) = match value {
            Num::Int(int) if wrong.is_none() => {
                let limit = numbers::truncated(bound.limit);
                let beyond = if below { int < limit } else { int > limit };
                (beyond || bound.exclusive && int == limit, limit.to_string())
            }
            value => {
                let (value, limit) = (value.as_f64(), bound.limit);
                let beyond = if below { value < limit } else { value > limit };
                (
                    beyond || bound.exclusive && value >= limit && value <= limit,
                    numbers::shown(limit),
                )
            }
        };
        if let Some(words) = wrong {
            report.whole(words);
        }
        if beyond {
            let than = if below { "greater than" } else { "less than" };
            let or_equal = if bound.exclusive { "" } else { " or equal to" };
            let words = format!("should be {than}{or_equal} {limit}");
            report.push(invalid(at, value.value(), &words));
        }
    };
    if let Some(bound) = limits.minimum {
        compare("Minimum boundary", bound, true, &mut report);
    }
    if let Some(bound) = limits.maximum {
        compare("Maximum boundary", bound, false, &mut report);
    }
    report
}

impl Report {
    fn push_multiple_of(&mut self, value: Num, factor: f64, as_float: bool, at: &Place) {
        let (is_multiple, factor, is_positive) = match value {
            Num::Int(int) if !as_float => {
                let factor = numbers::truncated(factor);
                let is_multiple = int.checked_rem(factor).is_some_and(|rest| rest == 0);
                (is_multiple, factor.to_string(), factor > 0)
            }
            value => {
                let value = value.as_f64();
                let times = if factor < 1.0 {
                    1.0 / factor * value
                } else {
                    value / factor
                };
                // Floats are no multiples to the last bit.
                let is_multiple =
                    (times - times.round()).abs() <= f64::EPSILON * times.abs().max(1.0);
                (is_multiple, numbers::shown(factor), factor > 0.0)
            }
        };
        if !is_positive {
            let words = format!(
                "factor MultipleOf declared for {} must be positive: {factor}",
                at.0
            );
            self.push(FieldError::invalid(field(at), value.value(), words));
        } else if !is_multiple {
            let words = format!("should be a multiple of {factor}");
            self.push(invalid(at, value.value(), &words));
        }
    }
}

/// What is wrong with a number that does not fit into its type.
fn range_error(
    r#type: Type,
    limits: &Limits,
    value: Num,
    prefix: &str,
    at: &Place,
) -> Option<String> {
    let format = limits.format.as_deref().unwrap_or_default();
    let fits = match r#type {
        Type::Integer => value
            .as_int()
            .is_some_and(|int| format != "int32" || i32::try_from(int).is_ok()),
        Type::Number => format != "float" || value.as_f64().abs() <= f64::from(f32::MAX),
        _ => true,
    };
    let name = r#type.as_str();
    let path = &at.0;
    match format {
        _ if fits => None,
        "" => Some(format!(
            "{prefix} value must be of type {name} (default format) in {path}"
        )),
        format => Some(format!(
            "{prefix} value must be of type {name} with format {format} in {path}"
        )),
    }
}

fn items(
    schema: &Schema,
    limits: &Limits,
    list: &[Value],
    old: Option<&Value>,
    at: &Place,
) -> Report {
    let mut report = Report {
        matched: 1,
        ..Report::default()
    };
    if let Some(items) = &schema.items {
        for (index, item) in list.iter().enumerate() {
            let old = old.and_then(|old| same_item(schema, item, old));
            report.merge(against(items, item, old, &at.item(index)));
        }
    }
    let length = u64::try_from(list.len()).unwrap_or(u64::MAX);
    if let Some(min) = limits.min_items
        && length < min
    {
        let words = format!("should have at least {min} items");
        report.push(invalid(at, list.len().into(), &words));
    }
    if let Some(max) = limits.max_items
        && length > max
    {
        report.push(too_many(at, list.len(), max));
    }
    report
}

/// The item of the old list that has the same keys. Only lists of type map have such.
pub(super) fn same_item<'a>(schema: &Schema, item: &Value, old: &'a Value) -> Option<&'a Value> {
    let ListKind::Map(keys) = &schema.list else {
        return None;
    };
    let default = |key: &String| {
        schema
            .items
            .as_deref()?
            .properties
            .get(key)?
            .default
            .as_ref()
    };
    let key_of = |item: &'a Value, key: &String| item.get(key);
    old.as_array()?.iter().find(|old| {
        keys.iter().all(|key| {
            item.get(key).or_else(|| default(key)) == key_of(old, key).or_else(|| default(key))
        })
    })
}

fn options(limits: &Limits, value: &Value, at: &Place, report: &mut Report) {
    let is_same = |option: &Value| match (option, value) {
        (Value::Number(option), Value::Number(value)) => {
            Num::of(option).value() == Num::of(value).value()
        }
        _ => option == value,
    };
    if limits.options.is_empty() || limits.options.iter().any(is_same) {
        return;
    }
    let names: Vec<String> = limits
        .options
        .iter()
        .map(|option| match option {
            Value::String(text) => format!("{text:?}"),
            other => format!("{:?}", other.to_string()),
        })
        .collect();
    let words = format!("supported values: {}", names.join(", "));
    let shown = value.clone();
    report.push(FieldError::new(
        FieldErrorSort::NotSupported,
        field(at),
        shown,
        words,
    ));
}

fn object(
    schema: &Schema,
    limits: &Limits,
    fields: &Map<String, Value>,
    old: Option<&Value>,
    at: &Place,
) -> Report {
    let mut report = Report::default();
    let length = u64::try_from(fields.len()).unwrap_or(u64::MAX);
    if let Some(min) = limits.min_properties
        && length < min
    {
        let words = format!("should have at least {min} properties");
        report.push(invalid(at, fields.len().into(), &words));
    }
    if let Some(max) = limits.max_properties
        && length > max
    {
        report.push(too_many(at, fields.len(), max));
    }
    for (name, value) in fields {
        let Some(child) = schema.child(name) else {
            continue;
        };
        let old = old.and_then(|old| old.get(name));
        if child.name == OBJECT_META {
            report.merge(metadata(child, value, old, &at.field(name)));
        } else {
            report.merge(against(child, value, old, &at.field(name)));
        }
    }
    for name in &schema.required {
        if !fields.contains_key(name) {
            report.push(FieldError::required(at.field(name).0, ""));
        }
    }
    report
}

/// Metadata has rules of its own; a definition can only restrict names.
fn metadata(schema: &Schema, value: &Value, old: Option<&Value>, at: &Place) -> Report {
    let mut report = Report::default();
    for name in ["name", "generateName"] {
        if let (Some(child), Some(value)) = (schema.properties.get(name), value.get(name)) {
            let old = old.and_then(|old| old.get(name));
            report.merge(against(child, value, old, &at.field(name)));
        }
    }
    report
}
