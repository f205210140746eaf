//! matchConditions: CEL expressions that decide if a webhook is called about a write
//! (<https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-matchconditions>).
//!
//! # Promises
//! - [`check_condition`] refuses a registration whose expressions use what devhub's CEL lacks (`authorizer`, quantities, ...).
//!   Such an expression is never evaluated.
//! - If one condition is false, the webhook is not called, even if other conditions fail. Otherwise the failurePolicy decides
//!   about conditions that fail.

mod absent;

use std::collections::HashMap;
use std::sync::Arc;

use cel::{Context, ExecutionError, Program};
use serde_json::{Map, Value};

use self::absent::Absent;

use crate::expressions::{self, ENV};
use crate::object::Object;

/// What conditions can name.
const VARIABLES: [&str; 4] = ["object", "oldObject", "request", "namespaceObject"];

/// The matchConditions of a webhook, compiled.
#[derive(Debug, Default)]
pub(super) struct Conditions(Vec<Condition>);

#[derive(Debug)]
struct Condition {
    expression: String,
    program: Result<Program, String>,
}

/// What conditions see of a write.
pub(super) struct Variables<'a> {
    /// The AdmissionRequest without its uid and objects.
    pub(super) request: &'a Value,
    pub(super) object: Option<&'a Object>,
    pub(super) old: Option<&'a Object>,
}

/// What is wrong with a matchCondition's expression, as the detail of a field error.
///
/// # Errors
/// It is not CEL, or uses what devhub does not have.
pub(crate) fn check_condition(expression: &str) -> Result<(), String> {
    expressions::compile(expression, &VARIABLES).map(drop)
}

impl Conditions {
    pub(super) fn compile<'a>(expressions: impl Iterator<Item = &'a str>) -> Self {
        let conditions = expressions.map(|expression| Condition {
            expression: expression.to_owned(),
            program: expressions::compile(expression, &VARIABLES),
        });
        Self(conditions.collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if all of them hold.
    ///
    /// # Errors
    /// Some fail, and none is false: what the failurePolicy decides.
    pub(super) fn hold(&self, variables: &Variables<'_>) -> Result<bool, String> {
        let mut context = Context::with_env(Arc::clone(&ENV));
        for (name, object) in [
            ("object", variables.object),
            ("oldObject", variables.old),
            // Webhooks' conditions know the variable, and get no namespace.
            ("namespaceObject", None),
        ] {
            match object {
                Some(object) => context.add_variable_from_value(name, map(object.fields())),
                None => context.add_variable_as_val(name, Box::new(Absent)),
            }
        }
        context.add_variable_from_value("request", to_cel(variables.request));

        let mut errors = Vec::new();
        for condition in &self.0 {
            match condition.evaluate(&context) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(error) => errors.push(error),
            }
        }
        match errors.as_slice() {
            [] => Ok(true),
            [one] => Err(one.clone()),
            many => Err(format!("[{}]", many.join(", "))),
        }
    }
}

impl Condition {
    fn evaluate(&self, context: &Context<'_, '_>) -> Result<bool, String> {
        let expression = &self.expression;
        let program = match &self.program {
            Ok(program) => program,
            Err(error) => return Err(format!("compilation error: {error}")),
        };
        match program.execute(context) {
            Ok(cel::Value::Bool(holds)) => Ok(holds),
            Ok(other) => Err(format!(
                "expression '{expression}' resulted in error: expected a bool, got {}",
                other.type_of()
            )),
            Err(error) => {
                let why = in_words(&error);
                Err(format!(
                    "expression '{expression}' resulted in error: {why}"
                ))
            }
        }
    }
}

/// An error as cel-go words it, where it has words of its own.
fn in_words(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::NoSuchOverload(_) => "no such overload".to_owned(),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        // Others show whole values, which may be large, or secret.
        ExecutionError::UndeclaredReference(name) => format!("no such attribute: {name}"),
        ExecutionError::IndexOutOfBounds(cel::Value::Int(at)) => {
            format!("index out of bounds: {at}")
        }
        ExecutionError::IndexOutOfBounds(_) => "index out of bounds".to_owned(),
        ExecutionError::FunctionError { function, message } => format!("{function}: {message}"),
        _ => "no such overload".to_owned(),
    }
}

/// As the API server has it: whole numbers are `int`, never `uint`.
fn to_cel(value: &Value) -> cel::Value {
    match value {
        Value::Null => cel::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::String(value) => value.as_str().into(),
        Value::Number(value) => match value.as_i64() {
            Some(value) => value.into(),
            None => value.as_f64().unwrap_or(f64::NAN).into(),
        },
        Value::Array(values) => values.iter().map(to_cel).collect::<Vec<_>>().into(),
        Value::Object(fields) => map(fields),
    }
}

fn map(fields: &Map<String, Value>) -> cel::Value {
    let fields = fields
        .iter()
        .map(|(key, value)| (key.clone(), to_cel(value)));
    fields.collect::<HashMap<_, _>>().into()
}

#[cfg(test)]
mod tests;
