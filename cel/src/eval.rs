//! Evaluates CEL expressions, within a budget.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Host;
use super::failure::{Evaluated, EvaluationError, charge, error};
use super::functions::{Function, NO_OVERLOAD, Run};
use super::operators::{binary, negative};
use super::parse::{Expr, Macro, MacroKind, Operator};
use super::value::{Key, Value};

/// The input of an evaluation.
pub(super) struct Scope<'a> {
    pub(super) host: &'a dyn Host,
    /// Variables of macros, the innermost last.
    pub(super) locals: Vec<(&'a str, Value)>,
    /// The rest of the budget. Each node costs one step, and each value costs steps in proportion to its size.
    pub(super) steps: u64,
}

// === impl Scope ===

impl<'a> Scope<'a> {
    pub(super) fn eval(&mut self, expr: &'a Expr) -> Evaluated {
        self.charge(1)?;
        match expr {
            Expr::Literal(value) => Ok(value.clone()),
            Expr::Name(name) => {
                self.charge(cost_of(name))?;
                self.variable(name)
            }
            Expr::Select {
                of,
                field,
                is_optional,
            } => {
                let of = self.eval(of)?;
                self.charge(cost_of(field))?;
                select(&of, &Value::from(field.as_str()), *is_optional)
            }
            Expr::Index {
                of,
                at,
                is_optional,
            } => {
                let of = self.eval(of)?;
                let at = self.eval(at)?;
                self.charge(at.size() - 1)?;
                select(&of, &at, *is_optional)
            }
            Expr::Has { of, field } => match self.eval(of)? {
                Value::Map(entries) => Ok(Value::Bool(
                    entries.contains_key(&Key::from(field.as_str())),
                )),
                Value::Optional(None) => Ok(Value::Bool(false)),
                Value::Optional(Some(of)) => {
                    let found = select(&of, &Value::from(field.as_str()), true)?;
                    Ok(Value::Bool(matches!(found, Value::Optional(Some(_)))))
                }
                Value::List(_) => error(NO_OVERLOAD),
                _ => Ok(Value::Bool(false)),
            },
            Expr::Call {
                overloads,
                target,
                args,
                ..
            } => {
                let args = target.as_deref().into_iter().chain(args);
                let args: Vec<_> = args.map(|arg| self.eval(arg)).collect::<Evaluated<_>>()?;
                self.call(overloads, &args)
            }
            Expr::Not(of) => match self.eval(of)? {
                Value::Bool(value) => Ok(Value::Bool(!value)),
                _ => error(NO_OVERLOAD),
            },
            Expr::Negative(of) => negative(&self.eval(of)?),
            Expr::Binary(operator, left, right) => {
                let left = self.eval(left)?;
                let right = self.eval(right)?;
                match operator {
                    Operator::Equal => Ok(Value::Bool(self.equal(&left, &right)?)),
                    Operator::NotEqual => Ok(Value::Bool(!self.equal(&left, &right)?)),
                    Operator::In => self.is_in(&left, &right),
                    _ => {
                        self.charge(left.size() + right.size())?;
                        binary(*operator, &left, &right)
                    }
                }
            }
            Expr::All(parts) => self.decided_by(parts, false),
            Expr::Any(parts) => self.decided_by(parts, true),
            Expr::Conditional(parts) => {
                let [condition, yes, no] = &**parts;
                match self.eval(condition)? {
                    Value::Bool(true) => self.eval(yes),
                    Value::Bool(false) => self.eval(no),
                    _ => error(NO_OVERLOAD),
                }
            }
            Expr::List(items) => {
                let mut list = Vec::with_capacity(items.len());
                for (item, is_optional) in items {
                    list.extend(present(self.eval(item)?, *is_optional)?);
                }
                Ok(Value::List(list.into()))
            }
            Expr::Map(entries) => {
                let mut map = BTreeMap::new();
                for (key, value, is_optional) in entries {
                    let key = self
                        .eval(key)?
                        .key()
                        .ok_or_else(|| NO_OVERLOAD.to_owned())?;
                    let value = present(self.eval(value)?, *is_optional)?;
                    self.charge(key.size() - 1)?;
                    // Of one key, the last value counts.
                    map.extend(value.map(|value| (key, value)));
                }
                Ok(Value::Map(Arc::new(map)))
            }
            Expr::Macro(it) => self.expand(it),
        }
    }

