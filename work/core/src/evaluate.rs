//! What the status of a ManifestWork needs of an object, evaluated when the object arrives, so that the object need not be kept.

use berth_api::text::shorten;
use berth_api::work::ManifestResourceMeta;
use serde_json::Value;

use crate::conditions::{self, OBJECT_BUDGET, RuleCondition};
use crate::config::Rules;
use crate::feedback::{self, Feedback, LONGEST_RAW};
use crate::health::{self, Health};
use crate::jsonpath::OBJECT_VISITS;
pub use crate::programs::Programs;

/// Settings of the agent for reported fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedbackSettings {
    /// The gate `RawFeedbackJsonString`: lists and objects are reported as JSON, and all values that a path finds.
    pub raw: bool,
    /// The longest such JSON in bytes; at most 1024, which the CRD of ManifestWork allows.
    pub max_raw: usize,
}

/// What the status of a ManifestWork needs of an object.
///
/// Its size is bounded, whatever the object holds: 64 KiB of reported values, 64 KiB of messages. Without rules, it is a few hundred bytes.
/// Two of them are equal if the object's part of the status is equal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluated {
    /// The reported fields; `None` without feedback rules.
    pub(crate) feedback: Option<Feedback>,
    /// The conditions that condition rules set.
    pub(crate) conditions: Vec<RuleCondition>,
    /// The built-in conditions.
    pub(crate) health: Health,
}

/// Evaluates the rules for an object. Returns what that cost, too, in steps: values that paths visit, and steps of expressions.
///
/// `object` is the object as read at the version in `meta`; its apiVersion and kind may be missing, as in lists.
#[must_use]
pub fn evaluate(
    meta: &ManifestResourceMeta,
    rules: &Rules<'_>,
    object: &Value,
    settings: &FeedbackSettings,
    programs: &Programs,
) -> (Evaluated, u64) {
    let (mut visits, mut steps) = (OBJECT_VISITS, OBJECT_BUDGET);
    let has_feedback = !rules.feedback.is_empty();
    let evaluated = Evaluated {
        feedback: has_feedback
            .then(|| feedback::feedback(meta, rules.feedback, object, settings, &mut visits)),
        conditions: conditions::conditions(meta, rules.conditions, object, programs, &mut steps),
        health: health::health(&meta.group, &meta.kind, object),
    };
    let cost = (OBJECT_VISITS - visits) as u64 + OBJECT_BUDGET - steps;
    (evaluated, cost)
}

// === impl FeedbackSettings ===

impl Default for FeedbackSettings {
    fn default() -> Self {
        Self {
            raw: false,
            max_raw: LONGEST_RAW,
        }
    }
}

/// At most so many bytes of a message; see [`shorten`].
pub(crate) fn shortened(message: String, longest: usize) -> String {
    if message.len() <= longest {
        return message;
    }
    shorten(&message, longest).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_keeps_its_reason() {
        let message = format!(
            "rollout failed: {} the quota is exceeded",
            "x".repeat(2_000)
        );
        let short = shortened(message, 256);
        assert!(short.len() <= 256);
        assert!(short.starts_with("rollout failed: ") && short.ends_with(" the quota is exceeded"));
    }
}
