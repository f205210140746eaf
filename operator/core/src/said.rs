//! Conditions and status that ClusterManagers and Klusterlets have in common. The types, reasons and texts of OCM's conditions are OCM's:
//! `clusteradm` and dashboards read them.

use berth_api::Now;
use berth_api::conditions::operator::{SETTINGS_SUPPORTED, VALID_FEATURE_GATES};
use berth_api::conditions::{FALSE, TRUE, new, with_condition};
use berth_api::operator::{GenerationStatus, RelatedResource};
use berth_api::text::shorten;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::decision::Failure;
use crate::objects::{Id, Kind};
use crate::spec::Ignored;

/// Upper bound on the bytes of a message.
const LONGEST_MESSAGE: usize = 4096;

/// Upper bound on the failures that a message names.
const MOST_FAILURES: usize = 8;

/// A condition: its type, status, reason and message.
pub(crate) type Said<'r> = (&'static str, &'static str, &'r str, String);

/// Sets conditions. The generation alone is a change, too.
pub(crate) fn set<'r>(
    conditions: &mut Vec<Condition>,
    said: impl IntoIterator<Item = Said<'r>>,
    generation: Option<i64>,
    now: Now,
) {
    for (type_, status, reason, message) in said {
        let message = shorten(&message, LONGEST_MESSAGE);
        let condition = Condition {
            observed_generation: generation,
            ..new(type_, (status, reason), message, now.wall)
        };
        if let Some(changed) = with_condition(conditions, condition) {
            *conditions = changed;
        }
        let same = conditions.iter_mut().find(|it| it.type_ == type_);
        if let Some(same) = same {
            same.observed_generation = generation;
        }
    }
}

/// What failed, as one message.
pub(crate) fn shown(failures: &[Failure]) -> String {
    let named = failures.iter().take(MOST_FAILURES).map(|it| &*it.message);
    let mut message = named.collect::<Vec<_>>().join("; ");
    let more = failures.len().saturating_sub(MOST_FAILURES);
    if more > 0 {
        message.push_str(&format!("; and {more} more"));
    }
    message
}

/// What of the spec is ignored.
pub(crate) fn ignored(ignored: &Ignored) -> [Said<'static>; 2] {
    [
        gates(&ignored.unknown_gates),
        settings(&ignored.unsupported),
    ]
}

fn gates(unknown: &[String]) -> Said<'static> {
    match unknown {
        [] => (
            VALID_FEATURE_GATES,
            TRUE,
            "FeatureGatesAllValid",
            "Feature gates are all valid".to_owned(),
        ),
        unknown => (
            VALID_FEATURE_GATES,
            FALSE,
            "InvalidFeatureGatesExisting",
            format!(
                "There are some invalid feature gates of [{}], will process them with default values",
                unknown.join(", ")
            ),
        ),
    }
}

fn settings(unsupported: &[String]) -> Said<'static> {
    match unsupported {
        [] => (
            SETTINGS_SUPPORTED,
            TRUE,
            "AllSupported",
            "all settings have an effect".to_owned(),
        ),
        unsupported => (
            SETTINGS_SUPPORTED,
            FALSE,
            "NotSupported",
            format!("ignored: {}", unsupported.join("; ")),
        ),
    }
}

/// An object, in the status of what it was written for.
pub(crate) fn related(id: Id) -> RelatedResource {
    let resource = id.kind.resource();
    RelatedResource {
        group: resource.group,
        version: resource.version,
        resource: resource.resource,
        namespace: id.namespace,
        name: id.name,
    }
}

/// The generation of a Deployment.
pub(crate) fn generation(id: &Id, last_generation: i64) -> GenerationStatus {
    let resource = Kind::Deployment.resource();
    GenerationStatus {
        group: resource.group,
        version: resource.version,
        resource: resource.resource,
        namespace: id.namespace.clone(),
        name: id.name.clone(),
        last_generation,
    }
}
