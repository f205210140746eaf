//! The ManifestWorks of an add-on, and which of their objects are not ready.

use berth_api::ManifestWork;
use berth_api::conditions::{FALSE, TRUE, condition_of, manifest_work};
use berth_api::text::shorten;
use berth_api::work::{ManifestCondition, ManifestResourceMeta};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::Serialize;

use super::{Facts, LONGEST_MESSAGE};
use crate::works::is_of_addon;

/// Upper bound on the objects of a work that are shown. The others are counted.
const MOST_OBJECTS: usize = 10;

/// A ManifestWork of an add-on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Work {
    /// The cluster that it is for: its namespace.
    pub cluster: String,
    /// Its name.
    pub name: String,
    /// The status of the condition Applied, or empty if the agent has not reported its current generation.
    pub applied: String,
    /// The same of the condition Available.
    pub available: String,
    /// Objects that are not applied, or that do not exist. Of many, the first few.
    pub not_ready: Vec<NotReady>,
    /// The number of further objects that are not ready.
    pub more: usize,
}

/// An object that is not ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NotReady {
    /// `KIND NAMESPACE/NAME`
    pub object: String,
    /// The message of the agent.
    pub message: String,
}

/// The works of the add-on, by cluster and name.
pub(super) fn of(facts: &Facts<'_>) -> Vec<Work> {
    let metadata = &facts.on.metadata;
    let add_on = metadata.name.as_deref().unwrap_or_default();
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let name = |work: &ManifestWork| work.metadata.name.clone().unwrap_or_default();
    // A manager of its own may name them otherwise; in the hosting cluster's namespace are works of other clusters, too.
    let is_of = |work: &&ManifestWork| {
        work.metadata.namespace.as_deref() == Some(namespace)
            || is_of_addon(add_on, namespace, &name(work))
    };
    let mut works: Vec<_> = facts.works.iter().filter(is_of).map(work).collect();
    works.sort_by(|a, b| (&a.cluster, &a.name).cmp(&(&b.cluster, &b.name)));
    works
}

fn work(work: &ManifestWork) -> Work {
    let status = work.status.clone().unwrap_or_default();
    let generation = work.metadata.generation;
    let state = |type_: &str| {
        let condition = condition_of(&status.conditions, type_);
        let current = condition
            .filter(|it| it.observed_generation.is_none() || it.observed_generation == generation);
        current.map(|it| it.status.clone()).unwrap_or_default()
    };
    let mut not_ready: Vec<_> = status
        .resource_status
        .manifests
        .iter()
        .filter_map(NotReady::of)
        .collect();
    let more = not_ready.len().saturating_sub(MOST_OBJECTS);
    not_ready.truncate(MOST_OBJECTS);
    Work {
        cluster: work.metadata.namespace.clone().unwrap_or_default(),
        name: work.metadata.name.clone().unwrap_or_default(),
        applied: state(manifest_work::APPLIED),
        available: state(manifest_work::AVAILABLE),
        not_ready,
        more,
    }
}

// === impl Work ===

impl Work {
    /// Returns whether the agent has applied the work, and found all of its objects.
    pub(super) fn is_ready(&self) -> bool {
        self.applied == TRUE && self.available == TRUE
    }
}

// === impl NotReady ===

impl NotReady {
    fn of(manifest: &ManifestCondition) -> Option<Self> {
        let is_wrong = |it: &&Condition| {
            [manifest_work::APPLIED, manifest_work::AVAILABLE].contains(&&*it.type_)
                && it.status == FALSE
        };
        let wrong = manifest.conditions.iter().find(is_wrong)?;
        Some(Self {
            object: title(&manifest.resource_meta),
            message: shorten(&wrong.message, LONGEST_MESSAGE).into_owned(),
        })
    }
}

fn title(it: &ManifestResourceMeta) -> String {
    let kind = if it.kind.is_empty() {
        format!("manifest {}", it.ordinal)
    } else {
        it.kind.clone()
    };
    match (&*it.namespace, &*it.name) {
        ("", name) => format!("{kind} {name}"),
        (namespace, name) => format!("{kind} {namespace}/{name}"),
    }
}
