//! CEL expressions in the environment of OCM, which placements and works share.
//!
//! # Shape
//! An [`Environment`] has the functions of all libraries, and the variables and functions that the caller adds. [`Expression::new`] parses
//! a text in it, and [`Expression::evaluate`] returns its value. The [`Host`] is the caller's part of an evaluation: the values of the
//! variables, and the implementation of its functions.
//!
//! # Bounds
//! Length and nesting are bounded while an expression is parsed, so that no expression exhausts the stack. A budget of steps bounds an
//! evaluation: each operation costs a step, and each value costs steps in proportion to its size. [`Expression::estimated_steps`] says
//! roughly what an expression costs before it is evaluated.
//!
//! # Differences from OCM
//! - Types are not checked in advance: a call with arguments of other types fails when it is evaluated. Names of variables and
//!   functions, and numbers of arguments, are checked in advance.
//! - Steps are not cel-go's cost units.
//! - Time zones are offsets or UTC, not names of places, and a timestamp does not keep the offset that it was written with.
//! - Types of messages, such as `google.protobuf.Timestamp`, have no names.

mod cost;
mod eval;
mod failure;
mod functions;
mod lex;
mod operators;
mod parse;
mod value;

use std::fmt;
use std::sync::Arc;

use eval::Scope;
use parse::Expr;

pub use cost::ASSUMED_ITEMS;
pub use failure::EvaluationError;
pub use functions::{Function, NO_OVERLOAD};
pub use lex::LONGEST;
pub use value::{Key, Value};

#[cfg(test)]
mod tests;

/// The budget of one expression, in steps.
pub const BUDGET: u64 = 1_000_000;

/// The budget of an expression that is evaluated without a host, in steps.
const CONSTANT_BUDGET: u64 = 2_000;

/// What expressions can use besides the functions of all libraries.
#[derive(Clone, Copy, Debug)]
pub struct Environment {
    /// The variables.
    pub variables: &'static [&'static str],
    /// The functions of the host, made by [`Function::of_host`].
    pub functions: &'static [Function],
}

/// The caller's part of an evaluation.
pub trait Host {
    /// The value of a variable of the environment; `None` if it has no value, which is an error of the expression.
    fn variable(&self, name: &str) -> Option<&Value>;

    /// Calls a function of the environment. A member is called on the first argument.
    ///
    /// # Errors
    /// The error of the expression; [`NO_OVERLOAD`] if the arguments have other types.
    fn call(&self, function: &str, args: &[Value]) -> Result<Value, String>;
}

/// The host of expressions that use none.
struct NoHost;

/// An expression, parsed and with its functions resolved.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    root: Arc<Expr>,
    /// It has a variable or a function of the host.
    uses_host: bool,
}

/// A mistake in an expression, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Line and column, from 1.
    at: (usize, usize),
    message: String,
}

/// The names that an expression can use where it is.
struct Names {
    environment: Environment,
    /// The variables of macros.
    locals: Vec<String>,
    /// A variable or a function of the host was found.
    uses_host: bool,
}

// === impl Expression ===

impl Expression {
    /// Parses an expression, and looks up its names in the environment.
    ///
    /// # Errors
    /// The mistake, and where it is.
    pub fn new(text: &str, environment: Environment) -> Result<Self, Mistake> {
        let mistake = |(at, message): (usize, String)| {
            let before = text.get(..at).unwrap_or(text);
            let line = 1 + before.matches('\n').count();
            let column = 1 + before
                .rsplit('\n')
                .next()
                .map_or(0, |it| it.chars().count());
            Mistake {
                at: (line, column),
                message,
            }
        };
        let mut root = parse::parse(text).map_err(mistake)?;
        let mut names = Names {
            environment,
            locals: Vec::new(),
            uses_host: false,
        };
        let resolved = names.resolve(&mut root);
        resolved.map_err(|message| mistake((0, message)))?;
        Ok(Self {
            text: text.to_owned(),
            root: Arc::new(root),
            uses_host: names.uses_host,
        })
    }

    /// The text of the expression.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Evaluates the expression, and takes what it costs from the budget; at most [`BUDGET`].
    ///
    /// # Errors
    /// The expression fails, or is too costly.
    pub fn evaluate(&self, host: &dyn Host, budget: &mut u64) -> Result<Value, EvaluationError> {
        let granted = BUDGET.min(*budget);
        let mut scope = Scope {
            host,
            locals: Vec::new(),
            steps: granted,
        };
        let evaluated = scope.eval(&self.root);
        *budget -= granted - scope.steps;
        evaluated
    }

