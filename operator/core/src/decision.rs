//! What is due, for whichever object an operator decides.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_api::operator::{GenerationStatus, RelatedResource};
use berth_api::plan::{Action, Write};
use berth_api::{GroupVersionResource, Now};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use serde_json::{Value, json};

use crate::objects::{Id, Kind, Stored, action};

/// What is due.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// To be sent at the same time. When they have succeeded, decide again.
    pub writes: Vec<Write>,
    /// Whether these are writes of objects: what failed of them is to be reported.
    pub is_of_objects: bool,
    /// When to decide again, though nothing changes.
    pub again: Option<Duration>,
}

/// A write that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The object.
    pub kind: Kind,
    /// What failed, as text for users.
    pub message: String,
}

/// The objects that are stored.
pub(crate) type Store = BTreeMap<Id, Stored>;

/// What an operator decides about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    /// The name of the reconciler.
    pub(crate) reconciler: &'static str,
    /// The group and the resource.
    pub(crate) resource: (&'static str, &'static str),
    pub(crate) metadata: &'a ObjectMeta,
}

// === impl Decision ===

impl Decision {
    pub(crate) fn of_objects(writes: Vec<Write>) -> Self {
        Self {
            writes,
            is_of_objects: true,
            again: None,
        }
    }
}

// === impl Subject ===

impl<'a> Subject<'a> {
    pub(crate) fn name(&self) -> &'a str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    pub(crate) fn is_deleting(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    pub(crate) fn has_finalizer(&self, finalizer: &str) -> bool {
        let mut finalizers = self.metadata.finalizers.iter().flatten();
        finalizers.any(|it| it == finalizer)
    }

    /// Adds a finalizer.
    pub(crate) fn hold(&self, finalizer: &str) -> Decision {
        let finalizers = self.held(finalizer);
        self.patch(None, json!({"metadata": {"finalizers": finalizers}}))
    }

    /// Its finalizers with this one.
    pub(crate) fn held(&self, finalizer: &str) -> Vec<String> {
        let mut finalizers = self.metadata.finalizers.clone().unwrap_or_default();
        if !self.has_finalizer(finalizer) {
            finalizers.push(finalizer.to_owned());
        }
        finalizers
    }

    /// Takes finalizers away.
    pub(crate) fn release(&self, finalizers: &[&str]) -> Decision {
        let stored = self.metadata.finalizers.iter().flatten();
        let left: Vec<_> = stored.filter(|it| !finalizers.contains(&&***it)).collect();
        self.patch(None, json!({"metadata": {"finalizers": left}}))
    }

    /// A patch of the object, as it was when this was decided.
    pub(crate) fn patch(&self, subresource: Option<&'static str>, mut body: Value) -> Decision {
        body["metadata"]["uid"] = json!(self.metadata.uid);
        body["metadata"]["resourceVersion"] = json!(self.metadata.resource_version);
        let (group, resource) = self.resource;
        let resource = GroupVersionResource::new(group, "v1", resource);
        let mut write = Write::patch(self.reconciler, resource, self.name(), Value::Null);
        write.action = Action::Patch { subresource, body };
        Decision {
            writes: vec![write],
            is_of_objects: false,
            again: None,
        }
    }

    /// The stored objects with the label of this one.
    pub(crate) fn own<'s>(
        &self,
        stored: &'s Store,
        is_meant: impl Fn(&Id) -> bool,
    ) -> Vec<(&'s Id, &'s Stored)> {
        let all = stored.iter();
        all.filter(|(id, it)| it.created_by.as_deref() == Some(self.name()) && is_meant(id))
            .collect()
    }

    /// The writes that make these objects as they should be.
    pub(crate) fn due<'v>(
        &self,
        stored: &Store,
        wanted: impl IntoIterator<Item = &'v Value>,
    ) -> Vec<Write> {
        let writes = wanted.into_iter().filter_map(|it| {
            let id = Id::of(it)?;
            let action = action(it, stored.get(&id))?;
            Some(id.write(self.reconciler, action))
        });
        writes.collect()
    }

    /// Writes the status. Lists always, so that an empty one replaces what is stored.
    pub(crate) fn report(
        &self,
        conditions: &[Condition],
        generations: &[GenerationStatus],
        related: &[RelatedResource],
        observed_generation: Option<i64>,
    ) -> Decision {
        let status = json!({
            "conditions": conditions,
            "generations": generations,
            "observedGeneration": observed_generation,
            "relatedResources": related,
        });
        self.patch(Some("status"), json!({"status": status}))
    }

    /// Deletes an object. A Deployment stays until its pods have ended.
    pub(crate) fn delete(&self, id: &Id, stored: &Stored, why: &'static str) -> Write {
        let uid = stored.uid.clone();
        let action = match id.kind {
            Kind::Deployment => Action::DeleteInForeground { uid, why },
            _ => Action::Delete {
                uid,
                resource_version: None,
                why,
            },
        };
        id.write(self.reconciler, action)
    }

    /// Deletes Deployments, then waits until their pods have ended: as [`clear`](Self::clear).
    pub(crate) fn end(
        &self,
        deployments: Vec<(&Id, &Stored)>,
        now: Now,
        why: &'static str,
    ) -> Option<(Vec<Write>, Option<String>)> {
        let mut left = deployments;
        left.retain(|(id, stored)| id.kind == Kind::Deployment && !has_ended(stored, now));
        self.clear(&left, why)
    }

    /// Deletes what nobody needs any more: Deployments, and when their pods have ended, which give up their Leases with the rights that they
    /// have, bindings, then the rest.
    pub(crate) fn prune(
        &self,
        gone: Vec<(&Id, &Stored)>,
        now: Now,
        why: &'static str,
    ) -> Vec<Write> {
        if let Some((writes, _)) = self.end(gone.clone(), now, why) {
            return writes;
        }
        let mut gone = gone;
        gone.retain(|(_, stored)| !stored.is_deleting());
        let first = bindings_first(gone).into_iter();
        first
            .map(|(id, stored)| self.delete(id, stored, why))
            .collect()
    }

    /// When the pods of the first of its Deployments are not waited for any more.
    pub(crate) fn waits(&self, stored: &Store, now: Now) -> Option<Duration> {
        let deployments = self
            .own(stored, |id| id.kind == Kind::Deployment)
            .into_iter();
        let ends = deployments.filter_map(|(_, it)| left_of(it, now));
        ends.min()
    }

    /// Deletes objects, then waits for them: the writes, and what is waited for. `None`: there are none.
    pub(crate) fn clear(
        &self,
        objects: &[(&Id, &Stored)],
        why: &'static str,
    ) -> Option<(Vec<Write>, Option<String>)> {
        let (first, _) = objects.first()?;
        let left = objects.iter().filter(|(_, stored)| !stored.is_deleting());
        let writes = left.map(|(id, stored)| self.delete(id, stored, why));
        let more = match objects.len() {
            1 => String::new(),
            count => format!(", and {} more objects", count - 1),
        };
        Some((writes.collect(), Some(format!("{}{more}", first.shown()))))
    }
}

