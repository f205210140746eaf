//! One condition of a ManagedCluster, applied by the one reconciler that owns it.

use berth_api::{conditions, groups};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::{Value, json};

use crate::cluster_plan::ClusterPlan;
use crate::facts::{ClusterFacts, Now};
use berth_api::GroupVersionResource;
use berth_api::plan::{Action, Event, Target, Write, WriteFailure};

/// Upper bound on the bytes of a message. A condition may have 32 KiB, but users have to read it.
const MESSAGE_MAX: usize = 2000;

/// The wanted content of a condition.
#[derive(PartialEq)]
pub(crate) struct Wanted<'a> {
    pub(crate) type_: &'a str,
    pub(crate) status: &'a str,
    pub(crate) reason: &'a str,
    pub(crate) message: String,
}

/// The writer of a condition.
pub(crate) struct Owner {
    pub(crate) manager: &'static str,
    pub(crate) reconciler: &'static str,
}

/// Plans the write of a condition, unless it already has this content. lastTransitionTime stays if the status stays.
pub(crate) fn set(
    facts: &ClusterFacts<'_>,
    wanted: Wanted<'_>,
    owner: &Owner,
    events: Vec<Event>,
    now: Now,
    plan: &mut ClusterPlan,
) {
    let Some(cluster) = facts.cluster else {
        return;
    };
    let message = shortened(wanted.message, MESSAGE_MAX);
    let old = cluster.condition(wanted.type_);
    if old.is_some_and(|old| {
        (&*old.status, &*old.reason, &*old.message) == (wanted.status, wanted.reason, &*message)
    }) {
        return;
    }
    let since = conditions::since(old, wanted.status).unwrap_or(Time(now.wall));
    let condition = Condition {
        type_: wanted.type_.to_owned(),
        status: wanted.status.to_owned(),
        reason: wanted.reason.to_owned(),
        message,
        last_transition_time: since,
        observed_generation: None,
    };
    let target = cluster_target(facts.name);
    plan.writes.push(Write {
        action: Action::ApplyStatus {
            manager: owner.manager,
            body: one_condition(&target, "ManagedCluster", None, &condition),
        },
        target,
        reconciler: owner.reconciler,
        events,
    });
}

/// The target of writes to a ManagedCluster.
pub fn cluster_target(name: &str) -> Target {
    Target {
        resource: GroupVersionResource {
            group: groups::CLUSTER.to_owned(),
            version: "v1".to_owned(),
            resource: groups::MANAGED_CLUSTERS.to_owned(),
        },
        namespace: None,
        name: name.to_owned(),
    }
}

/// The body of an apply of this one condition to the status of `target`, whose kind is `kind`.
///
/// `decided_from`: the write fails if the object has another resourceVersion. For a condition that others write, too.
pub(crate) fn one_condition(
    target: &Target,
    kind: &str,
    decided_from: Option<&str>,
    condition: &Condition,
) -> Value {
    let GroupVersionResource { group, version, .. } = &target.resource;
    let mut body = json!({
        "apiVersion": format!("{group}/{version}"),
        "kind": kind,
        "metadata": { "name": target.name },
        "status": { "conditions": [condition] },
    });
    if let Some(namespace) = &target.namespace {
        body["metadata"]["namespace"] = json!(namespace);
    }
    if let Some(resource_version) = decided_from {
        body["metadata"]["resourceVersion"] = json!(resource_version);
    }
    body
}

/// Cuts `text` to at most `max` bytes, at the end of a character. A cut text ends with dots.
pub(crate) fn shortened(mut text: String, max: usize) -> String {
    const CUT: &str = "...";
    if text.len() > max {
        text.truncate(text.floor_char_boundary(max.saturating_sub(CUT.len())));
        text.push_str(CUT);
    }
    text
}

/// Lists the failed writes and their errors, sorted; the first five, and the number of the others.
pub fn describe(failures: &[&WriteFailure]) -> String {
    const TOLD: usize = 5;
    const EACH: usize = 380;
    let mut lines: Vec<String> = failures
        .iter()
        .map(|failure| {
            let Target {
                resource,
                namespace,
                name,
            } = &failure.target;
            let place = namespace.as_ref().map_or_else(String::new, |namespace| {
                format!(" in namespace {namespace:?}")
            });
            let line = format!(
                "{} {name:?}{place} cannot be written: {}",
                resource.resource, failure.message
            );
            shortened(line, EACH)
        })
        .collect();
    lines.sort();
    lines.dedup();
    let more = lines.len().saturating_sub(TOLD);
    lines.truncate(TOLD);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines.join("\n")
}