    /// The value, if it is the same for every host. What it costs is taken from the budget: an expression has no value that costs more, or more
    /// than a few thousand steps.
    #[must_use]
    pub fn constant(&self, budget: &mut u64) -> Option<Result<Value, EvaluationError>> {
        if self.uses_host {
            return None;
        }
        let granted = CONSTANT_BUDGET.min(*budget);
        let mut left = granted;
        let value = self.evaluate(&NoHost, &mut left);
        *budget -= granted - left;
        (value.as_ref().err() != Some(&EvaluationError::TooCostly)).then_some(value)
    }

    /// Evaluates the expression as a condition.
    ///
    /// # Errors
    /// As [`Self::evaluate`]; and the value is not a bool.
    pub fn holds(&self, host: &dyn Host, budget: &mut u64) -> Result<bool, EvaluationError> {
        match self.evaluate(host, budget)? {
            Value::Bool(value) => Ok(value),
            other => Err(EvaluationError::Error(format!(
                "the value is a {}, not a bool",
                other.type_name()
            ))),
        }
    }
}

// === impl Names ===

impl Names {
    /// Looks functions and variables up, so that a name that does not exist is reported before anything is evaluated.
    fn resolve(&mut self, expr: &mut Expr) -> Result<(), String> {
        let of_host = self.environment.functions;
        match expr {
            Expr::Literal(_) => Ok(()),
            Expr::Name(name) => {
                if self.locals.contains(name) {
                    return Ok(());
                }
                if self.environment.variables.contains(&name.as_str()) {
                    self.uses_host = true;
                    return Ok(());
                }
                let is_type = eval::type_named(name).is_some();
                is_type
                    .then_some(())
                    .ok_or_else(|| format!("undeclared reference to '{name}'"))
            }
            Expr::Select { of, .. } | Expr::Has { of, .. } | Expr::Not(of) | Expr::Negative(of) => {
                self.resolve(of)
            }
            Expr::Index { of, at, .. } => {
                self.resolve(of)?;
                self.resolve(at)
            }
            Expr::Binary(_, left, right) => {
                self.resolve(left)?;
                self.resolve(right)
            }
            Expr::All(parts) | Expr::Any(parts) => {
                parts.iter_mut().try_for_each(|it| self.resolve(it))
            }
            Expr::Conditional(parts) => parts.iter_mut().try_for_each(|it| self.resolve(it)),
            Expr::List(items) => items.iter_mut().try_for_each(|(it, _)| self.resolve(it)),
            Expr::Map(entries) => entries.iter_mut().try_for_each(|(key, value, _)| {
                self.resolve(key)?;
                self.resolve(value)
            }),
            Expr::Macro(it) => {
                self.resolve(&mut it.of)?;
                self.locals.push(it.variable.clone());
                let resolved = self
                    .resolve(&mut it.body)
                    .and_then(|()| it.value.as_mut().map_or(Ok(()), |it| self.resolve(it)));
                self.locals.pop();
                resolved
            }
            Expr::Call {
                name,
                target,
                args,
                overloads,
            } => {
                // `optional.of(x)` is a function in a namespace, unless `optional` is a variable.
                if let Some(Expr::Name(namespace)) = target.as_deref()
                    && !self.locals.contains(namespace)
                    && functions::is_known(of_host, &format!("{namespace}.{name}"))
                {
                    *name = format!("{namespace}.{name}");
                    *target = None;
                }
                for arg in target.as_deref_mut().into_iter().chain(args.iter_mut()) {
                    self.resolve(arg)?;
                }
                let count = args.len() + usize::from(target.is_some());
                *overloads = functions::find(of_host, name, target.is_some(), count);
                if !overloads.is_empty() {
                    self.uses_host |= overloads.iter().any(|it| it.is_of_host());
                    return Ok(());
                }
                if functions::is_known(of_host, name) {
                    return Err(format!("found no matching overload for '{name}'"));
                }
                Err(format!("undeclared reference to '{name}'"))
            }
        }
    }
}

// === impl NoHost ===

impl Host for NoHost {
    fn variable(&self, _: &str) -> Option<&Value> {
        None
    }

    fn call(&self, _: &str, _: &[Value]) -> Result<Value, String> {
        Err(NO_OVERLOAD.to_owned())
    }
}

// === impl Mistake ===

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((line, column), message) = (self.at, &self.message);
        write!(
            f,
            "compilation failed: ERROR: <input>:{line}:{column}: {message}"
        )
    }
}

// === impl EvaluationError ===

impl fmt::Display for EvaluationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error(message) => f.write_str(message),
            Self::TooCostly => f.write_str("it costs too much"),
        }
    }
}
