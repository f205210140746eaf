//! Why an expression has no value, and the budget that it spends.

use super::value::Value;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvaluationError {
    /// An error that `||` and `&&` can absorb.
    Error(String),
    /// The budget is spent.
    TooCostly,
}

/// The result of an evaluation.
pub(super) type Evaluated<T = Value> = Result<T, EvaluationError>;

pub(super) fn error<T>(message: impl Into<String>) -> Evaluated<T> {
    Err(EvaluationError::Error(message.into()))
}

// === impl EvaluationError ===

impl From<String> for EvaluationError {
    fn from(message: String) -> Self {
        Self::Error(message)
    }
}

/// Takes steps from the budget.
pub(super) fn charge(budget: &mut u64, steps: u64) -> Evaluated<()> {
    let left = budget.checked_sub(steps);
    *budget = left.unwrap_or_default();
    left.map(|_| ()).ok_or(EvaluationError::TooCostly)
}
