//! What the status of a ManifestWork needs of an object, evaluated when the object arrives, so that the object need not be kept.

use berth_api::text::cut_bytes;
use berth_api::work::{FeedbackValue, ManifestResourceMeta};
use serde_json::Value;

use crate::config::Rules;
pub use crate::programs::Programs;

/// Settings of the agent for reported fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedbackSettings {
    /// The gate `RawFeedbackJsonString`: lists and objects are reported as JSON.
    pub raw: bool,
    /// The longest such JSON in bytes. The CRD of ManifestWork allows 1024.
    pub max_raw: usize,
}

/// What the status of a ManifestWork needs of an object. Its size is bounded, whatever the object holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluated {
    /// The reported fields.
    values: Vec<FeedbackValue>,
}

/// Evaluates the rules for an object.
///
/// `object` is the object as read at the version in `meta`; its apiVersion and kind may be missing, as in lists.
#[must_use]
pub fn evaluate(
    _meta: &ManifestResourceMeta,
    _rules: &Rules<'_>,
    _object: &Value,
    _settings: &FeedbackSettings,
    _programs: &Programs,
) -> Evaluated {
    Evaluated::default()
}

// === impl FeedbackSettings ===

impl Default for FeedbackSettings {
    fn default() -> Self {
        Self {
            raw: false,
            max_raw: 1024,
        }
    }
}

/// At most so many bytes of a message; one that is cut ends with `...`.
pub(crate) fn shortened(message: String, longest: usize) -> String {
    if message.len() <= longest {
        return message;
    }
    let dots = &"..."[..longest.min(3)];
    format!("{}{dots}", cut_bytes(&message, longest - dots.len()))
}
