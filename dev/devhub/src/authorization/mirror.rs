//! A [`Policy`] that follows the store: before each question it reads what has been committed since the last one.

use std::sync::{Arc, PoisonError, RwLock};

use berth_rbac::{InvalidObject, Policy};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{GROUP, SUPERUSERS};
use crate::object::Object;
use crate::storage::{EventKind, StorageId, Store, Stored};

/// How many events are taken in one go.
const BATCH: usize = 1000;

#[derive(Debug)]
pub(super) struct Mirror {
    kinds: [MirroredKind; 4],
    state: RwLock<State>,
}

#[derive(Debug)]
struct State {
    policy: Policy,
    /// For each kind the revision up to which it has been taken in; none before the first time.
    seen: [Option<u64>; 4],
}

#[derive(Debug)]
struct MirroredKind {
    storage: StorageId,
    upsert: fn(&mut Policy, &Object) -> Result<(), Refused>,
    remove: fn(&mut Policy, &Object) -> bool,
}

/// A stored object that RBAC makes nothing of. Validation lets none of these into the store.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error(transparent)]
    Malformed(#[from] serde_json::Error),
    #[error(transparent)]
    Invalid(#[from] InvalidObject),
}

impl Mirror {
    /// Looks at the policy as the store has it now.
    pub(super) fn with<T>(&self, store: &Store, look: impl FnOnce(&Policy) -> T) -> T {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        if self.is_current(&state, store) {
            return look(&state.policy);
        }
        drop(state);
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        for (kind, seen) in self.kinds.iter().zip(0..) {
            self.catch_up(&mut state, store, kind, seen);
        }
        look(&state.policy)
    }

    fn is_current(&self, state: &State, store: &Store) -> bool {
        let mut kinds = self.kinds.iter().zip(&state.seen);
        kinds.all(|(kind, seen)| seen.is_some_and(|seen| seen >= store.revision_of(&kind.storage)))
    }

    fn catch_up(&self, state: &mut State, store: &Store, kind: &MirroredKind, index: usize) {
        let Some(mut seen) = state.seen[index] else {
            return self.read_again(state, store);
        };
        // Taken before the events: what is committed meanwhile is for next time.
        let current = store.revision_of(&kind.storage);
        loop {
            let Ok(events) = store.events(&kind.storage, seen, BATCH, None) else {
                // The history does not reach back.
                return self.read_again(state, store);
            };
            let Some(last) = events.last() else {
                break;
            };
            seen = last.revision;
            for event in &events {
                if event.kind == EventKind::Deleted {
                    (kind.remove)(&mut state.policy, &event.object.object);
                } else {
                    take(kind, &mut state.policy, &event.object);
                }
            }
        }
        state.seen[index] = Some(seen.max(current));
    }

    fn read_again(&self, state: &mut State, store: &Store) {
        *state = State::default();
        for (index, kind) in self.kinds.iter().enumerate() {
            let listed = store.all(&kind.storage, None);
            for stored in &listed.items {
                take(kind, &mut state.policy, stored);
            }
            state.seen[index] = Some(listed.revision);
        }
    }
}

fn take(kind: &MirroredKind, policy: &mut Policy, stored: &Arc<Stored>) {
    if let Err(error) = (kind.upsert)(policy, &stored.object) {
        // An invalid object grants nothing: its earlier rules are removed.
        (kind.remove)(policy, &stored.object);
        tracing::error!(%error, "a stored RBAC object is invalid");
    }
}

/// The typed form of a stored object. What only clients look at is left out: it costs memory.
fn typed<T: DeserializeOwned>(object: &Object) -> Result<T, serde_json::Error> {
    let mut object = object.clone();
    object.remove(&["metadata", "managedFields"]);
    serde_json::from_value(Value::Object(object.fields().clone()))
}

impl Default for State {
    fn default() -> Self {
        Self {
            policy: Policy::new().with_superusers(SUPERUSERS),
            seen: [None; 4],
        }
    }
}

impl Default for Mirror {
    fn default() -> Self {
        let storage = |resource: &str| StorageId(format!("{resource}.{GROUP}").into());
        let kinds = [
            MirroredKind {
                storage: storage("clusterroles"),
                upsert: |policy, object| Ok(policy.upsert_cluster_role(typed(object)?)?),
                remove: |policy, object| policy.remove_cluster_role(object.name()),
            },
            MirroredKind {
                storage: storage("roles"),
                upsert: |policy, object| Ok(policy.upsert_role(typed(object)?)?),
                remove: |policy, object| policy.remove_role(object.namespace(), object.name()),
            },
            MirroredKind {
                storage: storage("clusterrolebindings"),
                upsert: |policy, object| Ok(policy.upsert_cluster_role_binding(typed(object)?)?),
                remove: |policy, object| policy.remove_cluster_role_binding(object.name()),
            },
            MirroredKind {
                storage: storage("rolebindings"),
                upsert: |policy, object| Ok(policy.upsert_role_binding(typed(object)?)?),
                remove: |policy, object| {
                    policy.remove_role_binding(object.namespace(), object.name())
                },
            },
        ];
        Self {
            kinds,
            state: RwLock::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use berth_rbac::Request;
    use serde_json::json;

    use super::*;
    use crate::authorization::Authorizer;
    use crate::storage::Key;
    use crate::user::User;

    fn key(resource: &str, namespace: &str, name: &str) -> Key {
        Key {
            storage: StorageId(format!("{resource}.{GROUP}").into()),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    fn object(value: Value) -> Object {
        Object::try_from(value).unwrap()
    }

    fn cluster_role(verb: &str) -> Object {
        object(json!({
            "metadata": { "name": "r" },
            "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": [verb] }],
        }))
    }

    fn binding() -> Object {
        object(json!({
            "metadata": { "name": "b" },
            "roleRef": { "apiGroup": GROUP, "kind": "ClusterRole", "name": "r" },
            "subjects": [{ "apiGroup": GROUP, "kind": "User", "name": "u" }],
        }))
    }

    fn allowed(authorizer: &Authorizer, store: &Store, verb: &str) -> bool {
        let request = Request::Resource {
            verb,
            api_group: "",
            resource: "pods",
            subresource: "",
            name: "",
            namespace: "app",
        };
        authorizer
            .evaluate(store, &User::new("u", &[]), &request)
            .is_allowed()
    }

    #[test]
    fn every_answer_knows_every_commit() {
        let (store, authorizer) = (Store::new(100), Authorizer::default());
        assert!(
            !allowed(&authorizer, &store, "get"),
            "an empty store allows nothing"
        );
        let (role, bound) = (
            key("clusterroles", "", "r"),
            key("clusterrolebindings", "", "b"),
        );
        let first = store.create(&role, cluster_role("get")).unwrap();
        let stored = store.create(&bound, binding()).unwrap();
        assert!(allowed(&authorizer, &store, "get"), "created");
        let second = store
            .update(&role, first.revision, cluster_role("list"))
            .unwrap();
        assert!(!allowed(&authorizer, &store, "get"), "changed");
        assert!(allowed(&authorizer, &store, "list"), "changed");
        store.delete(&bound, stored.revision, binding()).unwrap();
        assert!(!allowed(&authorizer, &store, "list"), "unbound");
        store
            .create(&key("rolebindings", "app", "b"), {
                let mut binding = binding();
                binding.set(&["metadata", "namespace"], "app");
                binding
            })
            .unwrap();
        assert!(
            allowed(&authorizer, &store, "list"),
            "bound in the namespace"
        );
        store
            .delete(&role, second.revision, cluster_role("list"))
            .unwrap();
        assert!(!allowed(&authorizer, &store, "list"), "the role is gone");
    }

    #[test]
    fn a_history_that_does_not_reach_back_is_no_trouble() {
        let (store, authorizer) = (Store::new(2), Authorizer::default());
        let role = key("clusterroles", "", "r");
        store
            .create(&key("clusterrolebindings", "", "b"), binding())
            .unwrap();
        let mut revision = store.create(&role, cluster_role("get")).unwrap().revision;
        assert!(allowed(&authorizer, &store, "get"));
        for verb in ["a", "b", "c", "d", "watch"] {
            revision = store
                .update(&role, revision, cluster_role(verb))
                .unwrap()
                .revision;
        }
        assert!(!allowed(&authorizer, &store, "get"));
        assert!(allowed(&authorizer, &store, "watch"));
    }

    #[test]
    fn an_invalid_object_grants_nothing_and_stops_nothing() {
        let (store, authorizer) = (Store::new(100), Authorizer::default());
        let role = key("clusterroles", "", "r");
        let stored = store.create(&role, cluster_role("get")).unwrap();
        store
            .create(&key("clusterrolebindings", "", "b"), binding())
            .unwrap();
        assert!(allowed(&authorizer, &store, "get"));
        let broken = object(json!({ "metadata": { "name": "r" }, "rules": "all" }));
        store.update(&role, stored.revision, broken).unwrap();
        assert!(!allowed(&authorizer, &store, "get"));
    }
}
