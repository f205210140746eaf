//! CEL expressions on clusters, in the environment of OCM's placements.
//!
//! The variable `managedCluster` is the ManagedCluster. An expression selects the cluster if it is true; an error, and a value of another
//! type, select nothing, as in OCM.
//!
//! # Bounds
//! Length and nesting are bounded while an expression is parsed, so that none exhausts the stack. A budget of steps bounds an
//! evaluation: each operation costs a step, and each value what it takes to go through it.
//!
//! # Differences from OCM
//! - Types are not checked in advance: a call with arguments of other types fails when it is evaluated. Names of variables and
//!   functions, and numbers of arguments, are checked in advance.
//! - Steps are not cel-go's cost units.
//! - Time zones are offsets or UTC, not names of places, and a timestamp does not keep the offset that it was written with.
//! - Types of messages, such as `google.protobuf.Timestamp`, have no names.

mod eval;
mod functions;
mod lex;
mod parse;
mod value;

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use crate::facts::Scores;
use eval::Scope;
use parse::Expr;
use value::Value;

pub(crate) use eval::Failure;

#[cfg(test)]
mod tests;

/// The variable that every expression can use.
const VARIABLE: &str = "managedCluster";

/// The budget of one expression on one cluster, in steps.
const BUDGET: u64 = 1_000_000;

/// The budget of all expressions of a predicate on one cluster, in steps.
pub(crate) const CLUSTER_BUDGET: u64 = 10 * BUDGET;

/// An expression, parsed and with its functions resolved.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    text: String,
    root: Arc<Expr>,
}

/// A ManagedCluster as expressions see it.
#[derive(Clone, Debug)]
pub struct CelObject(Value);

/// What is wrong with an expression, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    /// Line and column, from 1.
    at: (usize, usize),
    message: String,
}

// === impl Expression ===

impl Expression {
    pub(crate) fn new(text: &str) -> Result<Self, Mistake> {
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
        resolve(&mut root, &mut Vec::new()).map_err(|message| mistake((0, message)))?;
        Ok(Self {
            text: text.to_owned(),
            root: Arc::new(root),
        })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Evaluates the expression on a cluster, and takes what it costs from the budget. `scores` returns the scores of a cluster by the name
    /// of their AddOnPlacementScore.
    ///
    /// # Errors
    /// The expression fails, or is too costly.
    pub(crate) fn selects<'s>(
        &self,
        cluster: &CelObject,
        scores: &dyn Fn(&str, &str) -> Option<&'s Scores>,
        budget: &mut u64,
    ) -> Result<bool, Failure> {
        let granted = BUDGET.min(*budget);
        let mut scope = Scope {
            cluster: &cluster.0,
            scores,
            locals: Vec::new(),
            steps: granted,
        };
        let evaluated = scope.eval(&self.root);
        *budget -= granted - scope.steps;
        match evaluated? {
            Value::Bool(value) => Ok(value),
            other => Err(Failure::Error(format!(
                "the value is a {}, not a bool",
                other.type_name()
            ))),
        }
    }
}

/// Looks functions and variables up, so that a name that does not exist is reported before anything is evaluated.
fn resolve(expr: &mut Expr, locals: &mut Vec<String>) -> Result<(), String> {
    match expr {
        Expr::Literal(_) => Ok(()),
        Expr::Name(name) => {
            let is_known =
                *name == VARIABLE || locals.contains(name) || eval::type_named(name).is_some();
            is_known
                .then_some(())
                .ok_or_else(|| format!("undeclared reference to '{name}'"))
        }
        Expr::Select { of, .. } | Expr::Has { of, .. } | Expr::Not(of) | Expr::Negative(of) => {
            resolve(of, locals)
        }
        Expr::Index { of, at, .. } => {
            resolve(of, locals)?;
            resolve(at, locals)
        }
        Expr::Binary(_, left, right) => {
            resolve(left, locals)?;
            resolve(right, locals)
        }
        Expr::All(parts) | Expr::Any(parts) => {
            parts.iter_mut().try_for_each(|it| resolve(it, locals))
        }
        Expr::Conditional(parts) => parts.iter_mut().try_for_each(|it| resolve(it, locals)),
        Expr::List(items) => items.iter_mut().try_for_each(|(it, _)| resolve(it, locals)),
        Expr::Map(entries) => entries.iter_mut().try_for_each(|(key, value, _)| {
            resolve(key, locals)?;
            resolve(value, locals)
        }),
        Expr::Macro(it) => {
            resolve(&mut it.of, locals)?;
            locals.push(it.variable.clone());
            let resolved = resolve(&mut it.body, locals)
                .and_then(|()| it.value.as_mut().map_or(Ok(()), |it| resolve(it, locals)));
            locals.pop();
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
                && !locals.contains(namespace)
                && functions::is_known(&format!("{namespace}.{name}"))
            {
                *name = format!("{namespace}.{name}");
                *target = None;
            }
            for arg in target.as_deref_mut().into_iter().chain(args.iter_mut()) {
                resolve(arg, locals)?;
            }
            let count = args.len() + usize::from(target.is_some());
            *overloads = functions::find(name, target.is_some(), count);
            if !overloads.is_empty() {
                return Ok(());
            }
            if functions::is_known(name) {
                return Err(format!("found no matching overload for '{name}'"));
            }
            Err(format!("undeclared reference to '{name}'"))
        }
    }
}

// === impl CelObject ===

impl CelObject {
    /// Makes the object out of the JSON of a ManagedCluster, with the fields that OCM's client always writes.
    #[must_use]
    pub fn new(cluster: &Json) -> Self {
        let mut cluster = cluster.as_object().cloned().unwrap_or_default();
        cluster.remove("apiVersion");
        cluster.remove("kind");
        let object = |of: &mut Map<String, Json>, name: &str| {
            let field = of.entry(name).or_insert_with(|| json!({}));
            if !field.is_object() {
                *field = json!({});
            }
        };
        for name in ["metadata", "spec", "status"] {
            object(&mut cluster, name);
        }
        if let Some(Json::Object(metadata)) = cluster.get_mut("metadata") {
            metadata.entry("creationTimestamp").or_insert(Json::Null);
        }
        if let Some(Json::Object(spec)) = cluster.get_mut("spec") {
            spec.entry("hubAcceptsClient").or_insert(json!(false));
            let taints = spec.get_mut("taints").and_then(Json::as_array_mut);
            for taint in taints.into_iter().flatten().filter_map(Json::as_object_mut) {
                taint.entry("timeAdded").or_insert(Json::Null);
            }
        }
        if let Some(Json::Object(status)) = cluster.get_mut("status") {
            status.entry("conditions").or_insert(Json::Null);
            object(status, "version");
        }
        Self(Value::from(&Json::Object(cluster)))
    }
}

impl PartialEq for CelObject {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(&other.0)
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

// === impl Failure ===

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error(message) => f.write_str(message),
            Self::TooCostly => f.write_str("it costs too much"),
        }
    }
}
