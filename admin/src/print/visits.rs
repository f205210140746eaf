//! A bound on the values that paths visit in one output.

use berth_work_core::jsonpath::Path;
use serde_json::Value;

/// The most values that the paths of one output visit.
const MOST: usize = 10_000_000;

/// The values that may still be visited.
pub(crate) struct Visits(usize);

impl Default for Visits {
    fn default() -> Self {
        Self(MOST)
    }
}

// === impl Visits ===

impl Visits {
    /// The values that a path finds.
    ///
    /// # Errors
    /// The path is not for this object, or too many values would be visited.
    pub(crate) fn find<'a>(
        &mut self,
        path: &Path,
        object: &'a Value,
    ) -> Result<Vec<&'a Value>, String> {
        path.find(object, &mut self.0)
    }
}
