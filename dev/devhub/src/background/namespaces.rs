//! Ends namespaces that are being deleted: first their content, as far as finalizers allow, then the namespace itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::feed::{Feed, News};
use super::hand::{Hand, Place};
use super::queue::{Job, work};
use crate::World;
use crate::object::{self, Object};
use crate::resources::{Resource, Verb};
use crate::status::ApiError;
use crate::storage::{Key, StorageId};

/// This controller's finalizer in `spec.finalizers`.
const FINALIZER: &str = "kubernetes";
const NAMESPACES: &str = "namespaces";

/// Ends namespaces until cancelled.
pub(super) async fn run(world: Arc<World>, cancel: CancellationToken) {
    let hand = Hand::new(Arc::clone(&world), "namespace-controller");
    let feed = Feed::new(&world, |resource| {
        resource.namespaced || *resource.storage.0 == *NAMESPACES
    });
    let job = |name: &String| -> Option<Job> {
        let (hand, name) = (hand.clone(), name.clone());
        match state(&hand.world, &name) {
            State::Stays => None,
            State::Ends | State::Gone => Some(Box::pin(async move { end(&hand, &name).await })),
        }
    };
    work(feed, cancel, concerned, job).await;
}

/// The namespaces that news are about.
fn concerned(news: &News) -> BTreeSet<String> {
    let objects = news.objects().into_iter();
    let names = objects.map(|(storage, object)| match storage {
        NAMESPACES => object.name().to_owned(),
        _ => object.namespace().to_owned(),
    });
    names.collect()
}

/// What there is of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Stays,
    Ends,
    /// The namespace does not exist. Objects that were created in it at the last moment are deleted, too.
    Gone,
}

fn state(world: &World, name: &str) -> State {
    match world.store.get(&key(name)) {
        Some(stored) if stored.object.is_deleting() => State::Ends,
        Some(_) => State::Stays,
        None => State::Gone,
    }
}

fn key(name: &str) -> Key {
    Key::new(NAMESPACES, "", name)
}

/// What is left in a namespace.
#[derive(Debug, Default, PartialEq)]
struct Content {
    /// How many objects, by `resource.group`.
    objects: BTreeMap<String, usize>,
    /// How many objects have a finalizer.
    finalizers: BTreeMap<String, usize>,
    /// What went wrong with their deletion.
    errors: Vec<String>,
}

/// Deletes what it can. An object that is left calls this again when it is gone.
async fn end(hand: &Hand, name: &str) -> Result<(), ApiError> {
    let Some(namespaces) = hand.resource(&StorageId(NAMESPACES.into())) else {
        return Ok(());
    };
    let part = |subresource| Place {
        subresource,
        ..Place::of(&namespaces, "")
    };
    let is_there = hand.world.store.get(&key(name)).is_some();
    if is_there {
        let phase = json!({ "status": { "phase": "Terminating" } });
        hand.merge(part("status"), name, phase).await?;
    }
    let mut failed = None;
    let mut content = Content::default();
    for resource in in_namespaces(hand) {
        if let Err(error) = hand.delete_all(Place::of(&resource, name)).await {
            content.errors.push(error.message.clone());
            failed = Some(error);
        }
        content.count(&hand.world, &resource, name);
    }
    let Some(stored) = hand.world.store.get(&key(name)) else {
        return failed.map_or(Ok(()), Err);
    };
    let conditions = content.conditions(&stored.object, Timestamp::now());
    let conditions = json!({ "status": { "conditions": conditions } });
    hand.merge(part("status"), name, conditions).await?;
    if let Some(error) = failed {
        return Err(error);
    }
    if !content.objects.is_empty() {
        return Ok(());
    }
    let Some(stored) = hand.world.store.get(&key(name)) else {
        return Ok(());
    };
    match finalized(&stored.object) {
        Some(object) => hand.update(part("finalize"), name, object).await,
        None => Ok(()),
    }
}

/// The namespace without this controller's finalizer; none if it has not got it.
fn finalized(namespace: &Object) -> Option<Object> {
    let finalizers = namespace.at(&["spec", "finalizers"])?.as_array()?;
    let kept: Vec<_> = finalizers
        .iter()
        .filter(|it| *it != FINALIZER)
        .cloned()
        .collect();
    if kept.len() == finalizers.len() {
        return None;
    }
    let mut object = namespace.clone();
    object.set(&["spec", "finalizers"], kept);
    Some(object)
}

/// One resource for each kind that can be deleted from namespaces.
fn in_namespaces(hand: &Hand) -> Vec<Arc<Resource>> {
    let all = hand.world.registry.all();
    let places: BTreeSet<_> = all
        .iter()
        .filter(|resource| resource.namespaced && resource.verbs.contains(&Verb::Delete))
        .map(|resource| resource.storage.clone())
        .collect();
    places
        .iter()
        .filter_map(|storage| hand.resource(storage))
        .collect()
}