    fn charge(&mut self, steps: u64) -> Evaluated<()> {
        charge(&mut self.steps, steps)
    }

    fn equal(&mut self, left: &Value, right: &Value) -> Evaluated<bool> {
        self.charge(1)?;
        (left.equals_within(right, &mut self.steps)).ok_or(EvaluationError::TooCostly)
    }

    fn is_in(&mut self, left: &Value, right: &Value) -> Evaluated {
        self.charge(left.size())?;
        match right {
            Value::List(items) => {
                for item in items.iter() {
                    if self.equal(item, left)? {
                        return Ok(Value::Bool(true));
                    }
                }
                Ok(Value::Bool(false))
            }
            Value::Map(entries) => {
                let key = left.key();
                Ok(Value::Bool(
                    key.is_some_and(|key| entries.contains_key(&key)),
                ))
            }
            _ => error(NO_OVERLOAD),
        }
    }

    fn variable(&self, name: &str) -> Evaluated {
        let local = self.locals.iter().rev().find(|(local, _)| *local == name);
        match local {
            Some((_, value)) => Ok(value.clone()),
            None => match (type_named(name), self.host.variable(name)) {
                (_, Some(value)) => Ok(value.clone()),
                (Some(type_), None) => Ok(Value::Type(type_)),
                (None, None) => error(format!("the variable '{name}' has no value")),
            },
        }
    }

