//! What the status of a ManifestWork needs of an object, evaluated when the object arrives, so that the object need not be kept.

use berth_api::work::ManifestResourceMeta;
use serde_json::Value;

use crate::conditions::{self, OBJECT_BUDGET, RuleCondition};
use crate::config::Rules;
pub use crate::feedback::FeedbackSettings;
use crate::feedback::{self, Feedback};
use crate::health::{self, Health};
use crate::jsonpath::OBJECT_VISITS;
pub use crate::programs::Programs;

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
