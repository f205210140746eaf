//! Fields of a manifest that an update leaves alone: jsonPaths, jsonPointers and jq path expressions.
//!
//! A field is left alone by cutting it from the manifest. Which fields are cut depends on the manifest only, never on the object on
//! the cluster.

mod budget;
mod jq;
#[cfg(test)]
mod tests;

use berth_api::work::{IgnoreField, IgnoreFieldsCondition};
use serde_json::Value;

use crate::Unusable;
pub(crate) use budget::Budget;
use budget::{PROGRAM, size};

/// A step to a field or an item.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    Index(i64),
    All,
}

/// Cuts the fields of all entries with a condition that `is` accepts, within the budget of the manifest.
///
/// # Errors
/// A JSON pointer or a jq path expression is invalid, or exceeds its bounds, or all of them exceed the budget. An invalid JSONPath is left
/// out, as OCM's agent does.
pub(crate) fn cut(
    object: &mut Value,
    fields: &[IgnoreField],
    is: impl Fn(&IgnoreFieldsCondition) -> bool,
    budget: &mut Budget,
) -> Result<(), Unusable> {
    let all = size(object);
    for entry in fields.iter().filter(|entry| is(&entry.condition)) {
        for path in &entry.json_paths {
            if let Some(steps) = json_path(path) {
                let goes_through = if steps.contains(&Step::All) { all } else { 0 };
                let cost = steps.len() + goes_through;
                budget.charge(cost).map_err(Unusable::IgnoreFields)?;
                remove(object, &steps);
            }
        }
        for pointer in &entry.json_pointers {
            let steps = json_pointer(pointer).ok_or_else(|| {
                Unusable::IgnoreFields(format!(
                    "JSON pointer {pointer:?} is invalid: it must begin with / and name a field, such as /spec/replicas"
                ))
            })?;
            let charged = budget.charge(steps.len());
            charged.map_err(Unusable::IgnoreFields)?;
            remove_at(object, &steps);
        }
        for expression in &entry.jq_path_expressions {
            let charged = budget.charge(PROGRAM + all);
            charged.map_err(Unusable::IgnoreFields)?;
            let paths = jq::paths(expression, object, budget).map_err(|error| {
                Unusable::IgnoreFields(format!("jq path expression {expression:?}: {error}"))
            })?;
            for path in &paths {
                remove(object, path);
            }
        }
    }
    Ok(())
}

/// Reads a JSONPath of fields, indexes and wildcards, such as `.spec.a['b.c'].d[0]`. The last step is a field.
fn json_path(path: &str) -> Option<Vec<Step>> {
    let path = path.trim();
    let path = path
        .strip_prefix('{')
        .and_then(|path| path.strip_suffix('}'))
        .unwrap_or(path);
    let mut rest = path.strip_prefix('$').unwrap_or(path);
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let quote = inner.chars().next().filter(|c| matches!(c, '\'' | '"'));
            let (step, after) = match quote {
                Some(quote) => {
                    let (name, after) = inner[1..].split_once(quote)?;
                    (Step::Field(name.to_owned()), after.strip_prefix(']')?)
                }
                None => {
                    let (index, after) = inner.split_once(']')?;
                    let step = match index {
                        "*" => Step::All,
                        index => Step::Index(index.parse().ok()?),
                    };
                    (step, after)
                }
            };
            steps.push(step);
            rest = after;
            continue;
        }
        let field = rest.strip_prefix('.').unwrap_or(rest);
        let mut name = String::new();
        let mut end = field.len();
        let mut chars = field.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => name.extend(chars.next().map(|(_, c)| c)),
                '.' | '[' => {
                    end = at;
                    break;
                }
                c => name.push(c),
            }
        }
        if name.is_empty() && !field[..end].is_empty() || end == 0 && !field.starts_with('[') {
            return None;
        }
        match name.as_str() {
            "" => {}
            "*" => steps.push(Step::All),
            _ => steps.push(Step::Field(name)),
        }
        rest = &field[end..];
    }
    matches!(steps.last(), Some(Step::Field(_))).then_some(steps)
}

/// Reads a JSON pointer (RFC 6901). In lists, a step is a position.
fn json_pointer(pointer: &str) -> Option<Vec<Step>> {
    let steps = pointer.strip_prefix('/')?.split('/').map(|step| {
        let name = step.replace("~1", "/").replace("~0", "~");
        Step::Field(name)
    });
    Some(steps.collect())
}

/// Removes the field of a JSON pointer. Missing fields are fine.
fn remove_at(value: &mut Value, steps: &[Step]) {
    let Some((Step::Field(name), rest)) = steps.split_first() else {
        return;
    };
    let index = || name.parse::<usize>().ok();
    match (value, rest.is_empty()) {
        (Value::Object(object), true) => {
            object.remove(name);
        }
        (Value::Object(object), false) => {
            if let Some(value) = object.get_mut(name) {
                remove_at(value, rest);
            }
        }
        (Value::Array(items), last) => match index().filter(|index| *index < items.len()) {
            Some(index) if last => {
                items.remove(index);
            }
            Some(index) => remove_at(&mut items[index], rest),
            None => {}
        },
        _ => {}
    }
}

/// Removes what is at a path.
fn remove(value: &mut Value, steps: &[Step]) {
    let Some((first, rest)) = steps.split_first() else {
        return;
    };
    match (first, value) {
        (Step::Field(name), Value::Object(object)) => {
            if rest.is_empty() {
                object.remove(name);
            } else if let Some(value) = object.get_mut(name) {
                remove(value, rest);
            }
        }
        (Step::All, Value::Object(object)) => {
            if rest.is_empty() {
                object.clear();
            }
            object.values_mut().for_each(|value| remove(value, rest));
        }
        (step, Value::Array(items)) => {
            let range = match step {
                Step::All => 0..items.len(),
                Step::Index(index) => match position(*index, items.len()) {
                    Some(index) if index < items.len() => index..index + 1,
                    _ => return,
                },
                Step::Field(_) => return,
            };
            if rest.is_empty() {
                items.drain(range);
            } else {
                items[range].iter_mut().for_each(|item| remove(item, rest));
            }
        }
        _ => {}
    }
}

/// The beginning of a message.
fn cut_text(text: &str) -> String {
    const MAX: usize = 200;
    text[..text.floor_char_boundary(MAX)].to_owned()
}

/// A position that may count from the end.
fn position(index: i64, len: usize) -> Option<usize> {
    if index >= 0 {
        usize::try_from(index).ok()
    } else {
        len.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)
    }
}