impl Content {
    fn count(&mut self, world: &World, resource: &Resource, namespace: &str) {
        let items = world.store.all(&resource.storage, Some(namespace)).items;
        if items.is_empty() {
            return;
        }
        // With the dot also in the core group, as Kubernetes writes it here.
        let name = format!("{}.{}", resource.name, resource.group);
        self.objects.insert(name, items.len());
        for stored in items {
            for finalizer in stored.object.finalizers() {
                *self.finalizers.entry(finalizer.to_owned()).or_default() += 1;
            }
        }
    }

    /// `status.conditions` of the namespace, with a new time where something else is the case now.
    fn conditions(&self, namespace: &Object, now: Timestamp) -> Vec<Value> {
        let mut conditions = namespace.items(&["status", "conditions"]).to_vec();
        for (sort, is_so, reason, message) in self.findings() {
            let status = if is_so { "True" } else { "False" };
            let mut condition = json!({
                "type": sort,
                "status": status,
                "lastTransitionTime": object::time(now),
                "reason": reason,
                "message": message,
            });
            match conditions.iter_mut().find(|old| old["type"] == sort) {
                Some(old) => {
                    if old["status"] == status {
                        condition["lastTransitionTime"] = old["lastTransitionTime"].clone();
                    }
                    *old = condition;
                }
                None => conditions.push(condition),
            }
        }
        conditions
    }

    /// Type, status, reason and message of each condition.
    fn findings(&self) -> [(&'static str, bool, &'static str, String); 5] {
        let list = |counts: &BTreeMap<String, usize>, verb: &str| {
            let counts = counts.iter();
            let counts: Vec<_> = counts
                .map(|(what, count)| format!("{what} {verb} {count} resource instances"))
                .collect();
            counts.join(", ")
        };
        let mut errors = self.errors.clone();
        errors.sort();
        let failed = format!("Failed to delete all resource types: {}", errors.join(", "));
        let remaining = format!(
            "Some resources are remaining: {}",
            list(&self.objects, "has")
        );
        let held = list(&self.finalizers, "in");
        let held = format!("Some content in the namespace has finalizers remaining: {held}");
        // Type; whether it is so; reason and message if it is, and if it is not.
        type Row<'a> = (
            &'static str,
            bool,
            (&'static str, &'a str),
            (&'static str, &'a str),
        );
        let rows: [Row<'_>; 5] = [
            (
                "NamespaceDeletionDiscoveryFailure",
                false,
                ("", ""),
                (
                    "ResourcesDiscovered",
                    "All resources successfully discovered",
                ),
            ),
            (
                "NamespaceDeletionGroupVersionParsingFailure",
                false,
                ("", ""),
                (
                    "ParsedGroupVersions",
                    "All legacy kube types successfully parsed",
                ),
            ),
            (
                "NamespaceDeletionContentFailure",
                !errors.is_empty(),
                ("ContentDeletionFailed", &failed),
                (
                    "ContentDeleted",
                    "All content successfully deleted, may be waiting on finalization",
                ),
            ),
            (
                "NamespaceContentRemaining",
                !self.objects.is_empty(),
                ("SomeResourcesRemain", &remaining),
                ("ContentRemoved", "All content successfully removed"),
            ),
            (
                "NamespaceFinalizersRemaining",
                !self.finalizers.is_empty(),
                ("SomeFinalizersRemain", &held),
                (
                    "ContentHasNoFinalizers",
                    "All content-preserving finalizers finished",
                ),
            ),
        ];
        rows.map(|(sort, is_so, so, not)| {
            let (reason, message) = if is_so { so } else { not };
            (sort, is_so, reason, message.to_owned())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::background::testing::object;

    #[test]
    fn a_condition_keeps_its_time_while_it_is_the_case() {
        let at = |second| Timestamp::from_second(second).expect("a time");
        let mut namespace = object(json!({}));
        let some = Content {
            objects: [("configmaps.".to_owned(), 1)].into(),
            ..Content::default()
        };
        namespace.set(
            &["status", "conditions"],
            some.conditions(&namespace, at(0)),
        );
        let less = Content::default().conditions(&namespace, at(60));
        let times: Vec<_> = less
            .iter()
            .map(|it| it["lastTransitionTime"].as_str())
            .collect();
        let (then, now) = (Some("1970-01-01T00:00:00Z"), Some("1970-01-01T00:01:00Z"));
        assert_eq!(times, [then, then, then, now, then]);
    }

    #[test]
    fn only_this_controllers_finalizer_goes() {
        let with = |finalizers: Value| object(json!({ "spec": { "finalizers": finalizers } }));
        assert_eq!(
            finalized(&with(json!(["a.b/c", "kubernetes"]))),
            Some(with(json!(["a.b/c"])))
        );
        assert_eq!(finalized(&with(json!(["a.b/c"]))), None);
        assert_eq!(finalized(&object(json!({}))), None);
    }
}