/// How long the end of the pods of a deleted Deployment is waited for: they have 30 seconds, as a rule. Those of a node that is gone never end.
const END_OF_PODS: Duration = Duration::from_secs(60);

/// How long a deleted Deployment is still waited for.
fn left_of(deployment: &Stored, now: Now) -> Option<Duration> {
    let since = now.wall.duration_since(deployment.deleted_at?);
    let since = Duration::try_from(since).unwrap_or_default();
    END_OF_PODS.checked_sub(since).filter(|it| !it.is_zero())
}

fn has_ended(deployment: &Stored, now: Now) -> bool {
    deployment.is_deleting() && left_of(deployment, now).is_none()
}

/// Bindings, if there are any among objects that are deleted; else all. The API server refuses to delete a binding whose role goes at the same
/// time.
pub(crate) fn bindings_first<'s>(gone: Vec<(&'s Id, &'s Stored)>) -> Vec<(&'s Id, &'s Stored)> {
    let is_binding = |(id, _): &(&Id, &Stored)| id.kind.is_binding();
    let (bindings, others): (Vec<_>, Vec<_>) = gone.into_iter().partition(is_binding);
    if bindings.is_empty() {
        others
    } else {
        bindings
    }
}

/// Returns whether Deployments are as they should be, not those of OCM's operator, and all their replicas run.
pub(crate) fn are_rolled_out(stored: &Store, workloads: &[Value]) -> bool {
    workloads.iter().all(|wanted| {
        let stored = Id::of(wanted).and_then(|id| stored.get(&id));
        stored.is_some_and(|it| action(wanted, Some(it)).is_none() && it.rollout.is_done())
    })
}

/// Which of two objects was first: by the time, and then by the name.
#[must_use]
pub fn age(metadata: &ObjectMeta) -> impl Ord + use<> {
    let created = metadata.creation_timestamp.as_ref();
    (created.map(|it| it.0), metadata.name.clone())
}
