//! The matchConditions of a registration, evaluated as the API server evaluates them.
//!
//! Documented at
//! <https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-matchconditions>.

use std::collections::HashMap;
use std::sync::Arc;

use berth_review::Webhook;
use berth_webhooks::shipped;
use cel::{Context, Env, Program};
use serde_json::Value;

use crate::manifests::registrations;

/// The matchConditions of a registration.
pub(crate) struct Conditions {
    env: Arc<Env>,
    /// With their names.
    programs: Vec<(String, Program)>,
}

impl Conditions {
    pub(crate) fn of(webhook: Webhook) -> Self {
        let mut env = Env::stdlib();
        // As an API server has; on a fresh environment, it cannot collide with anything.
        let _ = env.add_extension(cel::extensions::strings);
        let env = Arc::new(env);
        let registration = registrations::of(webhook);
        let conditions = registration.webhook()["matchConditions"]
            .as_array()
            .expect("it has matchConditions");
        let programs = conditions
            .iter()
            .map(|condition| {
                let text = |field| condition[field].as_str().expect("it is a string");
                let name = text("name");
                let program = env
                    .compile(text("expression"))
                    .unwrap_or_else(|error| panic!("{}: {name}: {error}", shipped(webhook).name));
                (name.to_owned(), program)
            })
            .collect();
        Self { env, programs }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.programs.iter().map(|(name, _)| name.as_str())
    }

    /// Whether the API server calls the webhook about this `request` of an AdmissionReview.
    ///
    /// # Errors
    /// When an expression fails. The API server refuses the write then, without a call.
    pub(crate) fn match_request(&self, request: &Value) -> Result<bool, String> {
        let mut context = Context::with_env(Arc::clone(&self.env));
        for (variable, field) in [("object", "object"), ("oldObject", "oldObject")] {
            context.add_variable_from_value(variable, to_cel(&request[field]));
        }
        let mut about = request.clone();
        if let Some(about) = about.as_object_mut() {
            about.retain(|field, _| field != "object" && field != "oldObject");
        }
        context.add_variable_from_value("request", to_cel(&about));

        let mut all = true;
        for (name, program) in &self.programs {
            match program.execute(&context) {
                Ok(cel::Value::Bool(matches)) => all &= matches,
                other => return Err(format!("{name}: {other:?}")),
            }
        }
        Ok(all)
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
            None => value
                .as_f64()
                .expect("a number is whole or a fraction")
                .into(),
        },
        Value::Array(values) => values.iter().map(to_cel).collect::<Vec<_>>().into(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.clone(), to_cel(value)))
            .collect::<HashMap<_, _>>()
            .into(),
    }
}
