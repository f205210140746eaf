//! kubectl's JSONPath, as far as paths of fields need it (<https://kubernetes.io/docs/reference/kubectl/jsonpath/>).
//!
//! A path has fields (`.a`, `['a']`, with `\.` for a dot in a name), indexes (`[0]`, `[-1]`), slices (`[1:3]`, `[::2]`), wildcards (`.*`,
//! `[*]`), unions (`[0,2]`, `['a','b']`), recursive descent (`..a`) and filters (`[?(@.type=="Ready")]`, `[?(@.ready)]`). What does not exist
//! is not found; it is no error, also an index behind the end of a list, for which kubectl has one.
//!
//! # Bounds
//! Length and nesting are bounded when a path is parsed, and the number of values that are visited when it is used. No input panics.

mod parse;

use std::cmp::Ordering;

use serde_json::Value;

/// The most values that are visited to find those of a path.
const MOST_VISITS: usize = 100_000;

/// The most values that are visited for all paths of an object, each time that it is looked at.
pub(crate) const OBJECT_VISITS: usize = 1_000_000;

/// A path, parsed.
#[derive(Clone, Debug, PartialEq)]
pub struct Path(Vec<Step>);

/// A step of a path, from values to values in them.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// `.a`
    Field(String),
    /// `.*`
    Wildcard,
    /// `..`: the value itself, and all values in it.
    Descend,
    /// `[1:3]`; `[1]` is a slice, too.
    Slice(Slice),
    /// `[0,2]`
    Union(Vec<Step>),
    /// `[?(@.a == 1)]`
    Filter(Box<Filter>),
}

/// Items of a list. Negative positions count from the end.
#[derive(Clone, Debug, PartialEq)]
enum Slice {
    /// The item at a position.
    At(i64),
    /// Items from `from` to before `to`, in steps of `every`.
    Range {
        from: Option<i64>,
        to: Option<i64>,
        every: usize,
    },
}

/// A condition on an item of a list.
#[derive(Clone, Debug, PartialEq)]
enum Filter {
    /// The path finds something.
    Exists(Operand),
    /// The operands compare so.
    Compares(Operand, Operator, Operand),
}

/// A side of a comparison.
#[derive(Clone, Debug, PartialEq)]
enum Operand {
    /// `@.a`: a path from the item.
    Item(Path),
    /// `$.a`: a path from the root.
    Root(Path),
    /// `"a"`, `1`, `true`
    Literal(Value),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// An evaluation.
struct Search<'a> {
    root: &'a Value,
    visits_left: usize,
    most: usize,
}

// === impl Path ===

impl Path {
    /// Parses a path without the braces around it.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn parse(text: &str) -> Result<Self, String> {
        parse::path(text)
    }

    /// The values that the path finds in an object, in their order. Those that are visited are taken from `visits_left`, which all paths of
    /// an object share.
    ///
    /// # Errors
    /// A position or filter is for a value that is not a list, or too many values would be visited.
    pub fn find<'a>(
        &self,
        root: &'a Value,
        visits_left: &mut usize,
    ) -> Result<Vec<&'a Value>, String> {
        let most = MOST_VISITS.min(*visits_left);
        let mut search = Search {
            root,
            visits_left: most,
            most,
        };
        let found = search.follow(self, root);
        *visits_left -= most - search.visits_left;
        found
    }
}

// === impl Search ===

