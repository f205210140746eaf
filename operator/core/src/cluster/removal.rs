//! What is due for a Klusterlet that is being deleted.
//!
//! The agent goes first, so that nobody writes what is removed. Then its AppliedManifestWorks are let go: what they made stays, unless the
//! Klusterlet says otherwise. Nothing waits for the hub, which may be away.

use std::collections::BTreeSet;

use berth_api::operator::Klusterlet;
use berth_api::plan::{Action, Target, Write};
use berth_api::{GroupVersionResource, Now, labels};
use serde_json::json;

use super::RECONCILER;
use super::facts::{AppliedWorks, Facts, subject};
use super::hosted;
use super::place::is_hosted;
use super::render::{ADDON_NAMESPACE, is_in_reach, shared};
use super::secret::HUB_SECRET;
use super::status::{Applied, report};
use crate::decision::{Decision, Store};
use crate::names::{HOSTED_FINALIZER, KLUSTERLET_FINALIZER, TAKE_WORKS};
use crate::objects::{Id, Kind, Stored};
use crate::pull::is_copy;

const WHY: &str = "the Klusterlet has no agent here any more";

/// What is left of a Klusterlet on a cluster.
pub(super) struct Remains<'a> {
    /// The objects with its label, and the namespace of add-ons.
    pub(super) stored: &'a Store,
    /// The AppliedManifestWorks; `None`: not known.
    pub(super) works: Option<&'a AppliedWorks>,
    /// Whether the namespace of add-ons goes, too.
    pub(super) takes_addon_namespace: bool,
    /// Other namespaces of add-ons.
    pub(super) addon_spaces: &'a BTreeSet<String>,
}

/// Decides what is due.
pub(super) fn decide(facts: &Facts<'_>, now: Now) -> Decision {
    let klusterlet = facts.klusterlet;
    let subject = subject(klusterlet);
    if !subject.has_finalizer(KLUSTERLET_FINALIZER) && !subject.has_finalizer(HOSTED_FINALIZER) {
        return Decision::default();
    }
    if let Some(decision) = hosted::leave(facts, now) {
        return decision;
    }
    let is_hosted = is_hosted(klusterlet);
    let remains = Remains {
        stored: facts.stored,
        // Its agent may have managed this cluster before.
        works: facts.works,
        takes_addon_namespace: !is_hosted
            && !facts.has_others
            && facts.settings.has_addon_namespace,
        addon_spaces: facts.addon_spaces,
    };
    let (mut writes, waits_for) = clean(klusterlet, &remains, now);
    if is_hosted && facts.holder.is_none() {
        writes.extend(credentials(facts));
    }
    if !facts.failures.is_empty() {
        return report(facts, Applied::Failed(facts.failures), None, now);
    }
    if !writes.is_empty() {
        return Decision::of_objects(writes);
    }
    match waits_for {
        Some(what) => report(facts, Applied::Removing(&what), None, now),
        None => subject.release(&[KLUSTERLET_FINALIZER, HOSTED_FINALIZER]),
    }
}

/// The agent, and its rights: one whose pod has not ended yet would write what is let go after it. The writes, and what is waited for;
/// `None`: they are gone. `within`: the only namespace to look in.
pub(super) fn clear_agent(
    klusterlet: &Klusterlet,
    stored: &Store,
    within: Option<&str>,
    now: Now,
) -> Option<(Vec<Write>, Option<String>)> {
    let subject = subject(klusterlet);
    let is_meant = |id: &Id| match within {
        Some(namespace) => id.namespace == namespace,
        None => is_in_reach(id) || id.namespace == subject.name(),
    };
    let deployments = subject.own(stored, is_meant);
    let bindings = subject.own(stored, |id| {
        matches!(id.kind, Kind::ClusterRoleBinding | Kind::RoleBinding) && is_meant(id)
    });
    let ending = subject.end(deployments, now, WHY);
    ending.or_else(|| subject.clear(&bindings, WHY))
}

/// The writes that are due on a cluster, and what is waited for if there are none.
pub(super) fn clean(
    klusterlet: &Klusterlet,
    remains: &Remains<'_>,
    now: Now,
) -> (Vec<Write>, Option<String>) {
    let subject = subject(klusterlet);
    let own = |is_of_step: &dyn Fn(&Id) -> bool| {
        subject.own(remains.stored, |id| {
            (is_in_reach(id) || id.namespace == subject.name()) && is_of_step(id)
        })
    };
    if let Some(step) = clear_agent(klusterlet, remains.stored, None, now) {
        return step;
    }
    let Some(works) = remains.works else {
        return (
            Vec::new(),
            Some("the list of AppliedManifestWorks".to_owned()),
        );
    };
    let writes = let_go(klusterlet, works);
    if !writes.is_empty() {
        return (writes, None);
    }
    // An aggregated role before its parts: when a part goes, Kubernetes applies the role, which would create it anew.
    let aggregated = own(&|id| id.kind == Kind::ClusterRole).into_iter();
    let aggregated = aggregated.filter(|(_, it)| !it.object()["aggregationRule"].is_null());
    if let Some(step) = subject.clear(&aggregated.collect::<Vec<_>>(), WHY) {
        return step;
    }
    // A Deployment whose pods do not end waits for them by itself.
    let is_part = |id: &Id| {
        !matches!(
            id.kind,
            Kind::Namespace | Kind::Definition | Kind::Deployment
        )
    };
    if let Some(step) = subject.clear(&own(&is_part), WHY) {
        return step;
    }
    (namespaces(klusterlet, remains), None)
}

/// Takes the agent's finalizer from its AppliedManifestWorks. Without it a record that is deleted takes what it owns along.
fn let_go(klusterlet: &Klusterlet, works: &AppliedWorks) -> Vec<Write> {
    let klusterlet = &klusterlet.metadata;
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

/// Deletes the namespaces of the agent, and with the last Klusterlet what add-ons have: their namespace, and the credentials of the registry. Nothing waits for them: something in them may have a
/// finalizer whose owner is gone.
fn namespaces(klusterlet: &Klusterlet, remains: &Remains<'_>) -> Vec<Write> {
    let subject = subject(klusterlet);
    let shared = shared();
    let mut namespaces = subject.own(remains.stored, |id| {
        id.kind == Kind::Namespace && !shared.contains(id)
    });
    if remains.takes_addon_namespace {
        let of_add_ons = Id {
            kind: Kind::Namespace,
            namespace: String::new(),
            name: ADDON_NAMESPACE.to_owned(),
        };
        namespaces.extend(remains.stored.get_key_value(&of_add_ons));
        let copies = remains.stored.iter();
        namespaces
            .extend(copies.filter(|(id, it)| {
                remains.addon_spaces.contains(&id.namespace) && is_copy(id, it)
            }));
    }
    let left = namespaces.into_iter().filter(|(_, it)| !it.is_deleting());
    let writes = left.map(|(id, stored): (&Id, &Stored)| subject.delete(id, stored, WHY));
    writes.collect()
}

/// The credentials for the hub of an agent that ran on this cluster: its namespace may have been there before, and then it stays.
fn credentials(facts: &Facts<'_>) -> Option<Write> {
    let subject = subject(facts.klusterlet);
    let id = Id {
        kind: Kind::Secret,
        namespace: subject.name().to_owned(),
        name: HUB_SECRET.to_owned(),
    };
    let (id, stored) = facts.stored.get_key_value(&id)?;
    (!stored.is_deleting()).then(|| subject.delete(id, stored, WHY))
}
