//! What is due for a Klusterlet that is being deleted.
//!
//! The agent goes first, so that nobody writes what is removed. Then its AppliedManifestWorks are let go: what they made stays, unless the
//! Klusterlet says otherwise. Nothing waits for the hub, which may be away.

use std::collections::BTreeMap;

use berth_api::plan::{Action, Target, Write};
use berth_api::{GroupVersionResource, Now, labels};
use serde_json::json;

use super::RECONCILER;
use super::facts::{AppliedWork, Facts, subject};
use super::render::{ADDON_NAMESPACE, is_in_reach, shared};
use super::status::{Applied, report};
use crate::decision::Decision;
use crate::names::{KLUSTERLET_FINALIZER, TAKE_WORKS};
use crate::objects::{Id, Kind, Stored};

const WHY: &str = "the Klusterlet is being deleted";

/// Decides what is due.
pub(super) fn decide(facts: &Facts<'_>, now: Now) -> Decision {
    let subject = subject(facts.klusterlet);
    if !subject.has_finalizer(KLUSTERLET_FINALIZER) {
        return Decision::default();
    }
    let (writes, waits_for) = step(facts);
    if !facts.failures.is_empty() {
        return report(facts, Applied::Failed(facts.failures), None, now);
    }
    if !writes.is_empty() {
        return Decision::of_objects(writes);
    }
    match waits_for {
        Some(what) => report(facts, Applied::Removing(&what), None, now),
        None => subject.release(&[KLUSTERLET_FINALIZER]),
    }
}

/// The writes that are due, and what is waited for if there are none.
fn step(facts: &Facts<'_>) -> (Vec<Write>, Option<String>) {
    let subject = subject(facts.klusterlet);
    let own = |is_of_step: &dyn Fn(&Id) -> bool| {
        subject.own(facts.stored, |id| is_in_reach(id) && is_of_step(id))
    };
    // The agent, and its rights: one whose pod has not ended yet would write what is let go below.
    for is_of_agent in [
        |id: &Id| id.kind == Kind::Deployment,
        |id: &Id| matches!(id.kind, Kind::ClusterRoleBinding | Kind::RoleBinding),
    ] {
        if let Some(step) = subject.clear(&own(&is_of_agent), WHY) {
            return step;
        }
    }
    let Some(works) = facts.works else {
        return (
            Vec::new(),
            Some("the list of AppliedManifestWorks".to_owned()),
        );
    };
    let writes = let_go(facts, works);
    if !writes.is_empty() {
        return (writes, None);
    }
    // An aggregated role before its parts: when a part goes, Kubernetes applies the role, which would create it anew.
    let aggregated = own(&|id| id.kind == Kind::ClusterRole).into_iter();
    let aggregated = aggregated.filter(|(_, it)| !it.object()["aggregationRule"].is_null());
    if let Some(step) = subject.clear(&aggregated.collect::<Vec<_>>(), WHY) {
        return step;
    }
    let is_part = |id: &Id| !matches!(id.kind, Kind::Namespace | Kind::Definition);
    if let Some(step) = subject.clear(&own(&is_part), WHY) {
        return step;
    }
    (namespaces(facts), None)
}

/// Takes the agent's finalizer from its AppliedManifestWorks. Without it a record that is deleted takes what it owns along.
fn let_go(facts: &Facts<'_>, works: &BTreeMap<String, AppliedWork>) -> Vec<Write> {
    let klusterlet = &facts.klusterlet.metadata;
    let uid = klusterlet.uid.as_deref().unwrap_or_default();
    let annotations = klusterlet.annotations.as_ref();
    let says = annotations.and_then(|it| it.get(TAKE_WORKS));
    let is_taken = says.is_some_and(|it| it == "true");
    let own = works.iter().filter(|(_, it)| it.agent == uid);
    let writes = own.filter_map(|(name, work)| {
        let finalizer = labels::APPLIED_MANIFEST_WORK_CLEANUP;
        let action = if work.finalizers.iter().any(|it| it == finalizer) {
            let left = work.finalizers.iter().filter(|it| **it != finalizer);
            let metadata = json!({
                "uid": work.uid, "resourceVersion": work.resource_version, "finalizers": left.collect::<Vec<_>>(),
            });
            Action::Patch {
                subresource: None,
                body: json!({"metadata": metadata}),
            }
        } else if is_taken && !work.is_deleting {
            Action::Delete {
                uid: work.uid.clone(),
                resource_version: None,
                why: WHY,
            }
        } else {
            return None;
        };
        Some(Write {
            target: Target {
                resource: GroupVersionResource::new(
                    "work.open-cluster-management.io",
                    "v1",
                    "appliedmanifestworks",
                ),
                namespace: None,
                name: name.clone(),
            },
            action,
            reconciler: RECONCILER,
            events: Vec::new(),
        })
    });
    writes.collect()
}

/// Deletes the namespaces of the agent, and with the last Klusterlet that of add-ons. Nothing waits for them: something in them may have a
/// finalizer whose owner is gone.
fn namespaces(facts: &Facts<'_>) -> Vec<Write> {
    let subject = subject(facts.klusterlet);
    let shared = shared();
    let mut namespaces = subject.own(facts.stored, |id| {
        id.kind == Kind::Namespace && !shared.contains(id)
    });
    if !facts.has_others && facts.settings.has_addon_namespace {
        let of_add_ons = Id {
            kind: Kind::Namespace,
            namespace: String::new(),
            name: ADDON_NAMESPACE.to_owned(),
        };
        namespaces.extend(facts.stored.get_key_value(&of_add_ons));
    }
    let left = namespaces.into_iter().filter(|(_, it)| !it.is_deleting);
    let writes = left.map(|(id, stored): (&Id, &Stored)| subject.delete(id, stored, WHY));
    writes.collect()
}