impl<'a> Search<'a> {
    fn follow(&mut self, path: &Path, from: &'a Value) -> Result<Vec<&'a Value>, String> {
        let mut values = vec![from];
        // Behind `..`, most values are of other types than the path is for.
        let mut is_strict = true;
        for step in &path.0 {
            let mut found = Vec::new();
            is_strict &= *step != Step::Descend;
            for value in values {
                self.step(step, value, is_strict, &mut found)?;
            }
            values = found;
        }
        Ok(values)
    }

    fn step(
        &mut self,
        step: &Step,
        value: &'a Value,
        is_strict: bool,
        found: &mut Vec<&'a Value>,
    ) -> Result<(), String> {
        self.visit(1)?;
        match (step, value) {
            (Step::Field(name), _) => found.extend(value.get(name)),
            (Step::Wildcard, Value::Array(items)) => {
                self.visit(items.len())?;
                found.extend(items);
            }
            (Step::Wildcard, Value::Object(fields)) => {
                self.visit(fields.len())?;
                found.extend(fields.values());
            }
            (Step::Wildcard, _) => {}
            (Step::Descend, _) => self.descend(value, found)?,
            (Step::Slice(slice), Value::Array(items)) => {
                self.visit(items.len())?;
                found.extend(slice.of(items));
            }
            (Step::Filter(filter), Value::Array(items)) => {
                for item in items {
                    if self.holds(filter, item)? {
                        found.push(item);
                    }
                }
            }
            (Step::Union(steps), _) => {
                for step in steps {
                    self.step(step, value, is_strict, found)?;
                }
            }
            (Step::Slice(_) | Step::Filter(_), Value::Null) => {}
            (Step::Slice(_) | Step::Filter(_), _) if is_strict => {
                let what = match step {
                    Step::Filter(_) => "a filter",
                    _ => "a position",
                };
                let found = type_of(value);
                return Err(format!("{what} needs a list, but the value is {found}"));
            }
            (Step::Slice(_) | Step::Filter(_), _) => {}
        }
        Ok(())
    }

    /// The value and all values in it, each before those in it.
    fn descend(&mut self, value: &'a Value, found: &mut Vec<&'a Value>) -> Result<(), String> {
        let mut left = vec![value];
        while let Some(value) = left.pop() {
            found.push(value);
            let inside: Vec<_> = match value {
                Value::Array(items) => items.iter().collect(),
                Value::Object(fields) => fields.values().collect(),
                _ => continue,
            };
            self.visit(inside.len())?;
            left.extend(inside.into_iter().rev());
        }
        Ok(())
    }

    fn holds(&mut self, filter: &Filter, item: &'a Value) -> Result<bool, String> {
        self.visit(1)?;
        match filter {
            Filter::Exists(operand) => Ok(self.operand(operand, item)?.is_some()),
            Filter::Compares(left, operator, right) => {
                let left = self.operand(left, item)?;
                let right = self.operand(right, item)?;
                let (Some(left), Some(right)) = (left, right) else {
                    return Ok(false);
                };
                Ok(operator.holds(&left, &right))
            }
        }
    }

    /// The first value of an operand.
    fn operand(&mut self, operand: &Operand, item: &'a Value) -> Result<Option<Value>, String> {
        let (path, from) = match operand {
            Operand::Literal(value) => return Ok(Some(value.clone())),
            Operand::Item(path) => (path, item),
            Operand::Root(path) => (path, self.root),
        };
        let found = self.follow(path, from)?;
        // Only scalars are compared.
        let scalar = |value: &Value| match value {
            Value::Array(_) | Value::Object(_) => Value::Null,
            scalar => scalar.clone(),
        };
        Ok(found.first().map(|value| scalar(value)))
    }

    fn visit(&mut self, values: usize) -> Result<(), String> {
        let left = self.visits_left.checked_sub(values);
        self.visits_left = left.unwrap_or_default();
        left.map(|_| ()).ok_or_else(|| match self.most {
            MOST_VISITS => format!("the path goes through more than {MOST_VISITS} values"),
            _ => format!("all paths together go through more than {OBJECT_VISITS} values"),
        })
    }
}

// === impl Slice ===

impl Slice {
    fn of<'v>(&self, items: &'v [Value]) -> impl Iterator<Item = &'v Value> {
        let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let from_start = |at: i64| {
            if at < 0 {
                at.saturating_add(length)
            } else {
                at
            }
        };
        let (from, to, every) = match self {
            Self::At(at) => {
                let at = from_start(*at);
                let exists = (0..length).contains(&at);
                (at, if exists { at + 1 } else { at }, 1)
            }
            Self::Range { from, to, every } => {
                let from = from.map_or(0, from_start);
                (from, to.map_or(length, from_start), *every)
            }
        };
        let position = |at: i64| usize::try_from(at.clamp(0, length)).unwrap_or_default();
        let (from, to) = (position(from), position(to));
        let items = items.get(from..to.max(from)).unwrap_or_default();
        items.iter().step_by(every.max(1))
    }
}

// === impl Operator ===

impl Operator {
    fn holds(self, left: &Value, right: &Value) -> bool {
        let order = match (left, right) {
            (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
            (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
                (Some(left), Some(right)) => Some(left.cmp(&right)),
                _ => left.as_f64().partial_cmp(&right.as_f64()),
            },
            (Value::Bool(left), Value::Bool(right)) => (left == right).then_some(Ordering::Equal),
            _ => None,
        };
        match self {
            Self::Equal => order == Some(Ordering::Equal),
            Self::NotEqual => order != Some(Ordering::Equal),
            Self::Less => order == Some(Ordering::Less),
            Self::LessOrEqual => order.is_some_and(Ordering::is_le),
            Self::Greater => order == Some(Ordering::Greater),
            Self::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
        }
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests;
