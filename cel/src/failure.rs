//! Why an expression has no value, and the budget that it spends.

use super::value::Value;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// An error that `||` and `&&` can absorb.
    Error(String),
    /// The budget is spent.
    TooCostly,
}

/// The result of an evaluation.
pub(super) type Evaluated<T = Value> = Result<T, Failure>;

pub(super) fn error<T>(message: impl Into<String>) -> Evaluated<T> {
    Err(Failure::Error(message.into()))
}

// === impl Failure ===

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::Error(message)
    }
}

/// Takes steps from the budget.
pub(super) fn charge(budget: &mut u64, steps: u64) -> Evaluated<()> {
    let left = budget.checked_sub(steps);
    *budget = left.unwrap_or_default();
    left.map(|_| ()).ok_or(Failure::TooCostly)
}
