//! What all ignored fields of a manifest may cost together: a user of the hub may name thousands of them.

use serde_json::Value;

/// The budget of a manifest each time it is applied, as values that expressions pass on and paths go through.
pub(super) const OBJECT_BUDGET: usize = 4_000_000;

/// The cost of reading and compiling a jq expression, besides that of its values.
pub(super) const PROGRAM: usize = 20_000;

/// What is left of the budget of a manifest.
#[derive(Debug)]
pub(crate) struct Budget {
    left: usize,
}

// === impl Budget ===

impl Default for Budget {
    fn default() -> Self {
        Self {
            left: OBJECT_BUDGET,
        }
    }
}

impl Budget {
    /// Returns whether it is spent.
    pub(crate) fn is_spent(&self) -> bool {
        self.left == 0
    }

    /// What was taken.
    pub(crate) fn spent(&self) -> usize {
        OBJECT_BUDGET - self.left
    }

    /// What is left.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Takes a cost.
    ///
    /// # Errors
    /// It is more than what is left.
    pub(super) fn charge(&mut self, cost: usize) -> Result<(), String> {
        self.left = self.left.saturating_sub(cost);
        if self.is_spent() {
            return Err(format!(
                "all ignored fields of a manifest may cost {OBJECT_BUDGET} together, and these cost more: each jq path expression costs \
                 {PROGRAM} and the values that it passes on; name fewer fields"
            ));
        }
        Ok(())
    }
}

/// The number of values in a value.
pub(super) fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(size).sum::<usize>(),
        _ => 1,
    }
}
