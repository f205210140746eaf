//! What is due for a ClusterManager that is being deleted.
//!
//! Webhook configurations go first: without a gate that answers the API server would refuse writes. The fleet stays, unless the ClusterManager
//! or a flag of the operator says otherwise: then the CustomResourceDefinitions go while the controllers still run, in OCM's order, each
//! with all its objects.

use berth_api::Now;
use berth_api::plan::{Action, Write};
use serde_json::json;

use super::RECONCILER;
use super::decide::{Facts, report, subject};
use super::definitions::{OF_OTHERS, without_gate};
use super::hosted::{is_here, rival};
use super::status::Applied;
use crate::decision::Decision;
use crate::names::{CLUSTER_MANAGER_FINALIZER, PURGE};
use crate::objects::{Id, Kind, Stored};

/// The definitions that go first, one after the other: their objects need the controllers.
const FIRST: [&str; 4] = [
    "managedclusteraddons.addon.open-cluster-management.io",
    "manifestworks.work.open-cluster-management.io",
    "managedclusters.cluster.open-cluster-management.io",
    "manifestworkreplicasets.work.open-cluster-management.io",
];

const WHY: &str = "the ClusterManager is being deleted";

/// Decides what is due.
pub(super) fn decide(facts: &Facts<'_>, now: Now) -> Decision {
    let subject = subject(facts.manager);
    if !subject.has_finalizer(CLUSTER_MANAGER_FINALIZER) {
        return Decision::default();
    }
    let (writes, waits_for) = step(facts, now);
    if !facts.failures.is_empty() {
        return report(facts, Applied::Failed(facts.failures), None, now);
    }
    if !writes.is_empty() {
        return Decision::of_objects(writes);
    }
    if let Some(what) = waits_for {
        return report(facts, Applied::Removing(&what), None, now);
    }
    subject.release(&[CLUSTER_MANAGER_FINALIZER])
}

/// The writes that are due, and what is waited for if there are none.
fn step(facts: &Facts<'_>, now: Now) -> (Vec<Write>, Option<String>) {
    let subject = subject(facts.manager);
    // What is on a hub that another one has stays.
    let uid = facts.manager.metadata.uid.as_deref();
    let has_rival = facts.hosted.is_some() && rival(uid, facts.stored).is_some();
    let own = |is_of_step: &dyn Fn(&Id) -> bool| {
        subject.own(facts.stored, |id| {
            is_of_step(id) && (!has_rival || is_here(id, subject.name()))
        })
    };
    let go = |objects: &[(&Id, &Stored)]| subject.clear(objects, WHY);
    if let Some(step) = go(&own(&|id| id.kind.is_guard())) {
        return step;
    }
    if is_purged(facts) {
        for name in FIRST {
            let is_it = |id: &Id| id.kind == Kind::Definition && id.name == name;
            if let Some(step) = go(&own(&is_it)) {
                return step;
            }
        }
        let is_left = |id: &Id| id.kind == Kind::Definition && !id.name.ends_with(OF_OTHERS);
        if let Some(step) = go(&own(&is_left)) {
            return step;
        }
    } else {
        let converted = own(&|id| id.kind == Kind::Definition).into_iter();
        let kept = converted.filter_map(|(id, stored)| kept(id, stored));
        let kept: Vec<_> = kept.collect();
        if !kept.is_empty() {
            return (kept, None);
        }
    }
    if let Some(step) = subject.end(own(&|_| true), now, WHY) {
        return step;
    }
    // A Deployment whose pods do not end waits for them by itself.
    let is_left = |id: &Id| {
        !matches!(
            id.kind,
            Kind::Namespace | Kind::Definition | Kind::Deployment
        )
    };
    if let Some(step) = go(&own(&is_left)) {
        return step;
    }
    // The Namespace stays: the operator's role is in it.
    (Vec::new(), None)
}

fn is_purged(facts: &Facts<'_>) -> bool {
    let annotations = facts.manager.metadata.annotations.as_ref();
    let says_so = annotations.and_then(|it| it.get(PURGE));
    facts.settings.purge || says_so.is_some_and(|it| it == "true")
}

/// Has a definition that stays serve what is stored: nothing converts its objects any more. Where objects are stored in several versions,
/// it stays as it is.
fn kept(id: &Id, stored: &Stored) -> Option<Write> {
    let versions = stored.stored_versions.len();
    let mut body = without_gate(stored).filter(|_| versions == 1)?;
    body["metadata"] = json!({"uid": stored.uid, "resourceVersion": stored.resource_version});
    let action = Action::Patch {
        subresource: None,
        body,
    };
    Some(id.write(RECONCILER, action))
}
