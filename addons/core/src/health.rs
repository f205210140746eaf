//! Whether an add-on from a template works: what its ManifestWorks report about its Deployments and DaemonSets.

#[cfg(test)]
mod tests;

use berth_api::conditions::{self, FALSE, TRUE, UNKNOWN, manifest_work};
use berth_api::text::shorten;
use berth_api::work::ManifestCondition;
use berth_api::{ManifestWork, conditions::addon};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::{Map, Value};

use crate::object::{Key, text};
use crate::template::Rendered;
use crate::works::configs::identifier;
use crate::works::hooks::reported;

/// Upper bound on the bytes of the message of the condition.
const LONGEST: usize = 1024;

/// Upper bound on the bytes of the name of an object in the message.
const LONGEST_NAME: usize = 128;

/// What decides about the health of an add-on.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The name of the add-on.
    pub addon: &'a str,
    /// The status of the condition Available of the cluster, if it has one.
    pub cluster_available: Option<&'a str>,
    /// What is deployed. Hooks are not part of it.
    pub workloads: &'a Workloads,
    /// The stored works that should have these objects.
    pub works: &'a [&'a ManifestWork],
    /// The generation of the ManagedClusterAddOn.
    pub generation: Option<i64>,
    /// The time.
    pub now: Timestamp,
}

/// The workloads among the objects that are deployed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workloads {
    all: Vec<(Kind, Key)>,
    /// There are objects, of any kind.
    has_objects: bool,
}

/// The kind of a workload, by what is healthy of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// One pod is ready, or none is wanted.
    Deployment,
    /// All pods are ready.
    DaemonSet,
}

/// Returns the condition Available of an add-on. `None` while the cluster's own condition is Unknown: then the hub says so of all add-ons.
#[must_use]
pub fn available(facts: &Facts<'_>) -> Option<Condition> {
    if facts.cluster_available == Some(UNKNOWN) {
        return None;
    }
    let (status, reason, message) = judge(facts);
    Some(Condition {
        type_: addon::AVAILABLE.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: shorten(&message, LONGEST).into_owned(),
        last_transition_time: Time(facts.now),
        observed_generation: facts.generation,
    })
}

fn judge(facts: &Facts<'_>) -> (&'static str, &'static str, String) {
    let is_ok = || {
        let message = format!("{} add-on is available.", facts.addon);
        (TRUE, "ProbeAvailable", message)
    };
    if facts.works.is_empty() {
        if !facts.workloads.has_objects {
            return is_ok();
        }
        let message = "Addon manifestWork is not found".to_owned();
        return (UNKNOWN, "WorkNotFound", message);
    }
    if let Some((status, message)) = facts.works.iter().find_map(|work| not_applied(work)) {
        return (status, "WorkNotApplied", message);
    }
    let workloads = &facts.workloads.all;
    if workloads.is_empty() {
        return is_ok();
    }
    let results: Vec<_> = workloads
        .iter()
        .filter_map(|(kind, key)| {
            let found = facts
                .works
                .iter()
                .find_map(|work| reported(work, &identifier(key)))?;
            Some((*kind, key, found))
        })
        .filter(|(.., found)| !found.status_feedback.values.is_empty())
        .collect();
    if results.is_empty() {
        let message = "Probe results are not returned".to_owned();
        return (UNKNOWN, "NoProbeResult", message);
    }
    // As in OCM, a workload without a result does not count as long as another one has a result.
    match results
        .iter()
        .find_map(|(kind, key, found)| kind.fault(key, found))
    {
        None => is_ok(),
        Some(fault) => {
            let message = format!("Probe addon unavailable with err {fault}");
            (FALSE, "ProbeUnavailable", message)
        }
    }
}

/// The status and the message if a work is not applied.
fn not_applied(work: &ManifestWork) -> Option<(&'static str, String)> {
    let status = work.status.as_ref();
    let conditions = status.map_or(&[][..], |status| &status.conditions);
    let applied = conditions::condition_of(conditions, manifest_work::APPLIED);
    let name = work.metadata.name.as_deref().unwrap_or_default();
    match applied {
        Some(applied) if applied.status == TRUE => None,
        Some(applied) if applied.status == FALSE => {
            Some((FALSE, format!("manifestWork {name}: {}", applied.message)))
        }
        _ => Some((UNKNOWN, format!("manifestWork {name} is not applied yet"))),
    }
}

/// A workload that is expected to run. A Deployment without replicas is not.
fn workload(object: &Map<String, Value>) -> Option<(Kind, Key)> {
    if !text(object, &["apiVersion"]).starts_with("apps/") {
        return None;
    }
    let replicas = object.get("spec").and_then(|spec| spec.get("replicas"));
    let kind = match text(object, &["kind"]) {
        "Deployment" if replicas.and_then(Value::as_i64) == Some(0) => return None,
        "Deployment" => Kind::Deployment,
        "DaemonSet" => Kind::DaemonSet,
        _ => return None,
    };
    Some((kind, Key::of(object)))
}

// === impl Workloads ===

impl Workloads {
    /// Finds the workloads.
    #[must_use]
    pub fn of<'a>(objects: impl Iterator<Item = &'a Rendered> + Clone) -> Self {
        let workloads = objects
            .clone()
            .filter_map(|it| workload(it.object.as_object()?));
        Self {
            all: workloads.collect(),
            has_objects: objects.clone().next().is_some(),
        }
    }
}

// === impl Kind ===

impl Kind {
    /// What is wrong with a workload.
    fn fault(self, key: &Key, found: &ManifestCondition) -> Option<String> {
        let value = |name: &str| {
            let mut values = found.status_feedback.values.iter();
            let value = values.find(|value| value.name == name)?;
            value.field_value.integer
        };
        // A field that is zero is not in the status, and is not reported.
        let (desired, ready) = match self {
            Self::Deployment => (value("Replicas"), value("ReadyReplicas")),
            Self::DaemonSet => (value("DesiredNumberScheduled"), value("NumberReady")),
        };
        let (desired, ready) = (desired.unwrap_or(0), ready.unwrap_or(0));
        let is_healthy = match self {
            Self::Deployment => desired == 0 || ready >= 1,
            Self::DaemonSet => ready == desired,
        };
        if is_healthy {
            return None;
        }
        let name = |name: &str| shorten(name, LONGEST_NAME).into_owned();
        Some(format!(
            "{} {}/{}: {ready} of {desired} pods are ready",
            key.kind,
            name(&key.namespace),
            name(&key.name)
        ))
    }
}
