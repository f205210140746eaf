//! The conditions that are reported of add-ons.

use berth_api::text::shorten;
use berth_api::{Now, conditions};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

/// Upper bound on the bytes of a message.
const LONGEST: usize = 2048;

/// A condition with status and reason, since now.
pub(crate) fn condition(
    type_: &str,
    (status, reason): (&str, &str),
    message: &str,
    now: Now,
) -> Condition {
    conditions::new(type_, (status, reason), shorten(message, LONGEST), now.wall)
}
