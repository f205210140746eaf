//! The conditions that are reported of add-ons.

use berth_api::Now;
use berth_api::text::shorten;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// Upper bound on the bytes of a message.
const LONGEST: usize = 2048;

/// A condition with status and reason, since now.
pub(crate) fn condition(
    type_: &str,
    (status, reason): (&str, &str),
    message: &str,
    now: Now,
) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: shorten(message, LONGEST).into_owned(),
        last_transition_time: Time(now.wall),
        observed_generation: None,
    }
}
