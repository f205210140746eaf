//! Compiled expressions of condition rules.

use std::sync::{Arc, Mutex, PoisonError};

use berth_cel::{Environment, Expression};

use crate::kept::Kept;

/// How many bytes of expressions are kept in each generation.
const GENERATION: usize = 64 * 1024;

/// An expression, or what is wrong with it.
pub(crate) type Program = Arc<Result<Expression, String>>;

/// Compiled expressions of condition rules, shared by the objects that have the same rules.
///
/// The memory is bounded: when the recent expressions are many, those that were not used since the last time are forgotten. They are
/// compiled again when they are needed.
#[derive(Debug)]
pub struct Programs(Mutex<Kept<Key, Program>>);

/// An expression, and the variables that it can use.
type Key = (String, &'static [&'static str]);

// === impl Programs ===

impl Default for Programs {
    fn default() -> Self {
        Self(Mutex::new(Kept::new(GENERATION)))
    }
}

impl Programs {
    /// The expression of a text, compiled now or before.
    pub(crate) fn get(&self, text: &str, environment: Environment) -> Program {
        let key = (text.to_owned(), environment.variables);
        if let Some(program) = self.kept().find(&key) {
            return program;
        }
        // Not under the lock: compiling takes long.
        let compiled = Expression::new(text, environment).map_err(|it| it.to_string());
        let program = Arc::new(compiled);
        self.kept().keep(key, program.clone(), text.len());
        program
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept<Key, Program>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENVIRONMENT: Environment = Environment {
        variables: &["object"],
        functions: &[],
    };

    #[test]
    fn an_expression_is_compiled_once_for_its_variables() {
        let programs = Programs::default();
        let once = programs.get("object.a", ENVIRONMENT);
        assert!(Arc::ptr_eq(&once, &programs.get("object.a", ENVIRONMENT)));
        let other = Environment {
            variables: &["result"],
            ..ENVIRONMENT
        };
        let error = programs.get("object.a", other);
        assert_eq!(
            error.as_ref().as_ref().unwrap_err(),
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'object'"
        );
    }

    #[test]
    fn expressions_that_are_not_used_are_forgotten() {
        let programs = Programs::default();
        let used = programs.get("object.used", ENVIRONMENT);
        let unused = Arc::downgrade(&programs.get("object.unused", ENVIRONMENT));
        for n in 0..500 {
            let text = format!("object.a == '{n}{}'", "x".repeat(1000));
            assert!(programs.get(&text, ENVIRONMENT).is_ok());
            let again = programs.get("object.used", ENVIRONMENT);
            assert!(Arc::ptr_eq(&used, &again));
        }
        assert!(unused.upgrade().is_none());
        let kept = programs.kept();
        let bytes: usize = kept.all().map(|(_, bytes)| bytes).sum();
        assert!(bytes < 2 * GENERATION + 4000, "{bytes}");
    }
}