    fn call(&mut self, overloads: &[&'static Function], args: &[Value]) -> Evaluated {
        let size: u64 = args.iter().map(Value::size).sum();
        self.charge(size)?;
        for function in overloads {
            let returned = match function.run {
                Run::Plain(run) => run(args).map_err(EvaluationError::Error),
                Run::Priced(run) => run(args, &mut self.steps),
                Run::Host => (self.host.call(function.name, args)).map_err(EvaluationError::Error),
            };
            match returned {
                Err(EvaluationError::Error(message)) if message == NO_OVERLOAD => {}
                returned => {
                    let value = returned?;
                    self.charge(value.size())?;
                    return Ok(value);
                }
            }
        }
        error(NO_OVERLOAD)
    }

    /// `&&` and `||`: one value decides whatever the others are, even errors.
    fn decided_by(&mut self, parts: &'a [Expr], deciding: bool) -> Evaluated {
        let mut failure = None;
        for part in parts {
            match self.eval(part) {
                Ok(Value::Bool(value)) if value == deciding => return Ok(Value::Bool(deciding)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => failure = failure.or_else(|| Some(NO_OVERLOAD.to_owned())),
                Err(EvaluationError::TooCostly) => return Err(EvaluationError::TooCostly),
                Err(EvaluationError::Error(message)) => failure = failure.or(Some(message)),
            }
        }
        failure.map_or(Ok(Value::Bool(!deciding)), error)
    }

    fn expand(&mut self, it: &'a Macro) -> Evaluated {
        let of = self.eval(&it.of)?;
        if let MacroKind::OptMap | MacroKind::OptFlatMap = it.kind {
            let Value::Optional(of) = of else {
                return error(NO_OVERLOAD);
            };
            let Some(value) = of else {
                return Ok(Value::optional(None));
            };
            let value = self.with(it, Value::clone(&value), &it.body)?;
            return match (it.kind, value) {
                (MacroKind::OptMap, value) => Ok(Value::optional(Some(value))),
                (_, value @ Value::Optional(_)) => Ok(value),
                _ => error(NO_OVERLOAD),
            };
        }
        let items: Vec<Value> = match of {
            Value::List(items) => items.to_vec(),
            Value::Map(entries) => entries.keys().map(Value::from).collect(),
            _ => return error(NO_OVERLOAD),
        };
        self.charge(items.len() as u64)?;
        match it.kind {
            MacroKind::All => self.quantified(it, items, false),
            MacroKind::Exists => self.quantified(it, items, true),
            MacroKind::ExistsOne => {
                let mut found = 0;
                for item in items {
                    found += usize::from(self.holds(it, item)?);
                }
                Ok(Value::Bool(found == 1))
            }
            MacroKind::Filter => {
                let mut kept = Vec::new();
                for item in items {
                    if self.holds(it, item.clone())? {
                        kept.push(item);
                    }
                }
                Ok(Value::List(kept.into()))
            }
            MacroKind::Map | MacroKind::OptMap | MacroKind::OptFlatMap => {
                let mut mapped = Vec::new();
                for item in items {
                    let value = match &it.value {
                        None => self.with(it, item, &it.body)?,
                        Some(value) if self.holds(it, item.clone())? => {
                            self.with(it, item, value)?
                        }
                        Some(_) => continue,
                    };
                    mapped.push(value);
                }
                Ok(Value::List(mapped.into()))
            }
        }
    }

    /// `all` and `exists`: one item decides whatever the others are, even errors.
    fn quantified(&mut self, it: &'a Macro, items: Vec<Value>, deciding: bool) -> Evaluated {
        let mut failure = None;
        for item in items {
            match self.holds(it, item) {
                Ok(value) if value == deciding => return Ok(Value::Bool(deciding)),
                Ok(_) => {}
                Err(EvaluationError::TooCostly) => return Err(EvaluationError::TooCostly),
                Err(EvaluationError::Error(message)) => failure = failure.or(Some(message)),
            }
        }
        failure.map_or(Ok(Value::Bool(!deciding)), error)
    }

    fn holds(&mut self, it: &'a Macro, item: Value) -> Evaluated<bool> {
        match self.with(it, item, &it.body)? {
            Value::Bool(value) => Ok(value),
            _ => error(NO_OVERLOAD),
        }
    }

    /// Evaluates an expression with the macro's variable.
    fn with(&mut self, it: &'a Macro, value: Value, expr: &'a Expr) -> Evaluated {
        self.locals.push((&it.variable, value));
        let evaluated = self.eval(expr);
        self.locals.pop();
        evaluated
    }
}

/// What it costs to look a name up, beyond a step.
fn cost_of(name: &str) -> u64 {
    (name.len() / 64) as u64
}

/// The type of this name, as a value.
pub(super) fn type_named(name: &str) -> Option<&'static str> {
    let names = [
        "bool",
        "int",
        "uint",
        "double",
        "string",
        "bytes",
        "list",
        "map",
        "null_type",
        "type",
        "optional_type",
    ];
    names.into_iter().find(|it| *it == name)
}

/// The value of an optional item; other items are their value.
fn present(value: Value, is_optional: bool) -> Evaluated<Option<Value>> {
    match value {
        value if !is_optional => Ok(Some(value)),
        Value::Optional(value) => Ok(value.map(|value| Value::clone(&value))),
        _ => error(NO_OVERLOAD),
    }
}

/// A field or an item. Optional, and from an optional value, it is an optional value.
fn select(of: &Value, at: &Value, is_optional: bool) -> Evaluated {
    if let Value::Optional(of) = of {
        return match of {
            Some(of) => select(of, at, true),
            None => Ok(Value::optional(None)),
        };
    }
    let found = match of {
        Value::Map(entries) => {
            let key = at.key().ok_or_else(|| NO_OVERLOAD.to_owned())?;
            entries.get(&key)
        }
        Value::List(items) => {
            let index = match at.key() {
                Some(Key::Int(index)) => usize::try_from(index).ok(),
                Some(Key::Uint(_)) => None,
                _ => return error(NO_OVERLOAD),
            };
            index.and_then(|index| items.get(index))
        }
        _ => return error(NO_OVERLOAD),
    };
    match (found, is_optional) {
        (found, true) => Ok(Value::optional(found.cloned())),
        (Some(found), false) => Ok(found.clone()),
        (None, false) => match at {
            Value::String(key) => error(format!("no such key: {key}")),
            _ => error("index out of bounds"),
        },
    }
}
