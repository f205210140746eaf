//! Facts about one cluster, and conditions, as all tests of deciders need them.

use std::collections::BTreeMap;

use berth_api::plan::{Action, Write};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::Value;

use crate::config::Config;
use crate::facts::{Addon, ClusterFacts, OwnedObjects};

/// Facts about a cluster that does not exist any more. Leases are watched, and the shared ClusterRoles exist.
pub(crate) fn facts_of<'a>(
    config: &'a Config,
    name: &'a str,
    owned: &'a OwnedObjects,
    addons: &'a BTreeMap<Box<str>, Addon>,
) -> ClusterFacts<'a> {
    ClusterFacts {
        config,
        name,
        cluster: None,
        was_there: true,
        full: false,
        owned,
        common_roles: true,
        common_roles_failure: None,
        lease: None,
        addons,
        sets: &[],
        undecided_sets: &[],
        bindings: &[],
        leases_watched: true,
        trusted_request: false,
        refused_request: false,
        namespace_taken: None,
        remaining: None,
    }
}

/// A condition since 1970.
pub(crate) fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_transition_time: Time(Timestamp::UNIX_EPOCH),
        observed_generation: None,
    }
}

/// The only condition in the body of an apply.
#[track_caller]
pub(crate) fn applied_condition(body: &Value) -> Condition {
    let conditions = body["status"]["conditions"].as_array().unwrap();
    let [condition] = &conditions[..] else {
        panic!("one condition is applied, not {conditions:?}");
    };
    serde_json::from_value(condition.clone()).unwrap()
}

/// The body of a merge patch.
#[track_caller]
pub(crate) fn patch_of(write: &Write) -> &Value {
    match &write.action {
        Action::Patch { body, .. } => body,
        _ => panic!("not a patch: {write:?}"),
    }
}
