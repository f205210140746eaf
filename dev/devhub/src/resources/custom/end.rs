//! The deletion of a definition, after that of its objects.

use jiff::Timestamp;
use serde_json::json;

use super::text;
use crate::World;
use crate::object::{self, Object};
use crate::storage::{Key, Stored};

/// What a definition that is being deleted waits for.
pub(super) const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Marks a definition whose deletion begins.
pub(super) fn begin(definition: &mut Object, now: Timestamp) {
    let mut finalizers = definition.items(&["metadata", "finalizers"]).to_vec();
    if !finalizers.iter().any(|name| name == FINALIZER) {
        finalizers.push(FINALIZER.into());
    }
    definition.set(&["metadata", "finalizers"], finalizers);
    let mut conditions = definition.items(&["status", "conditions"]).to_vec();
    conditions.retain(|condition| text(condition, "type") != "Terminating");
    conditions.push(json!({
        "type": "Terminating",
        "status": "True",
        "lastTransitionTime": object::time(now),
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    }));
    definition.set(&["status", "conditions"], conditions);
}

/// Deletes the objects of a definition that is being deleted; when none is left, the definition goes as well, and with it
/// what it serves. Those that have finalizers, and what others write at the same time, take another call: true when there is
/// nothing left to do.
///
/// To be called for each definition with a deletionTimestamp, and again when its objects or it have changed.
pub(crate) fn clean_up(world: &World, definition: &Key, now: Timestamp) -> bool {
    let Some(stored) = world.store.get(definition) else {
        return true;
    };
    let object = &stored.object;
    if !object.is_deleting() || !object.finalizers().contains(&FINALIZER) {
        return true;
    }
    let (group, plural) = (
        object.str_at(&["spec", "group"]),
        object.str_at(&["spec", "names", "plural"]),
    );
    let storage = super::storage_id(group, plural);
    let listed = world.store.all(&storage, None);
    let mut left = false;
    for instance in &listed.items {
        let key = Key {
            storage: storage.clone(),
            namespace: instance.object.namespace().to_owned(),
            name: instance.object.name().to_owned(),
        };
        left |= !delete(world, &key, instance, now);
    }
    !left && let_go(world, definition, &stored, group, plural)
}

/// Returns true if an object is gone.
fn delete(world: &World, key: &Key, stored: &Stored, now: Timestamp) -> bool {
    let object = &stored.object;
    if object.finalizers().is_empty() {
        return world
            .store
            .delete(key, stored.revision, object.clone())
            .is_ok();
    }
    if !object.is_deleting() {
        let mut marked = object.clone();
        marked.set(&["metadata", "deletionTimestamp"], object::time(now));
        marked.set(&["metadata", "deletionGracePeriodSeconds"], 0);
        marked.set(&["metadata", "generation"], object.generation() + 1);
        // If another write came first, the next call does it.
        let _ = world.store.update(key, stored.revision, marked);
    }
    false
}

fn let_go(world: &World, key: &Key, stored: &Stored, group: &str, plural: &str) -> bool {
    let mut object = stored.object.clone();
    object.retain_finalizers(|name| name != FINALIZER);
    if !object.finalizers().is_empty() {
        return world.store.update(key, stored.revision, object).is_ok();
    }
    let is_gone = world.store.delete(key, stored.revision, object).is_ok();
    if is_gone {
        world.registry.replace_custom(group, plural, Vec::new());
    }
    is_gone
}
