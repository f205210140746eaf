//! The garbage collector: deletes dependents whose owners are gone, and carries out foreground and orphan deletions.

mod decide;
mod graph;

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use self::decide::{Decision, Owner};
use self::graph::Graph;
use super::feed::Feed;
use super::hand::{Hand, Place};
use super::queue::{Job, Queue};
use crate::World;
use crate::resources::Resource;
use crate::status::ApiError;
use crate::storage::{Key, Stored};
use crate::writes::{DeleteOptions, Propagation};

/// Collects until cancelled.
pub(super) async fn run(world: Arc<World>, cancel: CancellationToken) {
    let hand = Hand::new(Arc::clone(&world), "generic-garbage-collector");
    let mut feed = Feed::new(&world, |_| true);
    let mut graph = Graph::default();
    let mut queue = Queue::new();
    loop {
        let first = tokio::select! {
            () = cancel.cancelled() => return,
            news = feed.next() => Some(news),
            () = queue.progress() => None,
        };
        // Read all events before a decision: only all kinds together show that an object has no dependents left.
        for news in first.into_iter().chain(feed.up_to_now().await) {
            graph
                .learn(&news)
                .into_iter()
                .for_each(|uid| queue.add(uid));
        }
        loop {
            let mut others = Vec::new();
            queue.start(|uid| look(&hand, &graph, uid, &mut others));
            if others.is_empty() {
                break;
            }
            others.into_iter().for_each(|uid| queue.add(uid));
        }
    }
}

/// Decides about an object now. `others` are to be checked as well.
fn look(hand: &Hand, graph: &Graph, uid: &str, others: &mut Vec<String>) -> Option<Job> {
    let world = &hand.world;
    let key = graph.key(uid)?.clone();
    let stored = world.store.get(&key).filter(|it| it.object.uid() == uid)?;
    let resource = hand.resource(&key.storage)?;
    let dependents = graph.dependents(uid);
    let owner = |owner: &OwnerReference| owner_state(world, &key, owner);
    let decision = decide::decide(&stored.object, &dependents, &owner);
    let job = Item {
        hand: hand.clone(),
        resource,
        key,
        stored,
    };
    match decision {
        Decision::Nothing => None,
        Decision::Await(uids) => {
            // Those that are looked at already are not due again because of this.
            others.extend(uids.into_iter().filter(|uid| is_unasked(world, graph, uid)));
            None
        }
        Decision::Orphan(uids) => {
            let dependents = uids.iter().filter_map(|uid| Item::find(hand, graph, uid));
            let dependents: Vec<_> = dependents.collect();
            let owner = uid.to_owned();
            Some(Box::pin(async move {
                for dependent in dependents {
                    dependent.disown(&[owner.as_str()]).await?;
                }
                // The finalizer goes when the graph has heard that nobody depends on it.
                Ok(())
            }))
        }
        Decision::Disown(owners) => Some(Box::pin(async move {
            let owners: Vec<_> = owners.iter().map(String::as_str).collect();
            job.disown(&owners).await
        })),
        Decision::Delete(propagation) => Some(Box::pin(async move {
            let version = job.stored.object.resource_version();
            job.delete(propagation, Some(version)).await
        })),
        Decision::Unblock => Some(Box::pin(async move {
            job.unblock().await?;
            // With what is there now.
            job.delete(Propagation::Foreground, None).await
        })),
        Decision::LetGo(finalizer) => Some(Box::pin(async move { job.let_go(finalizer).await })),
    }
}

/// Returns true if a dependent that an owner waits for has not been deleted yet.
fn is_unasked(world: &World, graph: &Graph, uid: &str) -> bool {
    let stored = graph.key(uid).and_then(|key| world.store.get(key));
    stored.is_some_and(|stored| !stored.object.is_deleting())
}

/// What there is of an owner of the object at `dependent`.
fn owner_state(world: &World, dependent: &Key, owner: &OwnerReference) -> Owner {
    let Some(resource) = world.registry.find_kind(&owner.api_version, &owner.kind) else {
        return Owner::Unknown;
    };
    if resource.namespaced && dependent.namespace.is_empty() {
        return Owner::Unknown;
    }
    let key = resource.key(&dependent.namespace, &owner.name);
    match world.store.get(&key) {
        Some(stored) if stored.object.uid() == owner.uid => {
            if decide::is_waiting(&stored.object) {
                Owner::Waiting
            } else {
                Owner::Solid
            }
        }
        _ => Owner::Gone,
    }
}

/// An object that something is done about.
struct Item {
    hand: Hand,
    resource: Arc<Resource>,
    key: Key,
    stored: Arc<Stored>,
}

impl Item {
    fn find(hand: &Hand, graph: &Graph, uid: &str) -> Option<Self> {
        let key = graph.key(uid)?.clone();
        Some(Self {
            resource: hand.resource(&key.storage)?,
            stored: hand.world.store.get(&key)?,
            hand: hand.clone(),
            key,
        })
    }

    fn place(&self) -> Place<'_> {
        Place::of(&self.resource, &self.key.namespace)
    }

    /// Deletes it; only in the version that was looked at, if `version` is given.
    async fn delete(
        &self,
        propagation: Propagation,
        version: Option<&str>,
    ) -> Result<(), ApiError> {
        let options = DeleteOptions {
            propagation: Some(propagation),
            uid: Some(self.stored.object.uid().to_owned()),
            resource_version: version.map(str::to_owned),
        };
        let place = self.place();
        self.hand.delete(place, &self.key.name, &options).await
    }

    /// Strikes owners off.
    async fn disown(&self, uids: &[&str]) -> Result<(), ApiError> {
        let is_kept = |owner: &Value| {
            let uid = owner["uid"].as_str();
            uid.is_none_or(|uid| !uids.contains(&uid))
        };
        self.write_owners(|owners| owners.retain(is_kept)).await
    }

    /// Makes it hold up nobody.
    async fn unblock(&self) -> Result<(), ApiError> {
        self.write_owners(|owners| {
            for owner in owners.iter_mut().filter_map(Value::as_object_mut) {
                owner.insert("blockOwnerDeletion".to_owned(), false.into());
            }
        })
        .await
    }

    async fn write_owners(&self, change: impl FnOnce(&mut Vec<Value>)) -> Result<(), ApiError> {
        let owners = self.stored.object.items(&["metadata", "ownerReferences"]);
        let mut owners = owners.to_vec();
        change(&mut owners);
        self.merge_metadata("ownerReferences", owners).await
    }

    /// Takes a finalizer off.
    async fn let_go(&self, finalizer: &str) -> Result<(), ApiError> {
        let mut finalizers = self
            .stored
            .object
            .items(&["metadata", "finalizers"])
            .to_vec();
        finalizers.retain(|name| name != finalizer);
        self.merge_metadata("finalizers", finalizers).await
    }

    /// Only in the version that was looked at: otherwise there will be another look.
    async fn merge_metadata(&self, field: &str, list: Vec<Value>) -> Result<(), ApiError> {
        let object = &self.stored.object;
        // In a merge patch, null takes the list away.
        let list = (!list.is_empty()).then_some(list);
        let patch = json!({ "metadata": {
            field: list,
            "uid": object.uid(),
            "resourceVersion": object.resource_version(),
        } });
        self.hand.merge(self.place(), &self.key.name, patch).await
    }
}

#[cfg(test)]
mod tests;
